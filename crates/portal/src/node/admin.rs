//! What administrators do with a node: cordon it, label it, taint it.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams},
};
use maar_api::names;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::handlers::TaintView;
use crate::{
    access::Verb,
    error::{ApiError, Code},
    route::{
        Answer, Call,
        Method::{Post, Put},
        Route, Target,
    },
};

/// How often it is tried again when somebody else changes the node at the same time.
const ATTEMPTS: usize = 4;
/// Taints of the cluster itself: it takes them away when their reason is gone, and nobody else does.
const OF_CLUSTER: &str = "node.kubernetes.io/";
/// Labels that say what a node is, or by which its pool and owner are found.
const FIXED: [&str; 5] = [
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    names::LABEL_LENT,
    super::occupy::ANNOTATION_POOL_BEFORE,
];
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

pub(super) fn routes() -> Vec<Route> {
    let change = (Verb::Change, Target::Node);
    vec![
        Route::new(Post, "/nodes/{name}/cordon", "cordonNode", change, |call| cordon(call, true))
            .says("Let no new Pods come to a node"),
        Route::new(Post, "/nodes/{name}/uncordon", "uncordonNode", change, |call| cordon(call, false))
            .says("Let new Pods come again"),
        Route::new(Put, "/nodes/{name}/labels", "labelNode", change, labels)
            .says("Set and remove labels of a node")
            .takes::<LabelChange>(),
        Route::new(Put, "/nodes/{name}/taints", "taintNode", change, taints)
            .says("Set the taints of a node; those of the cluster itself stay")
            .takes::<Vec<TaintView>>(),
    ]
}

pub(super) fn api(call: &Call) -> Api<Node> {
    Api::all(call.portal.client.clone())
}

pub(super) fn refused(name: &str, error: kube::Error) -> ApiError {
    ApiError::of_cluster(&format!("node {name}"), error)
}

/// Changes the node that was looked at, and no namesake.
pub(super) async fn merge(call: &Call, mut patch: Value) -> Result<Node, ApiError> {
    let (name, uid) = (call.node()?.name_any(), call.node()?.uid());
    patch["metadata"]["uid"] = json!(uid);
    let params = PatchParams { field_manager: Some("maar-portal".to_owned()), ..PatchParams::default() };
    let changed = api(call).patch(&name, &params, &Patch::Merge(&patch)).await;
    changed.map_err(|error| refused(&name, error))
}

fn is_cordoned(node: &Node) -> bool {
    node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or_default()
}

/// Whether new Pods may come.
pub(super) async fn set_cordon(call: &Call, closed: bool) -> Result<(Value, Value), ApiError> {
    let before = json!({ "unschedulable": is_cordoned(call.node()?) });
    let wanted = if closed { json!(true) } else { Value::Null };
    let node = merge(call, json!({ "metadata": {}, "spec": { "unschedulable": wanted } })).await?;
    Ok((before, json!({ "unschedulable": is_cordoned(&node) })))
}

async fn cordon(call: Call, closed: bool) -> Result<Answer, ApiError> {
    let (before, after) = set_cordon(&call, closed).await?;
    Ok(Answer::done().change(Some(before), Some(after)))
}

/// A change of labels.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LabelChange {
    /// Labels with their values.
    #[serde(default)]
    set: BTreeMap<String, String>,
    /// Labels that shall go.
    #[serde(default)]
    remove: BTreeSet<String>,
}

async fn labels(call: Call) -> Result<Answer, ApiError> {
    let asked: LabelChange = call.body()?;
    let named: BTreeSet<&String> = asked.set.keys().chain(&asked.remove).collect();
    if named.is_empty() || named.len() != asked.set.len() + asked.remove.len() {
        return Err(ApiError::invalid("set", "names labels, none of which is also to be removed"));
    }
    if let Some(fixed) = named.iter().find(|name| FIXED.contains(&name.as_str())) {
        return Err(ApiError::invalid("set", format!("{fixed} is not for people to change")));
    }
    let before = of_names(call.node()?, &named);
    let mut patch: serde_json::Map<String, Value> =
        asked.set.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    patch.extend(asked.remove.iter().map(|name| (name.clone(), Value::Null)));
    let node = merge(&call, json!({ "metadata": { "labels": patch } })).await?;
    Ok(Answer::done().change(Some(before), Some(of_names(&node, &named))))
}

fn of_names(node: &Node, names: &BTreeSet<&String>) -> Value {
    let found: BTreeMap<&String, &String> =
        node.labels().iter().filter(|(name, _)| names.contains(name)).collect();
    json!({ "labels": found })
}

async fn taints(call: Call) -> Result<Answer, ApiError> {
    let asked: Vec<TaintView> = call.body()?;
    check(&asked)?;
    let name = call.node()?.name_any();
    for _ in 0..ATTEMPTS {
        // The whole list is written, so it must be that of the version that was read.
        let node = api(&call).get(&name).await.map_err(|error| refused(&name, error))?;
        let old: Vec<TaintView> = taints_of(&node);
        let kept = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
        let kept: Vec<Value> = kept
            .filter(|taint| taint.key.starts_with(OF_CLUSTER))
            .map(|taint| serde_json::to_value(taint).unwrap_or_default())
            .chain(asked.iter().map(|taint| serde_json::to_value(taint).unwrap_or_default()))
            .collect();
        let metadata = json!({ "resourceVersion": node.resource_version() });
        match merge(&call, json!({ "metadata": metadata, "spec": { "taints": kept } })).await {
            Ok(node) => {
                let (before, after) = (json!({ "taints": old }), json!({ "taints": taints_of(&node) }));
                return Ok(Answer::done().change(Some(before), Some(after)));
            }
            Err(error) if error.code == Code::Conflict => {}
            Err(error) => return Err(error),
        }
    }
    Err(ApiError::new(Code::Conflict, "the node keeps changing: try again"))
}

fn taints_of(node: &Node) -> Vec<TaintView> {
    node.spec.iter().flat_map(|spec| spec.taints.iter().flatten()).map(TaintView::from).collect()
}

fn check(taints: &[TaintView]) -> Result<(), ApiError> {
    let mut seen = BTreeSet::new();
    for (at, taint) in taints.iter().enumerate() {
        let wrong = |field: &str, why: &str| Err(ApiError::invalid(format!("[{at}].{field}"), why));
        if taint.key.is_empty() || taint.key.starts_with(OF_CLUSTER) {
            return wrong("key", "names a taint that is not the cluster's own");
        }
        if !EFFECTS.contains(&taint.effect.as_str()) {
            return wrong("effect", "is NoSchedule, PreferNoSchedule or NoExecute");
        }
        if !seen.insert((&taint.key, &taint.effect)) {
            return wrong("key", "is named twice with the same effect");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taints_of_the_cluster_are_not_for_people() {
        let taint = |key: &str, effect: &str| TaintView {
            key: key.to_owned(),
            value: None,
            effect: effect.to_owned(),
        };
        assert!(check(&[taint("a", "NoSchedule"), taint("a", "NoExecute")]).is_ok());
        for (wrong, field) in [
            (vec![taint("node.kubernetes.io/unreachable", "NoExecute")], "[0].key"),
            (vec![taint("a", "Never")], "[0].effect"),
            (vec![taint("a", "NoSchedule"), taint("a", "NoSchedule")], "[1].key"),
        ] {
            assert_eq!(check(&wrong).unwrap_err().field.as_deref(), Some(field));
        }
    }
}
