//! Canonical text: no fraction digits, nothing lost, the largest suffix that allows both.

use std::{fmt, str::FromStr};

use super::{Format, NANOS_PER_UNIT, ParseQuantityError, Quantity};

const DECIMAL_SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY_SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

impl fmt::Display for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.format() {
            _ if self.is_zero() => "0".to_owned(),
            Format::BinarySi if prints_in_binary(self.nanos()) => binary(self.nanos() / NANOS_PER_UNIT),
            Format::BinarySi | Format::DecimalSi => decimal(self.nanos(), false),
            Format::DecimalExponent => decimal(self.nanos(), true),
        };
        formatter.pad(&text)
    }
}

impl FromStr for Quantity {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

/// Small amounts read better, and fractions can only be written, with decimal suffixes.
fn prints_in_binary(nanos: i128) -> bool {
    nanos % NANOS_PER_UNIT == 0 && nanos.unsigned_abs() >= 1024 * NANOS_PER_UNIT.unsigned_abs()
}

fn binary(mut units: i128) -> String {
    let mut step = 0;
    while units % 1024 == 0 && step + 1 < BINARY_SUFFIXES.len() {
        units /= 1024;
        step += 1;
    }
    format!("{units}{}", BINARY_SUFFIXES[step])
}

fn decimal(mut mantissa: i128, as_exponent: bool) -> String {
    let mut step = 0;
    while mantissa % 1000 == 0 {
        mantissa /= 1000;
        step += 1;
    }
    match DECIMAL_SUFFIXES.get(step) {
        Some(suffix) if !as_exponent || suffix.is_empty() => format!("{mantissa}{suffix}"),
        // Past exa there is no SI suffix left; the exponent keeps the value.
        _ => format!("{mantissa}e{}", i64::try_from(step * 3).unwrap_or(i64::MAX) - 9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_text() {
        let rows = [
            ("0Ki", "0"),
            ("1.5", "1500m"),
            ("1.2345", "1234500u"),
            ("1.5Gi", "1536Mi"),
            ("1000m", "1"),
            ("1000", "1k"),
            ("10000", "10k"),
            ("1024", "1024"),
            ("1024Ki", "1Mi"),
            ("1025Ki", "1025Ki"),
            ("1000Ki", "1000Ki"),
            ("0.5Ki", "512"),
            ("1.5Ki", "1536"),
            ("1.1Ki", "1126400m"),
            ("-2048Ki", "-2Mi"),
            ("1e3", "1e3"),
            ("1E3", "1e3"),
            ("0.5e0", "500e-3"),
            ("12e0", "12"),
            ("1e1", "10"),
            ("10e-9", "10e-9"),
            ("1000E", "1e21"),
            ("8Ei", "9223372036854775807"),
            ("7Ei", "7Ei"),
            ("100n", "100n"),
        ];
        for (text, want) in rows {
            assert_eq!(text.parse::<Quantity>().unwrap().to_string(), want, "{text}");
        }
    }

    #[test]
    fn sums_past_the_largest_binary_suffix_keep_it() {
        let sum = Quantity::parse("7Ei").unwrap().times(1024);
        assert_eq!(sum.to_string(), "7168Ei");
    }

    #[test]
    fn honours_the_width_of_a_table_column() {
        assert_eq!(format!("{:>6}|", Quantity::from_millis(100)), "  100m|");
    }
}
