//! The named fields of an object. Finding one is what every walk does at every step, so it takes one probe as a rule.

use super::{Child, Schema};

/// Named fields of an object, found by name.
#[derive(Debug, Default)]
pub struct Properties {
    /// Sorted by name.
    entries: Box<[(Box<str>, Child)]>,
    /// Where in `entries` a name may be, by its fingerprint: an open table at most half full. `EMPTY` ends a search.
    table: Box<[u16]>,
}

const EMPTY: u16 = u16::MAX;

impl Properties {
    /// The schema of a field.
    pub fn get(&self, name: &str) -> Option<&Schema> {
        self.child(name).map(|child| &**child)
    }

    /// The field of this name, to be shared.
    pub(crate) fn child(&self, name: &str) -> Option<&Child> {
        let mask = self.table.len().checked_sub(1)?;
        let mut slot = fingerprint(name) & mask;
        loop {
            let index = self.table[slot];
            if index == EMPTY {
                return None;
            }
            let (entry, child) = &self.entries[usize::from(index)];
            if **entry == *name {
                return Some(child);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Fields and their schemas, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Schema)> {
        self.entries.iter().map(|(name, child)| (&**name, &**child))
    }

    /// Fields to be shared, sorted by name.
    pub(crate) fn children(&self) -> impl Iterator<Item = (&str, &Child)> {
        self.entries.iter().map(|(name, child)| (&**name, child))
    }

    /// Whether no field is known.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a field, or replaces the one of this name.
    pub(crate) fn insert(&mut self, name: &str, child: Child) {
        let mut entries = std::mem::take(&mut self.entries).into_vec();
        entries.retain(|(entry, _)| **entry != *name);
        entries.push((name.into(), child));
        *self = entries.into_iter().collect();
    }
}

impl FromIterator<(Box<str>, Child)> for Properties {
    fn from_iter<I: IntoIterator<Item = (Box<str>, Child)>>(entries: I) -> Self {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_by(|(left, _), (right, _)| left.cmp(right));
        // Beyond what the table can count, which no schema comes near, fields are unknown.
        entries.truncate(usize::from(EMPTY));
        let table = table(&entries);
        Self { entries: entries.into(), table }
    }
}

fn table(entries: &[(Box<str>, Child)]) -> Box<[u16]> {
    if entries.is_empty() {
        return Box::default();
    }
    let mut table = vec![EMPTY; (entries.len() * 2).next_power_of_two()];
    let mask = table.len() - 1;
    for (index, (name, _)) in entries.iter().enumerate() {
        let mut slot = fingerprint(name) & mask;
        while table[slot] != EMPTY {
            slot = (slot + 1) & mask;
        }
        table[slot] = u16::try_from(index).unwrap_or(EMPTY);
    }
    table.into()
}

/// Length and four of the bytes: enough to tell the fields of one object apart, and no loop.
fn fingerprint(name: &str) -> usize {
    let bytes = name.as_bytes();
    let [.., last] = bytes else { return 0 };
    let length = bytes.len();
    let mix = usize::from(bytes[0])
        ^ (usize::from(bytes[length / 3]) << 5)
        ^ (usize::from(bytes[length * 2 / 3]) << 10)
        ^ (usize::from(*last) << 15)
        ^ (length << 19);
    mix.wrapping_mul(0x9E37_79B9) >> 11
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_found_and_no_other() {
        let names: Vec<String> = (0..200).map(|number| format!("field{number}")).collect();
        let properties: Properties =
            names.iter().map(|name| (name.as_str().into(), Schema::default().into())).collect();
        assert!(names.iter().all(|name| properties.get(name).is_some()));
        assert!(properties.get("").is_none() && properties.get("field200").is_none());
        assert!(Properties::default().get("x").is_none());
    }

    #[test]
    fn inserting_replaces() {
        let mut properties = Properties::default();
        properties.insert("b", Schema::default().into());
        properties.insert("a", Schema::default().into());
        properties.insert("b", Schema { nullable: true, ..Schema::default() }.into());
        assert_eq!(properties.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "b"]);
        assert!(properties.get("b").is_some_and(|schema| schema.nullable));
    }
}
