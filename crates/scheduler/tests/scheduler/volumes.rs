//! Volumes that were made beforehand: each claim gets one of its own, on the node of its Pod.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::{Api, ResourceExt as _};
use maar_embedded::{Fault, Rule};
use maar_testkit::build::{Build, object};
use maar_testkit::read::{node, phase};
use maar_testkit::scenario;
use maar_testkit::scenario::Arena;
use serde_json::json;

use super::setup::{is_bound, one_of, start};

fn class(arena: &Arena) -> String {
    format!("local-{}", arena.namespace())
}

/// A class whose volumes are made by hand and chosen with the node.
async fn make_class(arena: &Arena) {
    let class = object::<StorageClass>(&class(arena), json!({}));
    let class = class.set("/provisioner", "kubernetes.io/no-provisioner");
    arena.create_cluster(class.set("/volumeBindingMode", "WaitForFirstConsumer")).await;
}

/// A volume on one of the scenario's nodes.
async fn make_volume(arena: &Arena, name: &str, size: &str, home: &str) {
    make_volume_in_mode(arena, name, size, home, "ReadWriteOnce").await;
}

async fn make_volume_in_mode(arena: &Arena, name: &str, size: &str, home: &str, mode: &str) {
    let home = json!([{"key": "kubernetes.io/hostname", "operator": "In", "values": [home]}]);
    let volume = json!({
        "capacity": {"storage": size},
        "accessModes": [mode],
        "storageClassName": class(arena),
        "persistentVolumeReclaimPolicy": "Retain",
        "local": {"path": "/tmp"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": home}]}},
    });
    arena.create_cluster(object::<PersistentVolume>(&format!("{name}-{}", arena.namespace()), volume)).await;
}

async fn make_claim(arena: &Arena, name: &str, size: &str) {
    make_claim_in_mode(arena, name, size, "ReadWriteOnce").await;
}

async fn make_claim_in_mode(arena: &Arena, name: &str, size: &str, mode: &str) {
    let claim = json!({"accessModes": [mode], "storageClassName": class(arena),
        "resources": {"requests": {"storage": size}}});
    arena.create(object::<PersistentVolumeClaim>(name, claim)).await;
}

/// A Pod of ours that uses a claim.
fn using(arena: &Arena, number: usize, claim: &str) -> Build<Pod> {
    let volumes = json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]);
    one_of(arena, "db", number).request("cpu", "100m").pod_set("/spec/volumes", volumes)
}

/// Three volumes on two nodes, and three Pods with a claim each.
pub(crate) async fn three_for_three(arena: &Arena) {
    let nodes = arena.node_names();
    make_class(arena).await;
    make_volume(arena, "small-0", "1Gi", &nodes[0]).await;
    make_volume(arena, "medium-0", "2Gi", &nodes[0]).await;
    make_volume(arena, "small-1", "1Gi", &nodes[1]).await;
    for number in 0..3 {
        let claim = format!("claim-{number}");
        make_claim(arena, &claim, "1Gi").await;
        arena.create(using(arena, number, &claim)).await;
    }
}

/// Waits until so many Pods run, and checks that each has a volume of its own on its node: Pods with their volumes.
pub(crate) async fn each_has_its_own(arena: &Arena, count: usize) -> BTreeMap<String, String> {
    let pods = arena
        .until("the Pods to run", async || {
            let pods = arena.list::<Pod>("db").await;
            let running: Vec<Pod> = pods.into_iter().filter(|pod| phase(pod) == "Running").collect();
            if running.len() == count { Ok(running) } else { Err(format!("{} run", running.len())) }
        })
        .await;
    let volumes: Api<PersistentVolume> = Api::all(arena.client());
    let mut owners = BTreeMap::new();
    let mut given = BTreeMap::new();
    for pod in &pods {
        let name = pod.name_any();
        let claim = name.replace("db", "claim");
        let bound = arena.get::<PersistentVolumeClaim>(&claim).await.spec.and_then(|spec| spec.volume_name);
        let bound = bound.unwrap_or_else(|| panic!("{claim} has no volume"));
        let volume = volumes.get(&bound).await.expect("the volume is there").spec.expect("a spec");
        let reference = volume.claim_ref.and_then(|claim| claim.name);
        assert_eq!(reference.as_deref(), Some(claim.as_str()), "{bound}");
        let home = serde_json::to_string(&volume.node_affinity).expect("JSON");
        assert!(
            home.contains(&format!("\"{}\"", node(pod))),
            "{name} is on {}, its volume on {home}",
            node(pod)
        );
        if let Some(other) = owners.insert(bound.clone(), name.clone()) {
            panic!("{other} and {name} have {bound}");
        }
        given.insert(name, bound.trim_end_matches(arena.namespace()).trim_end_matches('-').to_owned());
    }
    given
}

scenario! {
    async fn each_claim_gets_a_volume_of_its_own_on_the_node_of_its_pod(context) {
        let arena = context.arena();
        let scheduler = start(arena, arena.client(), "only");
        three_for_three(arena).await;
        each_has_its_own(arena, 3).await;
        // Nothing is left for a fourth one, and it is told so.
        make_claim(arena, "claim-3", "1Gi").await;
        arena.create(using(arena, 3, "claim-3")).await;
        arena.until("the owner to be told", async || {
            let events = arena.list::<k8s_openapi::api::events::v1::Event>("").await;
            let notes: Vec<String> = events.into_iter().filter_map(|event| event.note).collect();
            let said = |note: &String| note.contains("no free volume for one of its claims");
            if notes.iter().any(said) { Ok(()) } else { Err(format!("{notes:?}")) }
        }).await;
        assert!(!is_bound(&arena.get::<Pod>("db-3").await));
        let third = arena.node_names().remove(2);
        make_volume(arena, "late-2", "1Gi", &third).await;
        assert_eq!(each_has_its_own(arena, 4).await["db-3"], "late-2");
        scheduler.stop().await;
    }
}

scenario! {
    async fn a_volume_promised_by_name_is_kept_for_its_claim(context) {
        let arena = context.arena();
        let nodes = arena.node_names();
        make_class(arena).await;
        let scheduler = start(arena, arena.client(), "only");
        make_volume(arena, "small-0", "1Gi", &nodes[0]).await;
        make_volume(arena, "kept-1", "5Gi", &nodes[1]).await;
        let volumes: Api<PersistentVolume> = Api::all(arena.client());
        let promise = json!({"spec": {"claimRef": {"namespace": arena.namespace(), "name": "claim-1"}}});
        let patch = kube::api::Patch::Merge(&promise);
        let kept = format!("kept-1-{}", arena.namespace());
        volumes.patch(&kept, &kube::api::PatchParams::default(), &patch).await.expect("a volume can be promised");
        make_claim(arena, "claim-0", "2Gi").await;
        arena.create(using(arena, 0, "claim-0")).await;
        make_claim(arena, "claim-1", "1Gi").await;
        arena.create(using(arena, 1, "claim-1")).await;
        assert_eq!(each_has_its_own(arena, 1).await, [("db-1".to_owned(), "kept-1".to_owned())].into());
        assert!(!is_bound(&arena.get::<Pod>("db-0").await), "the other is too small for it");
        scheduler.stop().await;
    }
}

scenario! {
    async fn a_claim_for_one_pod_is_used_by_one_at_a_time(context) {
        let arena = context.arena();
        let home = arena.node_names().remove(0);
        make_class(arena).await;
        let scheduler = start(arena, arena.client(), "only");
        make_volume_in_mode(arena, "own-0", "1Gi", &home, "ReadWriteOncePod").await;
        make_claim_in_mode(arena, "own", "1Gi", "ReadWriteOncePod").await;
        for number in 0..2 {
            arena.create(using(arena, number, "own")).await;
        }
        let pods = arena.wait_all("one to run", "db", |pods: &[Pod]| {
            pods.iter().any(|pod| phase(pod) == "Running")
        }).await;
        arena.until("the other to be told", async || {
            let events = arena.list::<k8s_openapi::api::events::v1::Event>("").await;
            let notes: Vec<String> = events.into_iter().filter_map(|event| event.note).collect();
            let said = |note: &String| note.contains("a claim that another Pod has to itself");
            if notes.iter().any(said) { Ok(()) } else { Err(format!("{notes:?}")) }
        }).await;
        let first = pods.iter().find(|pod| is_bound(pod)).map(kube::ResourceExt::name_any).expect("one runs");
        let second = if first == "db-0" { "db-1" } else { "db-0" };
        assert!(!is_bound(&arena.get::<Pod>(second).await));
        arena.delete::<Pod>(&first, &kube::api::DeleteParams::default()).await;
        arena.wait("the other to run", second, |pod: &Pod| phase(pod) == "Running").await;
        scheduler.stop().await;
    }
}

scenario! {
    in process only async fn trouble_with_promises_gives_no_volume_twice(context) {
        let arena = context.arena();
        let faults = arena.embedded().expect("in process").faults();
        for (number, fault) in [
            (1, Fault::LostAnswer),
            (2, Fault::Conflict),
            (3, Fault::InternalError),
            (4, Fault::LostAnswer),
        ] {
            let rule = Rule::new(fault).component("scheduler").verb("patch").resource("persistentvolumes");
            faults.script(rule.nth(number));
        }
        let scheduler = start(arena, faults.wrap("scheduler", arena.client()), "only");
        three_for_three(arena).await;
        each_has_its_own(arena, 3).await;
        scheduler.stop().await;
    }
}

scenario! {
    in process only async fn a_volume_that_somebody_else_took_meanwhile_is_not_taken_from_them(context) {
        let arena = context.arena();
        let faults = arena.embedded().expect("in process").faults();
        let nodes = arena.node_names();
        make_class(arena).await;
        make_volume(arena, "small-0", "1Gi", &nodes[0]).await;
        make_volume(arena, "small-1", "2Gi", &nodes[1]).await;
        make_claim(arena, "claim-9", "1Gi").await;
        // Its watch of volumes is late, so it believes in the smaller one when another has it.
        let late = Fault::LateWatch(std::time::Duration::from_secs(20));
        faults.script(Rule::new(late).component("scheduler").verb("watch").resource("persistentvolumes").always());
        let scheduler = start(arena, faults.wrap("scheduler", arena.client()), "only");
        let other = arena.get::<PersistentVolumeClaim>("claim-9").await.metadata.uid;
        arena.create(one_of(arena, "first", 0)).await;
        arena.wait("it to work", "first-0", |pod: &Pod| phase(pod) == "Running").await;
        let volumes: Api<PersistentVolume> = Api::all(arena.client());
        let promise = json!({"spec": {"claimRef": {"namespace": arena.namespace(), "name": "claim-9", "uid": other}}});
        let patch = kube::api::Patch::Merge(&promise);
        let taken = format!("small-0-{}", arena.namespace());
        volumes.patch(&taken, &kube::api::PatchParams::default(), &patch).await.expect("a volume can be promised");
        make_claim(arena, "claim-0", "1Gi").await;
        arena.create(using(arena, 0, "claim-0")).await;
        assert_eq!(each_has_its_own(arena, 1).await["db-0"], "small-1");
        scheduler.stop().await;
    }
}
