//! The watches, and what they feed.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Debug,
    sync::Arc,
};

use futures::StreamExt as _;
use k8s_openapi::api::{
    apps::v1::{Deployment, StatefulSet},
    core::v1::{Node, PersistentVolumeClaim, Pod, ResourceQuota},
};
use kube::{Api, Client, Resource};
use maar_api::v1alpha1::{AIJob, Account, Workspace};
use maar_controller::{
    Environment,
    watch::{Guarded, Selection, Watch},
};
use maar_jobs::PodKinds;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use super::{AppFacts, Changes, ClaimFacts, PodFacts, QuotaFacts, Store, Topic, Turn};
use crate::access::{AccountRole, roles_of};

/// Parts in accounts by user, as of one version of the accounts.
type Roles = (u64, HashMap<String, BTreeMap<String, AccountRole>>);

/// Everything that is watched. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Live {
    pub(crate) workspaces: Store<Workspace>,
    pub(crate) jobs: Store<AIJob>,
    pub(crate) pods: Store<PodFacts>,
    pub(crate) nodes: Store<Node>,
    pub(crate) accounts: Store<Account>,
    pub(crate) claims: Store<ClaimFacts>,
    pub(crate) quotas: Store<QuotaFacts>,
    pub(crate) deployments: Store<AppFacts>,
    pub(crate) stateful_sets: Store<AppFacts>,
    pub(crate) changes: Changes,
    roles: Arc<Mutex<Roles>>,
}

impl Live {
    /// Waits until everything was listed once.
    pub(crate) async fn ready(&self) {
        tokio::join!(
            self.workspaces.ready(),
            self.jobs.ready(),
            self.pods.ready(),
            self.nodes.ready(),
            self.accounts.ready(),
            self.claims.ready(),
            self.quotas.ready(),
            self.deployments.ready(),
            self.stateful_sets.ready(),
        );
    }

    /// Each cache by its name, with how often it has changed and how much it holds.
    pub(crate) fn sizes(&self) -> Vec<(&'static str, u64, i64)> {
        fn size<T>(name: &'static str, store: &Store<T>) -> (&'static str, u64, i64) {
            (name, store.version(), i64::try_from(store.count()).unwrap_or(i64::MAX))
        }
        vec![
            size("workspaces", &self.workspaces),
            size("jobs", &self.jobs),
            size("pods", &self.pods),
            size("nodes", &self.nodes),
            size("accounts", &self.accounts),
            size("claims", &self.claims),
            size("quotas", &self.quotas),
            size("deployments", &self.deployments),
            size("stateful sets", &self.stateful_sets),
        ]
    }

    /// A user's part in each account. Accounts have many members and change seldom, so it is worked out once.
    pub(crate) fn roles(&self, user: &str) -> BTreeMap<String, AccountRole> {
        let version = self.accounts.version();
        if let Some(found) = self.known_roles(version, user) {
            return found;
        }
        let accounts = self.accounts.list(None);
        let made = roles_of(user, accounts.iter().map(|account| &**account));
        let mut roles = self.roles.lock();
        if roles.0 < version {
            *roles = (version, HashMap::new());
        }
        if roles.0 == version {
            roles.1.insert(user.to_owned(), made.clone());
        }
        made
    }
}

impl Live {
    fn known_roles(&self, version: u64, user: &str) -> Option<BTreeMap<String, AccountRole>> {
        let roles = self.roles.lock();
        if roles.0 == version { roles.1.get(user).cloned() } else { None }
    }
}

/// Feeds `live` for ever; `kinds` says which namespaces are whose.
pub(crate) async fn feed(client: Client, live: Live, kinds: PodKinds, environment: Environment) {
    let changes = &live.changes;
    let workspaces = follow("portal workspaces", &client, &environment, &live.workspaces, keep, |turn| {
        let (topic, gone) = split(turn);
        changes.tell(Topic::Workspace(topic), gone);
    });
    let jobs = follow("portal jobs", &client, &environment, &live.jobs, keep, |turn| {
        let (topic, gone) = split(turn);
        changes.tell(Topic::Job(topic), gone);
    });
    let pods = follow(
        "portal pods",
        &client,
        &environment,
        &live.pods,
        |pod: Pod| PodFacts::of(&pod, &kinds),
        |turn| {
            let (pod, _) = split(turn);
            if let Some(node) = &pod.node {
                changes.tell(Topic::Node(node.clone()), false);
            }
        },
    );
    let nodes = follow("portal nodes", &client, &environment, &live.nodes, keep, |turn| {
        let (node, gone) = split(turn);
        changes.tell(Topic::Node(node.metadata.name.clone().unwrap_or_default()), gone);
    });
    let accounts = follow("portal accounts", &client, &environment, &live.accounts, keep, |turn| {
        let (account, gone) = split(turn);
        changes.tell(Topic::Account(account.metadata.name.clone().unwrap_or_default()), gone);
    });
    tokio::join!(workspaces, jobs, pods, nodes, accounts, feed_things(&client, &live, &environment));
}

/// Feeds what only its owner sees.
async fn feed_things(client: &Client, live: &Live, environment: &Environment) {
    let claim = |claim: PersistentVolumeClaim| ClaimFacts::of(&claim);
    let quota = |quota: ResourceQuota| QuotaFacts::of(&quota);
    let deployment = |app: Deployment| AppFacts::of_deployment(&app);
    let stateful_set = |app: StatefulSet| AppFacts::of_stateful_set(&app);
    let changes = &live.changes;
    let volume = |turn| {
        let (claim, gone): (Arc<ClaimFacts>, bool) = split(turn);
        changes.tell(Topic::Volume(claim.namespace.clone(), claim.name.clone()), gone);
    };
    let used = |turn| {
        let (quota, gone): (Arc<QuotaFacts>, bool) = split(turn);
        changes.tell(Topic::Quota(quota.namespace.clone()), gone);
    };
    let app = |turn| {
        let (app, gone): (Arc<AppFacts>, bool) = split(turn);
        changes.tell(Topic::App(app.namespace.clone(), app.name.clone()), gone);
    };
    tokio::join!(
        follow("portal claims", client, environment, &live.claims, claim, volume),
        follow("portal quotas", client, environment, &live.quotas, quota, used),
        follow("portal deployments", client, environment, &live.deployments, deployment, app),
        follow("portal stateful sets", client, environment, &live.stateful_sets, stateful_set, app),
    );
}

fn split<T>(turn: Turn<T>) -> (Arc<T>, bool) {
    match turn {
        Turn::Changed(object) => (object, false),
        Turn::Gone(object) => (object, true),
    }
}

/// Whole, without the bookkeeping of server-side apply, which is often the larger half.
fn keep<K: Resource<DynamicType = ()>>(mut object: K) -> K {
    object.meta_mut().managed_fields = None;
    object
}

async fn follow<K, T>(
    name: &'static str,
    client: &Client,
    environment: &Environment,
    store: &Store<T>,
    keep: impl Fn(K) -> T,
    tell: impl Fn(Turn<T>),
) where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let api: Api<Guarded<K>> = Api::all(client.clone());
    let watch = Watch::new(name, api, Selection::default(), environment.clone());
    let mut writer = store.writer();
    let mut events = std::pin::pin!(watch.stream());
    while let Some(event) = events.next().await {
        // What cannot be read is as if it were not there; its controller says why in its status.
        let turns = writer.take(event, |object: Guarded<K>| object.0.ok().map(&keep));
        turns.into_iter().for_each(&tell);
    }
}
