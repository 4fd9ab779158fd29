//! A real Prometheus that scrapes the simulated cards: heat map and history come from it.

use std::{
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use axum::{Router, extract::Path, routing::get};
use kube::Client;
use maar_jobs::{Prometheus, node_metrics};
use maar_portal::CardSource;
use maar_testkit::ports::free_port;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{
    absent::absent,
    world::{World, eventually},
};

/// Ends with the test.
struct Server {
    child: Child,
    folder: std::path::PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Shows the metrics of each node at a path of its own, as their exporters would.
async fn exporters(cluster: Arc<Mutex<Option<Client>>>) -> u16 {
    let show = move |Path(node): Path<String>| {
        let client = cluster.lock().clone();
        async move {
            let Some(client) = client else { return String::new() };
            node_metrics(&client, &node).await.unwrap_or_default()
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let router = Router::new().route("/{node}", get(show));
    tokio::spawn(async move { axum::serve(listener, router).await });
    port
}

/// Prometheus on a free port, scraping `nodes` every second; none if it is not installed.
fn start(nodes: &[&str], exporters: u16) -> Option<(Server, u16)> {
    let port = free_port();
    let folder = std::env::temp_dir().join(format!("maar-prometheus-{}-{port}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let jobs: Vec<Value> = nodes
        .iter()
        .map(|node| {
            let targets = json!([{ "targets": [format!("127.0.0.1:{exporters}")] }]);
            json!({ "job_name": node, "metrics_path": format!("/{node}"), "static_configs": targets })
        })
        .collect();
    let config = json!({ "global": { "scrape_interval": "1s" }, "scrape_configs": jobs });
    // JSON is YAML.
    std::fs::write(folder.join("prometheus.yml"), config.to_string()).unwrap();
    let child = Command::new("prometheus")
        .arg(format!("--config.file={}", folder.join("prometheus.yml").display()))
        .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match child {
        Ok(child) => Some((Server { child, folder }, port)),
        Err(error) => {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}");
            None
        }
    }
}

#[tokio::test]
async fn the_heat_map_comes_from_a_real_prometheus() {
    let cluster = Arc::new(Mutex::new(None));
    let exporters = exporters(Arc::clone(&cluster)).await;
    let Some((_server, port)) = start(&["gpu-0", "gpu-1"], exporters) else {
        absent("prometheus");
        return;
    };
    let prometheus = Prometheus::new(&format!("http://127.0.0.1:{port}")).unwrap();
    let asked = prometheus.clone();
    let world = World::with(move |settings| {
        settings.cards = CardSource::Prometheus(asked);
        settings.cards_every = Duration::from_millis(500);
    })
    .await;
    *cluster.lock() = Some(world.client.clone());
    let ada = world.user("ada").await;
    let (_, nodes) = ada.get("/nodes").await;
    let names: Vec<&str> =
        nodes["items"].as_array().unwrap().iter().map(|node| node["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["gpu-0", "gpu-1"], "the names that Prometheus was told");
    let card = async |node: usize| ada.get("/nodes").await.1["items"][node]["cards"][0]["cards"][7].clone();
    eventually("readings of both nodes", async || {
        card(0).await["memoryTotal"].is_u64() && card(1).await["memoryTotal"].is_u64()
    })
    .await;
    let shown = card(0).await;
    assert_eq!(shown["memoryTotal"], json!(80_u64 << 30), "{shown}");
    assert!(shown["utilisation"].as_u64().is_some_and(|percent| percent <= 100), "{shown}");
    assert!(shown["temperature"].as_i64().is_some_and(|degrees| (10..110).contains(&degrees)), "{shown}");
    let (_, strips) = ada.get("/nodes/history").await;
    assert!(strips["nodes"]["gpu-0"]["nvidia.com/gpu"]["7"][95].is_u64(), "{strips}");

    // A portal that begins later knows what was before it.
    let later = World::with(move |settings| {
        settings.cards = CardSource::Prometheus(prometheus);
        settings.cards_every = Duration::from_hours(1);
    })
    .await;
    let eve = later.user("eve").await;
    eventually("the past", async || {
        let (_, usage) = eve.get("/nodes/gpu-1/usage").await;
        usage["cards"][7]["points"][0][1].is_u64()
    })
    .await;
}
