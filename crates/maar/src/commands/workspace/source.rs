//! Where workspaces are: behind a portal, or in a cluster that a kubeconfig names.

use std::fmt::Write as _;

use anyhow::Context as _;
use kube::{
    Api,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use maar_api::v1alpha1::Workspace;
use serde_json::{Value, json};

use crate::commands::{
    client::{ClusterArgs, Connection},
    remote::{LoginArgs, Remote},
    wait::tell,
};

/// Where workspaces are.
pub(crate) enum Source {
    /// Behind a portal: as the one who is logged in, in his namespace.
    Portal { remote: Box<Remote>, namespace: String },
    /// In a cluster: as the one whom the kubeconfig names.
    Cluster(Box<Connection>),
}

impl Source {
    /// A cluster that is named on the command line, else the portal of the login, else the usual cluster. Says which,
    /// since a name may mean different things in them.
    pub(crate) async fn choose(login: &LoginArgs, cluster: &ClusterArgs) -> anyhow::Result<Self> {
        if !cluster.is_named()
            && let Some(login) = login.read()?
        {
            tell(&format!("(as {} at {})", login.user, login.address));
            return Ok(Self::Portal { remote: Box::new(Remote::of(&login)?), namespace: login.namespace });
        }
        let connection = cluster.connect().await?;
        tell(&format!("(by kubeconfig, in namespace {})", connection.namespace));
        Ok(Self::Cluster(Box::new(connection)))
    }

    /// The path of a workspace behind a portal.
    pub(crate) fn path(namespace: &str, name: &str) -> anyhow::Result<String> {
        // A name is part of a path here.
        let inside = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-';
        if name.is_empty() || !name.chars().all(inside) {
            return Err(crate::commands::failure::Failure::not_found(format!(
                "there is no workspace {name}"
            ))
            .into());
        }
        Ok(format!("/workspaces/{namespace}/{name}"))
    }

    /// Makes a workspace of what the portal would be sent.
    pub(super) async fn create(&self, asked: &Value) -> anyhow::Result<Value> {
        match self {
            Self::Portal { remote, .. } => remote.post("/workspaces", Some(asked)).await,
            Self::Cluster(connection) => {
                let made = api(connection).create(&PostParams::default(), &manifest(asked)?).await;
                flat(&made.context("making the workspace")?)
            }
        }
    }

    /// Those of the own namespace, or all that can be seen.
    pub(super) async fn list(&self, all: bool) -> anyhow::Result<Vec<Value>> {
        match self {
            Self::Portal { remote, .. } => {
                remote.list(if all { "/workspaces" } else { "/workspaces?mine=true" }).await
            }
            Self::Cluster(connection) => {
                let api = if all { Api::all(connection.client.clone()) } else { api(connection) };
                let found = api.list(&ListParams::default()).await.context("listing workspaces")?;
                found.items.iter().map(flat).collect()
            }
        }
    }

    pub(crate) async fn get(&self, name: &str) -> anyhow::Result<Value> {
        match self {
            Self::Portal { remote, namespace } => remote.get(&Self::path(namespace, name)?).await,
            Self::Cluster(connection) => {
                let found = api(connection).get(name).await;
                flat(&found.with_context(|| format!("reading workspace {name}"))?)
            }
        }
    }

    /// Why it waits, in a sentence or two.
    pub(super) async fn why(&self, name: &str) -> anyhow::Result<Option<String>> {
        let Self::Portal { remote, namespace } = self else { return Ok(None) };
        let why = remote.get(&format!("{}/why", Self::path(namespace, name)?)).await?;
        // The first only says its phase.
        let sentences = why["sentences"].as_array().into_iter().flatten().skip(1).filter_map(Value::as_str);
        let text = sentences.map(|one| one.trim_end_matches('.')).collect::<Vec<_>>().join("; ");
        Ok((!text.is_empty()).then_some(text))
    }

    /// Suspends or resumes it.
    pub(super) async fn set_running(&self, name: &str, running: bool) -> anyhow::Result<()> {
        match self {
            Self::Portal { remote, namespace } => {
                let action = if running { "resume" } else { "suspend" };
                let path = format!("{}/{action}", Self::path(namespace, name)?);
                remote.post(&path, None).await.map(drop)
            }
            Self::Cluster(connection) => {
                let state = if running { "Running" } else { "Suspended" };
                let patch = Patch::Merge(json!({ "spec": { "state": state } }));
                let done = api(connection).patch(name, &PatchParams::default(), &patch).await;
                done.map(drop).with_context(|| format!("changing workspace {name}"))
            }
        }
    }

    pub(super) async fn delete(&self, name: &str) -> anyhow::Result<()> {
        match self {
            Self::Portal { remote, namespace } => remote.delete(&Self::path(namespace, name)?).await,
            Self::Cluster(connection) => {
                let done = api(connection).delete(name, &DeleteParams::background()).await;
                done.map(drop).with_context(|| format!("deleting workspace {name}"))
            }
        }
    }

    /// Hands on what its program wrote. `query` is one of the portal's.
    pub(super) async fn logs(
        &self,
        name: &str,
        query: &LogQuery,
        take: impl FnMut(&[u8]),
    ) -> anyhow::Result<()> {
        match self {
            Self::Portal { remote, namespace } => {
                let path = format!("{}/logs?{}", Self::path(namespace, name)?, query.text());
                remote.stream(&path, take).await
            }
            Self::Cluster(connection) => super::enter::cluster_logs(connection, name, query, take).await,
        }
    }
}

/// Which part of a log.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogQuery {
    pub(super) follow: bool,
    pub(super) previous: bool,
    pub(super) timestamps: bool,
    pub(super) tail: Option<i64>,
    pub(super) since_seconds: Option<i64>,
}

impl LogQuery {
    fn text(&self) -> String {
        let mut text =
            format!("follow={}&previous={}&timestamps={}", self.follow, self.previous, self.timestamps);
        for (name, value) in [("tail", self.tail), ("sinceSeconds", self.since_seconds)] {
            if let Some(value) = value {
                // Writing to a String cannot fail.
                let _ = write!(text, "&{name}={value}");
            }
        }
        text
    }
}

pub(super) fn api(connection: &Connection) -> Api<Workspace> {
    Api::namespaced(connection.client.clone(), &connection.namespace)
}

/// What the portal would make of a request.
fn manifest(asked: &Value) -> anyhow::Result<Workspace> {
    let mut spec = asked.clone();
    let fields = spec.as_object_mut().context("a request is an object")?;
    let name = fields.remove("name").unwrap_or_default();
    let mut resources = json!({ "cpu": "1", "memory": "4Gi" });
    for resource in ["cpu", "memory"] {
        if let Some(amount) = fields.remove(resource) {
            resources[resource] = amount;
        }
    }
    if let Some(nodes) = fields.remove("nodes") {
        fields.insert("nodes".to_owned(), json!({ "include": nodes }));
    }
    if let Some(Value::Object(env)) = fields.remove("env") {
        let env: Vec<Value> =
            env.into_iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        fields.insert("env".to_owned(), env.into());
    }
    fields.insert("resources".to_owned(), resources);
    Ok(serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec }))?)
}

/// A workspace of the cluster as the portal shows it.
fn flat(workspace: &Workspace) -> anyhow::Result<Value> {
    let whole = serde_json::to_value(workspace)?;
    let at = |pointer: &str| whole.pointer(pointer).cloned().unwrap_or_default();
    Ok(json!({
        "namespace": at("/metadata/namespace"), "name": at("/metadata/name"), "state": at("/spec/state"),
        "phase": workspace.status.as_ref().map(|status| status.phase).unwrap_or_default(),
        "reason": at("/status/reason"), "message": at("/status/message"), "image": at("/spec/image"),
        "account": workspace.spec.account(), "user": at("/spec/user"), "resources": at("/spec/resources"),
        "cards": at("/spec/cards"), "givenCards": at("/status/cards"), "node": at("/status/node"),
        "created": at("/metadata/creationTimestamp"), "generation": at("/metadata/generation"),
        "observedGeneration": at("/status/observedGeneration"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_request_makes_the_same_workspace_without_a_portal() {
        let asked = json!({ "name": "desk", "image": "busybox", "cpu": "8", "cards": { "count": 2 },
            "env": { "A": "1" }, "nodes": ["gpu-1"], "account": "lab",
            "volumes": [{ "name": "work", "path": "/work", "size": "10Gi" }] });
        let made = manifest(&asked).unwrap();
        insta::assert_yaml_snapshot!(serde_json::to_value(&made).unwrap());
        let shown = flat(&made).unwrap();
        assert_eq!(
            (&shown["name"], &shown["account"], &shown["phase"]),
            (&json!("desk"), &json!("lab"), &json!("Pending"))
        );
    }

    #[test]
    fn names_do_not_climb() {
        assert_eq!(Source::path("user-a", "desk").unwrap(), "/workspaces/user-a/desk");
        for name in ["", "..", "a/b", "a?b", "A"] {
            assert!(Source::path("user-a", name).is_err(), "{name}");
        }
    }
}
