//! How large values can get: as their schema limits them, or else as they fit into one request.

use crate::schema::{Additional, Format, Kind, Schema};

/// The largest request a server takes, in bytes.
const REQUEST: u64 = 3 << 20;

/// A number of characters, bytes, items or entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) least: u64,
    pub(super) most: u64,
}

impl Size {
    pub(super) const UNKNOWN: Self = Self { least: 0, most: u64::MAX };

    pub(super) const fn exactly(number: u64) -> Self {
        Self { least: number, most: number }
    }

    pub(super) const fn up_to(most: u64) -> Self {
        Self { least: 0, most }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { least: self.least.saturating_add(other.least), most: self.most.saturating_add(other.most) }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self { least: self.least.saturating_mul(other.least), most: self.most.saturating_mul(other.most) }
    }

    /// What covers both.
    pub(super) fn or(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most) }
    }
}

/// A part of a number, rounded up: what is read costs a tenth of its length, a pattern a quarter.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate, never negative; what is too large becomes the largest there is"
)]
pub(super) fn part(number: u64, factor: f64) -> u64 {
    (number as f64 * factor).ceil() as u64
}

/// How many values of a schema one object can hold, if nothing above limits them.
pub(super) fn occurrences(schema: &Schema) -> u64 {
    REQUEST / (smallest(schema).unwrap_or(2) + 1)
}

/// The fewest bytes that a value takes as JSON; nothing for what rules cannot see.
fn smallest(schema: &Schema) -> Option<u64> {
    Some(match schema.kind {
        Kind::Any => return None,
        Kind::IntOrString | Kind::Integer | Kind::Number => 1,
        Kind::Boolean => 4,
        Kind::String => match schema.format {
            Some(Format::Duration) => 3,
            Some(Format::Date) => 12,
            Some(Format::DateTime) => 21,
            _ => 2,
        },
        Kind::Array => schema.items.as_deref().and_then(smallest).map(|_| 2)?,
        Kind::Object => match &schema.additional {
            Additional::Schema(entry) => smallest(entry).map(|_| 2)?,
            _ => 2 + schema.required.iter().map(|name| required(schema, name)).sum::<u64>(),
        },
    })
}

/// What a required field adds, unless a default makes it needless to send.
fn required(schema: &Schema, name: &str) -> u64 {
    let field = schema.properties.get(name).filter(|field| field.default.is_none());
    field.and_then(smallest).map_or(0, |bytes| name.len() as u64 + bytes + 4)
}

/// The most characters, bytes, items or entries that a value of a schema has; nought for what has none.
pub(super) fn largest(schema: &Schema) -> u64 {
    let checks = schema.checks.as_deref();
    let length = checks.and_then(|checks| checks.max_length);
    match schema.kind {
        Kind::IntOrString => length.map_or(REQUEST - 2, |length| length.saturating_mul(4)),
        Kind::String => match schema.format {
            Some(Format::Duration | Format::DateTime) => 32,
            Some(Format::Date) => 12,
            Some(Format::Byte) => length.unwrap_or(REQUEST - 2),
            // Limits count characters, of which each may be four bytes.
            _ => length
                .map(|length| length.saturating_mul(4))
                .or_else(|| longest_choice(schema))
                .unwrap_or(REQUEST - 2),
        },
        Kind::Array => {
            let fits = || (REQUEST - 2) / (schema.items.as_deref().and_then(smallest).unwrap_or(0) + 1);
            checks.and_then(|checks| checks.max_items).unwrap_or_else(fits)
        }
        Kind::Object => match &schema.additional {
            Additional::Schema(entry) => {
                let fits = || (REQUEST - 2) / (smallest(entry).unwrap_or(0) + 6);
                checks.and_then(|checks| checks.max_properties).unwrap_or_else(fits)
            }
            _ => 0,
        },
        Kind::Any | Kind::Integer | Kind::Number | Kind::Boolean => 0,
    }
}

fn longest_choice(schema: &Schema) -> Option<u64> {
    let choices = schema.checks.as_deref()?.enumeration.as_deref()?;
    choices.iter().filter_map(|choice| choice.as_str()).map(|choice| choice.len() as u64).max()
}
