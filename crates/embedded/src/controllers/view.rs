//! What controllers look at in a Pod and a Node. Much smaller than the whole types, read once per stored version
//! and shared.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{NodeSelectorRequirement, Taint, Toleration};
use serde::Deserialize;

/// The annotation by which a user says which Pods to delete first.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// A Pod as controllers see it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodView {
    pub(crate) metadata: MetaView,
    pub(crate) spec: PodSpecView,
    pub(crate) status: PodStatusView,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MetaView {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) uid: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) finalizers: Vec<String>,
    pub(crate) generation: i64,
    pub(crate) creation_timestamp: Option<Timestamp>,
    pub(crate) deletion_timestamp: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodSpecView {
    pub(crate) node_name: String,
    pub(crate) hostname: String,
    pub(crate) subdomain: String,
    pub(crate) host_network: bool,
    pub(crate) restart_policy: String,
    pub(crate) containers: Vec<ContainerView>,
    pub(crate) init_containers: Vec<ContainerView>,
    pub(crate) volumes: Vec<VolumeView>,
    pub(crate) tolerations: Vec<Toleration>,
    pub(crate) affinity: Option<AffinityView>,
}

/// The part of a Pod's affinity that names the one node it is for, as DaemonSets write it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AffinityView {
    node_affinity: NodeAffinityView,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct NodeAffinityView {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    required: RequiredView,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RequiredView {
    node_selector_terms: Vec<TermView>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TermView {
    match_fields: Vec<NodeSelectorRequirement>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ContainerView {
    pub(crate) name: String,
    pub(crate) restart_policy: Option<String>,
    pub(crate) ports: Vec<PortView>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PortView {
    pub(crate) name: String,
    pub(crate) container_port: i32,
    pub(crate) protocol: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct VolumeView {
    pub(crate) name: String,
    pub(crate) persistent_volume_claim: Option<ClaimView>,
    /// A claim made for this Pod alone, named after Pod and volume.
    pub(crate) ephemeral: Option<serde::de::IgnoredAny>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClaimView {
    pub(crate) claim_name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodStatusView {
    pub(crate) phase: String,
    pub(crate) reason: String,
    pub(crate) conditions: Vec<ConditionView>,
    pub(crate) container_statuses: Vec<ContainerStatusView>,
    pub(crate) init_container_statuses: Vec<ContainerStatusView>,
    #[serde(rename = "podIP")]
    pub(crate) pod_ip: String,
    #[serde(rename = "podIPs")]
    pub(crate) pod_ips: Vec<AddressView>,
    pub(crate) start_time: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct AddressView {
    pub(crate) ip: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ConditionView {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) last_transition_time: Option<Timestamp>,
    pub(crate) last_heartbeat_time: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ContainerStatusView {
    pub(crate) name: String,
    pub(crate) restart_count: i32,
    pub(crate) state: ContainerStateView,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct ContainerStateView {
    pub(crate) terminated: Option<TerminatedView>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TerminatedView {
    pub(crate) exit_code: i32,
    pub(crate) finished_at: Option<Timestamp>,
}

impl PodView {
    pub(crate) fn name(&self) -> &str {
        &self.metadata.name
    }

    pub(crate) fn label(&self, key: &str) -> &str {
        self.metadata.labels.get(key).map_or("", String::as_str)
    }

    pub(crate) fn is_deleting(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    pub(crate) fn is_succeeded(&self) -> bool {
        self.status.phase == "Succeeded"
    }

    pub(crate) fn is_failed(&self) -> bool {
        self.status.phase == "Failed"
    }

    /// Whether all its containers have ended for good.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_succeeded() || self.is_failed()
    }

    /// Whether it counts as a replica.
    pub(crate) fn is_active(&self) -> bool {
        !self.is_terminal() && !self.is_deleting()
    }

    /// Whether it is asked to go but has not ended yet.
    pub(crate) fn is_terminating(&self) -> bool {
        !self.is_terminal() && self.is_deleting()
    }

    pub(crate) fn condition(&self, kind: &str) -> Option<&ConditionView> {
        self.status.conditions.iter().find(|condition| condition.kind == kind)
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.condition("Ready").is_some_and(|condition| condition.status == "True")
    }

    /// Since when it is ready, as far as that is recorded.
    pub(crate) fn ready_since(&self) -> Option<Timestamp> {
        self.condition("Ready").filter(|ready| ready.status == "True")?.last_transition_time
    }

    /// Whether it has been ready for long enough.
    pub(crate) fn is_available(&self, min_ready_seconds: i32, now: Timestamp) -> bool {
        if !self.is_ready() {
            return false;
        }
        min_ready_seconds == 0 || self.available_at(min_ready_seconds).is_some_and(|at| at <= now)
    }

    fn available_at(&self, min_ready_seconds: i32) -> Option<Timestamp> {
        let wait = SignedDuration::from_secs(i64::from(min_ready_seconds));
        self.ready_since()?.checked_add(wait).ok()
    }

    /// What its user says deleting it costs.
    pub(crate) fn deletion_cost(&self) -> i32 {
        self.metadata.annotations.get(DELETION_COST).and_then(|cost| cost.parse().ok()).unwrap_or(0)
    }

    /// The most restarts of an ordinary container, and of one that runs beside them.
    pub(crate) fn restarts(&self) -> (i32, i32) {
        let most = |statuses: &[ContainerStatusView]| {
            statuses.iter().map(|status| status.restart_count).max().unwrap_or(0)
        };
        let sidecars: Vec<ContainerStatusView> = self
            .status
            .init_container_statuses
            .iter()
            .filter(|status| {
                self.spec.init_containers.iter().any(|container| {
                    container.name == status.name && container.restart_policy.as_deref() == Some("Always")
                })
            })
            .cloned()
            .collect();
        (most(&self.status.container_statuses), most(&sidecars))
    }

    /// The node it is on or, if it was made for one node, will be on.
    pub(crate) fn target_node(&self) -> Option<&str> {
        if !self.spec.node_name.is_empty() {
            return Some(&self.spec.node_name);
        }
        let terms = &self.spec.affinity.as_ref()?.node_affinity.required.node_selector_terms;
        let fields = terms.iter().flat_map(|term| &term.match_fields);
        let names = fields.filter(|field| field.key == "metadata.name" && field.operator == "In");
        names.flat_map(|field| field.values.iter().flatten()).map(String::as_str).next()
    }

    /// The claims its volumes use.
    pub(crate) fn claims(&self) -> impl Iterator<Item = String> + '_ {
        self.spec.volumes.iter().filter_map(|volume| match &volume.persistent_volume_claim {
            Some(claim) => Some(claim.claim_name.clone()),
            None => volume.ephemeral.map(|_| format!("{}-{}", self.metadata.name, volume.name)),
        })
    }
}

/// A Node as controllers see it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeView {
    pub(crate) metadata: MetaView,
    pub(crate) spec: NodeSpecView,
    pub(crate) status: NodeStatusView,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeSpecView {
    pub(crate) unschedulable: bool,
    pub(crate) taints: Vec<Taint>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeStatusView {
    pub(crate) allocatable: BTreeMap<String, String>,
    pub(crate) conditions: Vec<ConditionView>,
}

impl NodeView {
    pub(crate) fn name(&self) -> &str {
        &self.metadata.name
    }

    pub(crate) fn condition(&self, kind: &str) -> Option<&ConditionView> {
        self.status.conditions.iter().find(|condition| condition.kind == kind)
    }
}

/// How long until the first of these Pods becomes available by waiting alone.
pub(crate) fn next_available<'a>(
    pods: impl IntoIterator<Item = &'a PodView>,
    min_ready_seconds: i32,
    now: Timestamp,
) -> Option<Duration> {
    let waits = pods.into_iter().filter(|pod| pod.is_ready()).filter_map(|pod| {
        let wait = pod.available_at(min_ready_seconds)?.duration_since(now);
        Duration::try_from(wait).ok().filter(|wait| !wait.is_zero())
    });
    waits.min()
}

/// How long from `now` to `then`; nothing if it is past.
pub(crate) fn until(then: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(then.duration_since(now)).unwrap_or_default()
}

/// A point in time so many seconds after another.
pub(crate) fn seconds_after(time: Timestamp, seconds: i64) -> Timestamp {
    time.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The time tests call now.
    pub(crate) fn noon() -> Timestamp {
        "2026-01-01T12:00:00Z".parse().unwrap()
    }

    /// A Pod made for a test, changed by the methods below.
    pub(crate) fn pod(name: &str) -> PodView {
        let mut pod = PodView::default();
        name.clone_into(&mut pod.metadata.name);
        pod.metadata.namespace = "default".into();
        pod.metadata.uid = format!("uid-{name}");
        pod.metadata.creation_timestamp = Some(noon() - SignedDuration::from_hours(1));
        pod.status.phase = "Pending".into();
        pod
    }

    impl PodView {
        pub(crate) fn phase(mut self, phase: &str) -> Self {
            phase.clone_into(&mut self.status.phase);
            self
        }

        pub(crate) fn on(mut self, node: &str) -> Self {
            node.clone_into(&mut self.spec.node_name);
            self
        }

        pub(crate) fn labelled(mut self, key: &str, value: &str) -> Self {
            self.metadata.labels.insert(key.into(), value.into());
            self
        }

        pub(crate) fn annotated(mut self, key: &str, value: &str) -> Self {
            self.metadata.annotations.insert(key.into(), value.into());
            self
        }

        pub(crate) fn deleting(mut self) -> Self {
            self.metadata.deletion_timestamp = Some(noon());
            self
        }

        pub(crate) fn aged(mut self, seconds: i64) -> Self {
            self.metadata.creation_timestamp = Some(noon() - SignedDuration::from_secs(seconds));
            self
        }

        /// Running and ready for so many seconds.
        pub(crate) fn ready_for(self, seconds: i64) -> Self {
            let mut pod = self.phase("Running");
            pod.status.conditions.retain(|condition| condition.kind != "Ready");
            pod.status.conditions.push(ConditionView {
                kind: "Ready".into(),
                status: "True".into(),
                reason: String::new(),
                last_transition_time: Some(noon() - SignedDuration::from_secs(seconds)),
                last_heartbeat_time: None,
            });
            pod
        }
    }

    #[test]
    fn a_view_reads_what_it_needs_of_a_pod() {
        let stored: Value = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "a", "namespace": "b", "uid": "u", "managedFields": [{"manager": "x"}],
                "creationTimestamp": "2026-01-01T11:00:00Z"},
            "spec": {"nodeName": "n", "volumes": [
                {"name": "v", "persistentVolumeClaim": {"claimName": "c"}},
                {"name": "w", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
                {"name": "x", "emptyDir": {}}]},
            "status": {"phase": "Running", "podIP": "10.0.0.1", "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T11:59:50Z"}]},
        });
        let view: PodView = serde_json::from_value(stored).unwrap();
        assert_eq!(view.claims().collect::<Vec<_>>(), ["c", "a-w"]);
        assert!(view.is_ready() && view.is_active());
        assert_eq!(view.status.pod_ip, "10.0.0.1");
        assert!(view.is_available(10, noon()));
        assert!(!view.is_available(11, noon()));
        assert_eq!(next_available([&view], 15, noon()), Some(Duration::from_secs(5)));
        assert_eq!(next_available([&view], 10, noon()), None);
    }
}
