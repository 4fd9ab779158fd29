//! Everything that follows from the accounts as a whole: who stands under whom, what the part of each is.

use std::collections::BTreeSet;

use maar_api::names::DEFAULT_ACCOUNT;

use crate::model::{Account, Amounts, ResourceId, Resources};

use super::{
    super::{
        entry::{Entry, Held},
        share::{Claim, Part, divide},
    },
    Problem, Seat, Tree,
};

impl Tree {
    /// Builds the tree anew, in time with the number of accounts.
    pub(super) fn rebuild(&mut self) {
        self.declare();
        self.link();
        let total = self.total.clone();
        self.entries[0].part = Part { deserved: total.clone(), measure: total, ..Part::default() };
        let down = self.downwards();
        for seat in &down {
            self.divide_among_children(*seat);
        }
        self.sum_up(&down);
    }

    /// Takes over what the accounts say.
    fn declare(&mut self) {
        let mut guarantees = BTreeSet::new();
        for index in 1..self.entries.len() {
            let account = self.accounts.get(&self.entries[index].name).cloned();
            let declared = account.is_some() || self.entries[index].name == DEFAULT_ACCOUNT;
            let account = account.unwrap_or_else(|| Account { weight: 1, ..Account::default() });
            let members = account.members.iter();
            let members =
                members.map(|member| (self.user(&member.user), member.capability.clone())).collect();
            guarantees.extend(account.guaranteed.iter().map(|(resource, _)| resource));
            let entry = &mut self.entries[index];
            entry.declared = declared;
            entry.members = members;
            entry.member_capability = account.member_capability;
            entry.guaranteed = account.guaranteed;
            entry.named = account.deserved;
            entry.capability = account.capability;
            entry.weight = account.weight;
        }
        self.guarantees = guarantees.into_iter().collect();
    }

    /// Puts everybody under its parent, and under the cluster where that is missing or would make a circle.
    fn link(&mut self) {
        for index in 1..self.entries.len() {
            let parent = self.parent_by_name(index).filter(|_| !self.in_circle(index));
            let entry = &mut self.entries[index];
            entry.parent = Some(parent.unwrap_or(Seat::ROOT));
            entry.children.clear();
        }
        self.entries[0].children.clear();
        for index in 1..self.entries.len() {
            let seat = Seat(u32::try_from(index).unwrap_or(u32::MAX));
            if let Some(parent) = self.entries[index].parent {
                self.entries[parent.index()].children.push(seat);
            }
        }
    }

    /// The parent that an account names, if that one was made.
    fn parent_by_name(&self, index: usize) -> Option<Seat> {
        let parent = self.accounts.get(&self.entries[index].name)?.parent.as_ref()?;
        if !self.accounts.contains_key(parent) && parent != DEFAULT_ACCOUNT {
            return None;
        }
        self.numbers.get(parent).copied()
    }

    /// Whether going up from an account leads back to it.
    fn in_circle(&self, index: usize) -> bool {
        let mut at = self.parent_by_name(index);
        for _ in 0..self.entries.len() {
            match at {
                Some(seat) if seat.index() == index => return true,
                Some(seat) => at = self.parent_by_name(seat.index()),
                None => return false,
            }
        }
        false
    }

    /// All seats, parents before children.
    fn downwards(&self) -> Vec<Seat> {
        let mut all = vec![Seat::ROOT];
        let mut next = 0;
        while let Some(seat) = all.get(next) {
            all.extend(&self.entries[seat.index()].children);
            next += 1;
        }
        all
    }

    fn divide_among_children(&mut self, seat: Seat) {
        let children = self.entries[seat.index()].children.clone();
        let mut parts = vec![Part::default(); children.len()];
        let mut named = Vec::new();
        for (resource, _) in self.total.iter() {
            let parent = &self.entries[seat.index()].part;
            let (deserved, whole) = (parent.deserved.get(resource), parent.whole(resource));
            let claims: Vec<Claim> =
                children.iter().map(|child| claim(&self.entries[child.index()], resource)).collect();
            if claims.iter().any(|claim| claim.deserved > 0) {
                named.push(resource);
            }
            for (part, divided) in parts.iter_mut().zip(divide(deserved, whole, &claims)) {
                part.deserved.set(resource, divided.0);
                part.extra.set(resource, divided.1);
                part.measure.set(resource, divided.2);
            }
        }
        for (child, part) in children.into_iter().zip(parts) {
            self.entries[child.index()].part = Part { named: named.clone(), ..part };
        }
    }

    /// Sums up use and guarantees, children before parents.
    fn sum_up(&mut self, down: &[Seat]) {
        for entry in &mut self.entries {
            entry.used = Held::default();
            entry.owed = Amounts::default();
            entry.owed_below = Amounts::default();
        }
        for seat in down.iter().rev() {
            let entry = &mut self.entries[seat.index()];
            entry.used.sum(&entry.own.clone());
            entry.measure();
            let (used, parent) = (entry.used.clone(), entry.parent);
            if let Some(parent) = parent {
                self.entries[parent.index()].used.sum(&used);
            }
            self.owe(*seat);
        }
    }
}

fn claim(entry: &Entry, resource: ResourceId) -> Claim {
    // A weight of zero means: only what nobody else wants.
    let weight = if entry.weight == 0 { 1 } else { i64::from(entry.weight) * 1000 };
    Claim { deserved: entry.named.get(resource).max(0), weight }
}

/// What is wrong with the accounts.
pub(super) fn problems(tree: &Tree, resources: &Resources) -> Vec<Problem> {
    let mut found = BTreeSet::new();
    for (index, entry) in tree.entries.iter().enumerate().skip(1) {
        let Some(parent) = tree.accounts.get(&entry.name).and_then(|account| account.parent.clone()) else {
            continue;
        };
        let account = entry.name.clone();
        if tree.parent_by_name(index).is_none() {
            found.insert(Problem::UnknownParent { account, parent });
        } else if tree.in_circle(index) {
            found.insert(Problem::Cycle { account });
        }
    }
    for entry in &tree.entries {
        for (resource, _) in tree.total.iter() {
            let named =
                entry.children.iter().map(|child| tree.entries[child.index()].named.get(resource)).sum();
            let has = entry.part.deserved.get(resource);
            if named > has {
                let (parent, resource) = (entry.name.clone(), resources.name(resource).to_owned());
                found.insert(Problem::DeservedTooMuch { parent, resource, named, has });
            }
        }
    }
    for resource in &tree.guarantees {
        let named = promised(tree, Seat::ROOT, *resource);
        let has = tree.total.get(*resource);
        if named > has {
            let resource = resources.name(*resource).to_owned();
            found.insert(Problem::GuaranteedTooMuch { resource, named, has });
        }
    }
    found.into_iter().collect()
}

/// What is guaranteed to an account, by itself or through accounts below it.
fn promised(tree: &Tree, seat: Seat, resource: ResourceId) -> i64 {
    let entry = &tree.entries[seat.index()];
    let below = entry.children.iter().map(|child| promised(tree, *child, resource)).sum();
    entry.guaranteed.get(resource).max(below)
}
