//! Field selectors: terms over a few named fields of an object.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use super::SelectorError;

/// Terms that all must hold. The empty selector matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    terms: Vec<FieldTerm>,
}

/// One comparison of a field with a value; a field that is absent counts as empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldTerm {
    /// The field, such as `metadata.name`.
    pub field: String,
    /// Whether the field must differ from the value.
    pub negated: bool,
    /// What it is compared with.
    pub value: String,
}

impl FieldSelector {
    /// The selector of these terms.
    pub fn new(terms: impl IntoIterator<Item = FieldTerm>) -> Self {
        Self { terms: terms.into_iter().collect() }
    }

    /// Reads the query form; a backslash keeps `,`, `=` and itself from meaning anything.
    pub fn parse(query: &str) -> Result<Self, SelectorError> {
        let mut parts: Vec<&str> = split(query).into_iter().filter(|part| !part.is_empty()).collect();
        parts.sort_unstable();
        let terms = parts.into_iter().map(|part| term(query, part)).collect::<Result<_, _>>()?;
        Ok(Self { terms })
    }

    /// Whether all terms hold for the fields that `lookup` knows; `None` counts as the empty string.
    pub fn matches<'a>(&self, lookup: impl Fn(&str) -> Option<Cow<'a, str>>) -> bool {
        self.terms.iter().all(|term| {
            let found = lookup(&term.field);
            (found.as_deref().unwrap_or_default() == term.value) != term.negated
        })
    }

    /// Whether an object in JSON has the fields, each found by its dotted path.
    pub fn matches_object(&self, object: &Value) -> bool {
        self.matches(|path| field_of(object, path))
    }

    /// The value a field must have, where the selector says so.
    pub fn exact(&self, field: &str) -> Option<&str> {
        self.terms.iter().find(|term| term.field == field && !term.negated).map(|term| term.value.as_str())
    }

    /// The terms, for a check of which fields a resource can be selected by.
    pub fn terms(&self) -> &[FieldTerm] {
        &self.terms
    }

    /// Whether the selector matches everything.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

/// The text of the scalar at a dotted path, such as `status.phase`.
pub fn field_of<'a>(object: &'a Value, path: &str) -> Option<Cow<'a, str>> {
    match path.split('.').try_fold(object, |value, name| value.get(name))? {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Bool(flag) => Some(Cow::Borrowed(if *flag { "true" } else { "false" })),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn split(query: &str) -> Vec<&str> {
    let mut escaped = false;
    query
        .split(|c| {
            let ends = c == ',' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })
        .collect()
}

fn term(query: &str, part: &str) -> Result<FieldTerm, SelectorError> {
    let misread = || SelectorError::Syntax(format!("invalid selector: '{query}'; can't understand '{part}'"));
    let at = part
        .char_indices()
        .find(|(index, c)| *c == '=' || (*c == '!' && part[index + 1..].starts_with('=')))
        .map(|(index, _)| index)
        .ok_or_else(misread)?;
    let (field, rest) = part.split_at(at);
    let operator = ["!=", "==", "="].into_iter().find(|operator| rest.starts_with(operator));
    let operator = operator.ok_or_else(misread)?;
    let value = unescape(&rest[operator.len()..])?;
    Ok(FieldTerm { field: field.to_owned(), negated: operator == "!=", value })
}

fn unescape(text: &str) -> Result<String, SelectorError> {
    let invalid = |what: String| SelectorError::Syntax(format!("invalid field selector: {what}"));
    let mut value = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(next @ ('\\' | ',' | '=')) => value.push(next),
                next => {
                    let next = next.map(String::from).unwrap_or_default();
                    return Err(invalid(format!("invalid escape sequence: \\{next}")));
                }
            },
            ',' | '=' => return Err(invalid(format!("unescaped character in value: {}", u32::from(c)))),
            other => value.push(other),
        }
    }
    Ok(value)
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let operator = if term.negated { "!=" } else { "=" };
            write!(out, "{comma}{}{operator}", term.field)?;
            for c in term.value.chars() {
                let escape = if matches!(c, '\\' | ',' | '=') { "\\" } else { "" };
                write!(out, "{escape}{c}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_compared_as_text_and_absent_is_empty() {
        let pod = json!({
            "metadata": {"name": "a"},
            "spec": {"nodeName": "n1", "hostNetwork": true},
            "status": {"phase": "Running", "restarts": 3},
        });
        for (query, want) in [
            ("", true),
            ("metadata.name=a", true),
            ("metadata.name==a,status.phase!=Pending", true),
            ("status.phase!=Running", false),
            ("spec.schedulerName=", true),
            ("spec.schedulerName!=", false),
            ("spec.hostNetwork=true,status.restarts=3", true),
        ] {
            assert_eq!(FieldSelector::parse(query).unwrap().matches_object(&pod), want, "{query}");
        }
    }

    #[test]
    fn faults_are_named() {
        for (query, want) in [
            ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
            ("a=b=c", "invalid field selector: unescaped character in value: 61"),
            ("a=\\b", "invalid field selector: invalid escape sequence: \\b"),
            ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
        ] {
            assert_eq!(FieldSelector::parse(query).unwrap_err().to_string(), want, "{query}");
        }
    }

    #[test]
    fn the_exact_value_of_a_field_is_known_to_the_caller() {
        let selector = FieldSelector::parse("metadata.name=a,status.phase!=Failed").unwrap();
        assert_eq!(selector.exact("metadata.name"), Some("a"));
        assert_eq!(selector.exact("status.phase"), None);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_the_same(value in "[a-z,=\\\\!]{0,8}", negated: bool) {
            let term = FieldTerm { field: "metadata.name".into(), negated, value };
            let selector = FieldSelector::new([term]);
            prop_assert_eq!(FieldSelector::parse(&selector.to_string()).unwrap(), selector);
        }
    }
}
