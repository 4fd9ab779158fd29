//! One cluster as one scenario sees it: a namespace and nodes of its own.

use std::fmt::Debug;
use std::time::Duration;

use anyhow::Context as _;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, ServiceAccount};
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt as _};
use maar_embedded::Cluster;
use maar_nodes::{Clock, Handle, Options, Profile, simulate};
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::places::{On, Place};
use crate::build::{Build, OWNER};

/// How many nodes every scenario starts with.
const NODES: u32 = 3;

/// A kind of objects in a namespace.
pub trait Kind:
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

/// See the module.
#[derive(Debug)]
pub struct Arena {
    pub(super) on: On,
    place: Place,
    namespace: String,
    /// Further namespaces, to be removed too.
    others: Mutex<Vec<String>>,
    /// The paths of cluster-scoped objects, to be removed too.
    cluster_objects: Mutex<Vec<String>>,
    nodes: Handle,
    stop: CancellationToken,
}

impl Arena {
    pub(super) async fn prepare(on: On, place: Place, namespace: String) -> anyhow::Result<Self> {
        let stop = CancellationToken::new();
        let clock = place.clock.clone();
        let options = Options::in_process(&namespace, Clock::new(move || clock.now()), 1);
        let nodes = simulate(place.client.clone(), profile(&namespace)?, options, stop.clone())
            .await
            .context("letting nodes join")?;
        if let Some(cluster) = &place.embedded {
            cluster.set_kubelets(nodes.dialer());
        }
        let arena = Self {
            on,
            place,
            namespace,
            others: Mutex::default(),
            cluster_objects: Mutex::default(),
            nodes,
            stop,
        };
        if let Err(error) = arena.make_namespace(&arena.namespace).await {
            let _ = arena.clean_up().await;
            return Err(error);
        }
        Ok(arena)
    }

    /// A client with all rights.
    pub fn client(&self) -> Client {
        self.place.client.clone()
    }

    /// The embedded cluster, for scenarios that script faults; none on a real one.
    pub fn embedded(&self) -> Option<&Cluster> {
        self.place.embedded.as_ref()
    }

    /// The scenario's namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The simulated nodes; [`Arena::node_names`] says what they are called.
    pub fn nodes(&self) -> &Handle {
        &self.nodes
    }

    /// The names of the scenario's own nodes, in order.
    pub fn node_names(&self) -> Vec<String> {
        self.nodes.nodes()
    }

    /// Objects of a kind in the scenario's namespace.
    pub fn api<K: Kind>(&self) -> Api<K> {
        Api::namespaced(self.client(), &self.namespace)
    }

    /// Another namespace, removed at the end like the first.
    pub async fn another_namespace(&self, suffix: &str) -> String {
        let name = format!("{}-{suffix}", self.namespace);
        self.make_namespace(&name).await.expect("a namespace can be made");
        self.others.lock().push(name.clone());
        name
    }

    /// Creates an object in the scenario's namespace. Pods, also those of templates, go to the scenario's own nodes.
    pub async fn create<K: Kind>(&self, object: Build<K>) -> K {
        let object = object.placed(&self.namespace);
        let name = object.name_any();
        self.api::<K>()
            .create(&PostParams::default(), &object)
            .await
            .unwrap_or_else(|error| panic_with(&format!("creating {} {name}: {error}", K::kind(&()))))
    }

    /// Creates an object outside of namespaces, removed at the end. Its name should contain [`Arena::namespace`].
    pub async fn create_cluster<K>(&self, object: Build<K>) -> K
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>
            + Clone
            + Debug
            + Serialize
            + DeserializeOwned,
    {
        let object = object.build();
        let path = format!("{}/{}", K::url_path(&(), None), object.name_any());
        self.cluster_objects.lock().push(path.clone());
        let created = Api::all(self.client()).create(&PostParams::default(), &object).await;
        created.unwrap_or_else(|error| panic_with(&format!("creating {path}: {error}")))
    }

    /// The object as it is now.
    pub async fn get<K: Kind>(&self, name: &str) -> K {
        let found = self.api::<K>().get(name).await;
        found.unwrap_or_else(|error| panic_with(&format!("getting {} {name}: {error}", K::kind(&()))))
    }

    /// The objects that carry `app=NAME`, as all that [`crate::build`] makes does; all for the empty name.
    pub async fn list<K: Kind>(&self, app: &str) -> Vec<K> {
        let mut options = ListParams::default();
        if !app.is_empty() {
            options = options.labels(&format!("app={app}"));
        }
        self.api::<K>().list(&options).await.expect("objects can be listed").items
    }

    /// Changes an object by a merge patch.
    pub async fn patch<K: Kind>(&self, name: &str, patch: Value) -> K {
        let patched = self.api::<K>().patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await;
        patched.unwrap_or_else(|error| panic_with(&format!("patching {} {name}: {error}", K::kind(&()))))
    }

    /// Deletes an object.
    pub async fn delete<K: Kind>(&self, name: &str, options: &DeleteParams) {
        self.api::<K>()
            .delete(name, options)
            .await
            .unwrap_or_else(|error| panic_with(&format!("deleting {} {name}: {error}", K::kind(&()))));
    }

    /// Changes one of the scenario's nodes by a strategic merge patch.
    pub async fn patch_node(&self, name: &str, patch: Value) -> Node {
        let nodes: Api<Node> = Api::all(self.client());
        let patch = Patch::Strategic(&patch);
        nodes.patch(name, &PatchParams::default(), &patch).await.expect("a node can be changed")
    }

    /// Gives one of the scenario's nodes these taints, beside the one that keeps others' Pods away.
    pub async fn taint_node(&self, name: &str, taints: &[Value]) -> Node {
        let mut all = vec![json!({"key": OWNER, "value": self.namespace, "effect": "NoSchedule"})];
        all.extend_from_slice(taints);
        self.patch_node(name, json!({"spec": {"taints": all}})).await
    }

    async fn make_namespace(&self, name: &str) -> anyhow::Result<()> {
        let namespaces: Api<Namespace> = Api::all(self.client());
        let namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
        namespaces.create(&PostParams::default(), &namespace).await.context("making a namespace")?;
        // Pods are refused until a controller has made the account that they run as.
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client(), name);
        let limit = tokio::time::Instant::now() + self.on.patience();
        while accounts.get_opt("default").await?.is_none() {
            anyhow::ensure!(tokio::time::Instant::now() < limit, "no service account appeared in {name}");
            tokio::time::sleep(self.on.pace()).await;
        }
        Ok(())
    }

    /// Removes what the scenario made. On a cluster that ends with the scenario there is nothing to do.
    pub(super) async fn clean_up(self) -> anyhow::Result<()> {
        let outcome = if self.on == On::Real { self.remove_all().await } else { Ok(()) };
        self.stop.cancel();
        self.nodes.stopped().await;
        if let Some(cluster) = &self.place.embedded {
            cluster.stop().await;
        }
        outcome
    }

    async fn remove_all(&self) -> anyhow::Result<()> {
        let mut names = self.others.lock().clone();
        names.push(self.namespace.clone());
        let namespaces: Api<Namespace> = Api::all(self.client());
        for name in &names {
            if let Err(error) = namespaces.delete(name, &DeleteParams::default()).await
                && !matches!(&error, kube::Error::Api(status) if status.code == 404)
            {
                return Err(error).context("removing a namespace");
            }
        }
        let limit = tokio::time::Instant::now() + self.on.patience();
        for name in &names {
            while namespaces.get_opt(name).await?.is_some() {
                anyhow::ensure!(tokio::time::Instant::now() < limit, "the namespace {name} does not go away");
                // Nobody waits for what these Pods still had to do.
                let pods: Api<Pod> = Api::namespaced(self.client(), name);
                let _ = pods
                    .delete_collection(&DeleteParams::default().grace_period(0), &ListParams::default())
                    .await;
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
        let paths = self.cluster_objects.lock().clone();
        for path in paths {
            let request = http::Request::delete(&path).body(kube::client::Body::empty())?;
            self.client().send(request).await.with_context(|| format!("removing {path}"))?;
        }
        self.nodes.remove_nodes(&self.nodes.nodes()).await.context("removing the nodes")
    }
}

/// Three nodes that refuse everybody else's Pods.
fn profile(owner: &str) -> anyhow::Result<Profile> {
    let text = json!({
        "name": owner,
        "startDelay": "100ms",
        "pools": [{
            "name": "own", "namePrefix": format!("{owner}-"), "count": NODES, "cpu": 8, "memory": "16Gi",
            "labels": {OWNER: owner},
            "taints": [{"key": OWNER, "value": owner, "effect": "NoSchedule"}],
        }],
    });
    // JSON is YAML.
    Ok(Profile::parse(&text.to_string())?)
}

/// Ends the scenario with a sentence.
#[expect(clippy::panic, reason = "a test that cannot go on")]
pub(super) fn panic_with(sentence: &str) -> ! {
    panic!("{sentence}")
}
