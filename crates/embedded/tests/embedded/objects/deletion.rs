//! How long a Pod that is deleted has.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

use super::cluster;

/// A Pod on a node, so that it is given time.
async fn placed(client: Client, grace: i64) -> Api<Pod> {
    let api: Api<Pod> = Api::default_namespaced(client);
    let spec = json!({"nodeName": "n", "terminationGracePeriodSeconds": grace,
        "containers": [{"name": "main", "image": "busybox:1.36"}]});
    let pod = serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap();
    api.create(&PostParams::default(), &pod).await.unwrap();
    api
}

/// Deletes the Pod; when it is to be gone, and how many seconds it has for that.
async fn delete(api: &Api<Pod>, grace: Option<u32>) -> (String, i64) {
    let params = DeleteParams { grace_period_seconds: grace, ..DeleteParams::default() };
    let pod = api.delete("p", &params).await.unwrap().left().unwrap();
    let deadline = pod.metadata.deletion_timestamp.unwrap().0.to_string();
    (deadline, pod.metadata.deletion_grace_period_seconds.unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_grace_period_beyond_all_time_ends_with_it() {
    let (_cluster, client) = cluster().await;
    let api = placed(client.clone(), 4_000_000_000_000).await;
    let (deadline, grace) = delete(&api, None).await;
    assert!(deadline.starts_with("9999-12-"), "{deadline}");
    assert!(grace < 4_000_000_000_000, "{grace}");
    let (deadline, grace) = delete(&api, Some(60)).await;
    assert_eq!((deadline.as_str(), grace), ("2026-01-01T00:01:00Z", 60));
}

#[tokio::test(start_paused = true)]
async fn an_eviction_that_gives_more_time_than_there_is_gives_what_there_is() {
    let (_cluster, client) = cluster().await;
    let api = placed(client.clone(), 30).await;
    let eviction = json!({"metadata": {"name": "p"}, "deleteOptions": {"gracePeriodSeconds": i64::MAX}});
    let path = "/api/v1/namespaces/default/pods/p/eviction";
    let request = http::Request::post(path).body(serde_json::to_vec(&eviction).unwrap()).unwrap();
    client.request_text(request).await.unwrap();
    let deadline = api.get("p").await.unwrap().metadata.deletion_timestamp.unwrap().0.to_string();
    assert!(deadline.starts_with("9999-12-"), "{deadline}");
}

#[tokio::test(start_paused = true)]
async fn a_shorter_grace_period_counts_from_the_first_deletion() {
    let (_cluster, client) = cluster().await;
    let api = placed(client, 30).await;
    assert_eq!(delete(&api, Some(300)).await, ("2026-01-01T00:05:00Z".into(), 300));
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(delete(&api, None).await, ("2026-01-01T00:05:00Z".into(), 300), "30 s were not asked for");
    assert_eq!(delete(&api, Some(200)).await, ("2026-01-01T00:03:20Z".into(), 200));
    // Its time was up before it was asked for, and whoever runs it is still to say when it has ended.
    assert_eq!(delete(&api, Some(50)).await, ("2026-01-01T00:01:40Z".into(), 1));
}
