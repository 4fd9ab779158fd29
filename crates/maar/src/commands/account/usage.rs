//! What accounts and users hold, counted from Pods.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::ResourceExt;
use maar_api::{
    Payers, ResourceList, names,
    resources::{self, PodResources},
    v1alpha1::{AIJob, Account},
};

/// What somebody holds and waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) used: ResourceList,
    pub(crate) running: usize,
    pub(crate) waiting: usize,
}

/// What everybody holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Usage {
    /// By account, without its children.
    pub(crate) accounts: BTreeMap<String, Held>,
    /// By account and user.
    pub(crate) users: BTreeMap<(String, String), Held>,
}

/// Accounts that are named elsewhere than on Pods.
#[derive(Debug, Clone, Default)]
pub(crate) struct Named {
    /// By namespace and job.
    jobs: BTreeMap<(String, String), String>,
    /// By namespace.
    namespaces: BTreeMap<String, String>,
}

impl Named {
    pub(crate) fn new(jobs: &[AIJob], namespaces: &[Namespace]) -> Self {
        let job = |job: &AIJob| {
            Some(((job.namespace().unwrap_or_default(), job.name_any()), job.spec.account.clone()?))
        };
        let space = |space: &Namespace| {
            Some((space.name_any(), space.annotations().get(names::LABEL_ACCOUNT)?.clone()))
        };
        Self {
            jobs: jobs.iter().filter_map(job).collect(),
            namespaces: namespaces.iter().filter_map(space).collect(),
        }
    }

    /// Who pays for a Pod; none if it is nobody's business here.
    fn payer(&self, pod: &Pod) -> Option<String> {
        let scheduler = pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref());
        let namespace = pod.namespace().unwrap_or_default();
        let own = pod.labels().get(names::LABEL_ACCOUNT).map(String::as_str);
        if own.is_none() && scheduler != Some(names::SCHEDULER_NAME) {
            return None;
        }
        let job = pod.labels().get(names::LABEL_JOB).map(|job| (namespace.clone(), job.clone()));
        let said = Payers {
            group: job.and_then(|job| self.jobs.get(&job)).map(String::as_str),
            pod: own,
            namespace: self.namespaces.get(&namespace).map(String::as_str),
        };
        Some(said.account(names::DEFAULT_ACCOUNT).to_owned())
    }
}

impl Usage {
    /// Counts the Pods that Maar places, and those that say who pays for them.
    pub(crate) fn of(pods: &[Pod], named: &Named) -> Self {
        let mut all = Self::default();
        for pod in pods {
            let Some(account) = named.payer(pod) else { continue };
            let user = pod.labels().get(names::LABEL_USER).cloned().unwrap_or_default();
            all.accounts.entry(account.clone()).or_default().count(pod);
            all.users.entry((account, user)).or_default().count(pod);
        }
        all
    }

    /// What an account holds with all accounts below it.
    pub(crate) fn with_children(&self, name: &str, accounts: &[Account]) -> Held {
        let mut held = Held::default();
        let mut todo = vec![name.to_owned()];
        let mut done: Vec<String> = Vec::new();
        while let Some(next) = todo.pop() {
            // A tree that is none (a cycle) must not be walked for ever.
            if done.contains(&next) {
                continue;
            }
            if let Some(own) = self.accounts.get(&next) {
                held.used += &own.used;
                held.running += own.running;
                held.waiting += own.waiting;
            }
            let below = accounts.iter().filter(|one| one.spec.parent.as_ref() == Some(&next));
            todo.extend(below.map(ResourceExt::name_any));
            done.push(next);
        }
        held
    }
}

impl Held {
    fn count(&mut self, pod: &Pod) {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        if matches!(phase, Some("Succeeded" | "Failed")) {
            return;
        }
        if pod.spec.as_ref().is_none_or(|spec| spec.node_name.is_none()) {
            self.waiting += 1;
            return;
        }
        self.running += 1;
        self.used += &requests(pod);
    }
}

/// What a Pod asks for; nothing if that cannot be read.
pub(crate) fn requests(pod: &Pod) -> ResourceList {
    PodResources::from_pod(pod).map(|read| read.requests()).unwrap_or_default()
}

/// An amount as people write it, with the main resources first: `cpu=4, memory=8Gi, nvidia.com/gpu=2`.
pub(crate) fn words(list: &ResourceList) -> String {
    let rank = |name: &str| match name {
        resources::CPU => 0,
        resources::MEMORY => 1,
        _ => 2,
    };
    let mut all: Vec<_> = list.iter().filter(|(_, amount)| !amount.is_zero()).collect();
    all.sort_by_key(|(name, _)| (rank(name), name.as_str()));
    let words: Vec<String> = all.into_iter().map(|(name, amount)| format!("{name}={amount}")).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(account: &str, user: &str, gpus: &str, node: Option<&str>, phase: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": { "name": "p", "labels": { "maar.io/account": account, "maar.io/user": user } },
            "spec": { "nodeName": node, "containers": [{ "name": "c", "resources": {
                "requests": { "cpu": "500m", "nvidia.com/gpu": gpus }, "limits": { "nvidia.com/gpu": gpus } } }] },
            "status": { "phase": phase },
        }))
        .unwrap()
    }

    #[test]
    fn pods_are_counted_for_their_account_and_those_above_it() {
        let pods = [
            pod("vision", "ada", "2", Some("n"), "Running"),
            pod("vision", "ada", "4", None, "Pending"),
            pod("speech", "bob", "1", Some("n"), "Running"),
            pod("speech", "bob", "8", Some("n"), "Succeeded"),
        ];
        let mut plain = pod("", "eve", "3", Some("n"), "Running");
        plain.metadata.namespace = Some("lab".to_owned());
        plain.spec.as_mut().unwrap().scheduler_name = Some("maar-scheduler".to_owned());
        let space = json!({ "metadata": { "name": "lab", "annotations": { "maar.io/account": "robots" } } });
        let named = Named::new(&[], &[serde_json::from_value(space).unwrap()]);
        assert_eq!(Usage::of(&[plain], &named).accounts["robots"].running, 1, "its namespace says who pays");
        let usage = Usage::of(&pods, &Named::default());
        assert_eq!(words(&usage.accounts["vision"].used), "cpu=500m, nvidia.com/gpu=2");
        assert_eq!((usage.accounts["vision"].running, usage.accounts["vision"].waiting), (1, 1));
        let account = |name: &str, parent: Option<&str>| {
            let spec = json!({ "parent": parent });
            serde_json::from_value::<Account>(json!({ "metadata": { "name": name }, "spec": spec })).unwrap()
        };
        let accounts = [account("lab", None), account("vision", Some("lab")), account("speech", Some("lab"))];
        let lab = usage.with_children("lab", &accounts);
        assert_eq!((words(&lab.used).as_str(), lab.running), ("cpu=1, nvidia.com/gpu=3", 2));
        assert!(usage.users.contains_key(&("vision".to_owned(), "ada".to_owned())));
        let circle = [account("lab", Some("vision")), account("vision", Some("lab"))];
        assert_eq!(usage.with_children("lab", &circle).running, 1);
    }
}
