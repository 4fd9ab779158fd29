use jiff::Timestamp;
use serde_json::json;

use super::super::tests::{Cluster, at};
use super::*;
use crate::fields::sample;

fn deployment(replicas: u32) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "labels": {"app": "web"}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "strategy": {"type": "Recreate"}},
    })
}

#[test]
fn who_creates_owns_everything_but_what_the_server_keeps() {
    let mut cluster = Cluster::new(sample::deployment());
    let live = cluster.update("creator", deployment(1));
    assert_eq!(
        live["metadata"]["managedFields"],
        json!([{
            "manager": "creator",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "1970-01-01T00:00:01Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                "f:spec": {"f:replicas": {}, "f:selector": {}, "f:strategy": {"f:type": {}}},
            },
        }])
    );
}

#[test]
fn who_changes_a_field_takes_it_over() {
    let mut cluster = Cluster::new(sample::deployment());
    cluster.update("creator", deployment(1));
    let mut scaled = cluster.live().clone();
    scaled["spec"]["replicas"] = json!(2);
    cluster.update("scaler", scaled);
    assert_eq!(
        cluster.owners(),
        [
            "creator/Update: .metadata.labels .metadata.labels.app .spec.selector .spec.strategy.type",
            "scaler/Update: .spec.replicas",
        ]
    );
}

#[test]
fn what_is_removed_has_no_owner_and_who_owns_nothing_is_gone() {
    let mut cluster = Cluster::new(sample::config_map());
    let object = |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data});
    cluster.update("a", object(json!({"x": "1"})));
    let mut second = cluster.live().clone();
    second["data"] = json!({"x": "1", "y": "1"});
    cluster.update("b", second);
    let mut third = cluster.live().clone();
    third["data"] = json!({"x": "1"});
    cluster.update("c", third);
    assert_eq!(cluster.owners(), ["a/Update: .data .data.x"]);
}

#[test]
fn the_time_changes_only_with_the_fields() {
    let mut cluster = Cluster::new(sample::deployment());
    let first = cluster.update("a", deployment(1)).clone();
    assert_eq!(cluster.update("a", first.clone()), &first);
    let mut bare = first.clone();
    bare["metadata"].as_object_mut().unwrap().remove("managedFields");
    assert_eq!(cluster.update("a", bare), &first, "a client that knows nothing of managed fields keeps them");
    let mut changed = first.clone();
    changed["spec"]["replicas"] = json!(2);
    let live = cluster.update("a", changed);
    assert_eq!(live["metadata"]["managedFields"][0]["time"], "1970-01-01T00:00:04Z");
    assert_eq!(live["metadata"]["managedFields"].as_array().unwrap().len(), 1);
}

#[test]
fn subresources_have_their_own_entries_and_cannot_set_the_list() {
    let ty = sample::deployment();
    let mut live = deployment(1);
    update(None, &mut live, &ty, &at("a", 1));
    let mut new = live.clone();
    new["status"] = json!({"replicas": 1});
    new["metadata"]["managedFields"] = json!([]);
    update(Some(&live), &mut new, &ty, &Request { subresource: "status", ..at("a", 2) });
    let entries = new["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[1]["subresource"], "status");
    assert_eq!(entries[1]["fieldsV1"], json!({"f:status": {"f:replicas": {}}}));
}

#[test]
fn the_list_is_dropped_by_an_empty_one_and_stays_away() {
    for reset in [json!([]), json!([{}])] {
        let mut cluster = Cluster::new(sample::deployment());
        let mut object = cluster.update("a", deployment(1)).clone();
        object["metadata"]["managedFields"] = reset;
        object["spec"]["replicas"] = json!(3);
        cluster.update("b", object);
        assert!(cluster.owners().is_empty());
        cluster.update("c", deployment(4));
        assert!(cluster.owners().is_empty());
    }
}

#[test]
fn a_client_may_edit_the_list_and_nonsense_in_it_is_ignored() {
    let mut cluster = Cluster::new(sample::deployment());
    let mut object = cluster.update("a", deployment(1)).clone();
    object["metadata"]["managedFields"][0]["manager"] = json!("renamed");
    let edited = cluster.update("a", object).clone();
    assert_eq!(edited["metadata"]["managedFields"][0]["manager"], "renamed");
    let mut nonsense = edited.clone();
    nonsense["metadata"]["managedFields"][0]["fieldsType"] = json!("FieldsV9");
    assert_eq!(cluster.update("a", nonsense), &edited);
}

#[test]
fn the_oldest_updates_are_merged_when_there_are_too_many() {
    let mut cluster = Cluster::new(sample::config_map());
    let mut data = serde_json::Map::new();
    for index in 0..15 {
        data.insert(format!("k{index:02}"), "v".into());
        let name = format!("m{index:02}");
        cluster.update(&name, json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data}));
    }
    let owners = cluster.owners();
    assert_eq!(owners.len(), 10);
    let old = owners.iter().find(|owner| owner.starts_with("ancient-changes/Update: ")).unwrap();
    let keys: Vec<String> = (0..6).map(|index| format!(".data.k{index:02}")).collect();
    assert!(old.ends_with(&keys.join(" ")), "{old}");
}

#[test]
fn a_write_that_changes_nothing_but_times_is_none() {
    let ty = sample::deployment();
    let mut live = deployment(1);
    update(None, &mut live, &ty, &at("a", 1));
    let mut again = deployment(1);
    update(None, &mut again, &ty, &at("a", 9));
    assert_ne!(live, again);
    assert!(keep_times_of_no_change(&live, &mut again));
    assert_eq!(live, again);
    let mut other = deployment(2);
    update(None, &mut other, &ty, &at("a", 9));
    assert!(!keep_times_of_no_change(&live, &mut other));
}

#[test]
fn times_are_written_to_the_second() {
    let mut object = deployment(1);
    let now = Timestamp::from_nanosecond(1_700_000_000_123_456_789).unwrap();
    update(None, &mut object, &sample::deployment(), &Request { now, ..at("a", 1) });
    assert_eq!(object["metadata"]["managedFields"][0]["time"], "2023-11-14T22:13:20Z");
}

/// What a v1.36 server records for this Deployment. Structs that it always writes carry no mark of their own, those
/// that may be absent do.
#[test]
fn a_deployment_is_owned_as_a_real_server_records_it() {
    let ty = crate::builtin::merge_type("apps", "v1", "Deployment").unwrap();
    let mut object = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "uid": "u"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [{
                        "name": "web",
                        "image": "nginx",
                        "ports": [{"containerPort": 80, "protocol": "TCP"}],
                        "resources": {},
                    }],
                    "dnsPolicy": "ClusterFirst",
                    "securityContext": {},
                },
            },
        },
    });
    update(None, &mut object, &ty, &Request { api_version: "apps/v1", ..at("kubectl-create", 1) });
    assert_eq!(
        object["metadata"]["managedFields"][0]["fieldsV1"],
        json!({"f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}}, "f:type": {}},
            "f:template": {
                "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                "f:spec": {
                    "f:containers": {"k:{\"name\":\"web\"}": {
                        ".": {},
                        "f:image": {},
                        "f:name": {},
                        "f:ports": {".": {}, "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {
                            ".": {},
                            "f:containerPort": {},
                            "f:protocol": {},
                        }},
                        "f:resources": {},
                    }},
                    "f:dnsPolicy": {},
                    "f:securityContext": {},
                },
            },
        }})
    );
}
