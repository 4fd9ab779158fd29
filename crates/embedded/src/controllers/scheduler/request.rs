//! What a Pod asks of a node, read once.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use k8s_openapi::api::core::v1::{
    Affinity, Container, Pod, PodAffinityTerm, PodSpec, TopologySpreadConstraint, WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use maar_machinery::selector::{LabelSelector, Operator, Requirement};
use maar_quantities::resources::{CPU, MEMORY, PodResources};

/// What a Pod without requests is taken to need when nodes are compared.
const DEFAULT_MILLICORES: i64 = 100;
const DEFAULT_MEMORY: i64 = 200 * 1024 * 1024;

/// Numbers for resource names, so that nodes and Pods are compared without looking names up.
#[derive(Debug, Default)]
pub(crate) struct Names {
    ids: BTreeMap<String, usize>,
    texts: Vec<String>,
}

impl Names {
    pub(crate) fn id(&mut self, name: &str) -> usize {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = self.texts.len();
        self.ids.insert(name.to_owned(), id);
        self.texts.push(name.to_owned());
        id
    }

    pub(crate) fn text(&self, id: usize) -> &str {
        &self.texts[id]
    }
}

/// Amounts by the number of their resource: cores in thousandths, everything else in units.
pub(crate) type Amounts = Vec<(usize, i64)>;

/// A port on the node's own address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HostPort {
    pub(crate) protocol: String,
    pub(crate) address: String,
    pub(crate) port: i32,
}

impl HostPort {
    /// Whether both cannot be open on one node. An unspecified address is all of them.
    pub(crate) fn clashes(&self, other: &Self) -> bool {
        let any = |address: &str| address.is_empty() || address == "0.0.0.0";
        self.port == other.port
            && self.protocol == other.protocol
            && (any(&self.address) || any(&other.address) || self.address == other.address)
    }
}

/// Which other Pods a Pod wants to be with or apart from, and how near that is.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    namespaces: BTreeSet<String>,
    namespace_selector: Option<LabelSelector>,
    selector: LabelSelector,
    pub(crate) topology_key: String,
}

impl Term {
    fn read(term: &PodAffinityTerm, own_namespace: &str, own_labels: &BTreeMap<String, String>) -> Self {
        let mut namespaces: BTreeSet<String> = term.namespaces.iter().flatten().cloned().collect();
        if namespaces.is_empty() && term.namespace_selector.is_none() {
            namespaces.insert(own_namespace.to_owned());
        }
        let read = |selector| LabelSelector::try_from(selector).unwrap_or_else(|_| LabelSelector::nothing());
        let selector = term.label_selector.as_ref().map_or_else(LabelSelector::nothing, read);
        let selector = narrow(selector, term.match_label_keys.as_deref(), Operator::In, own_labels);
        let selector = narrow(selector, term.mismatch_label_keys.as_deref(), Operator::NotIn, own_labels);
        Self {
            namespaces,
            namespace_selector: term.namespace_selector.as_ref().map(read),
            selector,
            topology_key: term.topology_key.clone(),
        }
    }

    /// Whether a Pod of that namespace with these labels is meant.
    pub(crate) fn means(
        &self,
        namespace: &str,
        namespace_labels: Option<&BTreeMap<String, String>>,
        labels: &BTreeMap<String, String>,
    ) -> bool {
        let empty = BTreeMap::new();
        let in_namespace = self.namespaces.contains(namespace)
            || self
                .namespace_selector
                .as_ref()
                .is_some_and(|selector| selector.matches(namespace_labels.unwrap_or(&empty)));
        in_namespace && self.selector.matches(labels)
    }
}

/// Adds the Pod's own values of some labels to a selector.
fn narrow(
    selector: LabelSelector,
    keys: Option<&[String]>,
    operator: Operator,
    labels: &BTreeMap<String, String>,
) -> LabelSelector {
    let Some(keys) = keys.filter(|keys| !keys.is_empty()) else { return selector };
    let own = keys.iter().filter_map(|key| {
        let value = labels.get(key)?;
        Requirement::new(key.clone(), operator, [value.clone()]).ok()
    });
    LabelSelector::new(selector.requirements().iter().cloned().chain(own))
}

/// How evenly Pods are to be spread.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    pub(crate) selector: LabelSelector,
    pub(crate) topology_key: String,
    pub(crate) max_skew: i64,
    pub(crate) min_domains: usize,
    pub(crate) required: bool,
    pub(crate) honor_affinity: bool,
    pub(crate) honor_taints: bool,
}

impl Spread {
    fn read(constraint: &TopologySpreadConstraint, labels: &BTreeMap<String, String>) -> Self {
        let read = |selector| LabelSelector::try_from(selector).unwrap_or_else(|_| LabelSelector::nothing());
        let selector = constraint.label_selector.as_ref().map_or_else(LabelSelector::nothing, read);
        Self {
            selector: narrow(selector, constraint.match_label_keys.as_deref(), Operator::In, labels),
            topology_key: constraint.topology_key.clone(),
            max_skew: i64::from(constraint.max_skew),
            min_domains: usize::try_from(constraint.min_domains.unwrap_or(1)).unwrap_or(1),
            required: constraint.when_unsatisfiable == "DoNotSchedule",
            honor_affinity: constraint.node_affinity_policy.as_deref() != Some("Ignore"),
            honor_taints: constraint.node_taints_policy.as_deref() == Some("Honor"),
        }
    }
}

/// See the module documentation.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) priority: i32,
    pub(crate) amounts: Amounts,
    /// Cores and memory with something for those who ask for nothing.
    pub(crate) weight: (i64, i64),
    pub(crate) ports: Vec<HostPort>,
    /// The specification without its containers and volumes.
    pub(crate) spec: PodSpec,
    pub(crate) with: Vec<Term>,
    pub(crate) apart: Vec<Term>,
    /// Wishes, negative for staying apart.
    pub(crate) wishes: Vec<(i64, Term)>,
    pub(crate) spread: Vec<Spread>,
    /// Whose Pods are spread over nodes although nobody said so: the uid of its ReplicaSet or StatefulSet.
    pub(crate) set: Option<String>,
    pub(crate) claims: Vec<String>,
    pub(crate) gated: bool,
    /// Equal for Pods that fit on the same nodes.
    pub(crate) signature: u64,
}

impl Request {
    /// Reads a Pod; a quantity that cannot be read counts as nothing.
    pub(crate) fn read(pod: Pod, names: &mut Names) -> Self {
        let resources = PodResources::from_pod(&pod).unwrap_or_default().requests();
        let mut amounts: Amounts = Vec::new();
        let mut weight = (DEFAULT_MILLICORES, DEFAULT_MEMORY);
        for (name, quantity) in &resources {
            let amount = if name == CPU { quantity.millis() } else { quantity.value() };
            match name.as_str() {
                CPU if amount > 0 => weight.0 = amount,
                MEMORY if amount > 0 => weight.1 = amount,
                _ => {}
            }
            if amount > 0 {
                amounts.push((names.id(name), amount));
            }
        }
        let mut spec = pod.spec.unwrap_or_default();
        let set = set(&pod.metadata, &spec);
        let metadata = pod.metadata;
        let namespace = metadata.namespace.unwrap_or_default();
        let name = metadata.name.unwrap_or_default();
        let labels = metadata.labels.unwrap_or_default();
        let ports = host_ports(&spec);
        let claims = claims(&spec, &name);
        let affinity = spec.affinity.clone().unwrap_or_default();
        let (with, apart, wishes) = terms(&affinity, &namespace, &labels);
        let spread = spec.topology_spread_constraints.iter().flatten();
        let spread = spread.map(|constraint| Spread::read(constraint, &labels)).collect();
        spec.containers = Vec::new();
        spec.init_containers = None;
        spec.volumes = None;
        let mut request = Self {
            priority: spec.priority.unwrap_or(0),
            uid: metadata.uid.unwrap_or_default(),
            gated: spec.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty()),
            signature: 0,
            namespace,
            name,
            labels,
            amounts,
            weight,
            ports,
            spec,
            with,
            apart,
            wishes,
            spread,
            set,
            claims,
        };
        request.signature = request.sign();
        request
    }

    fn sign(&self) -> u64 {
        // The hasher of the standard library with fixed keys: the same in every run.
        let mut hasher = std::collections::hash_map::DefaultHasher::new();
        self.amounts.hash(&mut hasher);
        self.namespace.hash(&mut hasher);
        self.labels.hash(&mut hasher);
        self.claims.hash(&mut hasher);
        let spec = serde_json::to_string(&self.spec).unwrap_or_default();
        spec.hash(&mut hasher);
        for port in &self.ports {
            (&port.protocol, &port.address, port.port).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Whether it may have to wait until others are placed.
    pub(crate) fn waits_for_others(&self) -> bool {
        !self.with.is_empty() || self.spread.iter().any(|spread| spread.required)
    }

    /// Whether another Pod that was just placed may be what it waits for.
    pub(crate) fn is_helped_by(
        &self,
        namespace: &str,
        namespace_labels: Option<&BTreeMap<String, String>>,
        labels: &BTreeMap<String, String>,
    ) -> bool {
        let near = |term: &Term| term.means(namespace, namespace_labels, labels);
        let evens = |spread: &Spread| spread.required && spread.selector.matches(labels);
        self.with.iter().any(near) || (self.namespace == namespace && self.spread.iter().any(evens))
    }

    /// Whether where other Pods are decides where this one may be.
    pub(crate) fn looks_at_others(&self) -> bool {
        !self.with.is_empty()
            || !self.apart.is_empty()
            || !self.claims.is_empty()
            || self.spread.iter().any(|spread| spread.required)
    }
}

fn set(metadata: &ObjectMeta, spec: &PodSpec) -> Option<String> {
    let by_itself = spec.topology_spread_constraints.as_ref().is_none_or(Vec::is_empty);
    let owner = metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
    let counts = matches!(owner.kind.as_str(), "ReplicaSet" | "StatefulSet" | "ReplicationController");
    (by_itself && counts).then(|| owner.uid.clone())
}

fn host_ports(spec: &PodSpec) -> Vec<HostPort> {
    let sidecar = |container: &&Container| container.restart_policy.as_deref() == Some("Always");
    let init = spec.init_containers.iter().flatten().filter(sidecar);
    let ports = spec.containers.iter().chain(init).flat_map(|container| container.ports.iter().flatten());
    ports
        .filter_map(|port| {
            let number = port.host_port.filter(|number| *number > 0)?;
            let protocol = port.protocol.clone().unwrap_or_else(|| "TCP".into());
            Some(HostPort { protocol, address: port.host_ip.clone().unwrap_or_default(), port: number })
        })
        .collect()
}

fn claims(spec: &PodSpec, pod: &str) -> Vec<String> {
    let volumes = spec.volumes.iter().flatten();
    volumes
        .filter_map(|volume| match &volume.persistent_volume_claim {
            Some(claim) => Some(claim.claim_name.clone()),
            None => volume.ephemeral.as_ref().map(|_| format!("{pod}-{}", volume.name)),
        })
        .collect()
}

type Terms = (Vec<Term>, Vec<Term>, Vec<(i64, Term)>);

fn terms(affinity: &Affinity, namespace: &str, labels: &BTreeMap<String, String>) -> Terms {
    let read = |term: &PodAffinityTerm| Term::read(term, namespace, labels);
    let all = |terms: Option<&Vec<PodAffinityTerm>>| terms.into_iter().flatten().map(read).collect();
    let weigh = |terms: Option<&Vec<WeightedPodAffinityTerm>>, sign: i64| -> Vec<(i64, Term)> {
        let terms = terms.into_iter().flatten();
        terms.map(|term| (sign * i64::from(term.weight), read(&term.pod_affinity_term))).collect()
    };
    let with = affinity.pod_affinity.as_ref();
    let apart = affinity.pod_anti_affinity.as_ref();
    let mut wishes =
        weigh(with.and_then(|with| with.preferred_during_scheduling_ignored_during_execution.as_ref()), 1);
    wishes.extend(weigh(
        apart.and_then(|apart| apart.preferred_during_scheduling_ignored_during_execution.as_ref()),
        -1,
    ));
    (
        all(with.and_then(|with| with.required_during_scheduling_ignored_during_execution.as_ref())),
        all(apart.and_then(|apart| apart.required_during_scheduling_ignored_during_execution.as_ref())),
        wishes,
    )
}
