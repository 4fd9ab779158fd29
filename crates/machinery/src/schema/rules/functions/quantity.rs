//! Quantities as Kubernetes calculates with them: what has been written as a fraction stays one, whatever its value, so `2000m` is
//! no integer and `2` is.

use std::{cmp::Ordering, sync::Arc};

use kube_cel::cel::{Value, objects::Opaque};
use maar_quantities::quantity::{Format, ParseQuantityError, Quantity as Exact};

use super::held;
use crate::schema::rules::evaluate::{Answer, no_such_overload};

/// The most digits that are kept in one small number.
const SMALL_DIGITS: usize = 18;

/// `unscaled` times ten to the power of `scale`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quantity {
    unscaled: i128,
    scale: i32,
    /// Whether the server keeps it in 64 bits; only such a quantity can be an integer.
    small: bool,
    /// Whether it has been calculated. On the right of an operator the server does not know such a one as a quantity.
    pub(super) made: bool,
}

/// The answer of a function of quantities; `None` where it is another function.
pub(super) fn call(name: &str, target: Option<&Value>, arguments: &[Value]) -> Option<Answer> {
    match (name, target, arguments) {
        ("quantity", None, [Value::String(text)]) => Some(parse(text).map(Into::into)),
        ("isQuantity", None, [Value::String(text)]) => Some(Ok(Value::Bool(parse(text).is_ok()))),
        ("sign", None, [value]) => held::<Quantity>(value).map(|one| Ok(Value::Int(one.sign()))),
        (_, Some(target), arguments) => held(target).and_then(|one| method(name, *one, arguments)),
        _ => None,
    }
}

fn method(name: &str, one: Quantity, arguments: &[Value]) -> Option<Answer> {
    Some(match (name, arguments) {
        ("isInteger", []) => Ok(Value::Bool(one.integer().is_some())),
        ("asInteger", []) => {
            one.integer().map(Value::Int).ok_or_else(|| "cannot convert value to integer".to_owned())
        }
        ("asApproximateFloat", []) => Ok(Value::Float(one.approximate())),
        ("add", [other]) => operand(other).map(|other| one.plus(other).into()),
        ("sub", [other]) => operand(other).map(|other| one.plus(other.negative()).into()),
        ("isGreaterThan" | "isLessThan" | "compareTo", [other]) => {
            let Some(other) = held::<Quantity>(other) else { return Some(no_such_overload()) };
            let order = one.compare(*other);
            Ok(match name {
                "isGreaterThan" => Value::Bool(order.is_gt()),
                "isLessThan" => Value::Bool(order.is_lt()),
                _ => Value::Int(order as i64),
            })
        }
        _ => return None,
    })
}

fn operand(value: &Value) -> Result<Quantity, String> {
    match value {
        Value::Int(number) => {
            Ok(Quantity { unscaled: i128::from(*number), scale: 0, small: true, made: false })
        }
        other => held(other).copied().map_or_else(no_such_overload, Ok),
    }
}

fn parse(text: &str) -> Result<Quantity, String> {
    let exact = Exact::parse(text).map_err(|problem| match problem {
        ParseQuantityError::UnknownSuffix { .. } => "unable to parse quantity's suffix".to_owned(),
        _ => "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            .to_owned(),
    })?;
    Ok(small(text).unwrap_or_else(|| {
        // Everything else is kept in billionths, except for the most that there may be of something binary.
        let most =
            exact.format() == Format::BinarySi && exact.value().unsigned_abs() == i64::MAX.unsigned_abs();
        let (unscaled, scale) = if most { (i128::from(exact.value()), 0) } else { (exact.nanos(), -9) };
        Quantity { unscaled, scale, small: false, made: false }
    }))
}

/// What fits into 64 bits with room to spare, judged by its digits. The text is known to be a quantity.
fn small(text: &str) -> Option<Quantity> {
    let digits = text.trim_start_matches(['+', '-']);
    let (whole, rest) = digits.split_at(digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len()));
    let rest_of_point = rest.strip_prefix('.').unwrap_or(rest);
    let end = rest_of_point.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest_of_point.len());
    let (fraction, suffix) = if rest.starts_with('.') { rest_of_point.split_at(end) } else { ("", rest) };
    let whole = whole.trim_start_matches('0');
    let length = whole.len().max(1) + fraction.len();
    let (power, bits): (i32, u32) = match suffix {
        "" => (0, 0),
        "n" => (-9, 0),
        "u" => (-6, 0),
        "m" => (-3, 0),
        "k" => (3, 0),
        "M" => (6, 0),
        "G" => (9, 0),
        "T" => (12, 0),
        "P" => (15, 0),
        "E" => (18, 0),
        "Ki" => (0, 10),
        "Mi" => (0, 20),
        "Gi" => (0, 30),
        "Ti" => (0, 40),
        "Pi" => (0, 50),
        "Ei" => (0, 60),
        exponent => (exponent.get(1..)?.parse().ok()?, 0),
    };
    let fits = if bits == 0 {
        length <= SMALL_DIGITS
    } else {
        fraction.is_empty() && i64::try_from(length).ok()? + i64::from(bits * 3 / 10) < 15
    };
    let scale = power.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    if !fits || scale < -9 {
        return None;
    }
    let number: i64 = format!("0{whole}{fraction}").parse().ok()?;
    let number = number.checked_mul(1 << bits)?;
    let number = if text.starts_with('-') { -number } else { number };
    Some(Quantity { unscaled: i128::from(number), scale, small: true, made: false })
}

impl Quantity {
    fn sign(self) -> i64 {
        match self.unscaled {
            ..0 => -1,
            0 => 0,
            1.. => 1,
        }
    }

    fn integer(self) -> Option<i64> {
        if !self.small || self.scale < 0 {
            return None;
        }
        if self.unscaled == 0 {
            return Some(0);
        }
        i64::try_from(self.scaled_to(0)?).ok()
    }

    #[expect(clippy::cast_precision_loss, reason = "the function says that it approximates")]
    fn approximate(self) -> f64 {
        let base = self.unscaled as f64;
        let power = format!("1e{}", self.scale).parse().unwrap_or(f64::INFINITY);
        if self.scale == 0 { base } else { base * power }
    }

    fn negative(self) -> Self {
        Self { unscaled: self.unscaled.saturating_neg(), ..self }
    }

    /// The number that, with a smaller scale, is the same; `None` where it is too large.
    fn scaled_to(self, scale: i32) -> Option<i128> {
        let power = u32::try_from(self.scale.checked_sub(scale)?).ok()?;
        10i128.checked_pow(power).and_then(|factor| self.unscaled.checked_mul(factor))
    }

    fn plus(self, other: Self) -> Self {
        let both = self.small && other.small;
        if both && other.unscaled == 0 {
            return Self { made: true, ..self };
        }
        if both && self.unscaled == 0 {
            return Self { made: true, ..other };
        }
        let scale = self.scale.min(other.scale);
        let scaled = |one: Self| {
            let most = if one.unscaled < 0 { i128::MIN } else { i128::MAX };
            if one.unscaled == 0 { 0 } else { one.scaled_to(scale).unwrap_or(most) }
        };
        let (left, right) = (scaled(self), scaled(other));
        let unscaled = left.saturating_add(right);
        let small = both && [left, right, unscaled].iter().all(|number| i64::try_from(*number).is_ok());
        Self { unscaled, scale, small, made: true }
    }

    fn compare(self, other: Self) -> Ordering {
        if self.sign() != other.sign() || self.unscaled == 0 {
            return self.sign().cmp(&other.sign());
        }
        let scale = self.scale.min(other.scale);
        match (self.scaled_to(scale), other.scaled_to(scale)) {
            (Some(left), Some(right)) => left.cmp(&right),
            // Only the one of the larger scale can be too large.
            (None, _) => self.unscaled.cmp(&0),
            (_, None) => 0.cmp(&other.unscaled),
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.compare(*other).is_eq()
    }
}

impl Eq for Quantity {}

impl Opaque for Quantity {
    fn runtime_type_name(&self) -> &'static str {
        "kubernetes.Quantity"
    }
}

impl From<Quantity> for Value {
    fn from(quantity: Quantity) -> Self {
        Value::Opaque(Arc::new(quantity))
    }
}
