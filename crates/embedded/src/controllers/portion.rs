//! Numbers that may be percentages.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// How a percentage that is no whole number is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    Up,
    Down,
}

/// The number meant; a percentage is taken of `total`. `None` if the text is no percentage.
pub(crate) fn portion(value: &IntOrString, total: i32, round: Round) -> Option<i32> {
    match value {
        IntOrString::Int(number) => Some(*number),
        IntOrString::String(text) => {
            let percent: i64 = text.strip_suffix('%')?.parse().ok()?;
            let product = percent * i64::from(total);
            let whole = match round {
                Round::Up => (product + 99).div_euclid(100),
                Round::Down => product.div_euclid(100),
            };
            i32::try_from(whole).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_round_as_asked() {
        let text = |text: &str| IntOrString::String(text.into());
        assert_eq!(portion(&IntOrString::Int(3), 10, Round::Up), Some(3));
        assert_eq!(portion(&text("25%"), 10, Round::Up), Some(3));
        assert_eq!(portion(&text("25%"), 10, Round::Down), Some(2));
        assert_eq!(portion(&text("0%"), 10, Round::Up), Some(0));
        assert_eq!(portion(&text("lots"), 10, Round::Up), None);
    }
}
