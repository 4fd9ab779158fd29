//! Kubernetes quantities, exact.
//!
//! A [`Quantity`] is a whole number of nano-units in an `i128` and the suffix family it was written in. Kubernetes
//! keeps nothing finer than nano, so parsing, comparing, adding and subtracting never lose anything; the range is
//! about ±1.7 × 10²⁹ units, and beyond it operations saturate instead of wrapping.
//!
//! Equality, order and hash look at the value only: `1Ki` equals `1024`. The family matters for printing.
//! Start reading in `parse` (what is accepted) and `format` (canonical text).

mod format;
mod parse;
mod schema;
mod serde_impl;

use std::{
    cmp::Ordering,
    hash::{Hash, Hasher},
    iter::Sum,
    ops::{Add, AddAssign, Neg, Sub, SubAssign},
};

pub use parse::ParseQuantityError;

/// Nano-units in one unit.
const NANOS_PER_UNIT: i128 = 1_000_000_000;
/// Nano-units in one thousandth.
const NANOS_PER_MILLI: i128 = 1_000_000;

/// The suffix family a quantity was written in, which canonical output keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// `n u m "" k M G T P E`
    #[default]
    DecimalSi,
    /// `Ki Mi Gi Ti Pi Ei`
    BinarySi,
    /// `e3`, `E-3`
    DecimalExponent,
}

/// An exact amount of a resource.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { nanos: 0, format: Format::DecimalSi };

    /// An amount of `nanos` billionths, printed in `format`.
    pub const fn from_nanos(nanos: i128, format: Format) -> Self {
        Self { nanos, format }
    }

    /// Whole units, printed with decimal suffixes.
    pub const fn from_units(units: i64) -> Self {
        Self { nanos: units as i128 * NANOS_PER_UNIT, format: Format::DecimalSi }
    }

    /// Thousandths, such as millicores, printed with decimal suffixes.
    pub const fn from_millis(millis: i64) -> Self {
        Self { nanos: millis as i128 * NANOS_PER_MILLI, format: Format::DecimalSi }
    }

    /// Bytes, printed with binary suffixes.
    pub const fn from_bytes(bytes: i64) -> Self {
        Self { nanos: bytes as i128 * NANOS_PER_UNIT, format: Format::BinarySi }
    }

    /// Reads a quantity as Kubernetes does.
    pub fn parse(text: &str) -> Result<Self, ParseQuantityError> {
        parse::parse(text)
    }

    /// The exact value in billionths.
    pub const fn nanos(self) -> i128 {
        self.nanos
    }

    /// Whole units; a fraction rounds away from zero, what does not fit into an `i64` saturates.
    pub fn value(self) -> i64 {
        saturate(divide_away_from_zero(self.nanos, NANOS_PER_UNIT))
    }

    /// Thousandths; a fraction rounds away from zero, what does not fit into an `i64` saturates.
    pub fn millis(self) -> i64 {
        saturate(divide_away_from_zero(self.nanos, NANOS_PER_MILLI))
    }

    /// The value as a floating-point number, for metrics and shares, not for accounting.
    #[expect(clippy::cast_precision_loss, reason = "the name of the function says that it approximates")]
    pub fn approximate(self) -> f64 {
        self.nanos as f64 / NANOS_PER_UNIT as f64
    }

    /// Nothing finer than thousandths: a fraction of one rounds away from zero.
    pub const fn round_up_to_millis(self) -> Self {
        Self {
            nanos: divide_away_from_zero(self.nanos, NANOS_PER_MILLI).saturating_mul(NANOS_PER_MILLI),
            ..self
        }
    }

    /// The suffix family used for printing.
    pub const fn format(self) -> Format {
        self.format
    }

    /// The same value, printed in another family.
    pub const fn with_format(self, format: Format) -> Self {
        Self { nanos: self.nanos, format }
    }

    /// Whether there is nothing of it.
    pub const fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// Whether it is below zero.
    pub const fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// `count` times this, saturating.
    pub const fn times(self, count: i64) -> Self {
        Self { nanos: self.nanos.saturating_mul(count as i128), format: self.format }
    }

    /// A zero carries no preference: the result takes the family of the other operand, as in Kubernetes.
    const fn format_with(self, other: Self) -> Format {
        if self.is_zero() { other.format } else { self.format }
    }
}

/// The text the API server stores for a quantity that a client wrote.
///
/// This is the canonical form, except that the server keeps the client's spelling when a quick look finds it
/// canonical already: `1E3`, `+5`, `1.500` and `007` come back untouched. Readers of stored objects see this text.
pub fn stored_text(text: &str) -> Result<String, ParseQuantityError> {
    parse::stored_text(text.trim())
}

/// As [`stored_text`], in a list of resources of a built-in kind (requests, limits, capacities, quotas): there the
/// server also rounds up to thousandths.
pub fn stored_resource_text(text: &str) -> Result<String, ParseQuantityError> {
    let amount = Quantity::parse(text.trim())?;
    let rounded = amount.round_up_to_millis();
    if rounded == amount { stored_text(text) } else { Ok(rounded.to_string()) }
}

const fn divide_away_from_zero(nanos: i128, unit: i128) -> i128 {
    nanos / unit + if nanos % unit == 0 { 0 } else { nanos.signum() }
}

fn saturate(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nanos.hash(state);
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl Add for Quantity {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { nanos: self.nanos.saturating_add(other.nanos), format: self.format_with(other) }
    }
}

impl Sub for Quantity {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { nanos: self.nanos.saturating_sub(other.nanos), format: self.format_with(other) }
    }
}

impl Neg for Quantity {
    type Output = Self;

    fn neg(self) -> Self {
        Self { nanos: self.nanos.saturating_neg(), format: self.format }
    }
}

impl AddAssign for Quantity {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Quantity {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Sum for Quantity {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl<'a> Sum<&'a Quantity> for Quantity {
    fn sum<I: Iterator<Item = &'a Self>>(amounts: I) -> Self {
        amounts.copied().sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn quantity(text: &str) -> Quantity {
        Quantity::parse(text).unwrap()
    }

    #[test]
    fn rounding_to_integers_goes_away_from_zero_and_saturates() {
        let rows = [
            ("1500m", 2, 1500),
            ("-1500m", -2, -1500),
            ("1n", 1, 1),
            ("2", 2, 2000),
            ("1Ki", 1024, 1_024_000),
            ("100E", i64::MAX, i64::MAX),
            ("-100E", i64::MIN, i64::MIN),
        ];
        for (text, want_value, want_millis) in rows {
            assert_eq!(quantity(text).value(), want_value, "{text}");
            assert_eq!(quantity(text).millis(), want_millis, "{text}");
        }
    }

    #[test]
    fn a_zero_takes_the_suffix_family_of_the_other_operand() {
        assert_eq!((quantity("0") + quantity("1Gi")).to_string(), "1Gi");
        assert_eq!((quantity("1Gi") + quantity("0")).to_string(), "1Gi");
        assert_eq!((quantity("0") - quantity("1Gi")).to_string(), "-1Gi");
        assert_eq!((quantity("1Gi") + quantity("1G")).to_string(), "2073741824");
    }

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        let most = Quantity::from_nanos(i128::MAX, Format::DecimalSi);
        assert_eq!(most + quantity("1"), most);
        assert_eq!(most.times(3), most);
        assert_eq!((-most - quantity("1")).nanos(), i128::MIN);
        assert_eq!(-(Quantity::from_nanos(i128::MIN, Format::DecimalSi)), most);
    }

    #[test]
    fn equality_ignores_the_spelling() {
        for (left, right) in [("1Ki", "1024"), ("1", "1000m"), ("1e3", "1k"), ("0Ki", "0")] {
            assert_eq!(quantity(left), quantity(right));
        }
        assert!(quantity("999m") < quantity("1"));
        assert!(quantity("1Gi") > quantity("1G"));
        assert!(quantity("-1") < quantity("0"));
    }

    fn any_quantity() -> impl Strategy<Value = Quantity> {
        let format =
            prop_oneof![Just(Format::DecimalSi), Just(Format::BinarySi), Just(Format::DecimalExponent)];
        (-(1i128 << 90)..(1i128 << 90), 0u32..30, format).prop_map(|(nanos, zeros, format)| {
            // Multiples of powers of 1000 and 1024 are what people write; plain random numbers hardly hit them.
            let rounded = if zeros % 2 == 0 {
                nanos / 1000i128.pow(zeros / 6) * 1000i128.pow(zeros / 6)
            } else {
                (((nanos / NANOS_PER_UNIT) >> zeros) << zeros) * NANOS_PER_UNIT
            };
            Quantity::from_nanos(rounded, format)
        })
    }

    proptest! {
        #[test]
        fn printing_and_parsing_round_trips(amount in any_quantity()) {
            let text = amount.to_string();
            let back = quantity(&text);
            // Kubernetes caps what it reads with a binary suffix at 2^63-1 units.
            let cap = i128::from(i64::MAX) * NANOS_PER_UNIT;
            let want = if text.ends_with('i') { amount.nanos().clamp(-cap, cap) } else { amount.nanos() };
            prop_assert_eq!(back.nanos(), want, "{}", text);
            // `2000` of the binary family has no binary suffix to remember its family by.
            if back.format() == amount.format() && back == amount {
                prop_assert_eq!(back.to_string(), text);
            }
        }

        #[test]
        fn addition_is_an_ordered_commutative_group(a in any_quantity(), b in any_quantity(), c in any_quantity()) {
            prop_assert_eq!(a + b, b + a);
            prop_assert_eq!((a + b) + c, a + (b + c));
            prop_assert_eq!(a + b - b, a);
            prop_assert_eq!(a - a, Quantity::ZERO);
            prop_assert_eq!(a + Quantity::ZERO, a);
            prop_assert_eq!(-(-a), a);
            prop_assert_eq!(a < b, a + c < b + c);
            prop_assert_eq!([a, b, c].iter().sum::<Quantity>(), a + b + c);
        }

        #[test]
        fn the_integer_accessors_bound_the_value(a in any_quantity()) {
            // Below 2^80 nano-units even the thousandths fit into an i64.
            let positive = Quantity::from_nanos(a.nanos().abs() % (1 << 80), a.format());
            prop_assert!(Quantity::from_units(positive.value()) >= positive);
            prop_assert!(Quantity::from_units(positive.value()) - positive < Quantity::from_units(1));
            prop_assert!(Quantity::from_millis(positive.millis()) >= positive);
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*") {
            let _ = Quantity::parse(&text);
        }

        #[test]
        fn number_like_text_never_panics_and_round_trips(text in "[+-]?[0-9]{0,45}\\.?[0-9]{0,45}([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,4})?") {
            prop_assume!(!text.is_empty());
            let amount = quantity(&text);
            prop_assert_eq!(quantity(&amount.to_string()), amount);
            prop_assert_eq!(quantity(&stored_text(&text).unwrap()), amount);
        }
    }
}
