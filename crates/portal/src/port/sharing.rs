//! With whom a port is shared, and who may see it. Pure.

use maar_records::{SharedPort, TokenHash};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who may see a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ShareKind {
    /// The owner of the workspace.
    Private,
    /// Also those who see the work of the account that pays for it.
    Account,
    /// Also whoever has the link.
    Link,
}

impl ShareKind {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Account => "account",
            Self::Link => "link",
        }
    }

    /// What the records say; what is not known is not shared.
    pub(super) fn of(share: Option<&SharedPort>) -> Self {
        match share.map(|share| share.kind.as_str()) {
            Some("account") => Self::Account,
            Some("link") => Self::Link,
            _ => Self::Private,
        }
    }
}

/// By what a visitor comes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Comes<'a> {
    /// As a user, with what he may do with the workspace.
    User { enter: bool, visit: bool },
    /// By a link with this secret.
    Link(&'a TokenHash),
}

/// Whether a visitor may see a port that is shared so; `share` has not expired.
pub(super) fn admits(share: Option<&SharedPort>, comes: Comes<'_>) -> bool {
    match (ShareKind::of(share), comes) {
        (_, Comes::User { enter: true, .. }) | (ShareKind::Account, Comes::User { visit: true, .. }) => true,
        (ShareKind::Link, Comes::Link(secret)) => {
            share.and_then(|share| share.secret.as_ref()).is_some_and(|own| own == secret)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use maar_records::{PortPlace, UserId};

    use super::*;

    fn share(kind: &str, secret: Option<&str>) -> SharedPort {
        let text = str::to_owned;
        SharedPort {
            place: PortPlace { namespace: text("n"), workspace: text("w"), uid: text("u"), port: 80 },
            user: UserId::new("u-ada"),
            kind: text(kind),
            secret: secret.map(TokenHash::new),
            created_at: Timestamp::UNIX_EPOCH,
            expires_at: None,
        }
    }

    #[test]
    fn a_port_is_for_its_owner_and_those_it_is_shared_with() {
        let (right, wrong) = (TokenHash::new("right"), TokenHash::new("wrong"));
        let owner = Comes::User { enter: true, visit: true };
        let colleague = Comes::User { enter: false, visit: true };
        let stranger = Comes::User { enter: false, visit: false };
        let all = [owner, colleague, stranger, Comes::Link(&right), Comes::Link(&wrong)];
        let rows = [
            (None, [true, false, false, false, false]),
            (Some(share("account", None)), [true, true, false, false, false]),
            (Some(share("link", Some("right"))), [true, false, false, true, false]),
            (Some(share("link", None)), [true, false, false, false, false]),
            (Some(share("everybody", Some("right"))), [true, false, false, false, false]),
        ];
        for (share, want) in rows {
            assert_eq!(all.map(|comes| admits(share.as_ref(), comes)), want, "{share:?}");
        }
    }
}
