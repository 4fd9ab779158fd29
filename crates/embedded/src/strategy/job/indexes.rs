//! Lists of indexes as text: `0,3-5,9`.

/// The ranges of a list, in order and without overlap, all below `completions`.
pub(super) fn parse(text: &str, completions: i64) -> Result<Vec<(i64, i64)>, String> {
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    if text.is_empty() {
        return Ok(ranges);
    }
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |digits: &str| {
            digits
                .parse::<i64>()
                .map_err(|_| format!("cannot convert string to integer for index: {digits:?}"))
        };
        let (first, last) = (number(first)?, number(last)?);
        if last >= completions {
            return Err(format!("too large index: \"{last}\""));
        }
        if last < first || ranges.last().is_some_and(|&(_, before)| first <= before) {
            return Err(format!("non-increasing order, at {part:?}"));
        }
        ranges.push((first, last));
    }
    Ok(ranges)
}

/// How many indexes the ranges have.
pub(super) fn count(ranges: &[(i64, i64)]) -> i64 {
    ranges.iter().map(|(first, last)| last - first + 1).sum()
}

/// Whether two lists have an index in common.
pub(super) fn overlap(one: &[(i64, i64)], other: &[(i64, i64)]) -> bool {
    one.iter().any(|(first, last)| other.iter().any(|(start, end)| first <= end && start <= last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_increasing_and_below_the_number_of_completions() {
        assert_eq!(parse("0,3-5,9", 10), Ok(vec![(0, 0), (3, 5), (9, 9)]));
        assert_eq!(parse("", 3), Ok(vec![]));
        for text in ["3", "a", "0-", "2,1", "1-0", "0,0", "-1", ","] {
            assert!(parse(text, 3).is_err(), "{text}");
        }
        assert_eq!(count(&[(0, 0), (3, 5)]), 4);
        assert!(overlap(&[(0, 4)], &[(4, 9)]));
        assert!(!overlap(&[(0, 3)], &[(4, 9)]));
    }
}
