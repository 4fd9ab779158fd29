//! The custom kind a row may ask for: `Thing`, in a group of the row's own.

use anyhow::bail;
use kube::Client;
use serde_json::{Value, json};

use super::call::Call;
use super::run::{again, group_of};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Installs the kind with one version, which may leave out all that is usual, and waits until it is served.
pub(super) async fn install(client: &Client, namespace: &str, version: &Value) -> anyhow::Result<()> {
    let made = Call::new("POST", DEFINITIONS).with_body(&definition(namespace, version)).send(client).await?;
    if made.code != 201 {
        bail!("installing the custom kind: {}", made.value());
    }
    let list = Call::new("GET", &path(namespace));
    for _ in again() {
        if list.send(client).await?.code == 200 {
            return Ok(());
        }
        super::run::pause().await;
    }
    bail!("the custom kind of {namespace} was installed and is not served")
}

pub(super) async fn remove(client: &Client, namespace: &str) -> anyhow::Result<()> {
    Call::new("DELETE", &format!("{DEFINITIONS}/things.{}", group_of(namespace))).send(client).await?;
    Ok(())
}

/// Where the things of a row are.
pub(super) fn path(namespace: &str) -> String {
    format!("/apis/{}/v1/namespaces/{namespace}/things", group_of(namespace))
}

fn definition(namespace: &str, version: &Value) -> Value {
    let group = group_of(namespace);
    let mut full = json!({
        "name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
    });
    for (key, value) in version.as_object().into_iter().flatten() {
        full[key] = value.clone();
    }
    json!({
        "metadata": {"name": format!("things.{group}")},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [full],
        },
    })
}
