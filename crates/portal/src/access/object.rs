//! What a request is about, and what it wants.

use maar_api::names;

/// What is wanted of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verb {
    /// Know that it exists, who has it, how it is and what it holds.
    See,
    /// Read what people put into it: environment, commands, logs, events.
    Read,
    /// Make it, or let it go on: the account pays from here.
    Start,
    /// Change it.
    Change,
    /// End it.
    Delete,
    /// Be inside it, as the programs in it are.
    Enter,
    /// Use a page of a program in it, if its owner has shared that; see [`crate::port`].
    Visit,
}

/// What kind of thing an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// What everyone may have, signed in or not.
    Public,
    /// One's own name, password and session.
    Own,
    /// A workspace with its Pod.
    Workspace,
    /// An AIJob with its Pods.
    Job,
    /// A Pod by itself.
    Pod,
    /// A volume of a user.
    Volume,
    /// What somebody saved to begin from.
    Template,
    /// A node with its cards.
    Node,
    /// An account.
    Account,
    /// A user of the portal.
    User,
    /// A session of a user.
    Session,
    /// An API key of a user.
    Key,
    /// A kubeconfig of a user.
    Kubeconfig,
    /// The audit log.
    Audit,
}

/// Whose an object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The cluster's.
    Nobody,
    /// This user's, by identifier.
    User(String),
    /// That of whoever has the namespace. Nobody can choose the name of his namespace, unlike most other names.
    Namespace(String),
}

/// What a request is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) kind: Kind,
    pub(crate) owner: Owner,
    /// Who pays for it.
    pub(crate) account: Option<String>,
}

impl Object {
    /// Something of the cluster.
    pub(crate) const fn of_cluster(kind: Kind) -> Self {
        Self { kind, owner: Owner::Nobody, account: None }
    }

    /// Something of a user.
    pub(crate) fn of_user(kind: Kind, id: &str) -> Self {
        Self { kind, owner: Owner::User(id.to_owned()), account: None }
    }

    /// Work in a namespace.
    pub(crate) fn work(kind: Kind, namespace: &str, account: Option<&str>) -> Self {
        let account = account.unwrap_or(names::DEFAULT_ACCOUNT).to_owned();
        Self { kind, owner: Owner::Namespace(namespace.to_owned()), account: Some(account) }
    }

    /// An account.
    pub(crate) fn account(name: &str) -> Self {
        Self { kind: Kind::Account, owner: Owner::Nobody, account: Some(name.to_owned()) }
    }
}
