//! Sharing out a number of nodes in the proportions of the pools.

/// Splits `total` in proportion to `weights` by largest remainder; ties go to the earlier one. Weights that are all
/// zero count as equal, so that asking for nodes always gives them.
pub(super) fn apportion(weights: &[u32], total: u32) -> Vec<u32> {
    let sum: u64 = weights.iter().copied().map(u64::from).sum();
    let (weights, sum): (Vec<u64>, u64) = if sum == 0 {
        (vec![1; weights.len()], weights.len().try_into().unwrap_or(u64::MAX))
    } else {
        (weights.iter().copied().map(u64::from).collect(), sum)
    };
    let shares = weights.iter().map(|weight| weight * u64::from(total));
    let mut counts: Vec<u64> = shares.clone().map(|share| share / sum.max(1)).collect();
    let mut by_remainder: Vec<usize> = (0..counts.len()).collect();
    let remainders: Vec<u64> = shares.map(|share| share % sum.max(1)).collect();
    by_remainder.sort_by_key(|&index| std::cmp::Reverse(remainders[index]));
    let mut missing = u64::from(total) - counts.iter().sum::<u64>().min(u64::from(total));
    for index in by_remainder {
        if missing == 0 {
            break;
        }
        counts[index] += 1;
        missing -= 1;
    }
    counts.into_iter().map(|count| u32::try_from(count).unwrap_or(u32::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn shares_follow_the_weights() {
        let rows: [(&[u32], u32, &[u32]); 6] = [
            (&[4, 4, 2, 2, 2], 14, &[4, 4, 2, 2, 2]),
            (&[4, 4, 2, 2, 2], 7, &[2, 2, 1, 1, 1]),
            (&[4, 4, 2, 2, 2], 1, &[1, 0, 0, 0, 0]),
            (&[1, 1, 1], 2, &[1, 1, 0]),
            (&[0, 0], 3, &[2, 1]),
            (&[], 3, &[]),
        ];
        for (weights, total, want) in rows {
            assert_eq!(apportion(weights, total), want, "{weights:?} into {total}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nobody_is_a_whole_node_off(
            weights in prop::collection::vec(0u32..10_000, 1..8),
            total in 0u32..1_000_000,
        ) {
            let counts = apportion(&weights, total);
            prop_assert_eq!(counts.iter().sum::<u32>(), total);
            let sum: u32 = weights.iter().sum();
            prop_assume!(sum > 0);
            for (weight, count) in weights.iter().zip(counts) {
                let exact = f64::from(*weight) * f64::from(total) / f64::from(sum);
                prop_assert!((f64::from(count) - exact).abs() < 1.0);
            }
        }
    }
}
