//! `format()`: what the engine writes for `%s` differs from what `string()` answers, so it is given texts.

use std::sync::Arc;

use kube_cel::cel::Value;

use super::convert::string;
use crate::schema::rules::{engine, evaluate::Answer, unordered::items};

/// The same call with values of `%s` written already; `None` where there are none that the engine would write otherwise.
pub(super) fn format(pattern: &Arc<String>, list: &Value) -> Option<Answer> {
    let values = items(list)?;
    let mut verbs = verbs(pattern);
    let written = |value: &Value| {
        let other =
            matches!(value, Value::Float(_) | Value::Timestamp(_) | Value::Duration(_) | Value::Bytes(_));
        if verbs.next() == Some('s') && other { string(value) } else { Ok(value.clone()) }
    };
    Some(values.iter().map(written).collect::<Result<Vec<_>, _>>().and_then(|values| {
        let arguments = [Value::List(Arc::new(values))];
        engine::method("format", &Value::String(pattern.clone()), &arguments)
    }))
}

/// The letters of the places that a value is written to.
pub(in crate::schema::rules) fn verbs(pattern: &str) -> impl Iterator<Item = char> {
    let mut rest = pattern.chars();
    std::iter::from_fn(move || {
        loop {
            rest.find(|character| *character == '%')?;
            let verb = rest.find(|character| character.is_ascii_alphabetic() || *character == '%')?;
            if verb != '%' {
                return Some(verb);
            }
        }
    })
}
