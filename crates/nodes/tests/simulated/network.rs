//! Connections that stand while a node loses its network.

use std::time::Duration;

use kube::api::AttachParams;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::world;

#[tokio::test(start_paused = true)]
async fn an_exec_hangs_while_its_node_has_no_network_and_goes_on_afterwards() {
    let world = world().await;
    world.create("cut", "cpu-0", json!({}), json!({})).await;
    world.phase("cut", "Running").await;
    let parameters = AttachParams::default().stdin(true).stderr(false);
    let mut process = world.pods().exec("cut", ["cat"], &parameters).await.expect("exec");
    let (mut stdin, mut stdout) = (process.stdin().expect("stdin"), process.stdout().expect("stdout"));
    let mut said = [0; 4];
    stdin.write_all(b"one\n").await.expect("typed");
    stdout.read_exact(&mut said).await.expect("an echo");
    world.handle.fail("cpu-0", "network".parse().expect("a failure")).await.expect("breakable");
    while world.handle.dialer().dial("cpu-0").expect("known").await.is_ok() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    stdin.write_all(b"two\n").await.expect("typed");
    let heard = tokio::time::timeout(Duration::from_mins(2), stdout.read(&mut said)).await;
    assert!(heard.is_err(), "{said:?} came from a node without a network");
    world.handle.heal("cpu-0").await.expect("healable");
    stdout.read_exact(&mut said).await.expect("an echo");
    assert_eq!(&said, b"two\n");
}
