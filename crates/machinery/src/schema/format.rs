//! The `format` of a text or number: which ones count, and whether a value has one.
//!
//! A format that Kubernetes does not know is no format at all: it restricts nothing.

mod text;

use serde_json::{Number, Value};

use super::Kind;

/// What a text or number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// A number of single precision.
    Float,
    /// A number of double precision.
    Double,
    /// Bytes in base64.
    Byte,
    /// A point in time, RFC 3339.
    DateTime,
    /// A day.
    Date,
    /// A length of time, `1h30m` or `2 days`.
    Duration,
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
    /// A network, `10.0.0.0/8`.
    Cidr,
    /// A hardware address.
    Mac,
    /// A UUID of any version.
    Uuid,
    /// A UUID of version 3.
    Uuid3,
    /// A UUID of version 4.
    Uuid4,
    /// A UUID of version 5.
    Uuid5,
    /// An absolute URI or an absolute path.
    Uri,
    /// A mail address.
    Email,
    /// A host name.
    Hostname,
    /// A MongoDB object id.
    BsonObjectId,
    /// A book's number in either form.
    Isbn,
    /// A book's number of ten digits.
    Isbn10,
    /// A book's number of thirteen digits.
    Isbn13,
    /// A payment card's number.
    CreditCard,
    /// A social security number of the United States.
    Ssn,
    /// A colour as `#fff`.
    HexColor,
    /// A colour as `rgb(1,2,3)`.
    RgbColor,
    /// Any text.
    Password,
    /// A DNS label in lower case.
    ShortName,
    /// Dot-separated DNS labels in lower case.
    LongName,
    /// A quantity of a resource; only built-in kinds have it.
    Quantity,
    /// A point in time to the microsecond; only built-in kinds have it.
    MicroTime,
}

/// Names of text formats without their dashes, which do not count.
const TEXT_FORMATS: [(&str, Format); 26] = [
    ("bsonobjectid", Format::BsonObjectId),
    ("byte", Format::Byte),
    ("cidr", Format::Cidr),
    ("creditcard", Format::CreditCard),
    ("date", Format::Date),
    ("datetime", Format::DateTime),
    ("duration", Format::Duration),
    ("email", Format::Email),
    ("hexcolor", Format::HexColor),
    ("hostname", Format::Hostname),
    ("ipv4", Format::Ipv4),
    ("ipv6", Format::Ipv6),
    ("isbn", Format::Isbn),
    ("isbn10", Format::Isbn10),
    ("isbn13", Format::Isbn13),
    ("k8slongname", Format::LongName),
    ("k8sshortname", Format::ShortName),
    ("mac", Format::Mac),
    ("password", Format::Password),
    ("rgbcolor", Format::RgbColor),
    ("ssn", Format::Ssn),
    ("uri", Format::Uri),
    ("uuid", Format::Uuid),
    ("uuid3", Format::Uuid3),
    ("uuid4", Format::Uuid4),
    ("uuid5", Format::Uuid5),
];

impl Format {
    /// The format of this name for values of a kind; `None` where it means nothing.
    pub fn parse(name: &str, kind: Kind) -> Option<Self> {
        match (kind, name) {
            (_, "") => None,
            (Kind::Integer, "int32") => Some(Self::Int32),
            (Kind::Integer, "int64") => Some(Self::Int64),
            (Kind::Number, "float") => Some(Self::Float),
            (Kind::Number, "double") => Some(Self::Double),
            (Kind::String | Kind::Any, _) => {
                let plain = name.replace('-', "");
                TEXT_FORMATS.iter().find(|(known, _)| *known == plain).map(|(_, format)| *format)
            }
            _ => None,
        }
    }

    /// The format's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Float => "float",
            Self::Double => "double",
            Self::DateTime | Self::MicroTime => "date-time",
            Self::ShortName => "k8s-short-name",
            Self::LongName => "k8s-long-name",
            Self::Quantity => "quantity",
            other => TEXT_FORMATS.iter().find(|(_, format)| *format == other).map_or("", |(name, _)| name),
        }
    }

    /// Whether a value has this format; a format says nothing about values of another type than its own.
    pub fn accepts(self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.accepts_text(text),
            Value::Number(number) => self.accepts_number(number),
            _ => true,
        }
    }

    fn accepts_number(self, number: &Number) -> bool {
        match self {
            Self::Int32 => whole(number).is_some_and(|number| i32::try_from(number).is_ok()),
            Self::Int64 => whole(number).is_some_and(|number| i64::try_from(number).is_ok()),
            Self::Float => {
                number.as_f64().is_some_and(|number| number == 0.0 || number.abs() <= f64::from(f32::MAX))
            }
            _ => true,
        }
    }

    fn accepts_text(self, value: &str) -> bool {
        match self {
            Self::Int32 | Self::Int64 | Self::Float | Self::Double | Self::Password | Self::Quantity => true,
            Self::Byte => text::is_base64(value),
            Self::DateTime | Self::MicroTime => text::is_date_time(value),
            Self::Date => text::is_date(value),
            Self::Duration => text::is_duration(value),
            Self::Ipv4 => text::is_ipv4(value),
            Self::Ipv6 => text::is_ipv6(value),
            Self::Cidr => text::is_cidr(value),
            Self::Mac => text::is_mac(value),
            Self::Uuid => text::is_uuid(value, None),
            Self::Uuid3 => text::is_uuid(value, Some('3')),
            Self::Uuid4 => text::is_uuid(value, Some('4')),
            Self::Uuid5 => text::is_uuid(value, Some('5')),
            Self::Uri => text::is_uri(value),
            Self::Email => text::is_email(value),
            Self::Hostname => text::is_hostname(value),
            Self::BsonObjectId => value.len() == 24 && value.bytes().all(|byte| byte.is_ascii_hexdigit()),
            Self::Isbn => text::is_isbn10(value) || text::is_isbn13(value),
            Self::Isbn10 => text::is_isbn10(value),
            Self::Isbn13 => text::is_isbn13(value),
            Self::CreditCard => text::is_credit_card(value),
            Self::Ssn => text::is_ssn(value),
            Self::HexColor => text::is_hex_color(value),
            Self::RgbColor => text::is_rgb_color(value),
            Self::ShortName => crate::names::dns_label(value).is_empty(),
            Self::LongName => crate::names::dns_subdomain(value).is_empty(),
        }
    }
}

/// The number as a whole number, if it is one.
pub(crate) fn whole(number: &Number) -> Option<i128> {
    if let Some(signed) = number.as_i64() {
        return Some(i128::from(signed));
    }
    if let Some(unsigned) = number.as_u64() {
        return Some(i128::from(unsigned));
    }
    let float = number.as_f64()?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it has no fraction and lies within the bounds of i128"
    )]
    (float.fract() == 0.0 && float.abs() < 1e30).then_some(float as i128)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dashes_in_names_do_not_count_and_unknown_names_mean_nothing() {
        assert_eq!(Format::parse("date-time", Kind::String), Some(Format::DateTime));
        assert_eq!(Format::parse("datetime", Kind::String), Some(Format::DateTime));
        assert_eq!(Format::parse("int32", Kind::String), None);
        assert_eq!(Format::parse("int32", Kind::Integer), Some(Format::Int32));
        assert_eq!(Format::parse("phone", Kind::String), None);
        assert_eq!(Format::parse("", Kind::String), None);
    }

    #[test]
    fn numbers_fit_their_width() {
        assert!(Format::Int32.accepts(&json!(i32::MAX)));
        assert!(!Format::Int32.accepts(&json!(i64::from(i32::MAX) + 1)));
        assert!(Format::Int32.accepts(&json!(3.0)));
        assert!(!Format::Int64.accepts(&json!(u64::MAX)));
        assert!(!Format::Float.accepts(&json!(1e300)));
    }
}
