//! Parts in accounts, as Accounts in the cluster say them.

use std::collections::BTreeMap;

use kube::ResourceExt as _;
use maar_api::{
    names,
    v1alpha1::{Account, MemberRole},
};
use schemars::JsonSchema;
use serde::Serialize;

/// A user's part in an account, from little to much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum AccountRole {
    /// Everybody may use it: he sees only what is his own.
    Guest,
    /// Sees the work of all, starts none.
    Viewer,
    /// Starts work, and sees that of others.
    Member,
    /// Also looks after the work of others.
    Admin,
}

impl AccountRole {
    /// Whether work can be started that the account pays for.
    pub(crate) const fn may_start(self) -> bool {
        !matches!(self, Self::Viewer)
    }
}

/// How deep the tree of accounts is followed; a circle ends here as well.
const DEPTH: usize = 32;

/// The parts of a user. Who administers an account does so for those below it.
pub(crate) fn roles_of<'a>(
    user: &str,
    accounts: impl IntoIterator<Item = &'a Account>,
) -> BTreeMap<String, AccountRole> {
    let accounts: BTreeMap<String, &Account> =
        accounts.into_iter().map(|account| (account.name_any(), account)).collect();
    let mut roles: BTreeMap<String, AccountRole> = accounts
        .iter()
        .filter_map(|(name, account)| Some((name.clone(), role_in(user, name, account, &accounts)?)))
        .collect();
    // It is everybody's even before somebody has made it.
    roles.entry(names::DEFAULT_ACCOUNT.to_owned()).or_insert(AccountRole::Guest);
    roles
}

fn role_in(
    user: &str,
    name: &str,
    account: &Account,
    accounts: &BTreeMap<String, &Account>,
) -> Option<AccountRole> {
    let own =
        account.spec.members.iter().find(|member| member.user == user).map(|member| match member.role {
            MemberRole::Viewer => AccountRole::Viewer,
            MemberRole::Member => AccountRole::Member,
            MemberRole::Admin => AccountRole::Admin,
        });
    if administers_above(user, account, accounts) {
        return Some(AccountRole::Admin);
    }
    let open = account.spec.everyone || name == names::DEFAULT_ACCOUNT;
    own.or(open.then_some(AccountRole::Guest))
}

fn administers_above(user: &str, account: &Account, accounts: &BTreeMap<String, &Account>) -> bool {
    let parent = |account: &Account| accounts.get(account.spec.parent.as_ref()?).copied();
    let above = std::iter::successors(parent(account), |account| parent(account));
    above.take(DEPTH).any(|account| {
        account.spec.members.iter().any(|member| member.user == user && member.role == MemberRole::Admin)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn account(name: &str, spec: &Value) -> Account {
        serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap()
    }

    fn member(user: &str, role: &str) -> Value {
        json!([{ "user": user, "role": role }])
    }

    #[test]
    fn parts_come_from_members_from_above_and_from_being_open() {
        let all = [
            account("lab", &json!({ "members": member("ada", "Admin") })),
            account("lab-vision", &json!({ "parent": "lab", "members": member("bob", "Member") })),
            account("lab-sound", &json!({ "parent": "lab", "members": member("bob", "Viewer") })),
            account("open", &json!({ "everyone": true })),
        ];
        let ada = roles_of("ada", &all);
        assert_eq!(ada["lab"], AccountRole::Admin);
        assert_eq!(ada["lab-vision"], AccountRole::Admin);
        let bob = roles_of("bob", &all);
        assert_eq!(bob.get("lab"), None);
        assert_eq!(bob["lab-vision"], AccountRole::Member);
        assert_eq!(bob["lab-sound"], AccountRole::Viewer);
        assert_eq!((bob["open"], bob["default"]), (AccountRole::Guest, AccountRole::Guest));
        assert!(!AccountRole::Viewer.may_start() && AccountRole::Guest.may_start());
    }

    #[test]
    fn a_circle_of_accounts_ends() {
        let all = [account("a", &json!({ "parent": "b" })), account("b", &json!({ "parent": "a" }))];
        assert_eq!(roles_of("eve", &all).len(), 1);
    }
}
