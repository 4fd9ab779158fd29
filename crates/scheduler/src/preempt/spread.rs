//! How many Pods of the claimant each node takes, so that the costs of all nodes together are least.

use super::{Cost, curve::Step};

/// Above this many steps the exact way is too slow, and the one by least cost per Pod is taken.
const EXACT: usize = 20_000_000;

/// For each node how many; together as many as possible, at most `most`. `None` if there is room for nobody.
pub(super) fn spread(curves: &[Vec<Step>], most: u32) -> Option<Vec<usize>> {
    let room: usize = curves.iter().map(|curve| curve.len() - 1).sum();
    let want = room.min(usize::try_from(most).unwrap_or(usize::MAX));
    if want == 0 {
        return None;
    }
    let widest = curves.iter().map(Vec::len).max().unwrap_or(1);
    if curves.len().saturating_mul(want).saturating_mul(widest) <= EXACT {
        Some(exact(curves, want))
    } else {
        Some(by_rate(curves, want))
    }
}

/// Dynamic programming over nodes: the least cost of taking in any number of Pods on the nodes so far.
fn exact(curves: &[Vec<Step>], want: usize) -> Vec<usize> {
    let mut best: Vec<Option<Cost>> = vec![None; want + 1];
    best[0] = Some(Cost::default());
    let mut choices: Vec<Vec<u16>> = Vec::with_capacity(curves.len());
    for curve in curves {
        let mut next: Vec<Option<Cost>> = vec![None; want + 1];
        let mut choice = vec![0u16; want + 1];
        for total in 0..=want {
            for (count, step) in curve.iter().enumerate().take(total + 1) {
                let Some(before) = best[total - count] else { continue };
                let cost = before.plus(step.cost);
                if next[total].is_none_or(|known| cost < known) {
                    next[total] = Some(cost);
                    choice[total] = u16::try_from(count).unwrap_or(u16::MAX);
                }
            }
        }
        best = next;
        choices.push(choice);
    }
    let mut left = want;
    let mut counts = vec![0; curves.len()];
    for (count, choice) in counts.iter_mut().zip(&choices).rev() {
        *count = usize::from(choice[left]);
        left -= *count;
    }
    counts
}

/// Takes the node with the least cost per Pod first, over and over; the last step may be dearer than needed by what one
/// node costs.
fn by_rate(curves: &[Vec<Step>], want: usize) -> Vec<usize> {
    let mut counts = vec![0; curves.len()];
    let mut queue: std::collections::BTreeSet<(Rate, usize, usize)> =
        curves.iter().enumerate().filter_map(|(node, curve)| cheapest_more(curve, 0, node)).collect();
    let mut left = want;
    while left > 0 {
        let Some((_, node, count)) = queue.pop_first() else { break };
        let before = counts[node];
        counts[node] = count.min(before + left);
        left -= counts[node] - before;
        queue.extend(cheapest_more(&curves[node], counts[node], node));
    }
    counts
}

/// Cards, Pods that have not been told, and age, for each Pod of the claimant.
type Rate = (u64, u64, u64);

/// The further number of Pods of a node with the least cost per Pod.
fn cheapest_more(curve: &[Step], from: usize, node: usize) -> Option<(Rate, usize, usize)> {
    let base = curve[from].cost;
    let rate = |count: usize| {
        let (cost, more) = (curve[count].cost, u64::try_from(count - from).unwrap_or(u64::MAX));
        let each = |cost: u64, base: u64| cost.saturating_sub(base) / more;
        (each(cost.cards, base.cards), each(cost.untold, base.untold), each(cost.age, base.age))
    };
    let best = (from + 1..curve.len()).min_by_key(|count| (rate(*count), std::cmp::Reverse(*count)))?;
    Some((rate(best), node, best))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(costs: &[u64]) -> Vec<Step> {
        let step = |cards: &u64| Step { cost: Cost { cards: *cards, ..Cost::default() }, ..Step::default() };
        costs.iter().map(step).collect()
    }

    #[test]
    fn nodes_that_cost_less_together_are_taken() {
        let curves = [curve(&[0, 0, 5]), curve(&[0, 4, 4, 4]), curve(&[0, 3])];
        assert_eq!(exact(&curves, 1), [1, 0, 0]);
        assert_eq!(exact(&curves, 2), [1, 0, 1]);
        assert_eq!(exact(&curves, 4), [1, 3, 0]);
        assert_eq!(by_rate(&curves, 4), [1, 3, 0]);
        assert_eq!(spread(&curves, 100), Some(vec![2, 3, 1]));
        assert_eq!(spread(&[curve(&[0])], 3), None);
    }
}
