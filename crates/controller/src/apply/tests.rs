//! Writes against the fake server.

use k8s_openapi::api::core::v1::{ConfigMap, Pod, PodStatus};

use super::*;
use crate::fake::{Fake, Network};

const WRITER: Writer = Writer::new("maar-test");

fn map(value: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": "m", "namespace": "a" }, "data": { "key": value } }))
        .unwrap()
}

fn maps(fake: &Fake) -> Api<ConfigMap> {
    Api::namespaced(fake.client().0, "a")
}

#[tokio::test]
async fn applying_over_a_changed_object_is_a_conflict() {
    let fake = Fake::default();
    let api = maps(&fake);
    let seen = WRITER.apply(&api, &map("1")).await.unwrap();
    let current = WRITER.apply_over(&api, &seen, &map("2")).await.unwrap();
    let error = WRITER.apply_over(&api, &seen, &map("3")).await.unwrap_err();
    assert_eq!(error.category(), Category::Conflict);
    assert_eq!(error.to_string(), "apply ConfigMap a/m");
    // The applied object may be the one that was read: what the server filled in is not sent.
    WRITER.apply(&api, &seen).await.unwrap();
    assert_eq!(api.get("m").await.unwrap().data.unwrap()["key"], "1");
    assert_ne!(api.get("m").await.unwrap().resource_version(), current.resource_version());
}

#[tokio::test]
async fn a_namesake_is_neither_written_nor_deleted() {
    let fake = Fake::default();
    let api = maps(&fake);
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
    let error = WRITER.delete(&maps(&Fake::default()), &map("1"), DeleteParams::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "delete ConfigMap a/m: the object has no uid");
}

#[tokio::test]
async fn a_status_is_written_only_when_it_changes() {
    let fake = Fake::default();
    let api: Api<Pod> = Api::namespaced(fake.client().0, "a");
    let pod: Pod = serde_json::from_value(json!({
        "metadata": { "name": "p", "namespace": "a" },
        "status": { "phase": "Pending", "hostIP": "10.0.0.1" },
    }))
    .unwrap();
    let seen = WRITER.ensure(&api, &pod).await.unwrap();
    let status = |phase: &str| PodStatus { phase: Some(phase.to_owned()), ..PodStatus::default() };
    // The host's address is not ours to mention, and no reason to write.
    assert_eq!(WRITER.apply_status(&api, &seen, &status("Pending")).await.unwrap(), Written::Unchanged);
    let written = WRITER.apply_status(&api, &seen, &status("Running")).await.unwrap();
    assert!(
        matches!(&written, Written::Changed(pod) if pod.status.as_ref().unwrap().phase.as_deref() == Some("Running"))
    );
    let late = WRITER.apply_status(&api, &seen, &status("Failed")).await.unwrap_err();
    assert_eq!(late.category(), Category::Conflict);
    assert_eq!(fake.writes().len(), 3);
}

#[tokio::test]
async fn ensure_leaves_what_is_there() {
    let fake = Fake::default();
    let api = maps(&fake);
    WRITER.ensure(&api, &map("1")).await.unwrap();
    let there = WRITER.ensure(&api, &map("2")).await.unwrap();
    assert_eq!(there.data.unwrap()["key"], "1");
}

#[tokio::test(start_paused = true)]
async fn modify_starts_over_on_conflict_and_gives_up_in_the_end() {
    let fake = Fake::default();
    let api = maps(&fake);
    WRITER.ensure(&api, &map("1")).await.unwrap();
    let dice = Dice::seeded(1);
    let rival = fake.clone();
    let mut tries = 0;
    // Somebody else writes before each of the first two attempts.
    let written = WRITER.modify(&api, "m", &dice, |map: &mut ConfigMap| {
        tries += 1;
        if tries <= 2 {
            rival.touch("/api/v1/namespaces/a/configmaps/m");
        }
        map.data.get_or_insert_default().insert("tries".into(), tries.to_string());
        true
    });
    assert!(
        matches!(written.await.unwrap(), Written::Changed(map) if map.data.as_ref().unwrap()["tries"] == "3")
    );
    let endless = WRITER.modify(&api, "m", &dice, |_: &mut ConfigMap| {
        rival.touch("/api/v1/namespaces/a/configmaps/m");
        true
    });
    assert_eq!(endless.await.unwrap_err().category(), Category::Conflict);
    assert_eq!(WRITER.modify(&api, "m", &dice, |_: &mut ConfigMap| false).await.unwrap(), Written::Unchanged);
    let missing = WRITER.modify(&api, "none", &dice, |_: &mut ConfigMap| true).await.unwrap_err();
    assert_eq!(missing.category(), Category::Missing);
}

#[tokio::test]
async fn an_overloaded_server_is_a_passing_trouble() {
    let (client, wire) = Fake::default().client();
    wire.set(Network::Refusing);
    let api: Api<ConfigMap> = Api::namespaced(client, "a");
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
