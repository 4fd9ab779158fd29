//! What the asker may have, and has.

use std::{collections::BTreeMap, sync::Arc};

use kube::ResourceExt as _;
use maar_api::{Quantity, ResourceList, resources::is_extended, v1alpha1::Account};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    access::{Kind, Person, Verb},
    account::{Held, cap_of},
    error::ApiError,
    live::PodFacts,
    namespace::{QUOTA, quota_facts},
    node,
    route::{Answer, Call, Method::Get, Route, Target},
};

pub(crate) fn routes() -> Vec<Route> {
    let own = Target::Asker(Kind::Workspace);
    vec![
        Route::at_once(Get, "/quota", "getQuota", (Verb::See, own), get)
            .says("What the asker may have and has, and what his accounts may have and have")
            .answers::<QuotaView>(),
    ]
}

/// What somebody may have, and has.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QuotaView {
    /// Limits of the user, such as `workspaces`, `cpu` or `nvidia.com/gpu`.
    limits: BTreeMap<String, String>,
    /// What counts against them.
    used: BTreeMap<String, String>,
    /// Accounts that he may start work for.
    accounts: Vec<AccountQuota>,
}

/// What an account may have, and has.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AccountQuota {
    name: String,
    guaranteed: ResourceList,
    deserved: ResourceList,
    capability: ResourceList,
    used: ResourceList,
    /// What the account lets the asker have, if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    cap: Option<ResourceList>,
    /// What the asker has of it.
    mine: ResourceList,
}

fn get(call: &Call) -> Result<Answer, ApiError> {
    let (person, live) = (call.person()?, &call.portal.live);
    let known = live.quotas.get(&person.namespace, QUOTA);
    // What is counted is what the cluster counts; who has never made anything has no namespace yet. What he may have is
    // what his next request is held to, which brings the namespace to it.
    let limits = quota_facts(&call.portal.namespaces.limits_of(person)).limits;
    let mut used = known.map(|known| known.used.clone()).unwrap_or_default();
    add_shares(&mut used, &live.pods.list(Some(&person.namespace)));
    let mut accounts = live.accounts.list(None);
    accounts.retain(|one| person.accounts.get(&one.name_any()).is_some_and(|role| role.may_start()));
    let held = Held::now(&call.portal);
    let accounts = accounts.iter().map(|one| account(one, person, &held)).collect();
    Answer::json(&QuotaView { limits: in_words(limits), used: in_words(used), accounts })
}

/// Limits of Kubernetes in words of people.
pub(crate) fn in_words(list: Vec<(String, String)>) -> BTreeMap<String, String> {
    list.into_iter().filter_map(|(name, amount)| Some((word(&name)?, amount))).collect()
}

/// Adds the shares of cards that Pods have to the whole ones that the cluster counts, as the limits do.
fn add_shares(used: &mut [(String, String)], pods: &[Arc<PodFacts>]) {
    for (name, amount) in used {
        let Some(resource) = name.strip_prefix("requests.").filter(|name| is_extended(name)) else {
            continue;
        };
        let given = pods.iter().filter(|pod| pod.holds()).filter_map(|pod| pod.cards.as_deref());
        let shares = given.flat_map(|text| node::given(text, resource)).filter_map(|(_, share)| share);
        let shares = shares.filter_map(|share| share.parse::<Quantity>().ok());
        let whole: Quantity = amount.parse().unwrap_or_default();
        *amount = shares.fold(whole, |sum, share| sum + share).to_string();
    }
}

/// A limit of Kubernetes in words of people; nothing for those that keep doors closed.
fn word(limit: &str) -> Option<String> {
    Some(match limit {
        "services.nodeports" | "services.loadbalancers" => return None,
        "count/workspaces.maar.io" => "workspaces".to_owned(),
        "count/aijobs.maar.io" => "jobs".to_owned(),
        "persistentvolumeclaims" => "volumes".to_owned(),
        other => other.strip_prefix("requests.").unwrap_or(other).to_owned(),
    })
}

fn account(account: &Account, person: &Person, held: &Held) -> AccountQuota {
    let (spec, mut status) = (&account.spec, account.status.clone().unwrap_or_default());
    let mine = status.members.into_iter().find(|member| member.user == person.name);
    let mut mine = mine.map(|member| member.used).unwrap_or_default();
    held.add(&account.name_any(), &mut status.used);
    held.add_of(&account.name_any(), &person.name, &mut mine);
    AccountQuota {
        name: account.name_any(),
        guaranteed: spec.guaranteed.clone(),
        deserved: spec.deserved.clone(),
        capability: spec.capability.clone(),
        used: status.used,
        cap: Some(cap_of(account, &person.name)).filter(|cap| !cap.is_empty()),
        mine,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_cards_are_used_as_whole_ones_are() {
        let pod = |cards: &str| {
            let pod = serde_json::json!({ "metadata": { "annotations": { "maar.io/cards": cards } },
                "spec": { "nodeName": "n", "containers": [] }, "status": { "phase": "Running" } });
            Arc::new(PodFacts::of(&serde_json::from_value(pod).unwrap(), &maar_jobs::PodKinds::default()))
        };
        let pods = [pod("nvidia.com/gpu=0:0.5"), pod("nvidia.com/gpu=3:0.25"), pod("nvidia.com/gpu=1,2")];
        let mut used =
            [("requests.nvidia.com/gpu".to_owned(), "2".to_owned()), ("pods".to_owned(), "3".to_owned())];
        add_shares(&mut used, &pods);
        assert_eq!((used[0].1.as_str(), used[1].1.as_str()), ("2750m", "3"));
    }

    #[test]
    fn limits_are_told_in_words_of_people() {
        assert_eq!(word("count/workspaces.maar.io").as_deref(), Some("workspaces"));
        assert_eq!(word("requests.nvidia.com/gpu").as_deref(), Some("nvidia.com/gpu"));
        assert_eq!(word("pods").as_deref(), Some("pods"));
        assert_eq!(word("services.nodeports"), None);
    }
}
