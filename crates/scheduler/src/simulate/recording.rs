//! A recording of a live cluster: what `kubectl get nodes,pods -A -o json` prints.
//!
//! Pods that run keep their nodes and stay, unless the annotation for the longest run says when they end; Pods that wait
//! are to be placed. Affinity between Pods, spread and volumes are not read.

use std::{collections::BTreeMap, sync::Arc};

use maar_api::{
    ResourceList, names,
    resources::{self, PodResources},
};
use serde::{
    Deserialize,
    de::{Deserializer, IgnoredAny},
};
use thiserror::Error;

use super::trace::{Trace, TracePod};
use crate::model::{
    CardKind, CardKindId, CardRequest, CardShare, Effect, Millis, Node, Operator, Requirement, ResourceId,
    Resources, ServiceLevel, Shape, Taint, Term, Toleration, WHOLE_CARD,
};

/// Resources that count cards.
const CARDS: [&str; 2] = [resources::NVIDIA_GPU, resources::ASCEND_910];
const SECOND: Millis = 1000;

/// Why a recording cannot be read.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// It is not a list of objects.
    #[error("{file} is not the JSON that `kubectl get nodes,pods -A -o json` prints")]
    Json {
        /// The file.
        file: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// It has no nodes.
    #[error("{file} has no nodes; record with `kubectl get nodes,pods -A -o json`")]
    NoNodes {
        /// The file.
        file: String,
    },
    /// A Pod asks for what cannot be understood.
    #[error(
        "{file}: Pod {pod}, annotation {annotation}: {value:?} is not allowed; it must be RESOURCE=SHARE with a \
             share between 0 and 1"
    )]
    Share {
        /// The file.
        file: String,
        /// The Pod.
        pod: String,
        /// The annotation.
        annotation: &'static str,
        /// What it says.
        value: String,
    },
}

#[derive(Deserialize)]
struct Listing {
    items: Vec<Item>,
}

#[derive(Deserialize)]
#[serde(tag = "kind")]
enum Item {
    Node(NodeItem),
    Pod(Box<PodItem>),
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct NodeItem {
    metadata: Meta,
    #[serde(default)]
    spec: NodeSpec,
    #[serde(default)]
    status: NodeStatus,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct NodeSpec {
    unschedulable: bool,
    taints: Vec<TaintItem>,
}

#[derive(Deserialize)]
struct TaintItem {
    key: String,
    #[serde(default)]
    value: String,
    effect: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct NodeStatus {
    allocatable: ResourceList,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Meta {
    name: String,
    namespace: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct PodItem {
    metadata: Meta,
    spec: PodSpec,
    #[serde(default)]
    status: PodStatus,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PodStatus {
    phase: String,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct PodSpec {
    node_name: Option<String>,
    node_selector: BTreeMap<String, String>,
    tolerations: Vec<TolerationItem>,
    priority: i32,
    #[serde(deserialize_with = "terms")]
    affinity: Vec<Term>,
    #[serde(flatten)]
    resources: PodResources,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct TolerationItem {
    key: Option<String>,
    operator: Option<String>,
    value: Option<String>,
    effect: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Affinity {
    node_affinity: NodeAffinity,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct NodeAffinity {
    required_during_scheduling_ignored_during_execution: Option<NodeTerms>,
    #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
    _preferred: IgnoredAny,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct NodeTerms {
    node_selector_terms: Vec<NodeTerm>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct NodeTerm {
    match_expressions: Vec<Expression>,
    match_fields: Vec<Expression>,
}

#[derive(Deserialize)]
struct Expression {
    key: String,
    operator: String,
    #[serde(default)]
    values: Vec<String>,
}

fn terms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Term>, D::Error> {
    let affinity = Affinity::deserialize(deserializer)?;
    let required =
        affinity.node_affinity.required_during_scheduling_ignored_during_execution.unwrap_or_default();
    let all = |expressions: Vec<Expression>| expressions.into_iter().map(requirement).collect();
    Ok(required
        .node_selector_terms
        .into_iter()
        .map(|term| Term { labels: all(term.match_expressions), names: all(term.match_fields) })
        .collect())
}

fn requirement(expression: Expression) -> Requirement {
    let operator = match expression.operator.as_str() {
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        "Gt" => Operator::Gt,
        "Lt" => Operator::Lt,
        _ => Operator::In,
    };
    Requirement { key: expression.key, operator, values: expression.values }
}

/// Reads a recording.
pub fn read(file: &str, text: &str) -> Result<Trace, RecordingError> {
    let listing: Listing = serde_json::from_str(text)
        .map_err(|source| RecordingError::Json { file: file.to_owned(), source })?;
    let mut resources = Resources::default();
    let kinds: Vec<CardKind> = CARDS
        .iter()
        .map(|name| CardKind { resource: resources.card(name), memory_label: None, sharers: u16::MAX })
        .collect();
    let mut trace = Trace { resources, kinds, nodes: Vec::new(), pods: Vec::new() };
    for item in listing.items {
        match item {
            Item::Node(node) => {
                let node = node.translated(&mut trace.resources);
                trace.nodes.push(node);
            }
            Item::Pod(pod) if !matches!(pod.status.phase.as_str(), "Succeeded" | "Failed") => {
                let pod = pod.translated(file, &mut trace.resources)?;
                trace.pods.push(pod);
            }
            Item::Pod(_) | Item::Other => {}
        }
    }
    if trace.nodes.is_empty() {
        return Err(RecordingError::NoNodes { file: file.to_owned() });
    }
    Ok(trace)
}

impl NodeItem {
    fn translated(self, resources: &mut Resources) -> Node {
        let effect = |text: &str| match text {
            "PreferNoSchedule" => Effect::PreferNoSchedule,
            "NoExecute" => Effect::NoExecute,
            _ => Effect::NoSchedule,
        };
        let taints = self.spec.taints.into_iter();
        Node {
            name: self.metadata.name,
            pool: self.metadata.labels.get(names::LABEL_POOL).cloned(),
            labels: self.metadata.labels,
            taints: taints
                .map(|one| Taint { effect: effect(&one.effect), key: one.key, value: one.value })
                .collect(),
            unschedulable: self.spec.unschedulable,
            allocatable: resources.amounts(&self.status.allocatable),
            ..Node::default()
        }
    }
}

impl PodItem {
    fn translated(self, file: &str, resources: &mut Resources) -> Result<TracePod, RecordingError> {
        let cards = self.cards(file)?;
        let Self { metadata, spec, .. } = self;
        let mut requests = resources.amounts(&spec.resources.requests());
        for name in CARDS {
            let card = resources.card(name);
            requests.set(card, 0);
        }
        requests.set(ResourceId::PODS, 1);
        let shape = Shape {
            namespace: metadata.namespace.clone(),
            requests,
            cards,
            node_selector: spec.node_selector,
            node_terms: spec.affinity,
            tolerations: spec.tolerations.into_iter().map(toleration).collect(),
            ..Shape::default()
        };
        let label = |name: &str| metadata.labels.get(name).map(|value| Arc::from(value.as_str()));
        let account = label(names::LABEL_ACCOUNT).unwrap_or_else(|| names::DEFAULT_ACCOUNT.into());
        let best_effort = metadata
            .labels
            .get(names::LABEL_SERVICE_LEVEL)
            .is_some_and(|level| level == names::LEVEL_BEST_EFFORT);
        let runs = metadata
            .annotations
            .get(names::ANNOTATION_MAX_RUN_TIME)
            .and_then(|text| text.parse::<Millis>().ok());
        Ok(TracePod {
            name: format!("{}/{}", metadata.namespace, metadata.name).into(),
            shape: Arc::new(shape),
            user: label(names::LABEL_USER).unwrap_or_else(|| Arc::clone(&account)),
            account,
            level: if best_effort { ServiceLevel::BestEffort } else { ServiceLevel::Guaranteed },
            priority: spec.priority,
            job: metadata
                .labels
                .get(names::LABEL_JOB)
                .map(|job| format!("{}/{job}", metadata.namespace).into()),
            arrives: 0,
            node: spec.node_name.filter(|name| !name.is_empty()).map(Into::into),
            runs: runs.map(|seconds| seconds.saturating_mul(SECOND)),
        })
    }

    fn cards(&self, file: &str) -> Result<CardRequest, RecordingError> {
        let annotation = names::ANNOTATION_CARD_SHARE;
        if let Some(value) = self.metadata.annotations.get(annotation) {
            return share(value).ok_or_else(|| RecordingError::Share {
                file: file.to_owned(),
                pod: format!("{}/{}", self.metadata.namespace, self.metadata.name),
                annotation,
                value: value.clone(),
            });
        }
        let requests = self.spec.resources.requests();
        let asked = (0..).map(CardKindId).zip(CARDS).find(|(_, name)| requests.get(name).value() > 0);
        Ok(asked.map_or(CardRequest::None, |(kind, name)| CardRequest::Whole {
            kind,
            count: u16::try_from(requests.get(name).value()).unwrap_or(u16::MAX),
        }))
    }
}

/// `RESOURCE=SHARE`, the share a part of a card.
fn share(text: &str) -> Option<CardRequest> {
    let (name, part) = text.split_once('=')?;
    let (kind, _) = (0..).map(CardKindId).zip(CARDS).find(|(_, card)| *card == name.trim())?;
    let milli = maar_api::Quantity::parse(part.trim()).ok()?.millis();
    let milli = u16::try_from(milli).ok().filter(|milli| (1..WHOLE_CARD).contains(milli))?;
    Some(CardRequest::Share { kind, share: CardShare::Milli(milli), index: None })
}

fn toleration(item: TolerationItem) -> Toleration {
    let exists = item.operator.as_deref() == Some("Exists");
    let effect = match item.effect.as_deref() {
        Some("NoSchedule") => Some(Effect::NoSchedule),
        Some("PreferNoSchedule") => Some(Effect::PreferNoSchedule),
        Some("NoExecute") => Some(Effect::NoExecute),
        _ => None,
    };
    let key = item.key.filter(|key| !key.is_empty());
    Toleration { key, value: (!exists).then(|| item.value.unwrap_or_default()), effect }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str = r#"{"kind": "List", "items": [
      {"kind": "Node", "metadata": {"name": "n1", "labels": {"zone": "a"}},
       "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]},
       "status": {"allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "4"}}},
      {"kind": "Pod", "metadata": {"name": "runs", "namespace": "team", "labels": {"maar.io/account": "vision"}},
       "spec": {"nodeName": "n1", "containers": [{"name": "c", "resources": {"requests": {"cpu": "500m",
                "nvidia.com/gpu": "2"}}}],
                "tolerations": [{"key": "gpu", "operator": "Exists"}]},
       "status": {"phase": "Running"}},
      {"kind": "Pod", "metadata": {"name": "waits", "namespace": "team",
                "annotations": {"maar.io/card-share": "nvidia.com/gpu=0.25"}},
       "spec": {"containers": [{"name": "c"}],
                "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms":
                  [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}}}},
       "status": {"phase": "Pending"}},
      {"kind": "Pod", "metadata": {"name": "over", "namespace": "team"}, "spec": {"containers": []},
       "status": {"phase": "Succeeded"}},
      {"kind": "Service", "metadata": {"name": "other"}}]}"#;

    #[test]
    fn nodes_and_pods_of_a_recording_become_a_trace() {
        let trace = read("cluster.json", RECORDED).unwrap();
        assert_eq!(trace.card_capacity(), 4000);
        assert_eq!(trace.nodes[0].taints.len(), 1);
        let [runs, waits] = trace.pods.as_slice() else { panic!("two Pods: {:?}", trace.pods) };
        assert_eq!((runs.node.as_deref(), &*runs.account, runs.cards()), (Some("n1"), "vision", 2000));
        assert_eq!(runs.shape.requests.get(ResourceId::CPU), 500);
        assert_eq!((waits.node.as_deref(), waits.cards()), (None, 250));
        assert_eq!(waits.shape.node_terms[0].labels[0].key, "zone");
    }

    #[test]
    fn mistakes_are_named() {
        let json = read("cluster.json", "{").unwrap_err();
        assert!(json.to_string().starts_with("cluster.json is not the JSON"), "{json}");
        let empty = read("cluster.json", r#"{"items": []}"#).unwrap_err();
        assert!(empty.to_string().starts_with("cluster.json has no nodes"), "{empty}");
        let share = read("cluster.json", &RECORDED.replace("=0.25", "=2")).unwrap_err();
        assert!(
            share.to_string().contains("Pod team/waits, annotation maar.io/card-share: \"nvidia.com/gpu=2\""),
            "{share}"
        );
    }
}
