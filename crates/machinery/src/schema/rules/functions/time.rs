//! Points and lengths of time. Values of the engine's types are made by the engine from texts that it cannot misread.

use std::sync::Arc;

use jiff::{Timestamp, Zoned, tz::Offset, tz::TimeZone};
use kube_cel::cel::{Value, functions};

use crate::schema::rules::{
    engine::describe,
    evaluate::{Answer, add, no_such_overload},
};

/// The first and last second of the years that can be written.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;
const SECOND: i64 = 1_000_000_000;

/// A point in time as it is written in RFC 3339.
pub(super) fn timestamp(text: &str) -> Answer {
    let bytes = text.as_bytes();
    let zone = bytes.len().checked_sub(6).map(|at| bytes[at]);
    let strict = bytes.get(10) == Some(&b'T')
        && bytes.get(17..19) != Some(b"60")
        && (bytes.last() == Some(&b'Z') || matches!(zone, Some(b'+' | b'-')));
    match lenient(text) {
        Some(Value::Timestamp(time)) if strict && SECONDS.contains(&time.timestamp()) => {
            Ok(Value::Timestamp(time))
        }
        Some(Value::Timestamp(_)) if strict => Err("timestamp overflow".to_owned()),
        _ => Err("type conversion error from 'string' to 'google.protobuf.Timestamp'".to_owned()),
    }
}

/// The same of a value that was found valid, in whatever way it may be written there.
pub(in crate::schema::rules) fn lenient(text: &str) -> Option<Value> {
    functions::timestamp(Arc::new(text.to_owned())).ok()
}

pub(super) fn from_seconds(seconds: i64) -> Answer {
    let time = Timestamp::from_second(seconds).ok().filter(|_| SECONDS.contains(&seconds));
    time.map_or_else(|| Err("timestamp overflow".to_owned()), |time| timestamp(&time.to_string()))
}

/// A length of time as Go writes it: `1h30m`, `-1.5s`.
pub(in crate::schema::rules) fn duration(text: &str) -> Answer {
    let Some(nanoseconds) = nanoseconds(text) else {
        return Err("type conversion error from 'string' to 'google.protobuf.Duration'".to_owned());
    };
    // The engine reads numbers as floats: whole seconds and what is less than one of them are exact, both together not.
    let part = |amount: i64, unit: &str| {
        functions::duration(Arc::new(format!("{amount}{unit}"))).map_err(|error| describe(&error))
    };
    add(&part(nanoseconds / SECOND, "s")?, &part(nanoseconds % SECOND, "ns")?)
}

fn nanoseconds(text: &str) -> Option<i64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut rest = unsigned;
    let mut sum: i128 = 0;
    while !rest.is_empty() && unsigned != "0" {
        let end = rest.find(|character: char| !character.is_ascii_digit() && character != '.')?;
        let (number, after) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return None;
        }
        let (unit, length) = unit(after)?;
        let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<i128>().ok() };
        let fraction = &fraction[..fraction.len().min(18)];
        let scale = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
        let amount = digits(whole)?.checked_mul(unit)?;
        sum = sum.checked_add(amount)?.checked_add(digits(fraction)? * unit / scale)?;
        rest = &after[length..];
    }
    if unsigned.is_empty() {
        return None;
    }
    i64::try_from(if text.starts_with('-') { -sum } else { sum }).ok()
}

/// How many nanoseconds a unit has, and how long its name is.
fn unit(text: &str) -> Option<(i128, usize)> {
    const UNITS: [(&str, i128); 8] = [
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("μs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    let (name, size) = UNITS.into_iter().find(|(name, _)| text.starts_with(name))?;
    Some((size, name.len()))
}

/// A point in time as Go writes it, from the engine's way: `Z` for no offset, no zeros at the end of a fraction.
pub(super) fn written(text: &str) -> String {
    let at = text.len().saturating_sub(6);
    let (time, zone) = text.split_at(at);
    let time = if time.contains('.') { time.trim_end_matches('0').trim_end_matches('.') } else { time };
    format!("{time}{}", if zone == "+00:00" { "Z" } else { zone })
}

/// A length of time in seconds: `5400s`, `0.001s`.
#[expect(clippy::cast_precision_loss, reason = "Go divides floats too")]
pub(super) fn seconds(nanoseconds: i64) -> String {
    let seconds = (nanoseconds / SECOND) as f64 + (nanoseconds % SECOND) as f64 / 1e9;
    format!("{seconds}s")
}

/// A part of a point in time, in UTC or the named zone, or of a length of time.
pub(super) fn part(name: &str, value: &Value, arguments: &[Value]) -> Option<Answer> {
    if !name.starts_with("get") {
        return None;
    }
    Some(match (value, arguments) {
        (Value::Timestamp(time), [] | [Value::String(_)]) => {
            let nanoseconds = i32::try_from(time.timestamp_subsec_nanos()).unwrap_or_default();
            let zone = match arguments {
                [Value::String(zone)] => self::zone(zone),
                _ => Ok(TimeZone::UTC),
            };
            zone.and_then(|zone| match Timestamp::new(time.timestamp(), nanoseconds) {
                Ok(time) => part_of_time(name, &time.to_zoned(zone)),
                Err(error) => Err(error.to_string()),
            })
        }
        (Value::Duration(span), []) => match name {
            "getHours" => Ok(Value::Int(span.num_hours())),
            "getMinutes" => Ok(Value::Int(span.num_minutes())),
            "getSeconds" => Ok(Value::Int(span.num_seconds())),
            "getMilliseconds" => Ok(Value::Int(span.num_milliseconds())),
            _ => no_such_overload(),
        },
        _ => no_such_overload(),
    })
}

fn part_of_time(name: &str, time: &Zoned) -> Answer {
    let part = match name {
        "getFullYear" => i64::from(time.year()),
        "getMonth" => i64::from(time.month()) - 1,
        "getDate" => i64::from(time.day()),
        "getDayOfMonth" => i64::from(time.day()) - 1,
        "getDayOfWeek" => i64::from(time.weekday().to_sunday_zero_offset()),
        "getDayOfYear" => i64::from(time.day_of_year()) - 1,
        "getHours" => i64::from(time.hour()),
        "getMinutes" => i64::from(time.minute()),
        "getSeconds" => i64::from(time.second()),
        "getMilliseconds" => i64::from(time.millisecond()),
        _ => return no_such_overload(),
    };
    Ok(Value::Int(part))
}

/// A zone by its name, or by its offset from UTC: `America/New_York`, `-05:00`.
fn zone(name: &str) -> Result<TimeZone, String> {
    let unknown = || format!("unknown time zone {name}");
    let Some((hours, minutes)) = name.split_once(':') else {
        return match name {
            "" | "UTC" => Ok(TimeZone::UTC),
            name => TimeZone::get(name).map_err(|_| unknown()),
        };
    };
    let (Ok(hours), Ok(minutes)) = (hours.parse::<i32>(), minutes.parse::<i32>()) else {
        return Err(unknown());
    };
    let minutes = if name.starts_with('-') { -minutes } else { minutes };
    let seconds = hours.checked_mul(3600).and_then(|seconds| seconds.checked_add(minutes.checked_mul(60)?));
    seconds
        .and_then(|seconds| Offset::from_seconds(seconds).ok())
        .map(Offset::to_time_zone)
        .ok_or_else(unknown)
}
