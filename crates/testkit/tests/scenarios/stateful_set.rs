//! StatefulSets: order, OnDelete and partitions.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::DeleteParams;
use maar_testkit::build::stateful_set;
use maar_testkit::read::{image, is_going, is_ready};
use maar_testkit::scenario;
use maar_testkit::scenario::Arena;
use serde_json::{Value, json};

fn with_image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}})
}

/// Waits until just these Pods are ready, each with its image.
async fn ready(arena: &Arena, what: &str, want: &[(&str, &str)]) -> Vec<Pod> {
    arena
        .wait_all(what, "db", |pods: &[Pod]| {
            let are: Vec<(String, &str)> = pods.iter().map(|pod| (pod.name_any(), image(pod))).collect();
            let are: Vec<(&str, &str)> = are.iter().map(|(name, image)| (name.as_str(), *image)).collect();
            are == want && pods.iter().all(|pod| is_ready(pod) && !is_going(pod))
        })
        .await
}

scenario! {
    async fn a_stateful_set_grows_and_shrinks_in_order(context) {
        let arena = context.arena();
        arena.create(stateful_set("db").replicas(3).image("one").behave("ready-after", "1s")).await;
        let pods = ready(arena, "three in order", &[("db-0", "one"), ("db-1", "one"), ("db-2", "one")]).await;
        for pair in pods.windows(2) {
            let conditions = pair[0].status.as_ref().and_then(|status| status.conditions.as_ref()).expect("conditions");
            let ready = conditions.iter().find(|one| one.type_ == "Ready").expect("Ready");
            let since = ready.last_transition_time.as_ref().expect("a time");
            let made = pair[1].metadata.creation_timestamp.as_ref().expect("a time");
            assert!(made.0 >= since.0, "{} was made before {} was ready", pair[1].name_any(), pair[0].name_any());
        }
        assert_eq!(pods[1].labels()["statefulset.kubernetes.io/pod-name"], "db-1");
        assert_eq!(pods[1].labels()["apps.kubernetes.io/pod-index"], "1");
        assert_eq!(pods[1].spec.as_ref().and_then(|spec| spec.hostname.as_deref()), Some("db-1"));
        arena.patch::<StatefulSet>("db", json!({"spec": {"replicas": 1}})).await;
        ready(arena, "the first to stay", &[("db-0", "one")]).await;
    }
}

scenario! {
    async fn on_delete_waits_for_somebody_to_delete(context) {
        let arena = context.arena();
        let db = stateful_set("db").replicas(2).image("one");
        arena.create(db.set("/spec/updateStrategy/type", "OnDelete").set("/spec/podManagementPolicy", "Parallel")).await;
        ready(arena, "two Pods", &[("db-0", "one"), ("db-1", "one")]).await;
        arena.patch::<StatefulSet>("db", with_image("two")).await;
        arena.wait("the update to be seen", "db", |set: &StatefulSet| {
            let status = set.status.as_ref().expect("a status");
            status.observed_generation == set.metadata.generation && status.update_revision != status.current_revision
        }).await;
        arena
            .never("an update", 1, async || {
                let pods = arena.list::<Pod>("db").await;
                pods.iter().any(|pod| image(pod) != "one" || is_going(pod)).then(|| format!("{pods:#?}"))
            })
            .await;
        arena.delete::<Pod>("db-0", &DeleteParams::default()).await;
        ready(arena, "the deleted one to be new", &[("db-0", "two"), ("db-1", "one")]).await;
    }
}

scenario! {
    async fn a_partition_holds_back_an_update(context) {
        let arena = context.arena();
        let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}});
        arena.create(stateful_set("db").replicas(3).image("one").set("/spec/updateStrategy", strategy)).await;
        ready(arena, "three Pods", &[("db-0", "one"), ("db-1", "one"), ("db-2", "one")]).await;
        arena.patch::<StatefulSet>("db", with_image("two")).await;
        ready(arena, "the last to be new", &[("db-0", "one"), ("db-1", "one"), ("db-2", "two")]).await;
        let all = json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}});
        arena.patch::<StatefulSet>("db", all).await;
        ready(arena, "all to be new", &[("db-0", "two"), ("db-1", "two"), ("db-2", "two")]).await;
        arena.wait("the update to be over", "db", |set: &StatefulSet| {
            let status = set.status.as_ref().expect("a status");
            status.current_revision == status.update_revision && status.updated_replicas == Some(3)
        }).await;
    }
}
