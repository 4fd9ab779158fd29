//! Calling the roll: which nodes a whole list of them shows, and what follows for ours.

use std::{collections::BTreeMap, sync::Arc};

/// Names and uids of the nodes of our set while they are being listed.
#[derive(Debug, Default)]
pub(super) struct Roll {
    /// Those that must be in the list because they were registered before it was asked for.
    expected: BTreeMap<Arc<str>, String>,
    seen: BTreeMap<String, String>,
    /// The first list was looked at: what is surplus was left over from before this process.
    called_before: bool,
}

/// What a complete list says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Called {
    /// Ours, but no longer there.
    pub(super) missing: Vec<Arc<str>>,
    /// There with this uid and marked as ours, but not in the profile any more.
    pub(super) surplus: Vec<(String, String)>,
}

impl Roll {
    pub(super) fn begin(&mut self, members: impl Iterator<Item = (Arc<str>, String)>) {
        self.expected = members.collect();
        self.seen.clear();
    }

    /// A node that carries the name of our set.
    pub(super) fn see(&mut self, name: &str, uid: &str) {
        self.seen.insert(name.to_owned(), uid.to_owned());
    }

    /// The list is complete.
    pub(super) fn end(&mut self, is_member: impl Fn(&str) -> bool) -> Called {
        let seen = std::mem::take(&mut self.seen);
        let missing = std::mem::take(&mut self.expected)
            .into_iter()
            .filter(|(name, uid)| seen.get(&**name) != Some(uid))
            .map(|(name, _)| name)
            .collect();
        let first = !std::mem::replace(&mut self.called_before, true);
        let surplus = seen.into_iter().filter(|(name, _)| first && !is_member(name)).collect();
        Called { missing, surplus }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(names: &[&str]) -> Vec<(Arc<str>, String)> {
        names.iter().map(|name| (Arc::from(*name), format!("uid-{name}"))).collect()
    }

    #[test]
    fn what_is_missing_is_forgotten_and_what_is_left_over_is_removed_once() {
        let mut roll = Roll::default();
        roll.begin(members(&["a", "b", "c"]).into_iter());
        roll.see("a", "uid-a");
        roll.see("b", "another");
        roll.see("old", "uid-old");
        // Registered while the list was under way: neither missing nor surplus.
        roll.see("new", "uid-new");
        let called = roll.end(|name| ["a", "b", "c", "new"].contains(&name));
        assert_eq!(called.missing, [Arc::from("b"), Arc::from("c")]);
        assert_eq!(called.surplus, [("old".to_owned(), "uid-old".to_owned())]);
        roll.begin(members(&["a"]).into_iter());
        roll.see("a", "uid-a");
        roll.see("removed-later", "x");
        assert_eq!(roll.end(|name| name == "a"), Called::default());
    }
}
