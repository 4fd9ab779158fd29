//! Jobs, behind a portal or in a cluster: the same objects from both, so that all that is printed is the same.

use anyhow::Context as _;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, ResourceExt as _,
    api::{ListParams, Patch, PatchParams, PostParams},
};
use maar_api::{
    names,
    v1alpha1::{AIJob, Backend},
};
use serde_json::{Value, json};

use crate::commands::{client::Connection, failure::Failure, workspace::Source};

/// What people do with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Cancel,
    Suspend,
    Resume,
}

impl Change {
    /// How the portal calls it.
    const fn word(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Suspend => "suspend",
            Self::Resume => "resume",
        }
    }

    fn spec(self) -> Value {
        match self {
            Self::Cancel => json!({ "cancel": true }),
            Self::Suspend => json!({ "suspend": true }),
            Self::Resume => json!({ "suspend": false }),
        }
    }
}

/// Where jobs without a namespace of their own are.
pub(crate) fn namespace(source: &Source) -> &str {
    match source {
        Source::Portal { namespace, .. } => namespace,
        Source::Cluster(connection) => &connection.namespace,
    }
}

/// The same place, but for the namespace.
pub(super) fn in_namespace(source: &Source, namespace: String) -> Source {
    match source {
        Source::Portal { remote, .. } => Source::Portal { remote: remote.clone(), namespace },
        Source::Cluster(connection) => {
            Source::Cluster(Box::new(Connection { namespace, ..(**connection).clone() }))
        }
    }
}

/// Jobs of the namespace, or of all; of one parent, if it is said.
pub(super) async fn list(
    source: &Source,
    everywhere: bool,
    parent: Option<&str>,
) -> anyhow::Result<Vec<AIJob>> {
    match source {
        Source::Portal { remote, .. } => {
            let mut path = format!("/jobs?mine={}", !everywhere);
            if let Some(parent) = parent {
                path.push_str("&parent=");
                path.extend(form_urlencoded::byte_serialize(parent.as_bytes()));
            }
            remote.list(&path).await?.iter().map(job_of).collect()
        }
        Source::Cluster(connection) => {
            let jobs = if everywhere { Api::all(connection.client.clone()) } else { api(connection) };
            let mut params = ListParams::default();
            if let Some(parent) = parent {
                params = params.labels(&format!("{}={parent}", names::LABEL_PARENT));
            }
            Ok(jobs.list(&params).await.context("listing jobs")?.items)
        }
    }
}

pub(crate) async fn get(source: &Source, name: &str) -> anyhow::Result<AIJob> {
    match source {
        Source::Portal { remote, .. } => job_of(&remote.get(&path(source, name)?).await?),
        Source::Cluster(connection) => get_in(connection, name).await,
    }
}

/// A job with what is known of all its Pods: a portal shows the first 500 with it.
pub(super) async fn get_whole(source: &Source, name: &str) -> anyhow::Result<AIJob> {
    let Source::Portal { remote, .. } = source else { return get(source, name).await };
    let mut view = remote.get(&path(source, name)?).await?;
    let shown = view["pods"].as_array().map_or(0, Vec::len);
    if view["podCount"].as_u64().is_some_and(|count| count > shown as u64) {
        view["pods"] = pods_by_portal(source, name).await?.into();
    }
    job_of(&view)
}

/// A job of a cluster.
pub(crate) async fn get_in(connection: &Connection, name: &str) -> anyhow::Result<AIJob> {
    let found = api(connection).get(name).await;
    found.with_context(|| format!("reading job {name} in namespace {}", connection.namespace))
}

/// All Pods of a job as a portal tells of them: a job has more than fit on one page.
pub(crate) async fn pods_by_portal(source: &Source, name: &str) -> anyhow::Result<Vec<Value>> {
    match source {
        Source::Portal { remote, .. } => remote.list(&format!("{}/pods", path(source, name)?)).await,
        Source::Cluster(_) => Ok(Vec::new()),
    }
}

/// All Pods of a job in a cluster.
pub(crate) async fn pods_in(connection: &Connection, job: &AIJob) -> anyhow::Result<Vec<Pod>> {
    let volcano = job.spec.backend == Backend::Volcano;
    let label = if volcano { names::LABEL_VOLCANO_JOB } else { names::LABEL_JOB };
    let api: Api<Pod> = Api::namespaced(connection.client.clone(), &connection.namespace);
    let params = ListParams::default().labels(&format!("{label}={}", job.name_any()));
    Ok(api.list(&params).await.context("listing the Pods")?.items)
}

/// Submits a job to the namespace that it names, else to the usual one.
pub(super) async fn create(source: &Source, job: &AIJob) -> anyhow::Result<AIJob> {
    match source {
        Source::Portal { remote, .. } => {
            let made = remote.post("/jobs", Some(&request(job))).await?;
            get(source, made["name"].as_str().unwrap_or_default()).await
        }
        Source::Cluster(connection) => {
            let made = api(connection).create(&PostParams::default(), job).await;
            made.context("submitting the job")
        }
    }
}

pub(super) async fn change(source: &Source, name: &str, change: Change) -> anyhow::Result<AIJob> {
    match source {
        Source::Portal { remote, .. } => {
            remote.post(&format!("{}/{}", path(source, name)?, change.word()), None).await?;
            get(source, name).await
        }
        Source::Cluster(connection) => {
            let patch = Patch::Merge(json!({ "spec": change.spec() }));
            let changed = api(connection).patch(name, &PatchParams::default(), &patch).await;
            changed.with_context(|| format!("changing job {name}"))
        }
    }
}

pub(super) fn api(connection: &Connection) -> Api<AIJob> {
    Api::namespaced(connection.client.clone(), &connection.namespace)
}

/// The path of a job behind a portal, of which its name is a part.
pub(crate) fn path(source: &Source, name: &str) -> anyhow::Result<String> {
    let inside = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-';
    if name.is_empty() || !name.chars().all(inside) {
        return Err(Failure::not_found(format!("there is no job {name}")).into());
    }
    Ok(format!("/jobs/{}/{name}", namespace(source)))
}

/// What a portal takes of a job.
fn request(job: &AIJob) -> Value {
    let given = &job.metadata;
    let mut metadata = json!({ "name": given.name });
    if let Some(namespace) = &given.namespace {
        metadata["namespace"] = json!(namespace);
    }
    for (field, words) in [("labels", &given.labels), ("annotations", &given.annotations)] {
        if let Some(words) = words {
            metadata[field] = json!(words);
        }
    }
    json!({ "apiVersion": names::API_VERSION, "kind": "AIJob", "metadata": metadata, "spec": job.spec })
}

/// The job that a portal shows. Those who may not read what is in it see what all see.
fn job_of(view: &Value) -> anyhow::Result<AIJob> {
    let at = |field: &str| view.get(field).cloned().unwrap_or_default();
    let seen = || {
        json!({ "type": at("type"), "account": at("account"), "user": at("user"), "serviceLevel": at("serviceLevel"),
            "priority": at("priority"), "suspend": at("suspended"), "tasks": [] })
    };
    let spec = view.get("spec").cloned().unwrap_or_else(seen);
    let pods = view["pods"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut nodes: Vec<&str> = pods.iter().filter_map(|pod| pod["node"].as_str()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let mut status = json!({
        "phase": at("phase"), "reason": at("reason"), "message": at("message"), "ready": at("ready"),
        "startTime": at("started"), "completionTime": at("ended"), "cleanup": at("cleanup"), "nodes": nodes,
        "queue": { "position": at("position"), "estimatedStart": at("estimatedStart") },
    });
    for (field, shown) in [
        ("tasks", "tasks"),
        ("cards", "givenCards"),
        ("attempt", "attempt"),
        ("preemptions", "preemptions"),
        ("observedGeneration", "observedGeneration"),
    ] {
        if let Some(value) = view.get(shown) {
            status[field] = value.clone();
        }
    }
    let mut metadata =
        json!({ "namespace": at("namespace"), "name": at("name"), "creationTimestamp": at("created") });
    if let Some(generation) = view.get("generation") {
        metadata["generation"] = generation.clone();
    }
    let job = json!({ "apiVersion": names::API_VERSION, "kind": "AIJob", "metadata": metadata, "spec": spec,
        "status": status });
    serde_json::from_value(job).context("understanding a job of the portal")
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use axum::{Json, Router, extract::Query, routing::get as on_get};
    use maar_api::v1alpha1::JobPhase;

    use super::*;
    use crate::commands::remote::Remote;

    /// A portal that tells of a job with this many Pods, 500 at a time, each on a node of its own.
    async fn portal(count: usize) -> Source {
        let pods = move |from: usize| -> Vec<Value> {
            let some = (from..count).take(500);
            some.map(|number| json!({ "name": format!("train-{number}"), "node": format!("gpu-{number}") }))
                .collect()
        };
        let job = move || async move {
            Json(
                json!({ "namespace": "n", "name": "train", "type": "Single", "phase": "Running", "account": "lab",
                "user": "ada", "serviceLevel": "Guaranteed", "priority": 0, "suspended": false,
                "created": "2026-01-01T00:00:00Z", "pods": pods(0), "podCount": count }),
            )
        };
        let list = move |Query(query): Query<HashMap<String, String>>| async move {
            let from = query.get("cursor").map_or(0, |cursor| cursor.parse().unwrap());
            let next = (from + 500 < count).then(|| (from + 500).to_string());
            Json(json!({ "items": pods(from), "next": next }))
        };
        let app = Router::new()
            .route("/api/v1/jobs/n/train", on_get(job))
            .route("/api/v1/jobs/n/train/pods", on_get(list));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Source::Portal { remote: Box::new(Remote::at(&address).unwrap()), namespace: "n".to_owned() }
    }

    #[tokio::test]
    async fn a_job_has_more_pods_than_fit_on_a_page() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        for count in [1, 500, 501, 1700] {
            let source = portal(count).await;
            let pods = pods_by_portal(&source, "train").await.unwrap();
            let names: BTreeSet<&str> = pods.iter().filter_map(|pod| pod["name"].as_str()).collect();
            assert_eq!((pods.len(), names.len()), (count, count));
            let job = get_whole(&source, "train").await.unwrap();
            assert_eq!(job.status.unwrap().nodes.len(), count);
        }
    }

    #[test]
    fn a_job_is_the_same_by_way_of_a_portal() {
        let view = json!({
            "namespace": "user-ada", "name": "train", "type": "PyTorch", "phase": "Running", "account": "lab",
            "user": "ada", "serviceLevel": "BestEffort", "priority": 3, "replicas": 2, "ready": "2/2",
            "cards": { "nvidia.com/gpu": "2" }, "suspended": false, "created": "2026-01-01T00:00:00Z",
            "started": "2026-01-01T00:01:00Z",
        });
        let job = job_of(&view).unwrap();
        let status = job.status.unwrap();
        assert_eq!((status.phase, status.ready.as_deref()), (JobPhase::Running, Some("2/2")));
        assert_eq!((job.spec.account(), job.spec.user.as_deref()), ("lab", Some("ada")));
        let mut whole = view;
        whole["spec"] =
            json!({ "type": "PyTorch", "tasks": [{ "name": "worker", "replicas": 2, "template": {} }] });
        whole["tasks"] = json!([{ "name": "worker", "replicas": 2, "running": 2 }]);
        whole["pods"] =
            json!([{ "name": "b", "node": "gpu-2" }, { "name": "a", "node": "gpu-1" }, { "name": "c" }]);
        whole["givenCards"] = json!([{ "pod": "a", "node": "gpu-1", "cards": "nvidia.com/gpu=0" }]);
        whole["generation"] = json!(3);
        whole["observedGeneration"] = json!(2);
        let job = job_of(&whole).unwrap();
        let status = job.status.unwrap();
        assert_eq!((job.metadata.generation, status.observed_generation), (Some(3), Some(2)));
        assert_eq!((job.spec.tasks.len(), status.tasks.len(), status.cards.len()), (1, 1, 1));
        assert_eq!(status.nodes, ["gpu-1", "gpu-2"]);
        assert!(job_of(&json!({ "phase": "Lost" })).is_err());
    }

    #[test]
    fn what_is_submitted_is_what_a_portal_takes() {
        let job: AIJob = serde_json::from_value(json!({
            "metadata": { "name": "train", "labels": { "a": "b" } },
            "spec": { "tasks": [{ "name": "main", "template": {} }] }, "status": { "phase": "Running" },
        }))
        .unwrap();
        let sent = request(&job);
        assert_eq!(sent["metadata"], json!({ "name": "train", "labels": { "a": "b" } }));
        assert_eq!(
            sent.as_object().unwrap().keys().collect::<Vec<_>>(),
            ["apiVersion", "kind", "metadata", "spec"]
        );
    }
}
