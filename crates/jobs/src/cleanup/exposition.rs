//! Reads Prometheus' text format, as far as exporters of cards use it.

use std::collections::BTreeMap;

/// Name, labels and value of every sample of the metrics called so.
pub fn samples<'a>(
    text: &'a str,
    wanted: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = (&'a str, BTreeMap<String, String>, f64)> + 'a {
    text.lines().filter_map(move |line| {
        let open = line.find('{')?;
        if line.starts_with('#') || !wanted(&line[..open]) {
            return None;
        }
        let (labels, rest) = labels(&line[open + 1..])?;
        let value = rest.split_whitespace().next()?.parse().ok()?;
        Some((&line[..open], labels, value))
    })
}

/// The labels up to the closing brace, and what follows it.
fn labels(text: &str) -> Option<(BTreeMap<String, String>, &str)> {
    let mut labels = BTreeMap::new();
    let mut rest = text.trim_start_matches([' ', ',']);
    while !rest.starts_with('}') {
        let (name, after) = rest.split_once("=\"")?;
        let (value, after) = quoted(after)?;
        labels.insert(name.trim().to_owned(), value);
        rest = after.trim_start_matches([' ', ',']);
    }
    Some((labels, &rest[1..]))
}

/// A value up to its closing quote, without its escapes, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_of_the_wanted_metric_are_read() {
        let text = "# HELP u {}\nu{gpu=\"0\",pod=\"a\\\"b\\\\c\\nd\"} 97.5 1700000000\nother{gpu=\"0\"} 1\nu{gpu=\"1\",} 0\nu 5\nu{x=\"";
        let read: Vec<_> = samples(text, |name| name == "u").collect();
        assert_eq!(read.len(), 2);
        assert_eq!((read[0].0, read[0].1["pod"].as_str(), read[0].2), ("u", "a\"b\\c\nd", 97.5));
        assert_eq!(read[1].1["gpu"], "1");
    }

    proptest! {
        #[test]
        fn nothing_makes_it_stumble(text in "[u{}=\",\\\\ 0-9a-zé\n]{0,60}") {
            let _ = samples(&text, |_| true).count();
        }
    }
}
