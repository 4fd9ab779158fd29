//! Steps of a StatefulSet, as tables.
#![expect(clippy::needless_pass_by_value, reason = "tables of JSON literals read better by value")]

use std::sync::Arc;

use k8s_openapi::api::apps::v1::StatefulSet;
use serde_json::{Value, from_value, json};

use super::identity::REVISION_LABEL;
use super::plan::{Action, Observed, plan, status};
use crate::controllers::view::PodView;
use crate::controllers::view::tests::{noon, pod};

fn set(replicas: i32, change: Value) -> StatefulSet {
    let mut value = json!({
        "metadata": {"name": "db", "namespace": "default", "uid": "s", "generation": 1},
        "spec": {"replicas": replicas, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}}, "template": {},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}},
    });
    for (key, member) in change.as_object().unwrap() {
        value["spec"][key] = member.clone();
    }
    from_value(value).unwrap()
}

fn ready(number: i32, revision: &str) -> PodView {
    let name = format!("db-{number}");
    pod(&name)
        .on("n")
        .labelled("statefulset.kubernetes.io/pod-name", &name)
        .labelled(REVISION_LABEL, revision)
        .ready_for(60)
}

/// What happens, in short words; bringing labels in order is left out.
fn steps(set: &StatefulSet, pods: Vec<PodView>) -> Vec<String> {
    let pods: Vec<Arc<PodView>> = pods.into_iter().map(Arc::new).collect();
    let observed = Observed { set, pods: &pods, current: "old", update: "new", now: noon() };
    let words = plan(&observed).into_iter().filter_map(|action| match action {
        Action::Create { ordinal, updated } => {
            Some(format!("create {ordinal} {}", if updated { "new" } else { "old" }))
        }
        Action::Delete(pod) => Some(format!("delete {}", pod.name())),
        Action::MakeClaims { .. } | Action::Fix(_) => None,
    });
    words.collect()
}

/// What a row is about, the set's size and changes, its Pods, and what happens.
type Row = (&'static str, i32, Value, Vec<PodView>, Vec<&'static str>);

fn check(rows: Vec<Row>) {
    for (name, replicas, change, pods, want) in rows {
        assert_eq!(steps(&set(replicas, change), pods), want, "{name}");
    }
}

#[test]
fn pods_come_and_go_in_order() {
    let parallel = json!({"podManagementPolicy": "Parallel"});
    let from_five = json!({"ordinals": {"start": 5}});
    check(vec![
        ("the first comes first", 3, json!({}), vec![], vec!["create 0 new"]),
        ("the second waits for the first", 3, json!({}), vec![pod("db-0").on("n")], vec![]),
        ("then it comes", 3, json!({}), vec![ready(0, "new")], vec!["create 1 new"]),
        ("all at once", 3, parallel.clone(), vec![], vec!["create 0 new", "create 1 new", "create 2 new"]),
        ("numbers may start elsewhere", 2, from_five, vec![ready(5, "new")], vec!["create 6 new"]),
        (
            "an ended one is replaced",
            1,
            json!({}),
            vec![ready(0, "new").phase("Failed")],
            vec!["delete db-0"],
        ),
        (
            "the last goes first",
            1,
            json!({}),
            vec![ready(0, "new"), ready(1, "new"), ready(2, "new")],
            vec!["delete db-2"],
        ),
        (
            "the next waits until it is gone",
            1,
            json!({}),
            vec![ready(0, "new"), ready(1, "new"), ready(2, "new").deleting()],
            vec![],
        ),
        (
            "all go at once",
            1,
            parallel,
            vec![ready(0, "new"), ready(1, "new"), ready(2, "new")],
            vec!["delete db-2", "delete db-1"],
        ),
        (
            "an unhealthy one may go although it is unhealthy",
            1,
            json!({}),
            vec![ready(0, "new"), pod("db-1").on("n")],
            vec!["delete db-1"],
        ),
    ]);
}

#[test]
fn a_set_may_be_larger_than_anybody_can_make_it() {
    let from_five = json!({"ordinals": {"start": 5}});
    check(vec![(
        "the last number is beyond 32 bits",
        i32::MAX,
        from_five,
        vec![ready(5, "new"), ready(6, "new")],
        vec!["create 7 new"],
    )]);
    let some = steps(&set(2_000_000_000, json!({"podManagementPolicy": "Parallel"})), vec![ready(1, "new")]);
    assert_eq!(some.len(), 500, "the rest follows in later steps");
    assert_eq!(some[..2], ["create 0 new", "create 2 new"]);
}

#[test]
fn updates_go_from_the_highest_number_down() {
    let on_delete = json!({"updateStrategy": {"type": "OnDelete"}});
    let partition = json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}});
    check(vec![
        (
            "the highest number is updated first",
            2,
            json!({}),
            vec![ready(0, "old"), ready(1, "old")],
            vec!["delete db-1"],
        ),
        ("then the next", 2, json!({}), vec![ready(0, "old"), ready(1, "new")], vec!["delete db-0"]),
        (
            "an update waits for the Pods above",
            2,
            json!({}),
            vec![ready(0, "old"), ready(1, "new").deleting()],
            vec![],
        ),
        ("on delete means nobody else deletes", 1, on_delete.clone(), vec![ready(0, "old")], vec![]),
        ("and what was deleted comes back new", 1, on_delete, vec![], vec!["create 0 new"]),
        (
            "below the partition nothing is updated",
            2,
            partition.clone(),
            vec![ready(0, "old"), ready(1, "old")],
            vec![],
        ),
        ("and new Pods there are of the old template", 2, partition.clone(), vec![], vec!["create 0 old"]),
        (
            "above the partition they are updated",
            3,
            partition,
            vec![ready(0, "old"), ready(1, "old"), ready(2, "old")],
            vec!["delete db-2"],
        ),
        ("readiness must last", 2, json!({"minReadySeconds": 90}), vec![ready(0, "new")], vec![]),
    ]);
}

#[test]
fn a_set_on_its_way_out_does_nothing() {
    let mut set = set(3, json!({}));
    set.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(noon()));
    assert!(steps(&set, vec![]).is_empty());
}

#[test]
fn the_status_counts_and_completes_an_update() {
    let counted = |pods: Vec<PodView>| {
        let pods: Vec<Arc<PodView>> = pods.into_iter().map(Arc::new).collect();
        let set = set(2, json!({}));
        status(&Observed { set: &set, pods: &pods, current: "old", update: "new", now: noon() }, 0)
    };
    let half = counted(vec![ready(0, "old"), ready(1, "new")]);
    assert_eq!((half.replicas, half.ready_replicas), (2, Some(2)));
    assert_eq!((half.current_replicas, half.updated_replicas), (Some(1), Some(1)));
    assert_eq!(half.current_revision.as_deref(), Some("old"));
    let whole = counted(vec![ready(0, "new"), ready(1, "new")]);
    assert_eq!((whole.current_replicas, whole.current_revision.as_deref()), (Some(2), Some("new")));
}
