//! The cheapest items that are enough together.

use super::Cost;

/// Something that yields `gain` at a `cost`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) gain: usize,
    pub(super) cost: Cost,
}

/// For every need from 0 to `most`: the cheapest set of items that yields at least that, or `None` if all of them do
/// not. A knapsack: items × need steps.
pub(super) fn covers(items: &[Item], most: usize) -> Vec<Option<(Cost, Vec<usize>)>> {
    let mut best: Vec<Option<(Cost, Vec<usize>)>> = vec![None; most + 1];
    best[0] = Some((Cost::default(), Vec::new()));
    for (index, item) in items.iter().enumerate() {
        if item.gain == 0 {
            continue;
        }
        for need in (1..=most).rev() {
            let Some((cost, chosen)) = &best[need.saturating_sub(item.gain)] else { continue };
            let cost = cost.plus(item.cost);
            if best[need].as_ref().is_none_or(|(known, _)| cost < *known) {
                let mut chosen = chosen.clone();
                chosen.push(index);
                best[need] = Some((cost, chosen));
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn items(list: &[(usize, u64)]) -> Vec<Item> {
        let item = |(gain, cards): &(usize, u64)| Item {
            gain: *gain,
            cost: Cost { cards: *cards, pods: 1, untold: 0, age: 1 },
        };
        list.iter().map(item).collect()
    }

    #[test]
    fn one_that_is_just_enough_beats_two() {
        let all = items(&[(2, 2), (2, 2), (3, 3)]);
        let best = covers(&all, 3);
        assert_eq!(best[3].as_ref().unwrap().1, [2]);
        assert_eq!(covers(&all, 8)[8], None);
    }

    proptest! {
        #[test]
        fn no_set_is_cheaper(list in prop::collection::vec((0usize..5, 0u64..6), 0..8), need in 0usize..12) {
            let all = items(&list);
            let brute = (0u32..1 << all.len())
                .filter_map(|set| {
                    let chosen = all.iter().enumerate().filter(|(index, _)| set >> index & 1 == 1);
                    let (mut gain, mut cost) = (0, Cost::default());
                    for (_, item) in chosen {
                        gain += item.gain;
                        cost = cost.plus(item.cost);
                    }
                    (gain >= need).then_some(cost)
                })
                .min();
            let found = covers(&all, need).pop().unwrap();
            prop_assert_eq!(found.as_ref().map(|(cost, _)| *cost), brute);
            if let Some((_, chosen)) = found {
                prop_assert!(chosen.iter().map(|index| all[*index].gain).sum::<usize>() >= need);
            }
        }
    }
}
