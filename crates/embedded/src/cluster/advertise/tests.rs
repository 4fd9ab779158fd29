use std::path::Path;

use kube::Api;
use kube::api::DeleteParams;
use serde_json::Value;

use super::*;
use crate::cluster::{Cluster, Config, Listener};

async fn start(folder: Option<&Path>) -> Cluster {
    // Another test of this process may have been first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = Config { data_folder: folder.map(Path::to_owned), ..Config::simulated(7) };
    Cluster::start(config).await.unwrap()
}

async fn listen(cluster: &Cluster, address: &str) -> Listener {
    let names = ["example.com".to_owned(), "192.0.2.7".to_owned()];
    cluster.listen_as(address.parse().unwrap(), &names).await.unwrap()
}

/// What stands in the two objects.
async fn told(cluster: &Cluster) -> [Value; 2] {
    tokio::time::sleep(EVERY * 2).await;
    let client = cluster.client();
    let endpoints = Api::<Endpoints>::namespaced(client.clone(), NAMESPACE).get_opt(NAME).await.unwrap();
    let slice = Api::<EndpointSlice>::namespaced(client, NAMESPACE).get_opt(NAME).await.unwrap();
    [
        endpoints.map_or(Value::Null, |endpoints| {
            assert_eq!(json!(endpoints.metadata.labels), json!({SKIP_MIRROR: "true"}));
            json!(endpoints.subsets)
        }),
        slice.map_or(Value::Null, |slice| {
            assert_eq!(json!(slice.metadata.labels), json!({"kubernetes.io/service-name": "kubernetes"}));
            assert_eq!(slice.metadata.owner_references, None);
            json!([slice.address_type, slice.endpoints, slice.ports])
        }),
    ]
}

fn as_on(port: u16) -> [Value; 2] {
    let ports = json!([{"name": "https", "port": port, "protocol": "TCP"}]);
    [
        json!([{"addresses": [{"ip": "192.0.2.7"}], "ports": ports}]),
        json!(["IPv4", [{"addresses": ["192.0.2.7"], "conditions": {"ready": true}}], ports]),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_cluster_says_where_it_is_reached_for_as_long_as_it_is() {
    let cluster = start(None).await;
    let nowhere = [Value::Null, Value::Null];
    assert_eq!(told(&cluster).await, nowhere, "nobody listens");
    let loopback = listen(&cluster, "127.0.0.1:0").await;
    assert_eq!(told(&cluster).await, nowhere, "others do not reach it");
    let listener = listen(&cluster, "0.0.0.0:0").await;
    let port = listener.address.port();
    assert_eq!(told(&cluster).await, as_on(port));
    let api = Api::<EndpointSlice>::namespaced(cluster.client(), NAMESPACE);
    api.delete(NAME, &DeleteParams::default()).await.unwrap();
    assert_eq!(told(&cluster).await, as_on(port), "what somebody removes is made again");
    let second = listen(&cluster, "0.0.0.0:0").await;
    assert_eq!(told(&cluster).await, as_on(port), "one is told of");
    let then = second.address.port();
    listener.stop().await;
    assert_eq!(told(&cluster).await, as_on(then), "the other takes its place");
    second.stop().await;
    assert_eq!(told(&cluster).await, [Value::Null, json!(["IPv4", null, null])]);
    loopback.stop().await;
}

#[tokio::test(start_paused = true)]
async fn another_port_after_a_restart_takes_the_place_of_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = start(Some(folder.path())).await;
    let listener = listen(&cluster, "0.0.0.0:0").await;
    let before = listener.address.port();
    assert_eq!(told(&cluster).await, as_on(before));
    // As if the process ended at once.
    let local = Local::new(Arc::clone(&cluster.server), "kube-apiserver");
    listener.stop().await;
    write(&local, Some(SocketAddr::from(([192, 0, 2, 7], before)))).await.unwrap();
    drop(local);
    cluster.stop().await;
    drop(cluster);

    let cluster = start(Some(folder.path())).await;
    assert_eq!(told(&cluster).await, [Value::Null, json!(["IPv4", null, null])], "nobody listens yet");
    let listener = listen(&cluster, "0.0.0.0:0").await;
    assert_eq!(told(&cluster).await, as_on(listener.address.port()));
}

#[test]
fn only_what_others_can_use_is_told() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let reached = |listening: &str, known: &[&str]| {
        reachable(listening.parse().unwrap(), &names(known)).map(|address| address.to_string())
    };
    assert_eq!(reached("10.0.0.5:6443", &["192.0.2.7"]).as_deref(), Some("10.0.0.5:6443"));
    assert_eq!(
        reached("0.0.0.0:6443", &["host", "127.0.0.1", "192.0.2.7"]).as_deref(),
        Some("192.0.2.7:6443")
    );
    assert_eq!(reached("[::]:6443", &["fd00::7"]).as_deref(), Some("[fd00::7]:6443"));
    for alone in ["127.0.0.1:6443", "[::1]:6443", "169.254.1.1:6443", "[fe80::1]:6443"] {
        assert_eq!(reached(alone, &["192.0.2.7"]), None, "{alone}");
    }
}
