//! Several clusters at once.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::Api;
use maar_testkit::build::{object, pod};
use maar_testkit::read::phase;
use maar_testkit::scenario;
use serde_json::json;

scenario! {
    async fn two_clusters_know_nothing_of_each_other(context, clusters = 2) {
        let (one, other) = (context.cluster(0), context.cluster(1));
        one.create(object::<ConfigMap>("note", json!({}))).await;
        let namespaces: Api<Namespace> = Api::all(other.client());
        assert!(namespaces.get_opt(one.namespace()).await.expect("an answer").is_none());
        for arena in [one, other] {
            arena.create(pod("same")).await;
            arena.wait("the Pod to run", "same", |pod: &Pod| phase(pod) == "Running").await;
        }
        assert!(other.api::<ConfigMap>().get_opt("note").await.expect("an answer").is_none());
        let uids = [one.get::<Pod>("same").await, other.get::<Pod>("same").await].map(|pod| pod.metadata.uid);
        assert_ne!(uids[0], uids[1]);
    }
}
