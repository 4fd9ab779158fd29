//! Facts about a Deployment and its ReplicaSets, and small changes of the latter.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::Value;

use crate::controllers::owners::controller_reference;
use crate::controllers::portion::{Round, portion};
use crate::controllers::template::hash;

pub(crate) const REVISION: &str = "deployment.kubernetes.io/revision";
const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
pub(crate) const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
pub(crate) const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";
pub(crate) const TEMPLATE_HASH: &str = "pod-template-hash";

/// How long the list of earlier revisions may become.
const HISTORY_CHARACTERS: usize = 2000;

/// How many replicas a Deployment wants, and how far it may stray from that while rolling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) desired: i32,
    pub(crate) surge: i32,
    pub(crate) unavailable: i32,
    pub(crate) rolling: bool,
}

impl Bounds {
    pub(crate) fn of(deployment: &Deployment) -> Self {
        let spec = deployment.spec.clone().unwrap_or_default();
        let desired = spec.replicas.unwrap_or(1);
        let strategy = spec.strategy.unwrap_or_default();
        if strategy.type_.as_deref() == Some("Recreate") {
            return Self { desired, surge: 0, unavailable: 0, rolling: false };
        }
        let rolling = strategy.rolling_update.unwrap_or_default();
        let default = IntOrString::String("25%".into());
        let read = |value: Option<IntOrString>, round| {
            portion(&value.unwrap_or_else(|| default.clone()), desired, round).unwrap_or(0).max(0)
        };
        let surge = read(rolling.max_surge, Round::Up);
        let mut unavailable = read(rolling.max_unavailable, Round::Down);
        if surge == 0 && unavailable == 0 {
            // Otherwise nothing could ever move.
            unavailable = 1;
        }
        Self { desired, surge, unavailable: unavailable.min(desired), rolling: true }
    }

    pub(crate) fn most(self) -> i32 {
        self.desired.saturating_add(self.surge)
    }

    pub(crate) fn least_available(self) -> i32 {
        self.desired - self.unavailable
    }
}

/// The sum of a count over ReplicaSets, or as much of it as fits.
pub(crate) fn sum<'a>(sets: impl IntoIterator<Item = &'a ReplicaSet>, count: fn(&ReplicaSet) -> i32) -> i32 {
    sets.into_iter().map(count).fold(0, i32::saturating_add)
}

pub(crate) fn wanted(set: &ReplicaSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

pub(crate) fn actual(set: &ReplicaSet) -> i32 {
    set.status.as_ref().map_or(0, |status| status.replicas)
}

pub(crate) fn ready(set: &ReplicaSet) -> i32 {
    set.status.as_ref().and_then(|status| status.ready_replicas).unwrap_or(0)
}

pub(crate) fn available(set: &ReplicaSet) -> i32 {
    set.status.as_ref().and_then(|status| status.available_replicas).unwrap_or(0)
}

pub(crate) fn name(set: &ReplicaSet) -> &str {
    set.metadata.name.as_deref().unwrap_or_default()
}

pub(crate) fn annotation<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

pub(crate) fn revision(set: &ReplicaSet) -> i64 {
    annotation(&set.metadata, REVISION).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Oldest first.
pub(crate) fn by_age(one: &ReplicaSet, other: &ReplicaSet) -> std::cmp::Ordering {
    let key = |set: &ReplicaSet| (set.metadata.creation_timestamp.clone(), set.metadata.name.clone());
    key(one).cmp(&key(other))
}

/// Whether two templates make the same Pods. Absent and empty mean the same; the hash label does not count.
pub(crate) fn same_template(one: &PodTemplateSpec, other: &PodTemplateSpec) -> bool {
    comparable(one) == comparable(other)
}

fn comparable(template: &PodTemplateSpec) -> Value {
    let mut template = template.clone();
    if let Some(labels) = template.metadata.as_mut().and_then(|metadata| metadata.labels.as_mut()) {
        labels.remove(TEMPLATE_HASH);
    }
    let mut value = serde_json::to_value(&template).unwrap_or_default();
    drop_empty(&mut value);
    value
}

fn drop_empty(value: &mut Value) {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    };
    match value {
        Value::Object(map) => {
            // `emptyDir: {}` and the like say something by being there: only labels and lists may be empty.
            for (key, member) in map.iter_mut() {
                drop_empty(member);
                if is_empty(member) && matches!(key.as_str(), "labels" | "annotations" | "metadata") {
                    *member = Value::Null;
                }
            }
            map.retain(|_, member| {
                !member.is_null() && member.as_array().is_none_or(|list| !list.is_empty())
            });
        }
        Value::Array(list) => list.iter_mut().for_each(drop_empty),
        _ => {}
    }
}

/// The ReplicaSet for the Deployment's present template, with no replicas yet.
pub(crate) fn make(deployment: &Deployment, new_revision: i64) -> ReplicaSet {
    let spec = deployment.spec.clone().unwrap_or_default();
    let collisions = deployment.status.as_ref().and_then(|status| status.collision_count);
    let hash = hash(&comparable(&spec.template), collisions);
    let mut template = spec.template;
    let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
    labels.insert(TEMPLATE_HASH.into(), hash.clone());
    let labels = labels.clone();
    let mut selector: LabelSelector = spec.selector;
    selector.match_labels.get_or_insert_default().insert(TEMPLATE_HASH.into(), hash.clone());
    let mut set = ReplicaSet {
        metadata: ObjectMeta {
            name: Some(set_name(deployment.metadata.name.as_deref().unwrap_or_default(), &hash)),
            namespace: deployment.metadata.namespace.clone(),
            labels: Some(labels),
            owner_references: Some(vec![controller_reference(deployment)]),
            ..ObjectMeta::default()
        },
        spec: Some(ReplicaSetSpec {
            replicas: Some(0),
            min_ready_seconds: spec.min_ready_seconds,
            selector,
            template: Some(template),
        }),
        status: None,
    };
    annotate_new(deployment, &mut set, new_revision);
    annotate_size(&mut set, Bounds::of(deployment));
    set
}

fn set_name(deployment: &str, hash: &str) -> String {
    let mut end = deployment.len().min(253 - 1 - hash.len());
    while !deployment.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}-{hash}", &deployment[..end])
}

/// Copies the Deployment's annotations to its newest ReplicaSet and counts the revision up if it is behind.
pub(crate) fn annotate_new(deployment: &Deployment, set: &mut ReplicaSet, new_revision: i64) {
    let own = [LAST_APPLIED, REVISION, REVISION_HISTORY, DESIRED_REPLICAS, MAX_REPLICAS, ROLLBACK_TO];
    let old_text = annotation(&set.metadata, REVISION).map(ToOwned::to_owned);
    let annotations = set.metadata.annotations.get_or_insert_default();
    for (key, value) in deployment.metadata.annotations.iter().flatten() {
        if !own.contains(&key.as_str()) {
            annotations.insert(key.clone(), value.clone());
        }
    }
    let old = match &old_text {
        None => 0,
        // A revision that is no number is somebody's own: leave it.
        Some(text) => match text.parse::<i64>() {
            Ok(number) => number,
            Err(_) => return,
        },
    };
    if old < new_revision {
        annotations.insert(REVISION.into(), new_revision.to_string());
        if let Some(old) = old_text {
            append_history(annotations, &old);
        }
    }
}

fn append_history(annotations: &mut BTreeMap<String, String>, revision: &str) {
    let history = annotations.entry(REVISION_HISTORY.into()).or_default();
    let mut revisions: Vec<&str> = history.split(',').filter(|text| !text.is_empty()).collect();
    revisions.push(revision);
    let length = |revisions: &[&str]| revisions.iter().map(|text| text.len() + 1).sum::<usize>() - 1;
    while revisions.len() > 1 && length(&revisions) > HISTORY_CHARACTERS {
        revisions.remove(0);
    }
    *history = revisions.join(",");
}

/// Remembers on a ReplicaSet what size its Deployment had, to tell scaling from rolling.
pub(crate) fn annotate_size(set: &mut ReplicaSet, bounds: Bounds) {
    let annotations = set.metadata.annotations.get_or_insert_default();
    annotations.insert(DESIRED_REPLICAS.into(), bounds.desired.to_string());
    annotations.insert(MAX_REPLICAS.into(), bounds.most().to_string());
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    fn template(value: Value) -> PodTemplateSpec {
        from_value(value).unwrap()
    }

    #[test]
    fn templates_are_compared_by_what_they_make() {
        let plain = json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c"}]}});
        let mut hashed = plain.clone();
        hashed["metadata"]["labels"][TEMPLATE_HASH] = json!("x");
        hashed["metadata"]["annotations"] = json!({});
        hashed["spec"]["tolerations"] = json!([]);
        assert!(same_template(&template(plain.clone()), &template(hashed)));
        let mut other = plain.clone();
        other["spec"]["containers"][0]["image"] = json!("b");
        assert!(!same_template(&template(plain.clone()), &template(other)));
        let mut volume = plain.clone();
        volume["spec"]["volumes"] = json!([{"name": "v", "emptyDir": {}}]);
        assert!(!same_template(&template(plain), &template(volume)));
    }

    #[test]
    fn bounds_never_stand_still() {
        let bounds = |replicas: i32, surge: Value, unavailable: Value| {
            let deployment: Deployment = from_value(json!({"spec": {"replicas": replicas, "selector": {},
                "template": {}, "strategy": {"type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}}}))
            .unwrap();
            let bounds = Bounds::of(&deployment);
            (bounds.surge, bounds.unavailable)
        };
        assert_eq!(bounds(10, json!("25%"), json!("25%")), (3, 2));
        assert_eq!(bounds(1, json!("25%"), json!("25%")), (1, 0));
        assert_eq!(bounds(2, json!(0), json!("10%")), (0, 1));
        assert_eq!(bounds(2, json!(0), json!(5)), (0, 2));
        assert_eq!(bounds(0, json!(1), json!(1)), (1, 0));
    }

    #[test]
    fn revisions_are_counted_and_remembered() {
        let deployment: Deployment = from_value(json!({"metadata": {"name": "d",
            "annotations": {"note": "x", LAST_APPLIED: "{}", REVISION: "9"}},
            "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": {"metadata": {"labels": {"app": "a"}}}}}))
        .unwrap();
        let mut set = make(&deployment, 1);
        let text = |set: &ReplicaSet, key: &str| annotation(&set.metadata, key).map(ToOwned::to_owned);
        assert_eq!(text(&set, REVISION).as_deref(), Some("1"));
        assert_eq!(text(&set, "note").as_deref(), Some("x"));
        assert_eq!(text(&set, LAST_APPLIED), None);
        annotate_new(&deployment, &mut set, 3);
        annotate_new(&deployment, &mut set, 3);
        annotate_new(&deployment, &mut set, 5);
        assert_eq!(text(&set, REVISION).as_deref(), Some("5"));
        assert_eq!(text(&set, REVISION_HISTORY).as_deref(), Some("1,3"));
        let hash = set.metadata.labels.as_ref().unwrap()[TEMPLATE_HASH].clone();
        assert_eq!(name(&set), format!("d-{hash}"));
        assert_eq!(set.spec.unwrap().selector.match_labels.unwrap()[TEMPLATE_HASH], hash);
    }
}
