//! Names of records, each a type of its own, and secrets that arrive hashed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::database::Value;

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// From what the caller made or read.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The text of it.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl From<&$name> for Value {
            fn from(id: &$name) -> Self {
                Self::Text(Some(id.0.clone()))
            }
        }
    };
}

macro_rules! secret {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq)]
        pub struct $name(String);

        impl $name {
            /// From the hash; never from the secret itself.
            pub fn new(hash: impl Into<String>) -> Self {
                Self(hash.into())
            }

            /// The text of the hash.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(concat!(stringify!($name), "(…)"))
            }
        }

        impl From<&$name> for Value {
            fn from(hash: &$name) -> Self {
                Self::Text(Some(hash.0.clone()))
            }
        }
    };
}

identifier! {
    /// A user, for good: names may be told apart by it, and namespaces are made from it.
    UserId
}
identifier! {
    /// A session, as it is listed and revoked; not what the browser holds.
    SessionId
}
identifier! {
    /// An API key, as it is listed and revoked; not what the client holds.
    KeyId
}
identifier! {
    /// An SSH key of a user, as it is listed and revoked.
    SshKeyId
}
identifier! {
    /// An entry of the audit log; writing the same one twice keeps the first.
    AuditId
}
identifier! {
    /// A template.
    TemplateId
}
identifier! {
    /// A kubeconfig that was given out, as it is listed and revoked.
    KubeconfigId
}
secret! {
    /// The hash of a password, in the form its hasher reads.
    PasswordHash
}
secret! {
    /// The hash of a session's or key's token.
    TokenHash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_not_printed() {
        let text = format!("{:?} {:?}", PasswordHash::new("argon2"), TokenHash::new("abc"));
        assert_eq!(text, "PasswordHash(…) TokenHash(…)");
    }
}
