//! Numbers that may be percentages.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// How a percentage that is no whole number is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    Up,
    Down,
}

/// The number meant, or as much of it as fits; a percentage is taken of `total`. `None` if the text is no percentage.
pub(crate) fn portion(value: &IntOrString, total: i32, round: Round) -> Option<i32> {
    match value {
        IntOrString::Int(number) => Some(*number),
        IntOrString::String(text) => {
            let percent: i64 = text.strip_suffix('%')?.parse().ok()?;
            let product = i128::from(percent) * i128::from(total);
            let whole = match round {
                Round::Up => (product + 99).div_euclid(100),
                Round::Down => product.div_euclid(100),
            };
            let most = if whole > 0 { i32::MAX } else { i32::MIN };
            Some(i32::try_from(whole).unwrap_or(most))
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
        let most = portion(&text("9000000000000000000%"), 10, Round::Up);
        assert_eq!(most, Some(i32::MAX), "what does not fit is as much as fits");
    }
}
