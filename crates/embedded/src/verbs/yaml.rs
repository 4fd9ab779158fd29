//! Bodies in YAML.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::{DuplicateKeyPolicy, Spanned};

use crate::status::ApiError;

/// Reads a body as YAML. Of a key given twice the last counts, as in JSON.
pub(crate) fn decode_yaml(body: &[u8]) -> Result<Value, ApiError> {
    // JSON is YAML, and is what Rust clients and kubectl send.
    if let Ok(value) = serde_json::from_slice(body) {
        return Ok(value);
    }
    let text = std::str::from_utf8(body)
        .map_err(|_| ApiError::bad_request("error decoding YAML: the body is not UTF-8"))?;
    let options = serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::LastWins };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| ApiError::bad_request(format!("error decoding YAML: {error}")))
}

/// What to say about keys that a body gives twice; nothing if it is no YAML. Most bodies are JSON, which programs write
/// and which is not worth a second, slower reading.
pub(crate) fn yaml_keys_twice(body: &[u8]) -> Vec<String> {
    let Ok(text) = std::str::from_utf8(body) else { return Vec::new() };
    if text.trim_start().starts_with('{') {
        return Vec::new();
    }
    let options = serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::LastWins };
    serde_saphyr::from_str_with_options(text, options).map_or_else(|_| Vec::new(), |Twice(found)| found)
}

/// Deserializes anything into what is twice in it.
struct Twice(Vec<String>);

impl<'de> Deserialize<'de> for Twice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Walk)
    }
}

struct Walk;

macro_rules! nothing_in {
    ($($visit:ident: $kind:ty),*) => {
        $(fn $visit<E>(self, _: $kind) -> Result<Twice, E> { Ok(Twice(Vec::new())) })*
    };
}

impl<'de> Visitor<'de> for Walk {
    type Value = Twice;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("YAML")
    }

    nothing_in!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_i128: i128, visit_u128: u128, visit_f64: f64, visit_str: &str);

    fn visit_unit<E>(self) -> Result<Twice, E> {
        Ok(Twice(Vec::new()))
    }

    fn visit_none<E>(self) -> Result<Twice, E> {
        Ok(Twice(Vec::new()))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Twice, D::Error> {
        Twice::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Twice, A::Error> {
        let mut found = Vec::new();
        while let Some(Twice(mut inside)) = items.next_element()? {
            found.append(&mut inside);
        }
        Ok(Twice(found))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Twice, A::Error> {
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        while let Some(key) = members.next_key::<Spanned<String>>()? {
            if seen.contains(&key.value) {
                let line = key.referenced.line();
                found.push(format!("line {line}: key {:?} already set in map", key.value));
                members.next_value::<IgnoredAny>()?;
            } else {
                seen.insert(key.value);
                found.append(&mut members.next_value::<Twice>()?.0);
            }
        }
        Ok(Twice(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_given_twice_are_told_with_their_lines() {
        let text = "a: 1\nlist:\n- {x: 1, x: 2}\n- k: a\n  k: b\nmap:\n  a: ~\n  b: 1.5\n  a: yes\na: 2\n";
        let want = ["line 3: key \"x\"", "line 5: key \"k\"", "line 9: key \"a\"", "line 10: key \"a\""]
            .map(|start| format!("{start} already set in map"));
        assert_eq!(yaml_keys_twice(text.as_bytes()), want);
        assert!(yaml_keys_twice(b"a: {b: 1}\nc: {b: 2}\n").is_empty());
        assert!(yaml_keys_twice(b"a: b: c").is_empty());
    }
}
