//! What a Pod costs its account.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use kube::{ResourceExt as _, runtime::watcher::Event};
use maar_api::{Payers, Quantity, ResourceList, names, resources::PodResources};
use maar_controller::watch::Guarded;

use crate::index::Key;

/// What one Pod costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    /// The job it belongs to, which may name the account.
    pub(crate) job: Option<Key>,
    /// The account it names itself.
    pub(crate) account: Option<String>,
    pub(crate) namespace: String,
    /// Empty if it names none.
    pub(crate) user: String,
    pub(crate) best_effort: bool,
    /// It has a node; else it waits for one.
    pub(crate) placed: bool,
    pub(crate) amounts: ResourceList,
}

impl Claim {
    /// None for a Pod that is over, or that neither Maar places nor says who pays.
    pub(crate) fn of(pod: &Pod) -> Option<Self> {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        if matches!(phase, Some("Succeeded" | "Failed")) {
            return None;
        }
        let label = |name: &str| pod.labels().get(name).filter(|text| !text.is_empty()).cloned();
        let account = label(names::LABEL_ACCOUNT);
        let scheduler = pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref());
        if account.is_none() && scheduler != Some(names::SCHEDULER_NAME) {
            return None;
        }
        let namespace = pod.namespace().unwrap_or_default();
        // What cannot be read is refused by the API server, so there is nothing to count.
        let mut amounts = PodResources::from_pod(pod).map(|read| read.requests()).unwrap_or_default();
        if let Some((resource, share)) = share(pod) {
            amounts += &ResourceList::from_iter([(resource, share)]);
        }
        Some(Self {
            job: label(names::LABEL_JOB).map(|name| Key { namespace: namespace.clone(), name }),
            account,
            namespace,
            user: label(names::LABEL_USER).unwrap_or_default(),
            best_effort: label(names::LABEL_SERVICE_LEVEL).as_deref() == Some(names::LEVEL_BEST_EFFORT),
            placed: pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some()),
            amounts,
        })
    }
}

/// Who names accounts beside Pods.
#[derive(Debug, Default)]
pub(crate) struct Books {
    /// By job.
    pub(crate) jobs: BTreeMap<Key, String>,
    /// By namespace.
    pub(crate) namespaces: BTreeMap<String, String>,
}

impl Books {
    /// The account that pays, as the scheduler charges it.
    pub(crate) fn payer<'a>(&'a self, claim: &'a Claim) -> &'a str {
        let group = claim.job.as_ref().and_then(|job| self.jobs.get(job)).map(String::as_str);
        let namespace = self.namespaces.get(&claim.namespace).map(String::as_str);
        Payers { group, pod: claim.account.as_deref(), namespace }.account(names::DEFAULT_ACCOUNT)
    }
}

/// The part of a card that a Pod has, or asks for as a fraction. How much of a card some memory is depends on the card,
/// so that is known once one is chosen.
fn share(pod: &Pod) -> Option<(String, Quantity)> {
    let asked = pod.annotations().get(names::ANNOTATION_CARD_SHARE)?;
    let (resource, part) = asked.split_once('=')?;
    let given = pod.annotations().get(names::ANNOTATION_CARDS);
    let given = given.and_then(|text| text.rsplit_once(':')).map(|(_, part)| part);
    let share = [given, Some(part)].into_iter().flatten().find_map(|text| {
        let share = Quantity::parse(text.trim()).ok()?;
        (1..=1000).contains(&share.millis()).then_some(share)
    })?;
    Some((resource.trim().to_owned(), share))
}

/// What all Pods cost.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    by_pod: BTreeMap<Key, Claim>,
    /// Pods heard of since a list began.
    listed: Option<BTreeMap<Key, Claim>>,
    pub(crate) complete: bool,
}

impl Claims {
    /// Takes an event in; tells whether anything is different now.
    pub(crate) fn take(&mut self, event: Event<Guarded<Pod>>) -> bool {
        match event {
            Event::Init => {
                self.listed = Some(BTreeMap::new());
                false
            }
            Event::InitApply(pod) => {
                if let (Some(listed), Ok(pod)) = (&mut self.listed, &pod.0)
                    && let Some(claim) = Claim::of(pod)
                {
                    listed.insert(Key::of(pod), claim);
                }
                false
            }
            Event::InitDone => {
                let listed = self.listed.take().unwrap_or_default();
                let changed = !self.complete || self.by_pod != listed;
                (self.by_pod, self.complete) = (listed, true);
                changed
            }
            Event::Apply(pod) => {
                let key = Key { namespace: pod.namespace().unwrap_or_default(), name: pod.name_any() };
                match pod.0.ok().as_ref().and_then(Claim::of) {
                    Some(claim) => self.by_pod.insert(key, claim.clone()) != Some(claim),
                    None => self.by_pod.remove(&key).is_some(),
                }
            }
            Event::Delete(pod) => {
                let key = Key { namespace: pod.namespace().unwrap_or_default(), name: pod.name_any() };
                self.by_pod.remove(&key).is_some()
            }
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Claim> {
        self.by_pod.values()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(annotations: &serde_json::Value, phase: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": { "name": "p", "namespace": "n", "annotations": annotations,
                "labels": { "maar.io/account": "vision", "maar.io/user": "ada", "maar.io/service-level": "best-effort" } },
            "spec": { "nodeName": "a", "containers": [{ "name": "c", "resources": { "requests": { "cpu": "2" } } }] },
            "status": { "phase": phase },
        }))
        .unwrap()
    }

    #[test]
    fn parts_of_cards_count() {
        let amounts = |annotations| Claim::of(&pod(&annotations, "Running")).unwrap().amounts.to_string();
        let whole = amounts(json!({}));
        assert!(whole.contains("cpu") && !whole.contains("gpu"), "{whole}");
        for (share, cards, want) in [
            ("nvidia.com/gpu=0.5", None, Some("500m")),
            ("nvidia.com/gpu=8Gi", None, None),
            ("nvidia.com/gpu=8Gi", Some("nvidia.com/gpu=2:0.1"), Some("100m")),
        ] {
            let mut annotations = json!({ "maar.io/card-share": share });
            if let Some(cards) = cards {
                annotations["maar.io/cards"] = json!(cards);
            }
            let claim = Claim::of(&pod(&annotations, "Running")).unwrap();
            let part = claim.amounts.iter().find(|(name, _)| *name == "nvidia.com/gpu");
            assert_eq!(part.map(|(_, part)| part.to_string()).as_deref(), want, "{share} {cards:?}");
            assert!(claim.best_effort && claim.placed);
        }
        assert_eq!(Claim::of(&pod(&json!({}), "Succeeded")), None);
    }

    #[test]
    fn who_pays_is_found_as_the_scheduler_finds_it() {
        let claim = |scheduler: &str, labels: serde_json::Value| {
            let metadata = json!({ "name": "p", "namespace": "n", "labels": labels });
            let spec = json!({ "schedulerName": scheduler, "containers": [] });
            Claim::of(&serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).unwrap())
        };
        let mut books = Books::default();
        let plain = claim("maar-scheduler", json!({})).unwrap();
        assert_eq!(books.payer(&plain), "default");
        books.namespaces.insert("n".to_owned(), "vision".to_owned());
        assert_eq!(books.payer(&plain), "vision");
        let named =
            claim("maar-scheduler", json!({ "maar.io/account": "speech", "maar.io/job": "train" })).unwrap();
        assert_eq!(books.payer(&named), "speech");
        books.jobs.insert(Key { namespace: "n".to_owned(), name: "train".to_owned() }, "robots".to_owned());
        assert_eq!(books.payer(&named), "robots", "the job has moved since its Pods were made");
        assert_eq!(claim("default-scheduler", json!({})), None, "nobody's business here");
        assert!(claim("volcano", json!({ "maar.io/account": "speech" })).is_some());
    }

    #[test]
    fn only_what_changes_the_sum_is_a_change() {
        let event =
            |phase: &str| Event::Apply(serde_json::from_value(json!(pod(&json!({}), phase))).unwrap());
        let mut claims = Claims::default();
        assert!(claims.take(event("Pending")));
        assert!(!claims.take(event("Running")), "it costs what it did");
        assert!(claims.take(event("Failed")));
        assert!(!claims.take(event("Failed")));
        claims.take(event("Running"));
        claims.take(Event::Init);
        assert!(claims.take(Event::InitDone), "a list that does not name it");
        assert_eq!(claims.all().count(), 0);
    }
}
