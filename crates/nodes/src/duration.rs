//! Times that people write: `90s`, `1m30s`, `500ms`, or a plain number of seconds.

use std::time::Duration;

use jiff::SignedDuration;

/// What [`parse`] reads, for messages.
pub(crate) const ALLOWED: &str = "a duration such as 90s, 1m30s, 500ms or a number of seconds";

/// Reads a duration that is not negative.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    text.parse::<SignedDuration>().ok().and_then(|duration| duration.try_into().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        let rows = [
            ("90s", Some(90_000)),
            ("1m30s", Some(90_000)),
            ("2h", Some(7_200_000)),
            ("500ms", Some(500)),
            ("0", Some(0)),
            ("1.5", Some(1_500)),
            (" 3 ", Some(3_000)),
            ("-1s", None),
            ("-1", None),
            ("", None),
            ("soon", None),
            ("inf", None),
        ];
        for (text, want) in rows {
            assert_eq!(parse(text), want.map(Duration::from_millis), "{text:?}");
        }
    }
}
