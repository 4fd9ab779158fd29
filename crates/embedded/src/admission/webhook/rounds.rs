//! Who is asked again: a webhook that wants to may see what others made of the object after it was asked.

use std::collections::BTreeSet;

/// The first round asks everybody, the second those whose picture is out of date. There is no third.
#[derive(Debug, Default)]
pub(in crate::admission) struct Rounds {
    second: bool,
    changed: bool,
    /// Those that want to be asked again and have seen the object as it is.
    current: BTreeSet<usize>,
    outdated: BTreeSet<usize>,
}

impl Rounds {
    /// Whether any webhook changed the object.
    pub(in crate::admission) fn changed(&self) -> bool {
        self.changed
    }

    /// The plugins have run again; if that changed the object, everybody's picture is out of date.
    pub(in crate::admission) fn begin_second(&mut self, plugins_changed: bool) {
        self.second = true;
        if plugins_changed {
            self.outdated.append(&mut self.current);
        }
    }

    pub(super) fn is_due(&self, index: usize) -> bool {
        !self.second || self.outdated.contains(&index)
    }

    pub(super) fn asked(&mut self, index: usize, changed: bool, reinvocable: bool) {
        if changed {
            self.changed = true;
            self.outdated.append(&mut self.current);
        }
        if reinvocable {
            self.current.insert(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_before_a_change_are_asked_again() {
        let mut rounds = Rounds::default();
        rounds.asked(0, false, true);
        rounds.asked(1, false, false);
        rounds.asked(2, true, true);
        rounds.asked(3, false, true);
        rounds.begin_second(false);
        let due: Vec<usize> = (0..4).filter(|index| rounds.is_due(*index)).collect();
        assert_eq!(due, [0]);
    }

    #[test]
    fn a_change_by_the_plugins_concerns_everybody_who_wants_to_know() {
        let mut rounds = Rounds::default();
        rounds.asked(0, true, true);
        rounds.asked(1, false, true);
        rounds.asked(2, false, false);
        rounds.begin_second(true);
        let due: Vec<usize> = (0..3).filter(|index| rounds.is_due(*index)).collect();
        assert_eq!(due, [0, 1]);
    }
}
