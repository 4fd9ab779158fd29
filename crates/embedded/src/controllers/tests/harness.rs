//! A cluster for a scenario, with nodes that a stand-in kubelet looks after.
#![expect(clippy::needless_pass_by_value, reason = "tables of JSON literals read better by value")]

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, json};

use crate::cluster::{Cluster, Config};

/// How long a scenario waits for something, in its own time.
const PATIENCE: Duration = Duration::from_mins(10);
const STEP: Duration = Duration::from_millis(50);

pub(super) struct World {
    pub(super) cluster: Cluster,
    pub(super) client: Client,
    nodes: Vec<String>,
    /// Nodes whose kubelet does nothing any more.
    pub(super) dead: BTreeSet<String>,
    /// Annotation `exit` of Pods ends them; without it they run.
    serial: u32,
    last_heartbeat: Option<tokio::time::Instant>,
}

/// A kind that scenarios can read and write by name.
pub(super) trait Kind:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Serialize + DeserializeOwned
{
}
impl<K> Kind for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned
{
}

impl World {
    pub(super) async fn new(nodes: usize) -> Self {
        let cluster = Cluster::start(Config::simulated(7)).await.unwrap();
        let client = cluster.client();
        let mut world = Self {
            cluster,
            client,
            nodes: Vec::new(),
            dead: BTreeSet::new(),
            serial: 0,
            last_heartbeat: None,
        };
        for number in 0..nodes {
            world.add_node(&format!("node-{number}"), json!({})).await;
        }
        world
            .wait("the default service account", async |world| {
                world
                    .api::<k8s_openapi::api::core::v1::ServiceAccount>()
                    .get_opt("default")
                    .await
                    .unwrap()
                    .is_some()
            })
            .await;
        world
    }

    pub(super) fn api<K: Kind>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), "default")
    }

    pub(super) async fn add_node(&mut self, name: &str, labels: Value) {
        let mut node = json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}});
        for (key, value) in labels.as_object().unwrap() {
            node["metadata"]["labels"][key] = value.clone();
        }
        let api: Api<Node> = Api::all(self.client.clone());
        api.create(&PostParams::default(), &from_value(node).unwrap()).await.unwrap();
        let status = json!({"status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
            "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
        api.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
        self.nodes.push(name.to_owned());
    }

    pub(super) async fn create<K: Kind>(&self, object: Value) -> K {
        let object: K = from_value(object).unwrap();
        self.api::<K>().create(&PostParams::default(), &object).await.unwrap()
    }

    pub(super) async fn patch<K: Kind>(&self, name: &str, patch: Value) -> K {
        self.api::<K>().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap()
    }

    pub(super) async fn get<K: Kind>(&self, name: &str) -> K {
        self.api::<K>().get(name).await.unwrap()
    }

    pub(super) async fn list<K: Kind>(&self) -> Vec<K> {
        self.api::<K>().list(&ListParams::default()).await.unwrap().items
    }

    pub(super) async fn names<K: Kind>(&self) -> Vec<String> {
        self.list::<K>().await.into_iter().map(|object| object.meta().name.clone().unwrap()).collect()
    }

    /// Events about an object, as `reason message`.
    pub(super) async fn events(&self, about: &str) -> Vec<String> {
        let events = self.list::<k8s_openapi::api::core::v1::Event>().await;
        let ours = events.into_iter().filter(|event| event.involved_object.name.as_deref() == Some(about));
        ours.map(|event| {
            format!("{} {}", event.reason.unwrap_or_default(), event.message.unwrap_or_default())
        })
        .collect()
    }

    /// Lets time pass until something is so.
    pub(super) async fn wait(&mut self, what: &str, mut holds: impl AsyncFnMut(&Self) -> bool) {
        let start = tokio::time::Instant::now();
        while !holds(self).await {
            assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
            self.tick().await;
        }
    }

    /// Lets time pass.
    pub(super) async fn pass(&mut self, time: Duration) {
        let end = tokio::time::Instant::now() + time;
        while tokio::time::Instant::now() < end {
            self.tick().await;
        }
    }

    async fn tick(&mut self) {
        self.heartbeat().await;
        for pod in Api::<Pod>::all(self.client.clone()).list(&ListParams::default()).await.unwrap().items {
            self.serve(&pod).await;
        }
        tokio::time::sleep(STEP).await;
    }

    async fn heartbeat(&mut self) {
        let now = tokio::time::Instant::now();
        if self.last_heartbeat.is_some_and(|last| now.duration_since(last) < Duration::from_secs(10)) {
            return;
        }
        self.last_heartbeat = Some(now);
        let api: Api<Lease> = Api::namespaced(self.client.clone(), "kube-node-lease");
        for name in self.nodes.iter().filter(|name| !self.dead.contains(*name)) {
            let time = self.cluster.world().clock.now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
            let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name},
                "spec": {"holderIdentity": name, "renewTime": time, "leaseDurationSeconds": 40}});
            api.patch(name, &PatchParams::apply("kubelet").force(), &Patch::Apply(lease)).await.unwrap();
            self.speak(name, &time).await;
        }
    }

    /// A node that was given up is ready again when its kubelet speaks.
    async fn speak(&self, name: &str, time: &str) {
        let api: Api<Node> = Api::all(self.client.clone());
        let conditions = api.get(name).await.unwrap().status.unwrap().conditions.unwrap_or_default();
        if conditions.iter().any(|one| one.type_ == "Ready" && one.status == "Unknown") {
            let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                "lastHeartbeatTime": time, "lastTransitionTime": time}]}});
            api.patch_status(name, &PatchParams::default(), &Patch::Strategic(ready)).await.unwrap();
        }
    }

    /// What a kubelet does about one Pod.
    async fn serve(&mut self, pod: &Pod) {
        let (name, namespace) = (pod.metadata.name.clone().unwrap(), pod.metadata.namespace.clone().unwrap());
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default();
        if !self.nodes.contains(&node) || self.dead.contains(&node) {
            return;
        }
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &namespace);
        let phase = pod.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default();
        let exit = pod.metadata.annotations.as_ref().and_then(|all| all.get("exit").cloned());
        if pod.metadata.deletion_timestamp.is_some() {
            if phase == "Running" {
                let ended = json!({"status": {"phase": "Failed"}});
                let _ = api.patch_status(&name, &PatchParams::default(), &Patch::Merge(ended)).await;
            }
            let _ = api.delete(&name, &DeleteParams::default().grace_period(0)).await;
        } else if phase == "Pending" {
            self.serial += 1;
            let now = self.cluster.world().now_text();
            let never = pod.metadata.annotations.as_ref().is_some_and(|all| all.contains_key("never-ready"));
            let ready = if never { "False" } else { "True" };
            let address = format!("10.1.{}.{}", self.serial / 250, self.serial % 250 + 1);
            let running = json!({"status": {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}],
                "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": now}]}});
            let _ = api.patch_status(&name, &PatchParams::default(), &Patch::Merge(running)).await;
        } else if let Some(code) = exit.filter(|_| phase == "Running") {
            let now = self.cluster.world().now_text();
            let phase = if code == "0" { "Succeeded" } else { "Failed" };
            let code: i32 = code.parse().unwrap();
            let ended = json!({"status": {"phase": phase,
                "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": now}],
                "containerStatuses": [{"name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
                    "state": {"terminated": {"exitCode": code, "finishedAt": now}}}]}});
            let _ = api.patch_status(&name, &PatchParams::default(), &Patch::Merge(ended)).await;
        }
    }
}

/// The template of a Pod with one container.
pub(super) fn template(app: &str, image: &str, annotations: Value) -> Value {
    json!({"metadata": {"labels": {"app": app}, "annotations": annotations},
        "spec": {"containers": [{"name": "c", "image": image}]}})
}
