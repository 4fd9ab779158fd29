//! What the provider asks the portal.

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use maar_controller::clock::SharedClock;
use maar_issuer::{ApiKey, DEVICE_PREFIX, Host, HostError};
use maar_records::{KeyId, KubeconfigId, NewKey, Records, User};

use crate::{
    access::{AccountRole, Scope},
    identity::{Entropy, KEY_PREFIX, hash, identifier, secret},
    kubeconfig::KubeconfigMode,
    live::Live,
};

/// How long the key of a login lasts.
const KEY_DAYS: i64 = 30;
/// What it may do: everything that commands do, and no administration.
const KEY_SCOPES: [Scope; 5] =
    [Scope::WorkspacesRead, Scope::WorkspacesWrite, Scope::JobsRead, Scope::JobsWrite, Scope::ClusterRead];

/// The portal, as the provider sees it.
#[derive(Clone)]
pub(super) struct PortalHost {
    pub(super) records: Records,
    pub(super) live: Live,
    pub(super) clock: SharedClock,
    pub(super) entropy: Entropy,
}

impl std::fmt::Debug for PortalHost {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PortalHost")
    }
}

/// Groups of somebody with these parts: `maar:account:NAME` for those who work in it, `maar:account:NAME:PART` for each
/// part, `maar:platform-admin`. Accounts of everyone say nothing of him.
fn groups<'a>(parts: impl IntoIterator<Item = (&'a String, &'a AccountRole)>, admin: bool) -> Vec<String> {
    let mut groups = Vec::new();
    for (account, part) in parts {
        let word = match part {
            AccountRole::Guest => continue,
            AccountRole::Viewer => "viewer",
            AccountRole::Member => "member",
            AccountRole::Admin => "admin",
        };
        if *part >= AccountRole::Member {
            groups.push(format!("maar:account:{account}"));
        }
        groups.push(format!("maar:account:{account}:{word}"));
    }
    if admin {
        groups.push("maar:platform-admin".to_owned());
    }
    groups
}

impl PortalHost {
    async fn gives(&self, user: &User, scope: &str) -> Result<bool, HostError> {
        let Some(id) = scope.strip_prefix(DEVICE_PREFIX) else { return Ok(false) };
        match self.records.kubeconfig(&KubeconfigId::new(id)).await {
            Err(maar_records::Error::NotFound { .. }) => Ok(false),
            found => {
                let found = found?;
                let holds = found.revoked_at.is_none() && found.expires_at > self.clock.now();
                let right = found.user == user.id && found.mode == KubeconfigMode::Oidc.as_str();
                Ok(holds && right)
            }
        }
    }

    async fn key(&self, user: &User, client: &str) -> Result<ApiKey, HostError> {
        let (now, id) = (self.clock.now(), identifier(&self.entropy, "k")?);
        let secret = format!("{KEY_PREFIX}{}", secret(&self.entropy)?);
        let life = SignedDuration::from_hours(24 * KEY_DAYS);
        let key = NewKey {
            token: hash(&secret),
            user: user.id.clone(),
            // Names of keys differ; this one was never chosen.
            name: format!("{client} {}", &id[id.len().saturating_sub(6)..]),
            id: KeyId::new(id),
            scopes: KEY_SCOPES.iter().map(ToString::to_string).collect(),
            expires_at: now.saturating_add(life).ok(),
        };
        self.records.create_key(&key, now).await?;
        Ok(ApiKey { secret, seconds: life.as_secs() })
    }
}

impl Host for PortalHost {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn fill(&self, bytes: &mut [u8]) -> bool {
        self.entropy.fill(bytes)
    }

    fn groups(&self, user: &User) -> Vec<String> {
        groups(&self.live.roles(&user.name), user.admin)
    }

    fn may_give<'a>(&'a self, user: &'a User, scope: &'a str) -> BoxFuture<'a, Result<bool, HostError>> {
        Box::pin(self.gives(user, scope))
    }

    fn api_key<'a>(&'a self, user: &'a User, client: &'a str) -> BoxFuture<'a, Result<ApiKey, HostError>> {
        Box::pin(self.key(user, client))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn groups_say_which_part_somebody_has_and_never_one_of_the_cluster_itself() {
        let parts = BTreeMap::from([
            ("default".to_owned(), AccountRole::Guest),
            ("hpc".to_owned(), AccountRole::Viewer),
            ("lab".to_owned(), AccountRole::Admin),
        ]);
        let want =
            ["maar:account:hpc:viewer", "maar:account:lab", "maar:account:lab:admin", "maar:platform-admin"];
        assert_eq!(groups(&parts, true), want);
        assert!(groups(&BTreeMap::new(), false).is_empty());
    }
}
