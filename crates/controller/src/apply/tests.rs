//! Writes on the embedded cluster.

use k8s_openapi::{
    NamespaceResourceScope,
    api::core::v1::{ConfigMap, Pod, PodStatus},
};

use super::*;
use crate::test_cluster::{Network, Wire, cluster, wired};

const WRITER: Writer = Writer::new("maar-test");

fn map(value: &str) -> ConfigMap {
    serde_json::from_value(
        json!({ "metadata": { "name": "m", "namespace": "default" }, "data": { "key": value } }),
    )
    .unwrap()
}

async fn api<K: Object + Resource<Scope = NamespaceResourceScope>>() -> (Api<K>, Wire) {
    // The clients keep the parts of the cluster alive that they need.
    let (client, wire) = wired(&cluster().await);
    (Api::default_namespaced(client), wire)
}

#[tokio::test]
async fn applying_over_a_changed_object_is_a_conflict() {
    let (api, _) = api().await;
    let seen = WRITER.apply(&api, &map("1")).await.unwrap();
    let current = WRITER.apply_over(&api, &seen, &map("2")).await.unwrap();
    let error = WRITER.apply_over(&api, &seen, &map("3")).await.unwrap_err();
    assert_eq!(error.category(), Category::Conflict);
    assert_eq!(error.to_string(), "apply ConfigMap default/m");
    // The applied object may be the one that was read: what the server filled in is not sent.
    WRITER.apply(&api, &seen).await.unwrap();
    assert_eq!(api.get("m").await.unwrap().data.unwrap()["key"], "1");
    assert_ne!(api.get("m").await.unwrap().resource_version(), current.resource_version());
}

#[tokio::test]
async fn a_namesake_is_neither_written_nor_deleted() {
    let (api, _) = api().await;
    let old = WRITER.apply(&api, &map("1")).await.unwrap();
    WRITER.delete_any_version(&api, &old, DeleteParams::default()).await.unwrap();
    let new = WRITER.apply(&api, &map("2")).await.unwrap();
    assert_ne!(old.uid(), new.uid());
    let error = WRITER.delete_any_version(&api, &old, DeleteParams::default()).await.unwrap_err();
    assert_eq!(error.category(), Category::Conflict);
    assert_eq!(WRITER.apply_over(&api, &old, &map("3")).await.unwrap_err().category(), Category::Conflict);
    WRITER.delete(&api, &new, DeleteParams::default()).await.unwrap();
    // Gone already is fine.
    WRITER.delete(&api, &new, DeleteParams::default()).await.unwrap();
}

#[tokio::test]
async fn deleting_needs_to_know_which_object() {
    let (api, _) = api().await;
    let error = WRITER.delete(&api, &map("1"), DeleteParams::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "delete ConfigMap default/m: the object has no uid");
}

#[tokio::test]
async fn a_status_is_written_only_when_it_changes() {
    let (api, wire) = api::<Pod>().await;
    let pod: Pod = serde_json::from_value(json!({
        "metadata": { "name": "p", "namespace": "default" },
        "spec": { "containers": [{ "name": "c", "image": "i" }] },
    }))
    .unwrap();
    let created = WRITER.ensure(&api, &pod).await.unwrap();
    let kubelet = Writer::new("kubelet");
    let status = json!({ "phase": "Pending", "hostIP": "10.0.0.1" });
    let Written::Changed(seen) = kubelet.apply_status(&api, &created, &status).await.unwrap() else {
        panic!("the kubelet's status is new");
    };
    let status = |phase: &str| PodStatus { phase: Some(phase.to_owned()), ..PodStatus::default() };
    // The host's address is not ours to mention, and no reason to write.
    assert_eq!(WRITER.apply_status(&api, &seen, &status("Pending")).await.unwrap(), Written::Unchanged);
    let written = WRITER.apply_status(&api, &seen, &status("Running")).await.unwrap();
    assert!(
        matches!(&written, Written::Changed(pod) if pod.status.as_ref().unwrap().phase.as_deref() == Some("Running"))
    );
    let late = WRITER.apply_status(&api, &seen, &status("Failed")).await.unwrap_err();
    assert_eq!(late.category(), Category::Conflict);
    assert_eq!(wire.writes().len(), 4);
}

#[tokio::test]
async fn ensure_leaves_what_is_there() {
    let (api, _) = api().await;
    WRITER.ensure(&api, &map("1")).await.unwrap();
    let there = WRITER.ensure(&api, &map("2")).await.unwrap();
    assert_eq!(there.data.unwrap()["key"], "1");
}

#[tokio::test(start_paused = true)]
async fn modify_starts_over_on_conflict_and_gives_up_in_the_end() {
    let (api, wire) = api().await;
    WRITER.ensure(&api, &map("1")).await.unwrap();
    let dice = Dice::seeded(1);
    let mut tries = 0;
    let mut count = |map: &mut ConfigMap| {
        tries += 1;
        map.data.get_or_insert_default().insert("tries".into(), tries.to_string());
        true
    };
    wire.conflict(2);
    let written = WRITER.modify(&api, "m", &dice, &mut count).await.unwrap();
    assert!(matches!(written, Written::Changed(map) if map.data.as_ref().unwrap()["tries"] == "3"));
    wire.conflict(100);
    let error = WRITER.modify(&api, "m", &dice, &mut count).await.unwrap_err();
    assert_eq!((error.category(), tries), (Category::Conflict, 8));
    assert_eq!(WRITER.modify(&api, "m", &dice, |_| false).await.unwrap(), Written::Unchanged);
    let missing = WRITER.modify(&api, "none", &dice, |_| true).await.unwrap_err();
    assert_eq!(missing.category(), Category::Missing);
}

#[tokio::test]
async fn an_overloaded_server_is_a_passing_trouble() {
    let (api, wire) = api().await;
    wire.set(Network::Refusing);
    assert_eq!(WRITER.apply(&api, &map("1")).await.unwrap_err().category(), Category::Transient);
}

#[test]
fn a_status_covers_what_it_says_already() {
    let rows = [
        (json!({ "a": 1, "b": 2 }), json!({ "a": 1 }), true),
        (json!({ "a": 1 }), json!({ "a": 2 }), false),
        (json!({ "a": 1 }), json!({ "b": 1 }), false),
        (json!({ "a": 1 }), json!({ "b": null }), true),
        (json!({ "a": { "x": 1, "y": 2 } }), json!({ "a": { "x": 1 } }), true),
        // Lists are compared as wholes: whether an element is ours cannot be told from here.
        (json!({ "a": [1, 2] }), json!({ "a": [1] }), false),
        (Value::Null, json!({}), false),
    ];
    for (before, wanted, want) in rows {
        assert_eq!(covers(&before, &wanted), want, "{before} {wanted}");
    }
}
