//! Fields that a JSON document gives more than once: a decoder keeps the last, a strict one refuses.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The paths of fields given twice, in the order in which they are found again; none if it is no JSON.
pub fn duplicate_fields(document: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_slice(document);
    let walk = Walk { path: Path::Root, found: &mut found };
    if walk.deserialize(&mut deserializer).is_err() {
        return Vec::new();
    }
    found
}

/// Where the walk is. Every document is walked and few have duplicates, so a path becomes text only when it is told.
#[derive(Clone, Copy)]
enum Path<'a> {
    Root,
    Member(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Member(Self::Root, key) => formatter.write_str(key),
            Self::Member(parent, key) => write!(formatter, "{parent}.{key}"),
            Self::Item(parent, index) => write!(formatter, "{parent}[{index}]"),
        }
    }
}

/// A walk through one value.
struct Walk<'a> {
    path: Path<'a>,
    found: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// A key, borrowed from the document unless something in it is escaped.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(key.to_owned()))
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
            let walk = Walk { path: Path::Item(&self.path, index), found: &mut *self.found };
            if items.next_element_seed(walk)?.is_none() {
                return Ok(());
            }
            index += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(key) = members.next_key_seed(Key)? {
            let path = Path::Member(&self.path, &key);
            if seen.contains(&key) {
                self.found.push(path.to_string());
                members.next_value::<IgnoredAny>()?;
            } else {
                members.next_value_seed(Walk { path, found: &mut *self.found })?;
                seen.insert(key);
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
        assert_eq!(duplicate_fields(r#"{"caf\u00e9": 1, "café": 2}"#.as_bytes()), ["café"]);
        assert!(duplicate_fields(b"{nonsense").is_empty());
    }
}
