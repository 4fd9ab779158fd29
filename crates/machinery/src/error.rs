//! Errors about one field of an object, printed and reported the way Kubernetes clients expect.
//!
//! [`FieldError`] is the only error that validation produces; [`invalid_message`] joins a list of them into the
//! sentence of a `422` answer, and [`FieldErrorKind::reason`] is what goes into the causes of its `Status`.

mod path;

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::StatusCause;
use serde_json::Value;

pub use path::Path;

/// What is wrong with a field; one to one with the `reason` of a `StatusCause`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldErrorKind {
    /// A value that refers to something that does not exist.
    NotFound,
    /// A value that must be there and is not.
    Required,
    /// A value that may appear once and appears again.
    Duplicate,
    /// A malformed value.
    Invalid,
    /// A value outside of an enumeration.
    NotSupported,
    /// A value that is well formed and not allowed here.
    Forbidden,
    /// A text that is too long; the text itself is not repeated.
    TooLong,
    /// A text that is too short; the text itself is not repeated.
    TooShort,
    /// Too many items.
    TooMany,
    /// Too few items.
    TooFew,
    /// Not the user's fault.
    Internal,
    /// A value of another JSON type than the schema asks for.
    TypeInvalid,
}

impl FieldErrorKind {
    /// The machine-readable reason, as in `Status.details.causes[].reason`.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooShort => "FieldValueTooShort",
            Self::TooMany => "FieldValueTooMany",
            Self::TooFew => "FieldValueTooFew",
            Self::Internal => "InternalError",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    /// The kind whose [`reason`](Self::reason) this is.
    pub fn from_reason(reason: &str) -> Option<Self> {
        const ALL: [FieldErrorKind; 12] = [
            FieldErrorKind::NotFound,
            FieldErrorKind::Required,
            FieldErrorKind::Duplicate,
            FieldErrorKind::Invalid,
            FieldErrorKind::NotSupported,
            FieldErrorKind::Forbidden,
            FieldErrorKind::TooLong,
            FieldErrorKind::TooShort,
            FieldErrorKind::TooMany,
            FieldErrorKind::TooFew,
            FieldErrorKind::Internal,
            FieldErrorKind::TypeInvalid,
        ];
        ALL.into_iter().find(|kind| kind.reason() == reason)
    }

    const fn label(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooShort => "Too short",
            Self::TooMany => "Too many",
            Self::TooFew => "Too few",
            Self::Internal => "Internal error",
        }
    }

    /// Whether the offending value is part of the message.
    const fn shows_value(self) -> bool {
        !matches!(self, Self::Required | Self::Forbidden | Self::TooLong | Self::TooShort | Self::Internal)
    }
}

/// One thing wrong with one field.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct FieldError {
    /// What is wrong.
    pub kind: FieldErrorKind,
    /// Where, as `spec.containers[0].name`; empty for the object itself.
    pub path: String,
    /// The offending value; `None` leaves it out of the message.
    pub value: Option<Value>,
    /// What would be right.
    pub detail: String,
}

impl FieldError {
    /// An error of any kind; the named constructors below are shorter.
    pub fn new(
        kind: FieldErrorKind,
        path: impl fmt::Display,
        value: Option<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self { kind, path: path.to_string(), value, detail: detail.into() }
    }

    /// A field that is missing.
    pub fn required(path: impl fmt::Display, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Required, path, None, detail)
    }

    /// A malformed value.
    pub fn invalid(path: impl fmt::Display, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Invalid, path, Some(value.into()), detail)
    }

    /// A value of the wrong JSON type.
    pub fn type_invalid(path: impl fmt::Display, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::TypeInvalid, path, Some(value.into()), detail)
    }

    /// A value that must not be set here.
    pub fn forbidden(path: impl fmt::Display, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Forbidden, path, None, detail)
    }

    /// A value that is there already.
    pub fn duplicate(path: impl fmt::Display, value: impl Into<Value>) -> Self {
        Self::new(FieldErrorKind::Duplicate, path, Some(value.into()), "")
    }

    /// A reference to something that is not there.
    pub fn not_found(path: impl fmt::Display, value: impl Into<Value>) -> Self {
        Self::new(FieldErrorKind::NotFound, path, Some(value.into()), "")
    }

    /// A value outside of `supported`.
    pub fn not_supported<S: AsRef<str>>(
        path: impl fmt::Display,
        value: impl Into<Value>,
        supported: impl IntoIterator<Item = S>,
    ) -> Self {
        let supported: Vec<String> = supported.into_iter().map(|value| quote(value.as_ref())).collect();
        let detail = if supported.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", supported.join(", "))
        };
        Self::new(FieldErrorKind::NotSupported, path, Some(value.into()), detail)
    }

    /// A text of more than `maximum` bytes.
    pub fn too_long(path: impl fmt::Display, maximum: u64) -> Self {
        let unit = if maximum == 1 { "byte" } else { "bytes" };
        Self::new(FieldErrorKind::TooLong, path, None, format!("may not be more than {maximum} {unit}"))
    }

    /// More than `maximum` items.
    pub fn too_many(path: impl fmt::Display, actual: u64, maximum: u64) -> Self {
        let unit = if maximum == 1 { "item" } else { "items" };
        let detail = format!("must have at most {maximum} {unit}");
        Self::new(FieldErrorKind::TooMany, path, Some(actual.into()), detail)
    }

    /// The path as messages and causes print it; the object itself is `<nil>`.
    pub fn field(&self) -> &str {
        if self.path.is_empty() { "<nil>" } else { &self.path }
    }

    /// The entry in `Status.details.causes`.
    pub fn cause(&self) -> StatusCause {
        StatusCause {
            reason: Some(self.kind.reason().to_owned()),
            message: Some(self.body()),
            field: Some(self.field().to_owned()),
        }
    }

    /// The message without the path: `Invalid value: -1: must be greater than or equal to 0`.
    pub fn body(&self) -> String {
        let mut body = self.kind.label().to_owned();
        if self.kind.shows_value()
            && let Some(value) = &self.value
        {
            body.push_str(": ");
            match value {
                Value::String(text) => body.push_str(&quote(text)),
                other => body.push_str(&other.to_string()),
            }
        }
        if !self.detail.is_empty() {
            body.push_str(": ");
            body.push_str(&self.detail);
        }
        body
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field(), self.body())
    }
}

/// The sentence of an `Invalid` status: `Deployment.apps "web" is invalid: [first, second]`.
///
/// Equal errors are said once; a single error stands without brackets.
pub fn invalid_message(kind: &str, group: &str, name: &str, errors: &[FieldError]) -> String {
    let subject = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
    let mut texts: Vec<String> = Vec::with_capacity(errors.len());
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let list = match texts.as_slice() {
        [] => return format!("{subject} {} is invalid", quote(name)),
        [only] => only.clone(),
        many => format!("[{}]", many.join(", ")),
    };
    format!("{subject} {} is invalid: {list}", quote(name))
}

/// A text in double quotes, special characters escaped.
pub(crate) fn quote(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_have_the_form_clients_know() {
        let table = [
            (
                FieldError::invalid("spec.replicas", -1, "too small"),
                "spec.replicas: Invalid value: -1: too small",
            ),
            (FieldError::invalid("spec.name", "a\"b", ""), r#"spec.name: Invalid value: "a\"b""#),
            (FieldError::required("spec.name", ""), "spec.name: Required value"),
            (
                FieldError::not_supported("spec.mode", "x", ["a", "b"]),
                r#"spec.mode: Unsupported value: "x": supported values: "a", "b""#,
            ),
            (FieldError::too_long("data", 1), "data: Too long: may not be more than 1 byte"),
            (FieldError::too_many("list", 3, 2), "list: Too many: 3: must have at most 2 items"),
            (
                FieldError::duplicate("list[1]", json!({"name": "a"})),
                r#"list[1]: Duplicate value: {"name":"a"}"#,
            ),
            (FieldError::forbidden("spec.x", "not here"), "spec.x: Forbidden: not here"),
            (FieldError::invalid("", json!({}), "no"), "<nil>: Invalid value: {}: no"),
        ];
        for (error, want) in table {
            assert_eq!(error.to_string(), want);
        }
    }

    #[test]
    fn several_errors_are_listed_once_each() {
        let first = FieldError::required("spec.a", "");
        let second = FieldError::required("spec.b", "");
        assert_eq!(
            invalid_message("Deployment", "apps", "web", &[first.clone(), second, first.clone()]),
            r#"Deployment.apps "web" is invalid: [spec.a: Required value, spec.b: Required value]"#
        );
        assert_eq!(
            invalid_message("Pod", "", "p", &[first]),
            r#"Pod "p" is invalid: spec.a: Required value"#
        );
    }

    #[test]
    fn causes_carry_reason_message_and_field() {
        let cause = FieldError::invalid("spec.n", 1, "small").cause();
        assert_eq!(cause.reason.as_deref(), Some("FieldValueInvalid"));
        assert_eq!(cause.message.as_deref(), Some("Invalid value: 1: small"));
        assert_eq!(cause.field.as_deref(), Some("spec.n"));
    }

    #[test]
    fn reasons_lead_back_to_their_kind() {
        assert_eq!(FieldErrorKind::from_reason("FieldValueForbidden"), Some(FieldErrorKind::Forbidden));
        assert_eq!(FieldErrorKind::from_reason("Nonsense"), None);
    }
}
