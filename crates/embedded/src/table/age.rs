//! How long ago something was, in as many words as people need.

use jiff::Timestamp;
use serde_json::Value;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// The moment for which ages are told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now(pub(super) Timestamp);

impl Now {
    /// How long ago a time was; `<unknown>` if there is none.
    pub(super) fn since(self, time: &Value) -> String {
        time.as_str().map_or_else(|| "<unknown>".to_owned(), |text| self.since_text(text))
    }

    /// How long ago a time was, which must be one.
    pub(super) fn since_text(self, text: &str) -> String {
        text.parse::<Timestamp>().map_or_else(
            |_| "<invalid>".to_owned(),
            |time| words(self.0.as_second().saturating_sub(time.as_second())),
        )
    }

    /// The age of an object.
    pub(super) fn age(self, object: &Value) -> Value {
        self.since(&object["metadata"]["creationTimestamp"]).into()
    }
}

/// The time between two points, if both are there.
pub(super) fn between(start: &Value, end: &Value) -> Option<String> {
    let parse = |time: &Value| time.as_str()?.parse::<Timestamp>().ok();
    Some(words(parse(end)?.as_second() - parse(start)?.as_second()))
}

/// A number of seconds: two units while the larger one is small, then one.
pub(super) fn words(seconds: i64) -> String {
    let two = |large: i64, unit: &str, rest: i64, small: &str| {
        if rest == 0 { format!("{large}{unit}") } else { format!("{large}{unit}{rest}{small}") }
    };
    match seconds {
        // Clocks of two machines differ a little; more than that is a mistake.
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        _ if seconds < 2 * MINUTE => format!("{seconds}s"),
        _ if seconds < 10 * MINUTE => two(seconds / MINUTE, "m", seconds % MINUTE, "s"),
        _ if seconds < 3 * HOUR => format!("{}m", seconds / MINUTE),
        _ if seconds < 8 * HOUR => two(seconds / HOUR, "h", seconds % HOUR / MINUTE, "m"),
        _ if seconds < 2 * DAY => format!("{}h", seconds / HOUR),
        _ if seconds < 8 * DAY => two(seconds / DAY, "d", seconds % DAY / HOUR, "h"),
        _ if seconds < 2 * YEAR => format!("{}d", seconds / DAY),
        _ if seconds < 8 * YEAR => two(seconds / YEAR, "y", seconds % YEAR / DAY, "d"),
        _ => format!("{}y", seconds / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_as_kubectl_tells_them() {
        let rows = [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (10 * MINUTE, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 5 * MINUTE, "3h5m"),
            (8 * HOUR + 5 * MINUTE, "8h"),
            (2 * DAY, "2d"),
            (2 * DAY + 3 * HOUR, "2d3h"),
            (8 * DAY + HOUR, "8d"),
            (400 * DAY, "400d"),
            (2 * YEAR + 10 * DAY, "2y10d"),
            (9 * YEAR + 10 * DAY, "9y"),
        ];
        for (seconds, want) in rows {
            assert_eq!(words(seconds), want, "{seconds}");
        }
    }
}
