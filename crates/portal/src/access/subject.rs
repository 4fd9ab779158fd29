//! Who asks.

use std::collections::{BTreeMap, BTreeSet};

use maar_api::Quantity;

use super::{AccountRole, Object, Owner, Scope};

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Nobody we know.
    Nobody,
    /// A user, by a session or an API key.
    Person(Box<Person>),
}

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Person {
    /// Stable; never given to another.
    pub(crate) id: String,
    pub(crate) name: String,
    /// Where his work is; follows from `id`.
    pub(crate) namespace: String,
    pub(crate) platform_admin: bool,
    /// His part in each account that he has to do with.
    pub(crate) accounts: BTreeMap<String, AccountRole>,
    pub(crate) must_change_password: bool,
    /// The most he may have where an administrator said so, by the word for it; see `namespace::limits`.
    pub(crate) limits: BTreeMap<String, Quantity>,
    /// What the API key is made for; a session has none and may do everything its user may.
    pub(crate) scopes: Option<BTreeSet<Scope>>,
}

impl Person {
    pub(crate) fn owns(&self, object: &Object) -> bool {
        match &object.owner {
            Owner::Nobody => false,
            Owner::User(id) => *id == self.id,
            Owner::Namespace(namespace) => *namespace == self.namespace,
        }
    }

    /// His part in the account that pays for the object.
    pub(crate) fn role_for(&self, object: &Object) -> Option<AccountRole> {
        self.accounts.get(object.account.as_ref()?).copied()
    }

    /// Whether he may see work of others at all; if not, only his own namespace need be looked at.
    pub(crate) fn sees_others(&self) -> bool {
        self.is_platform_admin() || self.accounts.values().any(|role| *role >= AccountRole::Viewer)
    }

    /// A platform administrator, unless he asks with a key that was not made for that.
    pub(crate) fn is_platform_admin(&self) -> bool {
        self.platform_admin && self.scopes.as_ref().is_none_or(|scopes| scopes.contains(&Scope::Admin))
    }
}

impl Subject {
    pub(crate) fn person(&self) -> Option<&Person> {
        match self {
            Self::Nobody => None,
            Self::Person(person) => Some(person),
        }
    }
}
