//! Lists of resource quantities.

use maar_api::Quantity;
use maar_api::quantity::stored_text;
use serde_json::Value;

use super::value::Object;

const NANOS_PER_MILLI: i128 = 1_000_000;

/// Writes every quantity of a list the way the server keeps it: canonical, no finer than a thousandth.
pub(super) fn normalize(list: Option<&mut Value>) {
    let Some(list) = list.and_then(Value::as_object_mut) else { return };
    for amount in list.values_mut() {
        normalize_amount(amount);
    }
}

/// The resource lists of a `resources` field.
pub(super) fn normalize_requirements(holder: &mut Object) {
    let Some(resources) = super::value::child(holder, "resources") else { return };
    normalize(resources.get_mut("limits"));
    normalize(resources.get_mut("requests"));
}

/// Writes one quantity the way the server keeps it.
pub(super) fn normalize_amount(amount: &mut Value) {
    if let Value::Number(number) = amount {
        *amount = Value::String(number.to_string());
    }
    let Value::String(text) = amount else { return };
    if is_plain(text) {
        return;
    }
    let Ok(quantity) = Quantity::parse(text) else { return };
    let remainder = quantity.nanos().rem_euclid(NANOS_PER_MILLI);
    if remainder != 0 {
        let rounded = quantity.nanos() + NANOS_PER_MILLI - remainder;
        *text = Quantity::from_nanos(rounded, quantity.format()).to_string();
    } else if let Ok(stored) = stored_text(text)
        && stored != *text
    {
        *text = stored;
    }
}

/// Short whole numbers are canonical unless they end in zeros; most quantities need no closer look.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (1..4).contains(&digits) && digits == bytes.len() && bytes[0] != b'0'
}
