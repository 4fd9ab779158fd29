//! What accounts and their members hold.

use std::collections::{BTreeMap, HashMap};

use super::Ledger;
use crate::model::{Account, AccountId, Amounts, ServiceLevel};

/// What is held, by service level.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Usage {
    /// By work that may be stopped for others.
    pub best_effort: Amounts,
    /// By work that may not, as long as its account is within its deserved part.
    pub guaranteed: Amounts,
}

impl Usage {
    /// Of one level.
    pub fn of(&self, level: ServiceLevel) -> &Amounts {
        match level {
            ServiceLevel::BestEffort => &self.best_effort,
            ServiceLevel::Guaranteed => &self.guaranteed,
        }
    }

    /// Of both levels.
    pub fn total(&self) -> Amounts {
        let mut all = self.best_effort.clone();
        all += &self.guaranteed;
        all
    }

    fn of_mut(&mut self, level: ServiceLevel) -> &mut Amounts {
        match level {
            ServiceLevel::BestEffort => &mut self.best_effort,
            ServiceLevel::Guaranteed => &mut self.guaranteed,
        }
    }

    fn add(&mut self, other: &Self) {
        self.best_effort += &other.best_effort;
        self.guaranteed += &other.guaranteed;
    }

    fn is_zero(&self) -> bool {
        self.best_effort.is_zero() && self.guaranteed.is_zero()
    }
}

/// An account and what it holds.
#[derive(Debug, Clone)]
pub struct AccountState {
    /// Its number.
    pub id: AccountId,
    /// Its name.
    pub name: String,
    /// The account, once it was seen. Groups may name one that does not exist.
    pub account: Option<Account>,
    /// It and the accounts above it, upwards. A circle of parents ends where it closes.
    pub chain: Vec<AccountId>,
    /// Held by its own groups.
    pub own: Usage,
    /// Held by it and all accounts below it.
    pub usage: Usage,
    /// Held by its members.
    pub users: BTreeMap<String, Usage>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Accounts {
    states: Vec<AccountState>,
    numbers: HashMap<String, AccountId>,
}

impl Accounts {
    pub(super) fn number(&mut self, name: &str) -> AccountId {
        if let Some(known) = self.numbers.get(name) {
            return *known;
        }
        let id = AccountId(u32::try_from(self.states.len()).unwrap_or(u32::MAX));
        self.states.push(AccountState {
            id,
            name: name.to_owned(),
            account: None,
            chain: vec![id],
            own: Usage::default(),
            usage: Usage::default(),
            users: BTreeMap::new(),
        });
        self.numbers.insert(name.to_owned(), id);
        id
    }

    pub(super) fn get(&self, id: AccountId) -> Option<&AccountState> {
        self.states.get(usize::try_from(id.0).ok()?)
    }

    fn get_mut(&mut self, id: AccountId) -> Option<&mut AccountState> {
        self.states.get_mut(usize::try_from(id.0).ok()?)
    }

    /// Adds to (or takes from) what a member of an account holds, and the accounts above.
    pub(super) fn count(
        &mut self,
        id: AccountId,
        user: &str,
        level: ServiceLevel,
        amounts: &Amounts,
        add: bool,
    ) {
        let change = |usage: &mut Usage| {
            let part = usage.of_mut(level);
            if add { *part += amounts } else { *part -= amounts }
        };
        let Some(state) = self.get_mut(id) else { return };
        change(&mut state.own);
        let member = state.users.entry(user.to_owned()).or_default();
        change(member);
        if member.is_zero() {
            state.users.remove(user);
        }
        for above in state.chain.clone() {
            if let Some(state) = self.get_mut(above) {
                change(&mut state.usage);
            }
        }
    }

    /// The tree changed, which is rare: finds every chain again and sums up.
    fn rebuild(&mut self) {
        for index in 0..self.states.len() {
            let mut chain = vec![self.states[index].id];
            let mut at = index;
            while let Some(parent) =
                self.states[at].account.as_ref().and_then(|account| account.parent.as_ref())
                && let Some(next) = self.numbers.get(parent).copied()
                && !chain.contains(&next)
            {
                chain.push(next);
                at = usize::try_from(next.0).unwrap_or(usize::MAX);
            }
            self.states[index].chain = chain;
            self.states[index].usage = Usage::default();
        }
        for index in 0..self.states.len() {
            let (own, chain) = (self.states[index].own.clone(), self.states[index].chain.clone());
            for above in chain {
                if let Some(state) = self.get_mut(above) {
                    state.usage.add(&own);
                }
            }
        }
    }
}

impl Ledger {
    /// The number of an account by name, also of one that does not exist yet.
    pub fn account_id(&mut self, name: &str) -> AccountId {
        self.accounts.number(name)
    }

    /// The number of an account that some object named.
    pub fn find_account(&self, name: &str) -> Option<AccountId> {
        self.accounts.numbers.get(name).copied()
    }

    /// An account was seen.
    pub fn upsert_account(&mut self, account: Account) -> AccountId {
        let id = self.accounts.number(&account.name);
        if let Some(parent) = &account.parent {
            self.accounts.number(parent);
        }
        let Some(state) = self.accounts.get_mut(id) else { return id };
        let moved = state.account.as_ref().and_then(|old| old.parent.as_ref()) != account.parent.as_ref();
        state.account = Some(account);
        if moved {
            self.accounts.rebuild();
        }
        id
    }

    /// An account is gone. What its groups hold stays counted under its name.
    pub fn remove_account(&mut self, name: &str) {
        let Some(id) = self.find_account(name) else { return };
        if let Some(state) = self.accounts.get_mut(id) {
            state.account = None;
            self.accounts.rebuild();
        }
    }

    /// An account.
    pub fn account(&self, id: AccountId) -> Option<&AccountState> {
        self.accounts.get(id)
    }

    /// All accounts that exist or were named, in the order of their numbers.
    pub fn accounts(&self) -> impl Iterator<Item = &AccountState> {
        self.accounts.states.iter()
    }

    /// What an account and all below it hold, places on their way included.
    pub fn usage(&self, id: AccountId) -> Usage {
        self.accounts.get(id).map(|state| state.usage.clone()).unwrap_or_default()
    }

    /// What a member holds through an account.
    pub fn usage_of_user(&self, id: AccountId, user: &str) -> Usage {
        self.accounts.get(id).and_then(|state| state.users.get(user).cloned()).unwrap_or_default()
    }
}
