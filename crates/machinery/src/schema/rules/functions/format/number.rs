//! Numbers as `format()` writes them, in English: thousands apart, powers of ten small and raised.

use std::fmt::Write as _;

use kube_cel::cel::Value;

/// The most digits behind the point that a number can have.
const LONGEST_FRACTION: usize = 1_100;

/// What a number that has no digits is written as.
fn special(number: f64) -> Option<&'static str> {
    match number {
        _ if number.is_nan() => Some("NaN"),
        f64::INFINITY => Some("∞"),
        f64::NEG_INFINITY => Some("-∞"),
        _ => None,
    }
}

/// `%f`.
pub(super) fn fixed(number: f64, digits: usize) -> String {
    if let Some(text) = special(number) {
        return text.to_owned();
    }
    // A nought has no sign.
    let number = if number == 0.0 { 0.0 } else { number };
    let text = format!("{number:.*}", digits.min(LONGEST_FRACTION));
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |text| ("-", text));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut out = sign.to_owned();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if digits > 0 {
        out.push('.');
        out.push_str(fraction);
        out.extend(std::iter::repeat_n('0', digits.saturating_sub(LONGEST_FRACTION)));
    }
    out
}

/// `%e`. What should be the digits behind the point is taken for the width, and there are always six.
pub(super) fn scientific(number: f64, width: usize) -> String {
    let text = special(number).map_or_else(|| power_of_ten(number), ToOwned::to_owned);
    let missing = width.saturating_sub(text.chars().count());
    " ".repeat(missing) + &text
}

fn power_of_ten(number: f64) -> String {
    let number = if number == 0.0 { 0.0 } else { number };
    let text = format!("{number:.6e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(("", exponent), |exponent| ("⁻", exponent));
    let raised = |digit: char| match digit {
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        '9' => '⁹',
        _ => '⁰',
    };
    let exponent: String = format!("{exponent:0>2}").chars().map(raised).collect();
    format!("{digits}×10{sign}{exponent}")
}

/// `%b` and `%o`: the sign, and the digits of what remains without it.
pub(super) fn whole(value: &Value, verb: char) -> Option<String> {
    let (sign, number) = signed(value)?;
    match verb {
        'b' => Some(format!("{sign}{number:b}")),
        'o' => Some(format!("{sign}{number:o}")),
        _ => None,
    }
}

/// `%x` and `%X`, which also write texts and bytes.
pub(super) fn hexadecimal(value: &Value, upper: bool) -> Option<String> {
    let bytes = |bytes: &[u8]| {
        bytes.iter().fold(String::new(), |mut text, byte| {
            // Writing to a text does not fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    };
    let text: String = match value {
        Value::String(text) => bytes(text.as_bytes()),
        Value::Bytes(data) => bytes(data),
        number => signed(number).map(|(sign, number)| format!("{sign}{number:x}"))?,
    };
    Some(if upper { text.to_uppercase() } else { text })
}

fn signed(value: &Value) -> Option<(&'static str, u64)> {
    match value {
        Value::Int(number) => Some((if *number < 0 { "-" } else { "" }, number.unsigned_abs())),
        Value::UInt(number) => Some(("", *number)),
        _ => None,
    }
}
