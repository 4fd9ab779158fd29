//! What becomes of one object, from the state of its owners and dependents.

use crate::store::{Entry, Owner};

/// How an owner is, seen from a dependent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnerState {
    /// It exists (or nothing is known against it).
    Solid,
    /// No object has that uid.
    Gone,
    /// It is being deleted in the foreground: its dependents go first, whether they hold it up or not.
    Waiting,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Keep,
    /// Drop the references at these positions; another owner still wants the object.
    DropOwners(Vec<usize>),
    Delete {
        foreground: bool,
    },
}

/// Decides about an object that is not being deleted.
pub(crate) fn step(owners: &[OwnerState], has_dependents: bool) -> Step {
    let at = |state: OwnerState| owners.iter().enumerate().filter(move |(_, owner)| **owner == state);
    let unwanted: Vec<usize> = owners
        .iter()
        .enumerate()
        .filter(|(_, owner)| **owner != OwnerState::Solid)
        .map(|(index, _)| index)
        .collect();
    if unwanted.is_empty() {
        return Step::Keep;
    }
    if at(OwnerState::Solid).next().is_some() {
        return Step::DropOwners(unwanted);
    }
    // Whoever waits for this object also waits for what depends on it.
    Step::Delete { foreground: has_dependents && at(OwnerState::Waiting).next().is_some() }
}

/// A dependent of an owner that is being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dependent {
    pub(crate) blocks: bool,
}

impl Dependent {
    pub(crate) fn of(entry: &Entry, owner_uid: &str) -> Self {
        let reference = entry.meta.owners.iter().find(|owner| *owner.uid == *owner_uid);
        Self { blocks: reference.is_some_and(|reference| reference.block_owner_deletion) }
    }
}

/// Whether an owner that is being deleted in the foreground has nothing left to wait for.
pub(crate) fn is_unblocked(dependents: &[Dependent]) -> bool {
    dependents.iter().all(|dependent| !dependent.blocks)
}

/// The owners that an object blocked and blocks no longer.
pub(crate) fn unblocked_owners<'a>(before: &'a [Owner], now: &'a [Owner]) -> impl Iterator<Item = &'a Owner> {
    let blocks = |owner: &Owner| now.iter().any(|one| one.uid == owner.uid && one.block_owner_deletion);
    before.iter().filter(move |owner| owner.block_owner_deletion && !blocks(owner))
}

#[cfg(test)]
mod tests {
    use super::OwnerState::{Gone, Solid, Waiting};
    use super::*;

    #[test]
    fn an_object_lives_as_long_as_one_owner_wants_it() {
        let rows = [
            ("no owners", vec![], false, Step::Keep),
            ("an owner", vec![Solid], false, Step::Keep),
            ("its owner is gone", vec![Gone], true, Step::Delete { foreground: false }),
            ("all owners are gone", vec![Gone, Gone], false, Step::Delete { foreground: false }),
            ("one of two is gone", vec![Gone, Solid], false, Step::DropOwners(vec![0])),
            ("its owner waits", vec![Waiting], false, Step::Delete { foreground: false }),
            (
                "its owner waits, and it has dependents",
                vec![Waiting],
                true,
                Step::Delete { foreground: true },
            ),
            ("one waits, one wants it", vec![Waiting, Solid], true, Step::DropOwners(vec![0])),
            ("one waits, one is gone", vec![Gone, Waiting], true, Step::Delete { foreground: true }),
        ];
        for (name, owners, has_dependents, want) in rows {
            assert_eq!(step(&owners, has_dependents), want, "{name}");
        }
    }

    #[test]
    fn only_dependents_that_block_are_waited_for() {
        assert!(is_unblocked(&[]));
        assert!(is_unblocked(&[Dependent { blocks: false }]));
        assert!(!is_unblocked(&[Dependent { blocks: false }, Dependent { blocks: true }]));
    }
}
