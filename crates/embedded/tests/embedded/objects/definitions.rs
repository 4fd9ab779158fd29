//! Watches of custom kinds whose definition changes.

use std::time::Duration;

use futures::{AsyncBufReadExt as _, StreamExt as _};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use maar_embedded::{Cluster, Config};
use serde_json::{Value, json};

const NAME: &str = "things.example.com";

/// The versions of the kind: each stores the fields it is said to have.
fn versions(of: &[(&str, bool, &[&str])]) -> Value {
    let version = |(name, storage, fields): &(&str, bool, &[&str])| {
        let fields: Value =
            fields.iter().map(|field| ((*field).to_owned(), json!({"type": "string"}))).collect();
        let schema =
            json!({"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}});
        json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}})
    };
    of.iter().map(version).collect()
}

struct Things {
    _cluster: Cluster,
    client: Client,
    definitions: Api<CustomResourceDefinition>,
}

impl Things {
    async fn new(versions: Value) -> Self {
        let cluster = Cluster::start(Config::simulated(1)).await.unwrap();
        let client = cluster.client();
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        let definition = json!({"metadata": {"name": NAME}, "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": versions}});
        let definition = serde_json::from_value(definition).unwrap();
        definitions.create(&PostParams::default(), &definition).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        Self { _cluster: cluster, client, definitions }
    }

    async fn create(&self, version: &str, name: &str, spec: Value) {
        let kind = GroupVersionKind::gvk("example.com", version, "Thing");
        let api: Api<DynamicObject> =
            Api::default_namespaced_with(self.client.clone(), &ApiResource::from_gvk(&kind));
        let thing = json!({"apiVersion": format!("example.com/{version}"), "kind": "Thing",
            "metadata": {"name": name}, "spec": spec});
        api.create(&PostParams::default(), &serde_json::from_value(thing).unwrap()).await.unwrap();
    }

    /// Changes the definition, or its status.
    async fn change(&self, change: Value, status: bool) {
        let (params, patch) = (PatchParams::default(), Patch::Merge(change));
        if status {
            self.definitions.patch_status(NAME, &params, &patch).await.unwrap();
        } else {
            self.definitions.patch(NAME, &params, &patch).await.unwrap();
        }
    }

    async fn watch(&self, version: &str) -> Watch {
        let path = format!("/apis/example.com/{version}/things?watch=true");
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let lines = self.client.request_stream(request).await.unwrap().lines();
        Watch(Box::pin(lines))
    }
}

struct Watch(std::pin::Pin<Box<dyn futures::Stream<Item = std::io::Result<String>>>>);

/// What comes next on a watch.
#[derive(Debug, PartialEq)]
enum Next {
    Event(String),
    Quiet,
    Ended,
}

impl Watch {
    async fn next(&mut self) -> Next {
        match tokio::time::timeout(Duration::from_mins(1), self.0.next()).await {
            Err(_) => Next::Quiet,
            Ok(None) => Next::Ended,
            Ok(Some(line)) => {
                let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
                let thing = &event["object"];
                Next::Event(format!(
                    "{} {} {} {}",
                    event["type"].as_str().unwrap(),
                    thing["apiVersion"].as_str().unwrap(),
                    thing["metadata"]["name"].as_str().unwrap(),
                    thing["spec"]
                ))
            }
        }
    }
}

fn event(text: &str) -> Next {
    Next::Event(text.to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_when_the_schema_changes_and_the_next_shows_what_it_has() {
    let things = Things::new(versions(&[("v1", true, &["a"])])).await;
    let mut watch = things.watch("v1").await;
    things.create("v1", "one", json!({"a": "1"})).await;
    assert_eq!(watch.next().await, event(r#"ADDED example.com/v1 one {"a":"1"}"#));
    things.change(json!({"spec": {"versions": versions(&[("v1", true, &["a", "b"])])}}), false).await;
    things.create("v1", "two", json!({"b": "2"})).await;
    assert_eq!(watch.next().await, Next::Ended);
    let mut watch = things.watch("v1").await;
    assert_eq!(watch.next().await, event(r#"ADDED example.com/v1 one {"a":"1"}"#));
    assert_eq!(watch.next().await, event(r#"ADDED example.com/v1 two {"b":"2"}"#));
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_when_its_kind_is_stored_as_another_version() {
    let things = Things::new(versions(&[("v1", true, &["a"]), ("v2", false, &["a"])])).await;
    let mut watch = things.watch("v1").await;
    things
        .change(
            json!({"spec": {"versions": versions(&[("v1", false, &["a"]), ("v2", true, &["a"])])}}),
            false,
        )
        .await;
    things.create("v2", "one", json!({"a": "1"})).await;
    assert_eq!(watch.next().await, Next::Ended);
    let mut watch = things.watch("v1").await;
    assert_eq!(watch.next().await, event(r#"ADDED example.com/v1 one {"a":"1"}"#));
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_when_only_the_status_or_the_labels_of_its_definition_change() {
    let things = Things::new(versions(&[("v1", true, &["a"])])).await;
    let mut watch = things.watch("v1").await;
    let condition = json!({"type": "Test", "status": "True", "reason": "Test", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let known = things.definitions.get(NAME).await.unwrap().status.unwrap().conditions.unwrap();
    let mut conditions = serde_json::to_value(known).unwrap();
    conditions.as_array_mut().unwrap().push(condition);
    things.change(json!({"status": {"conditions": conditions}}), true).await;
    things.change(json!({"metadata": {"labels": {"x": "y"}}}), false).await;
    assert_eq!(watch.next().await, Next::Quiet);
    things.create("v1", "one", json!({"a": "1"})).await;
    assert_eq!(watch.next().await, event(r#"ADDED example.com/v1 one {"a":"1"}"#));
}

#[tokio::test(start_paused = true)]
async fn a_watch_shows_how_its_things_go_with_their_definition_and_ends() {
    let things = Things::new(versions(&[("v1", true, &["a"])])).await;
    things.create("v1", "one", json!({"a": "1"})).await;
    let mut watch = things.watch("v1").await;
    assert_eq!(watch.next().await, event(r#"ADDED example.com/v1 one {"a":"1"}"#));
    things.definitions.delete(NAME, &DeleteParams::default()).await.unwrap();
    assert_eq!(watch.next().await, event(r#"DELETED example.com/v1 one {"a":"1"}"#));
    assert_eq!(watch.next().await, Next::Ended);
}
