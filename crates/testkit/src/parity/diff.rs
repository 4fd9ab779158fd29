//! Two answers side by side, for a person: a line diff of their pretty form.

use serde_json::Value;

/// How many lines around a difference are shown.
const CONTEXT: usize = 3;

enum Line<'a> {
    Both(&'a str),
    Wanted(&'a str),
    Got(&'a str),
}

/// Nothing if both are equal; otherwise the places where they differ, `-` as wanted and `+` as it is.
pub fn diff(want: &Value, got: &Value) -> Option<String> {
    if want == got {
        return None;
    }
    let (want, got) = (format!("{want:#}"), format!("{got:#}"));
    let (want, got): (Vec<&str>, Vec<&str>) = (want.lines().collect(), got.lines().collect());
    Some(show(&lines(&want, &got)))
}

/// The shortest way from one to the other.
fn lines<'a>(want: &[&'a str], got: &[&'a str]) -> Vec<Line<'a>> {
    let lengths = common_lengths(want, got);
    let (mut one, mut other) = (0, 0);
    let mut lines = Vec::new();
    while one < want.len() || other < got.len() {
        if one < want.len() && other < got.len() && want[one] == got[other] {
            lines.push(Line::Both(want[one]));
            one += 1;
            other += 1;
        } else if other == got.len()
            || (one < want.len() && lengths[one + 1][other] >= lengths[one][other + 1])
        {
            lines.push(Line::Wanted(want[one]));
            one += 1;
        } else {
            lines.push(Line::Got(got[other]));
            other += 1;
        }
    }
    lines
}

/// The length of the longest common part of what follows two places.
fn common_lengths(want: &[&str], got: &[&str]) -> Vec<Vec<u32>> {
    let mut lengths = vec![vec![0; got.len() + 1]; want.len() + 1];
    for one in (0..want.len()).rev() {
        for other in (0..got.len()).rev() {
            lengths[one][other] = if want[one] == got[other] {
                lengths[one + 1][other + 1] + 1
            } else {
                lengths[one + 1][other].max(lengths[one][other + 1])
            };
        }
    }
    lengths
}

fn show(lines: &[Line<'_>]) -> String {
    let changed: Vec<usize> =
        (0..lines.len()).filter(|index| !matches!(lines[*index], Line::Both(_))).collect();
    let near = |index: usize| changed.iter().any(|change| change.abs_diff(index) <= CONTEXT);
    let mut text = String::new();
    let mut skipped = false;
    for (index, line) in lines.iter().enumerate() {
        if !near(index) {
            skipped = true;
            continue;
        }
        if std::mem::take(&mut skipped) {
            text.push_str("      …\n");
        }
        let (mark, line) = match line {
            Line::Both(line) => (" ", *line),
            Line::Wanted(line) => ("-", *line),
            Line::Got(line) => ("+", *line),
        };
        text.extend(["      ", mark, " ", line, "\n"]);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_answers_have_no_difference() {
        assert_eq!(diff(&json!({"a": 1}), &json!({"a": 1})), None);
    }

    #[test]
    fn a_difference_is_shown_with_what_is_around_it() {
        let want = json!({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6});
        let got = json!({"a": 1, "b": 2, "c": 3, "d": 4, "e": 6, "f": 6});
        let text = diff(&want, &got).unwrap();
        assert_eq!(
            text,
            "      …\n          \"b\": 2,\n          \"c\": 3,\n          \"d\": 4,\n      -   \"e\": 5,\n      +   \"e\": 6,\n          \"f\": 6\n        }\n"
        );
    }
}
