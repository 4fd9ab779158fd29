//! Sets of completion indexes and their text form, `1,3-5,7`.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::controllers::view::PodView;

pub(crate) const INDEX: &str = "batch.kubernetes.io/job-completion-index";

pub(crate) type Indexes = BTreeSet<i32>;

/// Reads the text form; what is broken or beyond the number of completions is left out.
pub(crate) fn parse(text: &str, completions: i32) -> Indexes {
    ranges(text, completions).flatten().collect()
}

/// The same, not counted out.
pub(crate) fn ranges(text: &str, completions: i32) -> impl Iterator<Item = RangeInclusive<i32>> {
    text.split(',').filter_map(move |part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<i32>().ok()?, last.parse::<i32>().ok()?);
        let range = first.max(0)..=last.min(completions - 1);
        (!range.is_empty()).then_some(range)
    })
}

/// Writes the text form: three or more in a row become a range.
pub(crate) fn format(indexes: &Indexes) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut numbers = indexes.iter().copied().peekable();
    while let Some(first) = numbers.next() {
        let mut last = first;
        while numbers.next_if_eq(&(last + 1)).is_some() {
            last += 1;
        }
        parts.push(match last - first {
            0 => first.to_string(),
            1 => format!("{first},{last}"),
            _ => format!("{first}-{last}"),
        });
    }
    parts.join(",")
}

/// The index a Pod works on.
pub(crate) fn index_of(pod: &PodView) -> Option<i32> {
    pod.metadata.annotations.get(INDEX)?.parse().ok().filter(|index| *index >= 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranges_start_at_three() {
        assert_eq!(format(&Indexes::from([1, 3, 4, 5, 7])), "1,3-5,7");
        assert_eq!(format(&Indexes::from([0, 1])), "0,1");
        assert_eq!(format(&Indexes::new()), "");
        assert_eq!(parse("1,x,3-5,9", 5), Indexes::from([1, 3, 4]));
    }

    proptest! {
        #[test]
        fn text_keeps_the_set(indexes in proptest::collection::btree_set(0i32..50, 0..30)) {
            prop_assert_eq!(parse(&format(&indexes), 50), indexes);
        }
    }
}
