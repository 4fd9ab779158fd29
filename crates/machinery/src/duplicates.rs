//! Fields that a JSON document gives more than once: a decoder keeps the last, a strict one refuses.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The paths of fields given twice, in the order in which they are found again; none if it is no JSON.
pub fn duplicate_fields(document: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_slice(document);
    let walk = Walk { path: String::new(), found: &mut found };
    if walk.deserialize(&mut deserializer).is_err() {
        return Vec::new();
    }
    found
}

/// A walk through one value.
struct Walk<'a> {
    path: String,
    found: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Values without members need no look.
macro_rules! plain {
    ($($visit:ident: $kind:ty),*) => {
        $(fn $visit<E>(self, _: $kind) -> Result<(), E> { Ok(()) })*
    };
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON")
    }

    plain!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut index = 0;
        loop {
            let walk = Walk { path: format!("{}[{index}]", self.path), found: &mut *self.found };
            if items.next_element_seed(walk)?.is_none() {
                return Ok(());
            }
            index += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(key) = members.next_key::<String>()? {
            let path = if self.path.is_empty() { key.clone() } else { format!("{}.{key}", self.path) };
            if seen.insert(key) {
                members.next_value_seed(Walk { path, found: &mut *self.found })?;
            } else {
                self.found.push(path);
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_given_twice_are_named_by_their_path() {
        let document =
            br#"{"a": 1, "b": {"c": [1, {"d": true, "d": null}], "c": 2}, "a": "x", "e": {"a": 1.5}}"#;
        assert_eq!(duplicate_fields(document), ["b.c[1].d", "b.c", "a"]);
        assert!(duplicate_fields(br#"{"a": {"b": 1}, "c": {"b": 1}}"#).is_empty());
        assert!(duplicate_fields(b"{nonsense").is_empty());
    }
}
