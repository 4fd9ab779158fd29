//! Room for one more workspace of a user and of the account that pays for it.
//!
//! A quota of the cluster is not enough. It counts one namespace, and the workspaces of an account are in many; and
//! kube-controller-manager counts it anew from caches that may be behind, after which more is let in than it allows. So who
//! makes a workspace first notes that it will be there: on the namespace of its user, and on the account at the top of the
//! tree (see `book`). The notes go when the workspace is there; those that a killed portal left behind count until nothing can
//! come of them any more.

mod book;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, ResourceExt as _, api::ListParams};
use maar_api::{
    Quantity, ResourceList, names,
    v1alpha1::{Account, Workspace},
};
use serde::{Deserialize, Serialize};

pub(crate) use self::book::Turns;
use self::book::{Book, Page};
use crate::{
    access::Person,
    error::{ApiError, Code},
    portal::Portal,
};

/// What workspaces are called among the resources that an account may have.
pub(crate) const WORKSPACES: &str = "workspaces";
/// How long making a workspace may take.
const PATIENCE: Duration = Duration::from_mins(1);
/// How deep the tree of accounts is followed.
const DEPTH: usize = 64;
/// With more accounts than this, all workspaces are read instead of naming them.
const NAMED: usize = 100;

/// A workspace as it is counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Desk {
    namespace: String,
    name: String,
    account: String,
    user: String,
}

impl Desk {
    fn of(workspace: &Workspace) -> Self {
        Self {
            namespace: workspace.namespace().unwrap_or_default(),
            name: workspace.name_any(),
            account: workspace.spec.account().to_owned(),
            user: workspace.spec.user.clone().unwrap_or_default(),
        }
    }

    fn is(&self, other: &Self) -> bool {
        (&self.namespace, &self.name) == (&other.namespace, &other.name)
    }
}

/// Whose workspaces count.
#[derive(Debug, PartialEq, Eq)]
enum Counted {
    /// All that a user has, in his namespace.
    Namespace(String),
    /// Those of an account, with the accounts below it.
    Account { name: String, with_below: BTreeSet<String> },
    /// Those that one of its members has of an account.
    Member { account: String, user: String },
}

impl Counted {
    fn has(&self, desk: &Desk) -> bool {
        match self {
            Self::Namespace(name) => desk.namespace == *name,
            Self::Account { with_below, .. } => with_below.contains(&desk.account),
            Self::Member { account, user } => desk.account == *account && desk.user == *user,
        }
    }

    /// The accounts that pay for them.
    fn accounts(&self) -> Vec<&str> {
        match self {
            Self::Namespace(_) => Vec::new(),
            Self::Account { with_below, .. } => with_below.iter().map(String::as_str).collect(),
            Self::Member { account, .. } => vec![account],
        }
    }
}

/// The most workspaces that there may be.
#[derive(Debug, PartialEq, Eq)]
struct Limit {
    counted: Counted,
    most: i64,
}

impl Limit {
    /// Why one more is too many, if it is.
    fn refuses(&self, desks: &BTreeSet<Desk>, asked: &Desk) -> Option<ApiError> {
        let count = desks.iter().filter(|desk| self.counted.has(desk) && !desk.is(asked)).count();
        if i64::try_from(count).is_ok_and(|count| count < self.most) {
            return None;
        }
        let most = self.most;
        let words = if most == 1 { "workspace" } else { "workspaces" };
        let who = match &self.counted {
            Counted::Namespace(_) => format!("you may have {most} {words}, and have {count}"),
            Counted::Account { name, .. } => {
                format!("account {name} may have {most} {words}, and has {count}")
            }
            Counted::Member { account, .. } => {
                format!("you may have {most} {words} of account {account}, and have {count}")
            }
        };
        let message = format!("{who}, suspended ones too: delete one, or ask for more");
        let refused = ApiError::new(Code::QuotaExceeded, message);
        // Another account may have room; a user has one limit whoever pays.
        Some(if matches!(self.counted, Counted::Namespace(_)) { refused } else { refused.at("account") })
    }
}

/// Accounts by their names.
struct Tree<'a>(BTreeMap<&'a str, &'a Account>);

impl<'a> Tree<'a> {
    fn of(accounts: &'a [Arc<Account>]) -> Self {
        let named = accounts.iter().filter_map(|one| Some((one.metadata.name.as_deref()?, &**one)));
        Self(named.collect())
    }

    /// The account of this name and those above it, up to the top.
    fn way_up(&self, name: &str) -> Vec<(&'a str, &'a Account)> {
        let find = |name: &str| self.0.get_key_value(name).map(|(name, account)| (*name, *account));
        let above = |(_, one): &(&'a str, &'a Account)| find(one.spec.parent.as_deref()?);
        std::iter::successors(find(name), above).take(DEPTH).collect()
    }

    /// The account of this name and those below it.
    fn with_below(&self, name: &str) -> BTreeSet<String> {
        let is_below = |one: &&&str| self.way_up(one).iter().any(|(up, _)| *up == name);
        self.0.keys().filter(is_below).map(|one| (*one).to_owned()).collect()
    }

    /// Limits that a workspace is held to, the cap of its user first.
    fn limits_of(&self, asked: &Desk) -> Vec<Limit> {
        let said = |list: &ResourceList| list.contains(WORKSPACES).then(|| list.get(WORKSPACES).value());
        let way = self.way_up(&asked.account);
        let own = way.first().and_then(|(name, own)| {
            let most = said(&cap_of(own, &asked.user))?;
            let counted = Counted::Member { account: (*name).to_owned(), user: asked.user.clone() };
            Some(Limit { counted, most })
        });
        let above = way.iter().filter_map(|(name, one)| {
            let most = said(&one.spec.capability)?;
            let counted = Counted::Account { name: (*name).to_owned(), with_below: self.with_below(name) };
            Some(Limit { counted, most })
        });
        own.into_iter().chain(above).collect()
    }
}

/// What one member may have of an account: what is said of him, and of everybody where nothing is.
pub(crate) fn cap_of(account: &Account, user: &str) -> ResourceList {
    let mut cap = account.spec.member_capability.clone();
    if let Some(member) = account.spec.members.iter().find(|member| member.user == user) {
        for (resource, amount) in &member.capability {
            cap.insert(resource, *amount);
        }
    }
    cap
}

/// Room for a workspace: notes, which are taken back when it is there.
#[derive(Debug, Default)]
pub(crate) struct Room(Vec<Page>);

impl Room {
    /// Takes room for a workspace of `person` that shall be made. Who has too many already, the user or an account, is named.
    pub(crate) async fn take(
        portal: &Portal,
        request_id: &str,
        (person, workspace): (&Person, &Workspace),
    ) -> Result<Self, ApiError> {
        let asked = Desk::of(workspace);
        let mut room = Self::default();
        let taken = room.note(portal, request_id, (person, &asked)).await;
        if let Err(refused) = taken {
            room.give_back().await;
            return Err(refused);
        }
        Ok(room)
    }

    async fn note(
        &mut self,
        portal: &Portal,
        request_id: &str,
        (person, asked): (&Person, &Desk),
    ) -> Result<(), ApiError> {
        let known = portal.live.accounts.list(None);
        let tree = Tree::of(&known);
        // Accounts first, since it is there that people may choose another.
        let limits = tree.limits_of(asked);
        let top = tree.way_up(&asked.account).last().map(|(top, _)| (*top).to_owned());
        if let Some(top) = top.filter(|_| !limits.is_empty()) {
            let book = Book::of::<Account>(portal, "account", &top);
            self.0.push(book.note(portal, request_id, asked, &limits).await?);
        }
        let mut noted = note_of_user(portal, request_id, (person, asked)).await;
        if noted.as_ref().is_err_and(|error| error.code == Code::NotFound) {
            // Somebody has taken the namespace away.
            portal.namespaces.forget(&asked.namespace);
            noted = note_of_user(portal, request_id, (person, asked)).await;
        }
        self.0.push(noted?);
        Ok(())
    }

    /// Makes the workspace that it was taken for.
    pub(crate) async fn fill<T>(
        self,
        making: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let Ok(made) = tokio::time::timeout(PATIENCE, making).await else {
            // It may still come to be: its notes stay until that cannot be any more.
            let message =
                "the cluster has not answered for a minute: look whether it is there before you try again";
            return Err(ApiError::new(Code::Unavailable, message));
        };
        self.give_back().await;
        made
    }

    /// The workspace is there and counts by itself, or it was refused and does not.
    async fn give_back(self) {
        futures::future::join_all(self.0.into_iter().map(Page::tear_out)).await;
    }
}

/// Notes it on the namespace of its user, which is made before where it is missing.
async fn note_of_user(
    portal: &Portal,
    request_id: &str,
    (person, asked): (&Person, &Desk),
) -> Result<Page, ApiError> {
    let ensured = portal.namespaces.ensure(person).await;
    ensured.map_err(|error| ApiError::unavailable("the cluster", error))?;
    let counted = Counted::Namespace(asked.namespace.clone());
    let own = Limit { counted, most: portal.namespaces.limits_of(person).workspaces };
    let book = Book::of::<Namespace>(portal, "namespace", &asked.namespace);
    book.note(portal, request_id, asked, &[own]).await
}

/// Workspaces that may count, as the cluster has them now.
async fn desks(portal: &Portal, limits: &[Limit]) -> Result<BTreeSet<Desk>, ApiError> {
    let everywhere = Api::<Workspace>::all(portal.client.clone());
    let (api, asked) = match limits {
        [Limit { counted: Counted::Namespace(name), .. }] => {
            (Api::namespaced(portal.client.clone(), name), ListParams::default())
        }
        _ => (everywhere, of_accounts(limits)),
    };
    let found = api.list(&asked).await;
    let found = found.map_err(|error| ApiError::of_cluster("the list of workspaces", error))?;
    // The portal labels those that it makes; of others the watch tells.
    let seen = portal.live.workspaces.list(None);
    let labelled = |one: &Workspace| {
        one.labels().get(names::LABEL_ACCOUNT).map(String::as_str) == Some(one.spec.account())
    };
    let others = seen.iter().filter(|one| !labelled(one)).map(|one| Desk::of(one));
    Ok(found.items.iter().map(Desk::of).chain(others).collect())
}

/// The workspaces that accounts pay for, by their labels.
fn of_accounts(limits: &[Limit]) -> ListParams {
    let accounts: BTreeSet<&str> = limits.iter().flat_map(|limit| limit.counted.accounts()).collect();
    if accounts.len() > NAMED {
        return ListParams::default();
    }
    let accounts: Vec<&str> = accounts.into_iter().collect();
    ListParams::default().labels(&format!("{} in ({})", names::LABEL_ACCOUNT, accounts.join(",")))
}

/// How many workspaces each account has, as the watch last saw them, those of accounts below included; and how many of
/// them are whose.
#[derive(Debug, Default)]
pub(crate) struct Held {
    all: BTreeMap<String, i64>,
    own: BTreeMap<(String, String), i64>,
}

impl Held {
    pub(crate) fn now(portal: &Portal) -> Self {
        let accounts = portal.live.accounts.list(None);
        let mut direct: BTreeMap<(String, String), i64> = BTreeMap::new();
        for one in portal.live.workspaces.list(None) {
            let user = one.spec.user.clone().unwrap_or_default();
            *direct.entry((one.spec.account().to_owned(), user)).or_default() += 1;
        }
        let (tree, mut all) = (Tree::of(&accounts), BTreeMap::new());
        for ((account, _), count) in &direct {
            for (up, _) in tree.way_up(account) {
                *all.entry(up.to_owned()).or_default() += count;
            }
        }
        Self { all, own: direct }
    }

    /// What an account has besides what the scheduler counts.
    pub(crate) fn add(&self, account: &str, used: &mut ResourceList) {
        used.insert(WORKSPACES, Quantity::from_units(self.all.get(account).copied().unwrap_or_default()));
    }

    /// What one of its members has besides.
    pub(crate) fn add_of(&self, account: &str, member: &str, used: &mut ResourceList) {
        let count = self.own.get(&(account.to_owned(), member.to_owned())).copied().unwrap_or_default();
        used.insert(WORKSPACES, Quantity::from_units(count));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn account(name: &str, spec: &Value) -> Arc<Account> {
        Arc::new(serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap())
    }

    pub(super) fn desk(name: &str, account: &str, user: &str) -> Desk {
        let [namespace, name, account, user] =
            [&format!("user-{user}"), name, account, user].map(str::to_owned);
        Desk { namespace, name, account, user }
    }

    /// Which account refuses one more of `user` in `account`.
    fn refuses(accounts: &[Arc<Account>], desks: &[Desk], asked: &Desk) -> Option<String> {
        let limits = Tree::of(accounts).limits_of(asked);
        let desks = desks.iter().cloned().collect();
        limits.iter().find(|limit| limit.refuses(&desks, asked).is_some()).map(|limit| match &limit.counted {
            Counted::Account { name: account, .. } | Counted::Member { account, .. } => account.clone(),
            Counted::Namespace(_) => panic!("the tree knows nothing of users"),
        })
    }

    #[test]
    fn every_account_on_the_way_up_and_each_member_is_held_to_what_is_said() {
        let all = [
            account("top", &json!({ "capability": { "workspaces": "3" } })),
            account("lab", &json!({ "parent": "top", "capability": { "workspaces": "2", "cpu": "1" } })),
            account(
                "class",
                &json!({ "parent": "top", "memberCapability": { "workspaces": "1" },
                "members": [{ "user": "amy", "capability": { "workspaces": "2" } }] }),
            ),
            account("free", &json!({ "capability": { "cpu": "1" } })),
        ];
        let refused = |desks: &[Desk], asked: Desk| refuses(&all, desks, &asked);
        let (a, b) = (desk("a", "lab", "ada"), desk("b", "lab", "bob"));
        assert_eq!(refused(&[], desk("n", "lab", "ada")), None);
        assert_eq!(refused(&[a.clone(), b.clone()], desk("n", "lab", "eve")).as_deref(), Some("lab"));
        assert_eq!(refused(&[a.clone(), b.clone()], desk("n", "class", "eve")), None);
        assert_eq!(refused(&[a.clone(), b.clone()], a.clone()), None, "the cluster says that it exists");
        let c = desk("c", "class", "eve");
        let three = [a, b, c.clone()];
        assert_eq!(refused(&three, desk("n", "class", "amy")).as_deref(), Some("top"));
        assert_eq!(refused(&three, desk("n", "free", "amy")), None);
        assert_eq!(refused(std::slice::from_ref(&c), desk("n", "class", "eve")).as_deref(), Some("class"));
        assert_eq!(refused(&[desk("d", "class", "amy"), c], desk("n", "class", "amy")), None);
        assert_eq!(refused(&[], desk("n", "unknown", "amy")), None, "who pays is looked at elsewhere");
    }

    #[test]
    fn a_user_is_held_to_his_limit_whoever_pays() {
        let desks =
            BTreeSet::from([desk("a", "lab", "ada"), desk("b", "class", "ada"), desk("c", "lab", "bob")]);
        let limit = |most| Limit { counted: Counted::Namespace("user-ada".to_owned()), most };
        let asked = desk("n", "lab", "ada");
        assert!(limit(3).refuses(&desks, &asked).is_none());
        let refused = limit(2).refuses(&desks, &asked).unwrap().message;
        assert_eq!(
            refused,
            "you may have 2 workspaces, and have 2, suspended ones too: delete one, or ask for more"
        );
        assert!(
            limit(2).refuses(&desks, &desk("a", "lab", "ada")).is_none(),
            "the cluster says that it exists"
        );
        assert!(limit(0).refuses(&BTreeSet::new(), &asked).is_some());
    }
}
