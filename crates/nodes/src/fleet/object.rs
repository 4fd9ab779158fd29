//! Node and Lease objects, as a kubelet would write them.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use maar_quantities::ResourceList;
use serde_json::{Value, json};

use crate::{
    failure::Failures,
    ids,
    lifecycle::status::seconds,
    profile::{Cards, Pool},
};

/// Annotation that says which set of nodes a node belongs to: what carries another value is not ours.
pub const SET_ANNOTATION: &str = "maar.io/node-set";
/// Label with the name of the pool.
pub const POOL_LABEL: &str = "maar.io/pool";
/// Label of nodes that share a rack.
pub const RACK_LABEL: &str = "topology.maar.io/rack";

/// The version a simulated kubelet reports.
pub(crate) const KUBELET_VERSION: &str = "v1.36.4";

/// What all nodes of a pool have in common, kept once.
#[derive(Debug)]
pub(crate) struct PoolShape {
    pub(crate) pool: Pool,
    pub(crate) cards: Option<Arc<Cards>>,
    pub(crate) allocatable: Arc<ResourceList>,
    pub(crate) info: NodeInfo,
    /// The name of the only node of the pool, where it has one that does not count.
    pub(crate) only: Option<String>,
}

/// What a node says about its software.
#[derive(Debug, Clone)]
pub(crate) struct NodeInfo {
    /// What precedes container identifiers and the provider's identifier.
    pub(crate) scheme: &'static str,
    pub(crate) runtime_version: String,
    pub(crate) kernel_version: String,
    pub(crate) os_image: String,
}

impl PoolShape {
    pub(crate) fn new(pool: Pool, info: NodeInfo) -> Self {
        let cards = pool.cards.clone().map(Arc::new);
        Self { allocatable: Arc::new(pool.allocatable.clone()), cards, info, pool, only: None }
    }

    pub(crate) fn node_name(&self, index: u32) -> String {
        self.only.clone().unwrap_or_else(|| self.pool.node_name(index))
    }
}

/// One node: its pool and its number in it.
#[derive(Debug, Clone)]
pub(crate) struct NodePlan {
    pub(crate) shape: Arc<PoolShape>,
    pub(crate) name: Arc<str>,
    /// Number within the pool.
    pub(crate) index: u32,
    pub(crate) address: IpAddr,
    /// First address of its Pods' network.
    pub(crate) network: Ipv4Addr,
    /// Port of the kubelet's HTTP API.
    pub(crate) port: u16,
}

/// Node `ordinal` of a set has this address unless one is given.
pub(crate) fn address(ordinal: u32) -> Ipv4Addr {
    let [_, high, middle, low] = (ordinal % (1 << 20)).to_be_bytes();
    Ipv4Addr::new(172, 16 + high, middle, low)
}

/// And its Pods these, wrapping after 65,536 nodes: the addresses are as simulated as the nodes.
pub(crate) fn network(ordinal: u32) -> Ipv4Addr {
    let [_, _, high, low] = ordinal.to_be_bytes();
    Ipv4Addr::new(10, high, low, 0)
}

impl NodePlan {
    /// Labels of the Node: the well-known ones, topology, and the pool's own.
    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        let pool = &self.shape.pool;
        let mut labels = pool.labels.clone();
        let mut put = |key: &str, value: String| labels.insert(key.to_owned(), value);
        put("kubernetes.io/hostname", self.name.to_string());
        put("kubernetes.io/os", "linux".into());
        put("kubernetes.io/arch", pool.architecture.clone());
        put(POOL_LABEL, pool.name.clone());
        if let Some(region) = &pool.region {
            put("topology.kubernetes.io/region", region.clone());
        }
        let index = usize::try_from(self.index).unwrap_or(0);
        if let Some(zone) = pool.zones.get(index % pool.zones.len().max(1)) {
            put("topology.kubernetes.io/zone", zone.clone());
        }
        if let Some(nodes) = pool.nodes_per_rack {
            put(RACK_LABEL, format!("{}-rack-{}", pool.name, self.index / nodes));
        }
        labels
    }

    /// The Node as it is registered.
    pub(crate) fn node(&self, set: &str, now: Timestamp) -> Value {
        let pool = &self.shape.pool;
        let mut annotations = pool.annotations.clone();
        annotations.insert(SET_ANNOTATION.into(), set.into());
        let taints: Vec<Value> = pool
            .taints
            .iter()
            .map(|taint| json!({ "key": taint.key, "value": taint.value, "effect": taint.effect.as_str() }))
            .collect();
        let cidr = format!("{}/24", self.network);
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": { "name": &*self.name, "labels": self.labels(), "annotations": annotations },
            "spec": {
                "podCIDR": cidr,
                "podCIDRs": [cidr],
                "providerID": format!("{}://{set}/{}", self.shape.info.scheme, self.name),
                "taints": taints,
            },
            "status": self.status(Health { failures: Failures::NONE, ready_since: now, others_since: now }, now),
        })
    }

    /// The status of the Node.
    pub(crate) fn status(&self, health: Health, now: Timestamp) -> Value {
        let (pool, info) = (&self.shape.pool, &self.shape.info);
        json!({
            "capacity": pool.capacity,
            "allocatable": self.allocatable(health.failures),
            "conditions": conditions(health, now),
            "addresses": [
                { "type": "InternalIP", "address": self.address },
                { "type": "Hostname", "address": &*self.name },
            ],
            "daemonEndpoints": { "kubeletEndpoint": { "Port": self.port } },
            "nodeInfo": {
                "architecture": pool.architecture,
                "bootID": ids::uuid(&["boot", &self.name]),
                "containerRuntimeVersion": info.runtime_version,
                "kernelVersion": info.kernel_version,
                "kubeProxyVersion": "",
                "kubeletVersion": KUBELET_VERSION,
                "machineID": &ids::digest(&["machine", &self.name])[..32],
                "operatingSystem": "linux",
                "osImage": info.os_image,
                "systemUUID": ids::uuid(&["system", &self.name]),
            },
        })
    }

    fn allocatable(&self, failures: Failures) -> ResourceList {
        let mut offered = (*self.shape.allocatable).clone();
        if let Some(cards) = &self.shape.cards {
            let left = cards.count.saturating_sub(failures.cards).saturating_mul(cards.replicas);
            offered.insert(cards.resource.clone(), maar_quantities::Quantity::from_units(i64::from(left)));
        }
        offered
    }

    /// The Lease that says the node is alive; `owner` is the uid of the Node.
    pub(crate) fn lease(&self, owner: &str, duration: Duration, now: Timestamp) -> Value {
        json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": &*self.name,
                "namespace": "kube-node-lease",
                "ownerReferences": [{ "apiVersion": "v1", "kind": "Node", "name": &*self.name, "uid": owner }],
            },
            "spec": {
                "holderIdentity": &*self.name,
                "leaseDurationSeconds": duration.as_secs(),
                "renewTime": micros(now),
            },
        })
    }
}

/// What is broken, and since when the node is as it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Health {
    pub(crate) failures: Failures,
    pub(crate) ready_since: Timestamp,
    /// Of the conditions other than Ready.
    pub(crate) others_since: Timestamp,
}

/// The part of a Lease that a renewal changes.
pub(crate) fn renewal(holder: &str, now: Timestamp) -> Value {
    json!({ "spec": { "holderIdentity": holder, "renewTime": micros(now) } })
}

fn conditions(health: Health, now: Timestamp) -> Value {
    let quiet = [
        ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ];
    let ready = if health.failures.not_ready {
        ("False", "KubeletNotReady", "the annotation sim.maar.io/fail says that the node is not ready")
    } else {
        ("True", "KubeletReady", "kubelet is posting ready status")
    };
    let quiet = quiet
        .into_iter()
        .map(|(kind, reason, message)| (kind, "False", reason, message, health.others_since));
    quiet
        .chain([("Ready", ready.0, ready.1, ready.2, health.ready_since)])
        .map(|(kind, status, reason, message, since)| {
            json!({
                "type": kind,
                "status": status,
                "reason": reason,
                "message": message,
                "lastHeartbeatTime": seconds(now),
                "lastTransitionTime": seconds(since),
            })
        })
        .collect()
}

/// `metav1.MicroTime`.
fn micros(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    fn plan(pool: &str, index: u32) -> NodePlan {
        let pool = Profile::built_in().pools.into_iter().find(|candidate| candidate.name == pool).unwrap();
        let name = pool.node_name(index).into();
        let shape = Arc::new(PoolShape::new(pool, crate::simulated::node_info()));
        NodePlan { shape, name, index, address: address(258).into(), network: network(258), port: 10250 }
    }

    #[test]
    fn a_node_is_registered_with_all_that_schedulers_and_people_look_at() {
        let node = plan("a100", 3).node("default", Timestamp::UNIX_EPOCH);
        insta::assert_json_snapshot!(node);
    }

    #[test]
    fn broken_cards_lower_what_is_offered_but_not_what_is_there() {
        let long_ago = Timestamp::UNIX_EPOCH;
        let failures = "cards=3,not-ready".parse().unwrap();
        let health = Health { failures, ready_since: long_ago, others_since: long_ago };
        let status = plan("t4", 0).status(health, Timestamp::UNIX_EPOCH);
        assert_eq!(status["capacity"]["nvidia.com/gpu.shared"], "16");
        assert_eq!(status["allocatable"]["nvidia.com/gpu.shared"], "4");
        assert_eq!(status["conditions"][3]["status"], "False");
    }

    #[test]
    fn zones_take_turns_and_racks_fill_up() {
        let labels = |pool, index| plan(pool, index).labels();
        assert_eq!(labels("cpu", 0)["topology.kubernetes.io/zone"], "zone-a");
        assert_eq!(labels("cpu", 1)["topology.kubernetes.io/zone"], "zone-b");
        assert_eq!(labels("a100", 1)[RACK_LABEL], "a100-rack-0");
        assert_eq!(labels("a100", 2)[RACK_LABEL], "a100-rack-1");
    }

    #[test]
    fn a_lease_belongs_to_its_node() {
        let lease = plan("cpu", 0).lease("some-uid", Duration::from_secs(40), Timestamp::UNIX_EPOCH);
        assert_eq!(lease["metadata"]["ownerReferences"][0]["uid"], "some-uid");
        assert_eq!(lease["spec"]["renewTime"], "1970-01-01T00:00:00.000000Z");
        assert_eq!(lease["spec"]["leaseDurationSeconds"], 40);
    }
}
