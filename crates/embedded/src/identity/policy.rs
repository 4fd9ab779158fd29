//! Roles and bindings, read once and kept until one of them changes, so that asking costs no parsing.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use maar_machinery::selector::LabelSelector;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rbac::{self, Ask, Rule};
use crate::server::UserInfo;
use crate::store::{Entry, Store};

pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";
const ROLES: &str = "roles.rbac.authorization.k8s.io";
const BINDINGS: &str = "rolebindings.rbac.authorization.k8s.io";
pub(crate) const CLUSTER_ROLES: &str = "clusterroles.rbac.authorization.k8s.io";
const CLUSTER_BINDINGS: &str = "clusterrolebindings.rbac.authorization.k8s.io";
const TABLES: [&str; 4] = [ROLES, BINDINGS, CLUSTER_ROLES, CLUSTER_BINDINGS];

/// How many roles may collect one from another; more is a circle.
const DEEPEST: usize = 4;

/// The group that may do everything, whatever the roles say.
pub(crate) const MASTERS: &str = "system:masters";

/// A role as far as authorization reads it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Role {
    rules: Option<Vec<Rule>>,
    aggregation_rule: Option<Aggregation>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Aggregation {
    #[serde(default)]
    cluster_role_selectors: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Binding {
    subjects: Option<Vec<Subject>>,
    role_ref: RoleRef,
}

/// The role a binding gives.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct RoleRef {
    pub(crate) kind: String,
    pub(crate) name: String,
}

#[derive(Debug, Deserialize, Serialize)]
struct Subject {
    kind: String,
    name: String,
    #[serde(default)]
    namespace: String,
}

/// What one binding gives one subject.
#[derive(Clone, Debug)]
struct Grant {
    rules: Arc<[Rule]>,
    why: Arc<str>,
}

/// Grants by `User x` or `Group x`.
type Grants = HashMap<String, Vec<Grant>>;

/// See the module documentation.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    cluster_roles: BTreeMap<String, Arc<[Rule]>>,
    roles: BTreeMap<(String, String), Arc<[Rule]>>,
    cluster: Grants,
    namespaced: BTreeMap<String, Grants>,
}

impl Policy {
    /// Reads the roles and bindings of a store.
    pub(crate) fn read(store: &Store) -> Self {
        let mut policy =
            Self { cluster_roles: cluster_roles(&store.list(CLUSTER_ROLES, None).rows), ..Self::default() };
        for entry in store.list(ROLES, None).rows {
            let role: Option<Role> = entry.typed();
            let rules = role.and_then(|role| role.rules).unwrap_or_default();
            policy
                .roles
                .insert((entry.meta.namespace.to_string(), entry.meta.name.to_string()), rules.into());
        }
        for entry in store.list(CLUSTER_BINDINGS, None).rows {
            policy.bind("ClusterRoleBinding", &entry);
        }
        for entry in store.list(BINDINGS, None).rows {
            policy.bind("RoleBinding", &entry);
        }
        policy
    }

    /// Whether a policy read at `revision` is still what the store says.
    pub(crate) fn is_current(store: &Store, revision: u64) -> bool {
        TABLES
            .iter()
            .all(|table| store.events_after(table, revision).is_ok_and(|(events, _)| events.is_empty()))
    }

    fn bind(&mut self, kind: &str, entry: &Entry) {
        let Some(binding) = entry.typed::<Binding>() else { return };
        let (name, namespace) = (&entry.meta.name, &*entry.meta.namespace);
        // A binding to a role that is not there gives nothing until the role comes.
        let Some(rules) = self.rules_of(&binding.role_ref, namespace) else { return };
        let full = if namespace.is_empty() { name.to_string() } else { format!("{name}/{namespace}") };
        let RoleRef { kind: role_kind, name: role } = &binding.role_ref;
        let grants = if namespace.is_empty() {
            &mut self.cluster
        } else {
            self.namespaced.entry(namespace.to_owned()).or_default()
        };
        for subject in binding.subjects.unwrap_or_default() {
            let at = if subject.namespace.is_empty() { namespace } else { &subject.namespace };
            let (key, shown) = match subject.kind.as_str() {
                "ServiceAccount" => (
                    format!("User {}", service_account_user(at, &subject.name)),
                    format!("{}/{at}", subject.name),
                ),
                _ => (format!("{} {}", subject.kind, subject.name), subject.name.clone()),
            };
            let why = format!(
                "RBAC: allowed by {kind} {full:?} of {role_kind} {role:?} to {} {shown:?}",
                subject.kind
            );
            grants.entry(key).or_default().push(Grant { rules: Arc::clone(&rules), why: why.into() });
        }
    }

    /// The rules of a role that a binding in `namespace` names.
    pub(crate) fn rules_of(&self, role: &RoleRef, namespace: &str) -> Option<Arc<[Rule]>> {
        match role.kind.as_str() {
            "ClusterRole" => self.cluster_roles.get(&role.name).cloned(),
            _ => self.roles.get(&(namespace.to_owned(), role.name.clone())).cloned(),
        }
    }

    /// Why a user may do something; `None` if they may not.
    pub(crate) fn allows(&self, user: &UserInfo, ask: &Ask<'_>) -> Option<Arc<str>> {
        if user.groups.iter().any(|group| group == MASTERS) {
            return Some("".into());
        }
        self.grants(user, ask.namespace())
            .find(|grant| rbac::allows(&grant.rules, ask))
            .map(|grant| Arc::clone(&grant.why))
    }

    /// All rules a user has in a namespace, or in the whole cluster if that is empty.
    pub(crate) fn rules(&self, user: &UserInfo, namespace: &str) -> Vec<Rule> {
        self.grants(user, namespace).flat_map(|grant| grant.rules.iter().cloned()).collect()
    }

    fn grants<'a>(&'a self, user: &'a UserInfo, namespace: &str) -> impl Iterator<Item = &'a Grant> {
        let places = [Some(&self.cluster), self.namespaced.get(namespace).filter(|_| !namespace.is_empty())];
        let of = |grants: &'a Grants| {
            let own = std::iter::once(format!("User {}", user.username));
            let keys = own.chain(user.groups.iter().map(|group| format!("Group {group}")));
            keys.filter_map(|key| grants.get(&key)).flatten().collect::<Vec<_>>()
        };
        places.into_iter().flatten().flat_map(of)
    }
}

/// The user a service account is.
pub(crate) fn service_account_user(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

/// The rules of every ClusterRole, with those that aggregated ones collect.
fn cluster_roles(rows: &[Arc<Entry>]) -> BTreeMap<String, Arc<[Rule]>> {
    let roles: Vec<(&Arc<Entry>, Role)> =
        rows.iter().filter_map(|entry| Some((entry, entry.typed()?))).collect();
    let mut all = BTreeMap::new();
    for (entry, role) in &roles {
        all.insert(entry.meta.name.to_string(), effective(entry, role, &roles, DEEPEST).into());
    }
    all
}

/// The rules of a role: its own, or those it collects, also from roles that collect in turn.
fn effective(target: &Entry, own: &Role, all: &[(&Arc<Entry>, Role)], depth: usize) -> Vec<Rule> {
    let Some(aggregation) = own.aggregation_rule.as_ref().filter(|_| depth > 0) else {
        return own.rules.clone().unwrap_or_default();
    };
    let mut collected: Vec<Rule> = Vec::new();
    for value in &aggregation.cluster_role_selectors {
        let Ok(selector) = LabelSelector::from_object(value) else { continue };
        for (entry, part) in all.iter().filter(|(entry, _)| selector.matches(&entry.meta)) {
            if entry.meta.name == target.meta.name {
                continue;
            }
            for rule in effective(entry, part, all, depth - 1) {
                if !collected.contains(&rule) {
                    collected.push(rule);
                }
            }
        }
    }
    collected
}

/// The names of the aggregated ClusterRoles among these, each with what its `rules` should say.
pub(crate) fn aggregated(rows: &[Arc<Entry>]) -> Vec<(&str, Vec<Rule>)> {
    // Each is read once: a new cluster has some seventy roles, and every test starts one.
    let roles: Vec<(&Arc<Entry>, Role)> =
        rows.iter().filter_map(|entry| Some((entry, entry.typed()?))).collect();
    let collecting = roles.iter().filter(|(_, role)| role.aggregation_rule.is_some());
    collecting.map(|(entry, role)| (&*entry.meta.name, effective(entry, role, &roles, DEEPEST))).collect()
}
