//! Room for one more workspace of an account.
//!
//! The cluster counts what one namespace holds, and the workspaces of an account are in many. So who makes one first notes
//! that it will be there: in an annotation of the account at the top of the tree, written on top of the version that was
//! read before the workspaces were counted. Of two who ask at once, through whichever portal, the cluster refuses the
//! second, who counts again. The note goes when the workspace is there; one that a killed portal left behind counts until
//! nothing can come of it any more.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use kube::{
    Api, ResourceExt as _,
    api::{ListParams, Patch, PatchParams},
};
use maar_api::{
    Quantity, ResourceList, names,
    v1alpha1::{Account, Workspace},
};
use maar_controller::error::chain;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    error::{ApiError, Code},
    portal::Portal,
};

/// What workspaces are called among the resources that an account may have.
pub(crate) const WORKSPACES: &str = "workspaces";
/// What annotations of notes begin with.
const NOTE: &str = "maar.io/room-";
/// How long making a workspace may take.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long a note counts: as long as a portal tries to make a workspace, then as long as an API server works on what it was
/// asked last, which is a minute unless it is told otherwise, and another minute for clocks that differ.
const LIFE: SignedDuration = SignedDuration::from_mins(3);
/// How often it is tried again when the account is changed at the same time.
const ATTEMPTS: usize = 32;
/// How deep the tree of accounts is followed.
const DEPTH: usize = 64;
/// With more accounts than this, all workspaces are read instead of naming them.
const NAMED: usize = 100;

/// A workspace as accounts count it.
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

/// What is noted of a workspace that is being made.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    #[serde(flatten)]
    desk: Desk,
    until: Timestamp,
}

/// The most workspaces that an account may have with those below it, or that one of its members may have of it.
#[derive(Debug, PartialEq, Eq)]
struct Limit {
    account: String,
    most: i64,
    /// Whose workspaces count.
    accounts: BTreeSet<String>,
    /// Only those of this member.
    member: Option<String>,
}

impl Limit {
    /// Why one more is too many, if it is.
    fn refuses(&self, desks: &BTreeSet<Desk>, asked: &Desk) -> Option<ApiError> {
        let counts = |desk: &&Desk| {
            let his = self.member.as_ref().is_none_or(|member| desk.user == *member);
            self.accounts.contains(&desk.account) && his && !desk.is(asked)
        };
        let count = desks.iter().filter(counts).count();
        if i64::try_from(count).is_ok_and(|count| count < self.most) {
            return None;
        }
        let (account, most) = (&self.account, self.most);
        let words = if most == 1 { "workspace" } else { "workspaces" };
        let who = match self.member {
            Some(_) => format!("you may have {most} {words} of account {account}, and have {count}"),
            None => format!("account {account} may have {most} {words}, and has {count}"),
        };
        let message = format!("{who}, suspended ones too: delete one, or ask for more");
        Some(ApiError::new(Code::QuotaExceeded, message).at("account"))
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
            let (account, member) = ((*name).to_owned(), Some(asked.user.clone()));
            let most = said(&cap_of(own, &asked.user))?;
            Some(Limit { accounts: BTreeSet::from([account.clone()]), account, most, member })
        });
        let above = way.iter().filter_map(|(name, one)| {
            let most = said(&one.spec.capability)?;
            Some(Limit { account: (*name).to_owned(), most, accounts: self.with_below(name), member: None })
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

/// Notes on an account that are not too old, and the names of the others.
fn notes_of(account: &Account, now: Timestamp) -> (Vec<Desk>, Vec<String>) {
    let (mut valid, mut old) = (Vec::new(), Vec::new());
    for (name, text) in account.annotations().iter().filter(|(name, _)| name.starts_with(NOTE)) {
        match serde_json::from_str::<Note>(text) {
            Ok(note) if note.until > now => valid.push(note.desk),
            _ => old.push(name.clone()),
        }
    }
    (valid, old)
}

/// Room for a workspace; what is given back when it is there.
#[derive(Debug)]
pub(crate) struct Room {
    accounts: Api<Account>,
    top: String,
    note: String,
}

impl Room {
    /// Takes room for a workspace that shall be made; nothing if nobody limits how many there are. The account is named
    /// if it is full.
    pub(crate) async fn take(
        portal: &Portal,
        request_id: &str,
        workspace: &Workspace,
    ) -> Result<Option<Self>, ApiError> {
        let asked = Desk::of(workspace);
        let known = portal.live.accounts.list(None);
        let tree = Tree::of(&known);
        let limits = tree.limits_of(&asked);
        let top = tree.way_up(&asked.account).last().map(|(top, _)| (*top).to_owned());
        let Some(top) = top.filter(|_| !limits.is_empty()) else { return Ok(None) };
        let room =
            Self { accounts: Api::all(portal.client.clone()), note: format!("{NOTE}{request_id}"), top };
        // Those who ask this portal wait for each other; only other portals come in between.
        let _turn = portal.rooms.lock().await;
        for _ in 0..ATTEMPTS {
            if room.try_take(portal, &limits, &asked).await? {
                return Ok(Some(room));
            }
        }
        Err(ApiError::new(Code::Conflict, format!("account {} keeps changing: try again", room.top)))
    }

    /// Whether it was taken; not if somebody changed the account meanwhile.
    async fn try_take(&self, portal: &Portal, limits: &[Limit], asked: &Desk) -> Result<bool, ApiError> {
        let refused = |error| ApiError::of_cluster(&format!("account {}", self.top), error);
        let account = self.accounts.get(&self.top).await.map_err(refused)?;
        let now = portal.clock.now();
        let (notes, old) = notes_of(&account, now);
        // Later than the notes: what is no longer noted is there by now.
        let mut desks = desks(portal, limits).await?;
        desks.extend(notes);
        if let Some(full) = limits.iter().find_map(|limit| limit.refuses(&desks, asked)) {
            return Err(full);
        }
        let note = Note { desk: asked.clone(), until: now.saturating_add(LIFE).unwrap_or(Timestamp::MAX) };
        let text = serde_json::to_string(&note).unwrap_or_default();
        let gone = old.into_iter().map(|name| (name, None));
        let annotations: BTreeMap<String, Option<String>> =
            gone.chain([(self.note.clone(), Some(text))]).collect();
        let metadata = json!({ "annotations": annotations, "resourceVersion": account.resource_version(),
            "uid": account.uid() });
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        match self.accounts.patch_metadata(&self.top, &PatchParams::default(), &patch).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(refused(error)),
        }
    }

    /// Makes the workspace that it was taken for, if it was.
    pub(crate) async fn fill<T>(
        room: Option<Self>,
        making: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let Some(room) = room else { return making.await };
        let Ok(made) = tokio::time::timeout(PATIENCE, making).await else {
            // It may still come to be: its note stays until that cannot be any more.
            let message =
                "the cluster has not answered for a minute: look whether it is there before you try again";
            return Err(ApiError::new(Code::Unavailable, message));
        };
        room.give_back().await;
        made
    }

    /// The workspace is there and counts by itself, or it was refused and does not.
    async fn give_back(self) {
        let patch = Patch::Merge(json!({ "metadata": { "annotations": { self.note.as_str(): null } } }));
        if let Err(error) = self.accounts.patch_metadata(&self.top, &PatchParams::default(), &patch).await {
            tracing::warn!(
                account = self.top,
                error = chain(&error),
                "a note on an account is left until it is too old"
            );
        }
    }
}

/// Workspaces that may count, as the cluster has them now. The portal labels those that it makes; of others the watch
/// tells.
async fn desks(portal: &Portal, limits: &[Limit]) -> Result<BTreeSet<Desk>, ApiError> {
    let accounts: BTreeSet<&str> =
        limits.iter().flat_map(|limit| &limit.accounts).map(String::as_str).collect();
    let accounts: Vec<&str> = accounts.into_iter().collect();
    let asked = if accounts.len() <= NAMED {
        ListParams::default().labels(&format!("{} in ({})", names::LABEL_ACCOUNT, accounts.join(",")))
    } else {
        ListParams::default()
    };
    let found = Api::<Workspace>::all(portal.client.clone()).list(&asked).await;
    let found = found.map_err(|error| ApiError::of_cluster("the list of workspaces", error))?;
    let seen = portal.live.workspaces.list(None);
    let labelled = |one: &Workspace| {
        one.labels().get(names::LABEL_ACCOUNT).map(String::as_str) == Some(one.spec.account())
    };
    let others = seen.iter().filter(|one| !labelled(one)).map(|one| Desk::of(one));
    Ok(found.items.iter().map(Desk::of).chain(others).collect())
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
    use serde_json::Value;

    use super::*;

    fn account(name: &str, spec: &Value) -> Arc<Account> {
        Arc::new(serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap())
    }

    fn desk(name: &str, account: &str, user: &str) -> Desk {
        let [namespace, name, account, user] =
            [&format!("user-{user}"), name, account, user].map(str::to_owned);
        Desk { namespace, name, account, user }
    }

    /// Which account refuses one more of `user` in `account`.
    fn refuses(accounts: &[Arc<Account>], desks: &[Desk], asked: &Desk) -> Option<String> {
        let limits = Tree::of(accounts).limits_of(asked);
        let desks = desks.iter().cloned().collect();
        limits.iter().find(|limit| limit.refuses(&desks, asked).is_some()).map(|limit| limit.account.clone())
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
    fn notes_that_are_too_old_or_make_no_sense_do_not_count() {
        let now = Timestamp::from_second(1000).unwrap();
        let note = |until: i64| {
            let note = Note { desk: desk("a", "lab", "ada"), until: Timestamp::from_second(until).unwrap() };
            serde_json::to_string(&note).unwrap()
        };
        let annotations = json!({ "maar.io/room-1": note(1001), "maar.io/room-2": note(1000),
            "maar.io/room-3": "?", "other": note(2000) });
        let account: Account = serde_json::from_value(
            json!({ "metadata": { "name": "lab", "annotations": annotations }, "spec": {} }),
        )
        .unwrap();
        let (valid, old) = notes_of(&account, now);
        assert_eq!(valid, [desk("a", "lab", "ada")]);
        assert_eq!(old, ["maar.io/room-2", "maar.io/room-3"]);
    }
}
