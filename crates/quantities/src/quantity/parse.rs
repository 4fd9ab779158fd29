//! Reading quantities, with the same leniency, rounding and caps as the API server.

use super::{Format, NANOS_PER_UNIT, Quantity};

/// Quantities with a binary suffix are capped here by Kubernetes; decimal ones are not.
const BINARY_CAP: i128 = i64::MAX as i128;

/// Why a text is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseQuantityError {
    /// Nothing was given.
    #[error("an empty string is not a quantity: write a number such as 2, 0.5, 500m or 16Gi")]
    Empty,
    /// Not a number followed by letters.
    #[error(
        "{text:?} is not a quantity: write an optional sign, a decimal number and an optional suffix, such as 2, 0.5, \
         500m, 16Gi or 1e3"
    )]
    Malformed {
        /// What was given, shortened.
        text: String,
    },
    /// The number is followed by letters that mean nothing.
    #[error(
        "{suffix:?} is not a quantity suffix: allowed are n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei and \
         exponents such as e3 or E-3"
    )]
    UnknownSuffix {
        /// What stood after the number, shortened.
        suffix: String,
    },
}

/// A quantity taken apart, before any arithmetic.
struct Parts<'a> {
    negative: bool,
    /// Digits before the point, without leading zeros.
    whole: &'a str,
    /// Digits after the point.
    fraction: &'a str,
    suffix: Suffix,
}

#[derive(Clone, Copy)]
enum Suffix {
    /// Power of two.
    Binary(u32),
    /// Power of ten, written with an SI prefix.
    Decimal(i64),
    /// Power of ten, written as an exponent.
    Exponent(i64),
}

pub(super) fn parse(text: &str) -> Result<Quantity, ParseQuantityError> {
    Ok(split(text)?.quantity())
}

pub(super) fn stored_text(text: &str) -> Result<String, ParseQuantityError> {
    let parts = split(text)?;
    Ok(if parts.looks_canonical() { text.to_owned() } else { parts.quantity().to_string() })
}

/// Kubernetes takes a number without digits (`+`, `.`, `Ki`) as zero, and so do we: the point is to agree with it.
fn split(text: &str) -> Result<Parts<'_>, ParseQuantityError> {
    if text.is_empty() {
        return Err(ParseQuantityError::Empty);
    }
    let (negative, rest) = match text.as_bytes()[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (digits, rest) = split_digits(rest);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), split_digits);
    let suffix = read_suffix(rest).ok_or_else(|| {
        if !digits.is_empty() && looks_like_suffix(rest) {
            ParseQuantityError::UnknownSuffix { suffix: shorten(rest) }
        } else {
            ParseQuantityError::Malformed { text: shorten(text) }
        }
    })?;
    Ok(Parts { negative, whole: digits.trim_start_matches('0'), fraction, suffix })
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

fn read_suffix(text: &str) -> Option<Suffix> {
    let suffix = match text {
        "n" => Suffix::Decimal(-9),
        "u" => Suffix::Decimal(-6),
        "m" => Suffix::Decimal(-3),
        "" => Suffix::Decimal(0),
        "k" => Suffix::Decimal(3),
        "M" => Suffix::Decimal(6),
        "G" => Suffix::Decimal(9),
        "T" => Suffix::Decimal(12),
        "P" => Suffix::Decimal(15),
        "E" => Suffix::Decimal(18),
        "Ki" => Suffix::Binary(10),
        "Mi" => Suffix::Binary(20),
        "Gi" => Suffix::Binary(30),
        "Ti" => Suffix::Binary(40),
        "Pi" => Suffix::Binary(50),
        "Ei" => Suffix::Binary(60),
        _ => Suffix::Exponent(text.strip_prefix(['e', 'E'])?.parse::<i32>().ok()?.into()),
    };
    Some(suffix)
}

fn looks_like_suffix(text: &str) -> bool {
    let rest = text.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    rest.bytes().all(|letter| letter.is_ascii_digit())
}

/// Error messages end up in conditions and events; a hostile manifest must not make them huge.
fn shorten(text: &str) -> String {
    text.chars().take(64).collect()
}

impl Parts<'_> {
    fn quantity(&self) -> Quantity {
        let (nanos, format) = match self.suffix {
            Suffix::Decimal(exponent) => (self.decimal_nanos(exponent), Format::DecimalSi),
            Suffix::Exponent(exponent) => (self.decimal_nanos(exponent), Format::DecimalExponent),
            Suffix::Binary(bits) => self.binary_nanos(bits),
        };
        Quantity::from_nanos(if self.negative { -nanos } else { nanos }, format)
    }

    /// Every digit of the number, as if the point were not there.
    fn digits(&self) -> impl DoubleEndedIterator<Item = u8> + Clone {
        self.whole.bytes().chain(self.fraction.bytes()).map(|letter| letter - b'0')
    }

    fn decimal_nanos(&self, exponent: i64) -> i128 {
        let length = self.whole.len() + self.fraction.len();
        let shift = exponent.saturating_sub_unsigned(self.fraction.len() as u64).saturating_add(9);
        let dropped = usize::try_from(shift.saturating_neg()).unwrap_or(0).min(length);
        let kept = self.digits().take(length - dropped).fold(0i128, append_digit);
        let lost = self.digits().skip(length - dropped).any(|digit| digit != 0);
        if kept == 0 {
            return i128::from(lost);
        }
        let power = u32::try_from(shift.max(0)).unwrap_or(u32::MAX);
        let scaled =
            10i128.checked_pow(power).and_then(|factor| kept.checked_mul(factor)).unwrap_or(i128::MAX);
        scaled.saturating_add(i128::from(lost))
    }

    fn binary_nanos(&self, bits: u32) -> (i128, Format) {
        let whole = self.whole.bytes().map(|letter| letter - b'0').fold(0i128, append_digit);
        let nanos_per_step = NANOS_PER_UNIT << bits;
        // Dividing by ten once per digit, from the last one, keeps the division exact for any number of digits.
        let (fraction, lost) = self.fraction.bytes().rev().fold((0i128, false), |(sum, lost), letter| {
            let sum = sum + i128::from(letter - b'0') * nanos_per_step;
            (sum / 10, lost || sum % 10 != 0)
        });
        let nanos = whole.saturating_mul(nanos_per_step).saturating_add(fraction + i128::from(lost));
        let format = if (1..NANOS_PER_UNIT).contains(&nanos) { Format::DecimalSi } else { Format::BinarySi };
        (nanos.min(BINARY_CAP * NANOS_PER_UNIT), format)
    }

    /// The API server's quick test for text that need not be rewritten, including what it overlooks.
    fn looks_canonical(&self) -> bool {
        let length = self.whole.len().max(1) + self.fraction.len();
        match self.suffix {
            Suffix::Binary(bits) => {
                let spare = 14 - i64::try_from(length).unwrap_or(i64::MAX) - i64::from(bits * 3 / 10);
                let last_bits = self.whole.parse::<i64>().unwrap_or(0) & 7;
                self.fraction.is_empty() && spare >= 0 && last_bits != 0
            }
            Suffix::Decimal(exponent) | Suffix::Exponent(exponent) => {
                let scale = exponent.saturating_sub_unsigned(self.fraction.len() as u64);
                let ends_in_thousand = length >= 3 && self.digits().rev().take(3).all(|digit| digit == 0);
                length <= 18 && scale >= -9 && scale % 3 == 0 && !ends_in_thousand && !self.whole.is_empty()
            }
        }
    }
}

fn append_digit(number: i128, digit: u8) -> i128 {
    number.checked_mul(10).and_then(|number| number.checked_add(digit.into())).unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_families() {
        use Format::{BinarySi, DecimalExponent, DecimalSi};
        let unit = NANOS_PER_UNIT;
        let rows = [
            ("0", 0, DecimalSi),
            ("0Gi", 0, BinarySi),
            ("5n", 5, DecimalSi),
            ("4u", 4_000, DecimalSi),
            ("3m", 3_000_000, DecimalSi),
            ("9", 9 * unit, DecimalSi),
            ("50k", 50_000 * unit, DecimalSi),
            ("12E", 12_000_000_000_000_000_000 * unit, DecimalSi),
            ("1Ki", 1024 * unit, BinarySi),
            ("3Ei", (3 << 60) * unit, BinarySi),
            ("1E-3", 1_000_000, DecimalExponent),
            ("1e3", 1000 * unit, DecimalExponent),
            ("1.3E+6", 1_300_000 * unit, DecimalExponent),
            ("100.035k", 100_035 * unit, DecimalSi),
            (".001", 1_000_000, DecimalSi),
            ("1.", unit, DecimalSi),
            ("1.G", unit * unit, DecimalSi),
            ("-1.5", -1_500_000_000, DecimalSi),
            ("+1.5", 1_500_000_000, DecimalSi),
            ("0.5Mi", 524_288 * unit, BinarySi),
            ("100.035Ki", 102_435_840_000_000, BinarySi),
            ("18446744073709551616", 18_446_744_073_709_551_616 * unit, DecimalSi),
        ];
        for (text, want_nanos, want_format) in rows {
            let got = parse(text).unwrap();
            assert_eq!((got.nanos(), got.format()), (want_nanos, want_format), "{text}");
        }
    }

    #[test]
    fn finer_than_nano_rounds_away_from_zero() {
        let rows = [
            ("3.001n", 4),
            ("0.9n", 1),
            ("-0.9n", -1),
            ("1.1E-9", 2),
            ("1e-2000000000", 1),
            ("0.00000012345", 124),
            ("0.00000012300", 123),
            ("0.000000000000000000000000000000000000000000000000001", 1),
            ("0.000000000001Ki", 2),
            ("0.00000000000000000000000000000000000000000000000000001Ei", 1),
        ];
        for (text, want_nanos) in rows {
            assert_eq!(parse(text).unwrap().nanos(), want_nanos, "{text}");
        }
    }

    #[test]
    fn a_binary_amount_below_one_is_printed_with_decimal_suffixes() {
        assert_eq!(parse("0.0001Ki").unwrap().format(), Format::DecimalSi);
        assert_eq!(parse("0.5Ki").unwrap().format(), Format::BinarySi);
    }

    #[test]
    fn what_is_too_large_saturates() {
        let cap = BINARY_CAP * NANOS_PER_UNIT;
        let digits = "9".repeat(60);
        let rows = [
            ("9Ei".to_owned(), cap),
            ("8Ei".to_owned(), cap),
            ("-9Ei".to_owned(), -cap),
            ("9223372036854775807Ki".to_owned(), cap),
            (format!("{digits}Ki"), cap),
            (digits.clone(), i128::MAX),
            (format!("-{digits}"), -i128::MAX),
            (format!("{digits}.{digits}"), i128::MAX),
            ("1e40".to_owned(), i128::MAX),
            ("1e2147483647".to_owned(), i128::MAX),
            ("0e2147483647".to_owned(), 0),
        ];
        for (text, want_nanos) in rows {
            assert_eq!(parse(&text).unwrap().nanos(), want_nanos, "{text}");
        }
    }

    #[test]
    fn a_number_without_digits_is_zero_as_in_kubernetes() {
        for text in ["+", "-", ".", "-.", "k", "Ki", "e3"] {
            assert!(parse(text).unwrap().is_zero(), "{text}");
        }
    }

    #[test]
    fn errors_say_what_is_allowed() {
        let rows = [
            "",
            " ",
            "1 Gi",
            "1gi",
            "1KI",
            "1ki",
            "1i",
            "1K",
            "1e",
            "1e1.5",
            "1e99999999999",
            "1.2.3",
            "--1",
            "1,5",
            "１",
            "abc",
            "1Gib",
            "5e-9Ki",
            "NaN",
            "inf",
            "1k1",
        ];
        let report: Vec<String> =
            rows.iter().map(|text| format!("{text:?}: {}", parse(text).unwrap_err())).collect();
        insta::assert_snapshot!(report.join("\n"));
    }

    #[test]
    fn an_error_quotes_only_the_beginning_of_a_long_text() {
        assert!(parse(&"x".repeat(10_000)).unwrap_err().to_string().len() < 300);
    }

    /// What kube-apiserver 1.36 made of a `requests.cpu` in a ResourceQuota.
    #[test]
    fn the_stored_text_is_the_servers() {
        let kept = [
            "1E3",
            "+5",
            "007",
            "1.500",
            "10.500",
            "1.Ki",
            "10.035M",
            "12e0",
            "0",
            "100m",
            "2",
            "12Ki",
            "16Gi",
            "1536Mi",
            "1000Ki",
            "1025Ki",
            "7Ei",
            "12E",
            "1E",
            "1e18",
            "1e21",
            "5e-3",
            "1024",
            "999999999999999999",
            "18446744073709551616",
            "123456789012345Ki",
        ];
        let rewritten = [
            ("1.5", "1500m"),
            ("1.50", "1500m"),
            ("0.100", "100m"),
            (".001", "1m"),
            ("1000", "1k"),
            ("1000m", "1"),
            ("1000000000000000000", "1E"),
            ("1024Ki", "1Mi"),
            ("2048Ki", "2Mi"),
            ("1.5Gi", "1536Mi"),
            ("0.05Gi", "53687091200m"),
            ("0.5Ki", "512"),
            ("1.1Ki", "1126400m"),
            ("100.035Ki", "102435840m"),
            ("8Ei", "9223372036854775807"),
            ("9223372036854775807Ki", "9223372036854775807"),
            ("1e1", "10"),
            ("0.5e0", "500e-3"),
            ("1.3E+6", "1300e3"),
            ("00", "0"),
            ("0Ki", "0"),
            ("+", "0"),
            (".", "0"),
            ("Ki", "0"),
            ("e3", "0"),
            (" 1", "1"),
            ("1 ", "1"),
            // Lists of resources hold nothing finer than thousandths.
            ("1.2345", "1235m"),
            ("10e-9", "1e-3"),
            ("100n", "1m"),
            ("0.9n", "1m"),
            ("0.000000000001Ki", "1m"),
        ];
        for (text, want) in kept.into_iter().map(|text| (text, text)).chain(rewritten) {
            assert_eq!(super::super::stored_resource_text(text).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn elsewhere_the_stored_text_keeps_nano_units() {
        for (text, want) in [("1.2345", "1234500u"), ("100n", "100n"), ("0.9n", "1n"), ("1E3", "1E3")] {
            assert_eq!(stored_text(text).unwrap(), want, "{text}");
        }
    }
}
