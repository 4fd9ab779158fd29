//! A real node of a real cluster: real containers, and whether our kubelets speak as its kubelet does.
//!
//! Needs root, so `make real` offers it in a second stage (`MAAR_REAL_NODE`) and says so where it cannot.

use futures::AsyncReadExt;
use kube::api::{DeleteParams, LogParams};
use serde_json::{Value, json};

use crate::{Place, Real, exec, real, variable};

/// Made on the spot, of no registry.
const IMAGE: &str = "maar.local/debian:12";

/// A cluster with a real node, and that node's name.
async fn machine() -> (Real, String) {
    (real().await, variable("MAAR_REAL_NODE").expect("make real names the node in MAAR_REAL_NODE"))
}

fn on(node: &str, line: &str) -> Value {
    json!({ "nodeName": node, "restartPolicy": "Never", "terminationGracePeriodSeconds": 5, "containers": [{
        "name": "main", "image": IMAGE, "imagePullPolicy": "Never", "command": ["bash", "-c", line] }] })
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real node: make real"]
async fn a_real_container_runs_speaks_and_exits() {
    let (real, node) = machine().await;
    let place = Place::make(&real.client, "machine").await;
    let line =
        "for n in 1 2 3; do echo step $n; sleep 0.5; done; echo last words > /dev/termination-log; exit 7";
    place.create("job", json!({}), on(&node, line)).await;
    place.until("job", |pod| pod["status"]["phase"] == "Running" || pod["status"]["phase"] == "Failed").await;
    let follow = LogParams { follow: true, ..LogParams::default() };
    let mut log = std::pin::pin!(place.pods().log_stream("job", &follow).await.unwrap());
    let mut text = String::new();
    log.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "step 1\nstep 2\nstep 3\n");
    let job = place.phase("job", "Failed").await;
    let exit = &job["status"]["containerStatuses"][0]["state"]["terminated"];
    assert_eq!((exit["exitCode"].as_i64(), exit["reason"].as_str()), (Some(7), Some("Error")), "{exit}");
    assert_eq!(exit["message"], "last words\n");
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a real node: make real"]
async fn commands_run_in_a_real_container_and_its_events_are_worded_as_ours() {
    let (real, node) = machine().await;
    let place = Place::make(&real.client, "words").await;
    place.create("stays", json!({}), on(&node, "trap 'exit 0' TERM; sleep infinity & wait")).await;
    place.phase("stays", "Running").await;
    assert_eq!(exec(&place, "stays", &["hostname"]).await, ("stays\n".into(), "Success".into()));
    let (_, said) = exec(&place, "stays", &["bash", "-c", "exit 7"]).await;
    assert!(said.contains("exit code 7"), "{said}");
    place.pods().delete("stays", &DeleteParams::default()).await.unwrap();
    place.until("stays", Value::is_null).await;
    let told = place.told("stays", "Killing").await;
    for (reason, message) in [
        ("Created", "Container created"),
        ("Started", "Container started"),
        ("Killing", "Stopping container main"),
    ] {
        assert!(told.contains(&(reason.into(), message.into())), "{told:?}");
    }
    let pulled = told.iter().find(|(reason, _)| reason == "Pulled").expect("an image");
    assert!(
        pulled.1.starts_with(&format!("Container image {IMAGE:?} already present on machine")),
        "{pulled:?}"
    );
    place.end().await;
}
