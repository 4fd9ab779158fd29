//! The tree of accounts: use, parts and limits.

mod build;
mod space;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use maar_api::names::DEFAULT_ACCOUNT;

use crate::model::{Account, Amounts, ResourceId, Resources, ServiceLevel};

use space::Space;

use super::{
    Excess, Limit, Payer, Problem, Seat, Share, SpaceId, UserId,
    entry::{Entry, Held, by_level, exceeded},
};

/// How far an account is from its part, for a claim on work of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Within what it deserves.
    Deserved,
    /// Above that, within its part of what nobody deserves.
    Extra,
    /// Above both.
    Over,
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Tree {
    accounts: BTreeMap<String, Account>,
    entries: Vec<Entry>,
    numbers: HashMap<String, Seat>,
    users: HashMap<String, UserId>,
    user_names: Vec<String>,
    spaces: Vec<Space>,
    space_numbers: HashMap<String, SpaceId>,
    total: Amounts,
    /// Free on nodes that take new Pods.
    free: Amounts,
    /// Resources of which something is guaranteed to somebody.
    guarantees: Vec<ResourceId>,
    stale: bool,
    revision: u64,
}

impl Default for Tree {
    fn default() -> Self {
        let mut tree = Self {
            accounts: BTreeMap::new(),
            entries: vec![Entry { name: "the cluster".to_owned(), declared: true, ..Entry::default() }],
            numbers: HashMap::new(),
            users: HashMap::new(),
            user_names: Vec::new(),
            spaces: Vec::new(),
            space_numbers: HashMap::new(),
            total: Amounts::default(),
            free: Amounts::default(),
            guarantees: Vec::new(),
            stale: true,
            revision: 0,
        };
        tree.seat(DEFAULT_ACCOUNT);
        tree
    }
}

impl Tree {
    /// An account was seen.
    pub fn upsert(&mut self, account: Account) {
        if self.accounts.get(&account.name) == Some(&account) {
            return;
        }
        self.seat(&account.name);
        self.accounts.insert(account.name.clone(), account);
        self.stale = true;
    }

    /// An account is gone. What runs on it stays counted; nothing more starts.
    pub fn remove(&mut self, name: &str) {
        self.stale |= self.accounts.remove(name).is_some();
    }

    /// What the nodes have in all.
    pub fn set_total(&mut self, total: Amounts) {
        if self.total != total {
            self.total = total;
            self.stale = true;
        }
    }

    /// What is free on nodes that take new Pods. [`Self::charge`] and [`Self::refund`] leave it alone.
    pub fn set_free(&mut self, free: Amounts) {
        self.free = free;
    }

    /// Whether something is guaranteed to anybody, so that [`Self::set_free`] matters.
    pub fn has_guarantees(&self) -> bool {
        !self.guarantees.is_empty()
    }

    /// The seat of an account; one that does not exist has a seat too. No name means the default account.
    pub fn seat(&mut self, name: &str) -> Seat {
        let name = if name.is_empty() { DEFAULT_ACCOUNT } else { name };
        if let Some(seat) = self.numbers.get(name) {
            return *seat;
        }
        let seat = Seat(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        self.entries.push(Entry { name: name.to_owned(), ..Entry::default() });
        self.numbers.insert(name.to_owned(), seat);
        self.stale = true;
        seat
    }

    /// The number of a user.
    pub fn user(&mut self, name: &str) -> UserId {
        if let Some(user) = self.users.get(name) {
            return *user;
        }
        let user = UserId(u32::try_from(self.user_names.len()).unwrap_or(u32::MAX));
        self.user_names.push(name.to_owned());
        self.users.insert(name.to_owned(), user);
        user
    }

    /// Brings everything derived up to date after accounts or totals changed. Says whether it had to.
    pub fn settle(&mut self) -> bool {
        let stale = std::mem::take(&mut self.stale);
        if stale {
            self.rebuild();
            self.revision += 1;
        }
        stale
    }

    /// Counts something as in use.
    pub fn charge(&mut self, payer: Payer, amounts: &Amounts) {
        self.change(payer, |held| held.add(payer.level, amounts));
    }

    /// Counts something as given back.
    pub fn refund(&mut self, payer: Payer, amounts: &Amounts) {
        self.change(payer, |held| held.take(payer.level, amounts));
    }

    /// Something in use has been asked to go. For turns and parts it is gone; limits count it until [`Self::left`].
    pub fn leave(&mut self, payer: Payer, amounts: &Amounts) {
        self.change(payer, |held| {
            held.take(payer.level, amounts);
            held.leaving += amounts;
        });
    }

    /// What had been asked to go has gone.
    pub fn left(&mut self, payer: Payer, amounts: &Amounts) {
        self.change(payer, |held| held.leaving -= amounts);
    }

    /// What had been asked to go stays after all.
    pub fn stay(&mut self, payer: Payer, amounts: &Amounts) {
        self.left(payer, amounts);
        self.charge(payer, amounts);
    }

    fn change(&mut self, payer: Payer, change: impl Fn(&mut Held)) {
        if let Some(space) = self.spaces.get_mut(payer.space.index()) {
            change(&mut space.held);
        }
        let entry = &mut self.entries[payer.seat.index()];
        change(&mut entry.own);
        let member = entry.by_user.entry(payer.user).or_default();
        change(member);
        if member.all.is_zero() && member.leaving.is_zero() {
            entry.by_user.remove(&payer.user);
        }
        self.climb(payer.seat, |entry| change(&mut entry.used));
    }

    /// Changes an account and all above it, and what follows from the change.
    fn climb(&mut self, seat: Seat, mut change: impl FnMut(&mut Entry)) {
        let mut at = Some(seat);
        while let Some(seat) = at {
            let entry = &mut self.entries[seat.index()];
            change(entry);
            entry.measure();
            at = entry.parent;
            if !self.guarantees.is_empty() {
                self.owe(seat);
            }
        }
    }

    /// Counts anew what is owed to an account, and tells its parent.
    fn owe(&mut self, seat: Seat) {
        for resource in &self.guarantees {
            let entry = &mut self.entries[seat.index()];
            let owed = entry.owed_with(*resource, 0, entry.owed_below.get(*resource));
            let change = owed - entry.owed.get(*resource);
            if change == 0 {
                continue;
            }
            entry.owed.set(*resource, owed);
            if let Some(parent) = entry.parent {
                let below = &mut self.entries[parent.index()].owed_below;
                below.set(*resource, below.get(*resource) + change);
            }
        }
    }

    /// Whether an account may have `asked` on top of what it has.
    pub fn admit(&self, payer: Payer, asked: &Amounts) -> Result<(), Limit> {
        let entry = &self.entries[payer.seat.index()];
        if !entry.declared {
            return Err(Limit::NoAccount { account: entry.name.clone() });
        }
        // Before those of accounts: room under these can be made by best-effort work that goes, and none under this one.
        self.admit_in_space(payer.space, asked)?;
        if let Some(excess) = exceeded(entry.limits_of(payer.user), &entry.held_by(payer.user), asked) {
            return Err(Limit::Member { account: payer.seat, user: payer.user, excess });
        }
        for seat in self.chain(payer.seat) {
            let entry = &self.entries[seat.index()];
            if let Some(excess) = exceeded(&entry.capability, &entry.used, asked) {
                return Err(Limit::Capability { account: seat, excess });
            }
        }
        self.keep(payer.seat, asked)
    }

    /// Whether an account may have `asked` on top of what it has, by its limits and those above it, when everybody has
    /// left who was asked to go.
    pub fn within_limits_when_left(&self, payer: Payer, asked: &Amounts) -> bool {
        let fits = |limits: &[_], held: &Held| {
            let held = Held { leaving: Amounts::default(), ..held.clone() };
            exceeded(limits, &held, asked).is_none()
        };
        let entry = &self.entries[payer.seat.index()];
        let member = fits(entry.limits_of(payer.user), &entry.held_by(payer.user));
        let mut above = self.chain(payer.seat).map(|seat| &self.entries[seat.index()]);
        entry.declared && member && above.all(|entry| fits(&entry.capability, &entry.used))
    }

    /// Whether the limit of an account refuses `asked`, or the one that the payer's own account sets for its members.
    pub fn refuses(&self, seat: Seat, payer: Payer, asked: &Amounts) -> bool {
        let entry = &self.entries[seat.index()];
        let member = || exceeded(entry.limits_of(payer.user), &entry.held_by(payer.user), asked).is_some();
        exceeded(&entry.capability, &entry.used, asked).is_some() || (seat == payer.seat && member())
    }

    /// The topmost account on the way up that has more than it may, itself or by the member, until those have left who
    /// were asked to go.
    pub fn over_until_left(&self, payer: Payer) -> Option<Seat> {
        let over = |limits: &[(ResourceId, i64)], held: &Held| {
            limits.iter().any(|(resource, cap)| {
                let leaving = held.leaving.get(*resource);
                leaving > 0 && held.all.get(*resource).saturating_add(leaving) > *cap
            })
        };
        let entry = &self.entries[payer.seat.index()];
        let member = over(entry.limits_of(payer.user), &entry.held_by(payer.user));
        let above = self.chain(payer.seat).filter(|seat| {
            let entry = &self.entries[seat.index()];
            over(&entry.capability, &entry.used)
        });
        above.last().or(member.then_some(payer.seat))
    }

    /// Whether what is guaranteed to others stays free when an account takes `asked`.
    pub fn leaves_guarantees(&self, payer: Payer, asked: &Amounts) -> bool {
        self.keep(payer.seat, asked).is_ok()
    }

    /// Refuses what would be taken from under a guarantee of others.
    fn keep(&self, seat: Seat, asked: &Amounts) -> Result<(), Limit> {
        for resource in &self.guarantees {
            let more = asked.get(*resource);
            if more == 0 {
                continue;
            }
            let (before, after) = self.owed_by_all(seat, *resource, more);
            let paid_by_own = before - after >= more;
            if !paid_by_own && self.free.get(*resource) - more < after {
                let (asked, cap) = (more, self.free.get(*resource));
                return Err(Limit::Kept { excess: Excess { resource: *resource, used: after, asked, cap } });
            }
        }
        Ok(())
    }

    /// What is owed to all, before and after an account takes `more`.
    fn owed_by_all(&self, seat: Seat, resource: ResourceId, more: i64) -> (i64, i64) {
        let mut change = 0;
        for seat in self.chain(seat) {
            let entry = &self.entries[seat.index()];
            let below = entry.owed_below.get(resource) + change;
            change = entry.owed_with(resource, more, below) - entry.owed.get(resource);
        }
        let before = self.entries[Seat::ROOT.index()].owed.get(resource);
        (before, before + change)
    }

    /// An account and all above it, the cluster last.
    pub fn chain(&self, seat: Seat) -> impl Iterator<Item = Seat> + '_ {
        std::iter::successors(Some(seat), |seat| self.entries[seat.index()].parent)
    }

    /// How full an account is, for its guaranteed or its best-effort work.
    pub fn share(&self, seat: Seat, level: ServiceLevel) -> Share {
        self.entries[seat.index()].shares[by_level(level)]
    }

    /// How much of its whole part an account has, in the resource it has most of: 1 is all of it.
    #[expect(clippy::cast_precision_loss, reason = "for people to read")]
    pub fn fullness(&self, seat: Seat, level: ServiceLevel) -> f64 {
        let entry = &self.entries[seat.index()];
        let used = if level == ServiceLevel::Guaranteed { &entry.used.guaranteed } else { &entry.used.all };
        let of =
            |(resource, amount): (ResourceId, i64)| amount as f64 / entry.part.whole(resource).max(1) as f64;
        entry.part.deciding(used).map(of).fold(0.0, f64::max)
    }

    /// The same, for what runs on it directly and not on accounts below it.
    pub(super) fn own_share(&self, seat: Seat, level: ServiceLevel) -> Share {
        self.entries[seat.index()].own_shares[by_level(level)]
    }

    /// The account above.
    pub fn parent(&self, seat: Seat) -> Option<Seat> {
        self.entries[seat.index()].parent
    }

    /// How many seats have been given out.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The name of an account.
    pub fn name(&self, seat: Seat) -> &str {
        &self.entries[seat.index()].name
    }

    /// The name of a user.
    pub fn user_name(&self, user: UserId) -> &str {
        self.user_names.get(usize::try_from(user.0).unwrap_or(usize::MAX)).map_or("", String::as_str)
    }

    /// The account as it was given.
    pub fn account(&self, seat: Seat) -> Option<&Account> {
        self.accounts.get(self.name(seat))
    }

    /// All accounts as they were given, by name.
    pub fn accounts(&self) -> impl Iterator<Item = &Account> {
        self.accounts.values()
    }

    /// What an account and all below it use.
    pub fn used(&self, seat: Seat) -> &Amounts {
        &self.entries[seat.index()].used.all
    }

    /// What an account deserves, after dividing and shrinking.
    pub fn deserved(&self, seat: Seat) -> &Amounts {
        &self.entries[seat.index()].part.deserved
    }

    /// Where an account would stand with `asked` on top, in the worst of the resources that decide. Guaranteed work
    /// only.
    pub fn standing(&self, seat: Seat, asked: &Amounts) -> Standing {
        let entry = &self.entries[seat.index()];
        let of = |(resource, more): (ResourceId, i64)| {
            let used = entry.used.guaranteed.get(resource).saturating_add(more);
            if used <= entry.part.deserved.get(resource) {
                Standing::Deserved
            } else if used <= entry.part.whole(resource) {
                Standing::Extra
            } else {
                Standing::Over
            }
        };
        entry.part.deciding(asked).map(of).max().unwrap_or(Standing::Deserved)
    }

    /// Whether an account has more than it deserves (or, for a claim beyond that, than its whole part) of something
    /// that is asked for.
    pub fn exceeds(&self, seat: Seat, asked: &Amounts, claim: Standing) -> bool {
        let entry = &self.entries[seat.index()];
        entry.part.deciding(asked).any(|(resource, _)| {
            let part = match claim {
                Standing::Deserved => entry.part.deserved.get(resource),
                Standing::Extra | Standing::Over => entry.part.whole(resource),
            };
            entry.used.guaranteed.get(resource) > part
        })
    }

    /// What is wrong with the accounts, by name.
    pub fn problems(&self, resources: &Resources) -> Vec<Problem> {
        build::problems(self, resources)
    }
}
