//! Kubelets and a real Kubernetes: ours joining its control plane, and its own beside ours.
//!
//! `make real` offers the cluster and asks for these tests, which are ignored otherwise.

#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests fail as tests do")]

mod machine;
mod simulated;

use std::time::Duration;

use k8s_openapi::api::core::v1::{Event, Namespace, Pod, ServiceAccount};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use maar_nodes::Listen;
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(2);

/// A real cluster.
struct Real {
    client: Client,
    /// Where its API server reaches kubelets of ours.
    listen: Listen,
}

#[expect(clippy::disallowed_methods, reason = "tests learn of real clusters by the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The first cluster that `make real` offers.
async fn real() -> Real {
    let files =
        variable("MAAR_REAL_KUBECONFIG").expect("make real names the cluster in MAAR_REAL_KUBECONFIG");
    // Another test of this process may have been first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let kubeconfig = Kubeconfig::read_from(files.split(':').next().unwrap_or_default()).unwrap();
    let config =
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let listen = Listen::beside(&config).expect("dev/real is on this machine");
    Real { client: Client::try_from(config).unwrap(), listen }
}

/// Asks until the answer is as wanted.
async fn until<T, F>(what: &str, mut ask: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, String>>,
{
    let limit = tokio::time::Instant::now() + PATIENCE;
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(seen) if tokio::time::Instant::now() >= limit => panic!("{what} never came true: {seen}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
}

/// A namespace of its own, ready for Pods.
struct Place {
    client: Client,
    name: String,
}

impl Place {
    async fn make(client: &Client, name: &str) -> Self {
        let name = format!("{name}-{}", std::process::id());
        let namespace = serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();
        Api::<Namespace>::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
        let accounts = Api::<ServiceAccount>::namespaced(client.clone(), &name);
        until("a default service account", || async {
            accounts.get("default").await.map(drop).map_err(|error| error.to_string())
        })
        .await;
        Self { client: client.clone(), name }
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.name)
    }

    async fn create(&self, name: &str, annotations: Value, spec: Value) {
        let pod = json!({ "metadata": { "name": name, "annotations": annotations }, "spec": spec });
        self.pods().create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    }

    async fn until(&self, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let pods = self.pods();
        until(&format!("pod {name}"), || async {
            let pod = pods.get_opt(name).await.map_err(|error| error.to_string())?;
            let pod = pod.map_or(Value::Null, |pod| serde_json::to_value(pod).unwrap());
            if wanted(&pod) { Ok(pod) } else { Err(format!("{:#}", pod["status"])) }
        })
        .await
    }

    async fn phase(&self, name: &str, phase: &str) -> Value {
        self.until(name, |pod| pod["status"]["phase"] == phase).await
    }

    /// Reasons and messages of what the kubelet said about a Pod, once it has given `final_reason`.
    async fn told(&self, pod: &str, final_reason: &str) -> Vec<(String, String)> {
        let events = Api::<Event>::namespaced(self.client.clone(), &self.name);
        let fields = format!("involvedObject.name={pod},source=kubelet");
        until(&format!("an event {final_reason} about {pod}"), || async {
            let list = events.list(&ListParams::default().fields(&fields)).await;
            let list = list.map_err(|error| error.to_string())?.items.into_iter();
            let told: Vec<(String, String)> = list
                .map(|event| (event.reason.unwrap_or_default(), event.message.unwrap_or_default()))
                .collect();
            if told.iter().any(|(reason, _)| reason == final_reason) {
                Ok(told)
            } else {
                Err(format!("{told:?}"))
            }
        })
        .await
    }

    /// Waits until all of it is gone, which takes kubelets that are still there.
    async fn end(self) {
        let namespaces = Api::<Namespace>::all(self.client);
        namespaces.delete(&self.name, &DeleteParams::default()).await.unwrap();
        until("the end of the namespace", || async {
            let found = namespaces.get_opt(&self.name).await.map_err(|error| error.to_string())?;
            found.map_or(Ok(()), |left| Err(format!("{:?}", left.status)))
        })
        .await;
    }
}

/// Runs a command; what it says and whether it went well.
async fn exec(place: &Place, pod: &str, command: &[&str]) -> (String, String) {
    let parameters = kube::api::AttachParams::default().stderr(true);
    let mut process = place.pods().exec(pod, command.to_vec(), &parameters).await.unwrap();
    let mut output = String::new();
    let mut stdout = process.stdout().unwrap();
    tokio::io::AsyncReadExt::read_to_string(&mut stdout, &mut output).await.unwrap();
    let status = process.take_status().unwrap().await.unwrap();
    (output, status.message.or(status.status).unwrap_or_default())
}
