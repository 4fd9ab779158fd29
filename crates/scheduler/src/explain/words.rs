//! Words that agree with numbers.

/// The word for so many: `plural(2, "Pod", "Pods")`.
pub fn plural<N: Copy + PartialEq + From<u8>>(
    number: N,
    one: &'static str,
    many: &'static str,
) -> &'static str {
    if number == N::from(1) { one } else { many }
}

/// So many of something that has a plural with an `s`: `1 Pod`, `2 Pods`.
pub fn count<N: Copy + PartialEq + From<u8> + std::fmt::Display>(number: N, thing: &str) -> String {
    let is_one = number == N::from(1);
    if is_one { format!("{number} {thing}") } else { format!("{number} {thing}s") }
}

/// What became of how many nodes, with phrases that agree with their numbers.
pub(crate) fn of_nodes<'a>(total: usize, removed: impl Iterator<Item = (usize, &'a str)>) -> String {
    let parts: Vec<String> = match total {
        1 => removed.map(|(_, why)| why.to_owned()).collect(),
        _ => removed.map(|(nodes, why)| format!("{nodes} {why}")).collect(),
    };
    match total {
        1 => format!("the only node {}", parts.join(", ")),
        _ => format!("of {total} nodes {}", parts.join(", ")),
    }
}
