//! The status of every account, from what all Pods cost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt as _;
use maar_api::{
    Quantity, ResourceList,
    v1alpha1::{Account, AccountStatus, MemberStatus, condition_types, reasons},
};

use super::claim::Claim;
use crate::status::{Say, set_condition};

/// More users than this are not named in a status.
const MOST_MEMBERS: usize = 1000;

/// What the status of each account shall be, by name.
pub(crate) fn statuses<'a>(
    accounts: &[Arc<Account>],
    claims: impl Iterator<Item = (&'a str, &'a Claim)>,
    now: Timestamp,
) -> BTreeMap<String, AccountStatus> {
    let tree = Tree::new(accounts);
    let mut all: BTreeMap<String, AccountStatus> =
        tree.accounts.keys().map(|name| ((*name).to_owned(), AccountStatus::default())).collect();
    let mut members: BTreeMap<(String, String), MemberStatus> = BTreeMap::new();
    for (payer, claim) in claims {
        let member = members.entry((payer.to_owned(), claim.user.clone())).or_default();
        add(claim, &mut member.used, &mut member.pending);
        *(if claim.placed { &mut member.running_pods } else { &mut member.pending_pods }) += 1;
        for name in tree.upwards(payer) {
            if let Some(status) = all.get_mut(name) {
                add(claim, &mut status.used, &mut status.pending);
                *(if claim.placed { &mut status.running_pods } else { &mut status.pending_pods }) += 1;
                if claim.placed && claim.best_effort {
                    status.used_best_effort += &claim.amounts;
                }
            }
        }
    }
    for ((account, user), mut member) in members {
        if let Some(status) = all.get_mut(&account)
            && !user.is_empty()
            && status.members.len() < MOST_MEMBERS
        {
            member.user = user;
            status.members.push(member);
        }
    }
    for (name, status) in &mut all {
        let account = tree.accounts[name.as_str()];
        let spec = &account.spec;
        status.observed_generation = account.metadata.generation;
        status.borrowed =
            beyond(&spec.deserved, |resource| status.used.get(resource) - spec.deserved.get(resource));
        status.kept_free =
            beyond(&spec.guaranteed, |resource| spec.guaranteed.get(resource) - status.used.get(resource));
        status.children = i32::try_from(tree.children(name).count()).unwrap_or(i32::MAX);
        let before = account.status.as_ref().map(|status| status.conditions.clone());
        status.conditions = before.unwrap_or_default();
        status.conditions.retain(|condition| condition.type_ == condition_types::READY);
        let problem = tree.problem(account);
        let (reason, message) =
            problem.as_ref().map_or((reasons::AS_ASKED, ""), |(reason, text)| (*reason, text));
        let say = Say { kind: condition_types::READY, holds: problem.is_none(), reason, message };
        set_condition(&mut status.conditions, account.metadata.generation, now, &say);
    }
    all
}

fn add(claim: &Claim, used: &mut ResourceList, pending: &mut ResourceList) {
    *(if claim.placed { used } else { pending }) += &claim.amounts;
}

/// The amounts that are more than nothing, of the resources that are named.
fn beyond(named: &ResourceList, amount: impl Fn(&str) -> Quantity) -> ResourceList {
    let all = named.iter().map(|(resource, _)| (resource.clone(), amount(resource)));
    all.filter(|(_, amount)| *amount > Quantity::default()).collect()
}

/// The accounts by name.
struct Tree<'a> {
    accounts: BTreeMap<&'a str, &'a Account>,
}

impl<'a> Tree<'a> {
    fn new(accounts: &'a [Arc<Account>]) -> Self {
        let named = |account: &'a Arc<Account>| Some((account.metadata.name.as_deref()?, &**account));
        Self { accounts: accounts.iter().filter_map(named).collect() }
    }

    /// An account and all above it, each once even if they go round in a circle.
    fn upwards(&self, name: &str) -> Vec<&'a str> {
        let mut path: Vec<&'a str> = Vec::new();
        let mut next = self.accounts.get_key_value(name);
        while let Some((name, account)) = next.filter(|(name, _)| !path.contains(name)) {
            path.push(name);
            next = account.spec.parent.as_deref().and_then(|parent| self.accounts.get_key_value(parent));
        }
        path
    }

    fn children(&self, name: &str) -> impl Iterator<Item = &'a Account> {
        self.accounts.values().copied().filter(move |one| one.spec.parent.as_deref() == Some(name))
    }

    /// What is wrong with an account: a reason, and a sentence that says what becomes of it.
    fn problem(&self, account: &Account) -> Option<(&'static str, String)> {
        let name = account.name_any();
        if let Some(parent) = &account.spec.parent {
            if !self.accounts.contains_key(parent.as_str()) {
                let text = format!("its parent {parent} does not exist: it stands at the top of the tree");
                return Some((reasons::PARENT_MISSING, text));
            }
            let above = self.upwards(parent);
            if above.contains(&name.as_str()) {
                let text = format!("it is its own ancestor, through {}", above.join(", "));
                return Some((reasons::CYCLE, text));
            }
        }
        capability(account).or_else(|| self.children_exceed(account))
    }

    fn children_exceed(&self, account: &Account) -> Option<(&'static str, String)> {
        type Part = fn(&Account) -> &ResourceList;
        let name = account.name_any();
        let parts: [(Part, &str, &str, &'static str); 2] = [
            (
                |one| &one.spec.guaranteed,
                "are guaranteed",
                "it is guaranteed",
                reasons::GUARANTEED_EXCEEDS_PARENT,
            ),
            (|one| &one.spec.deserved, "deserve", "it deserves", reasons::DESERVED_EXCEEDS_PARENT),
        ];
        for (part, they, it, reason) in parts {
            let mut sum = ResourceList::new();
            self.children(&name).for_each(|child| sum += part(child));
            let own = part(account);
            // What the account does not name itself is divided by others than it.
            let named: BTreeSet<&String> = own.iter().map(|(resource, _)| resource).collect();
            let more =
                sum.iter().find(|(resource, total)| named.contains(resource) && **total > own.get(resource));
            if let Some((resource, total)) = more {
                let has = own.get(resource);
                return Some((reason, format!("its children {they} {total} of {resource}, and {it} {has}")));
            }
        }
        None
    }
}

/// Whether it is promised more than it may have.
fn capability(account: &Account) -> Option<(&'static str, String)> {
    let spec = &account.spec;
    for (field, named) in [("guaranteed", &spec.guaranteed), ("deserved", &spec.deserved)] {
        let limited = spec.capability.iter().find(|(resource, most)| named.get(resource) > **most);
        if let Some((resource, most)) = limited {
            let text = format!("{field} names {} of {resource}, and capability {most}", named.get(resource));
            return Some((reasons::CAPABILITY_TOO_SMALL, text));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::job::fixture::start;

    fn account(name: &str, parent: Option<&str>, mut spec: Value) -> Arc<Account> {
        spec["parent"] = json!(parent);
        let mut object = json!({ "metadata": { "name": name, "generation": 2 } });
        object["spec"] = spec;
        Arc::new(serde_json::from_value(object).unwrap())
    }

    fn claim(account: &str, user: &str, gpus: i64, placed: bool) -> (String, Claim) {
        let amounts = ResourceList::from_iter([("nvidia.com/gpu", Quantity::from_units(gpus))]);
        let claim = Claim {
            job: None,
            account: Some(account.to_owned()),
            namespace: "n".to_owned(),
            user: user.to_owned(),
            best_effort: user == "bob",
            placed,
            amounts,
        };
        (account.to_owned(), claim)
    }

    fn paid(claims: &[(String, Claim)]) -> impl Iterator<Item = (&str, &Claim)> {
        claims.iter().map(|(account, claim)| (account.as_str(), claim))
    }

    fn ready(status: &AccountStatus) -> (String, String) {
        let condition = &status.conditions[0];
        (condition.reason.clone(), condition.message.clone())
    }

    #[test]
    fn amounts_go_up_the_tree_and_what_is_borrowed_is_known() {
        let accounts = [
            account("lab", None, json!({})),
            account(
                "vision",
                Some("lab"),
                json!({ "deserved": { "nvidia.com/gpu": "4" }, "guaranteed": { "nvidia.com/gpu": "8" } }),
            ),
        ];
        let claims = [
            claim("vision", "ada", 5, true),
            claim("vision", "bob", 1, true),
            claim("vision", "ada", 8, false),
        ];
        let all = statuses(&accounts, paid(&claims), start());
        insta::assert_yaml_snapshot!(all);
    }

    #[test]
    fn what_is_wrong_with_the_tree_is_said() {
        let gpus = |field: &str, count: &str| json!({ field: { "nvidia.com/gpu": count } });
        let accounts = [
            account("lost", Some("nobody"), json!({})),
            account("a", Some("b"), json!({})),
            account("b", Some("a"), json!({})),
            account("lab", None, gpus("guaranteed", "8")),
            account("vision", Some("lab"), gpus("guaranteed", "6")),
            account("speech", Some("lab"), gpus("guaranteed", "6")),
            account("poor", None, json!({ "deserved": { "cpu": "8" }, "capability": { "cpu": "4" } })),
        ];
        let all = statuses(&accounts, std::iter::empty(), start());
        let told: BTreeMap<&str, (String, String)> =
            all.iter().map(|(name, status)| (name.as_str(), ready(status))).collect();
        insta::assert_yaml_snapshot!(told);
    }

    proptest! {
        #[test]
        fn every_root_holds_the_sum_of_what_is_below(
            parents in proptest::collection::vec(proptest::option::of(0..6_usize), 6),
            pods in proptest::collection::vec((0..6_usize, 0..9_i64, any::<bool>()), 0..20),
        ) {
            let name = |at: usize| format!("a{at}");
            let accounts: Vec<Arc<Account>> = parents.iter().enumerate()
                // Parents come later in the list, so there is no circle.
                .map(|(at, parent)| account(&name(at), parent.filter(|to| *to > at).map(name).as_deref(), json!({})))
                .collect();
            let claims: Vec<(String, Claim)> = pods.iter().map(|(at, gpus, placed)| claim(&name(*at), "u", *gpus, *placed)).collect();
            let all = statuses(&accounts, paid(&claims), start());
            let roots = accounts.iter().filter(|one| one.spec.parent.is_none());
            let sum: i64 = roots.map(|root| all[&root.name_any()].used.get("nvidia.com/gpu").value()).sum();
            let want: i64 = pods.iter().filter(|(_, _, placed)| *placed).map(|(_, gpus, _)| gpus).sum();
            prop_assert_eq!(sum, want);
        }
    }
}
