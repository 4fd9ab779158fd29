//! The status page, until the portal takes its place.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context as _;
use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Html;
use axum::routing::get;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::ListParams;
use kube::{Api, Client};
use tokio_util::sync::CancellationToken;

/// Serves the page on loopback; answers where.
pub(super) async fn serve(client: Client, port: u16, stop: CancellationToken) -> anyhow::Result<SocketAddr> {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .await
        .with_context(|| format!("serving the status page on port {port}"))?;
    let address = listener.local_addr()?;
    let router =
        Router::new().route("/", get(page)).route("/healthz", get(|| async { "ok" })).with_state(client);
    let serving = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned());
    tokio::spawn(async move {
        if let Err(error) = serving.await {
            tracing::error!(%error, "the status page ended");
        }
    });
    Ok(address)
}

/// What the page says, in one language.
struct Words {
    language: &'static str,
    title: &'static str,
    nodes: &'static str,
    pods: &'static str,
    name: &'static str,
    ready: &'static str,
    resources: &'static str,
    used_by: &'static str,
    failed: &'static str,
}

const ENGLISH: Words = Words {
    language: "en",
    title: "Maar is up",
    nodes: "Nodes",
    pods: "Pods",
    name: "Node",
    ready: "Ready",
    resources: "Resources",
    used_by: "Pods here",
    failed: "The cluster does not answer",
};

const CHINESE: Words = Words {
    language: "zh-CN",
    title: "Maar 正在运行",
    nodes: "节点",
    pods: "容器组",
    name: "节点",
    ready: "就绪",
    resources: "资源",
    used_by: "容器组数",
    failed: "集群没有响应",
};

fn words(headers: &HeaderMap) -> &'static Words {
    let wanted = headers.get("accept-language").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if wanted.trim_start().to_lowercase().starts_with("zh") { &CHINESE } else { &ENGLISH }
}

async fn page(State(client): State<Client>, headers: HeaderMap) -> Html<String> {
    let words = words(&headers);
    let nodes = Api::<Node>::all(client.clone()).list(&ListParams::default()).await;
    let pods = Api::<Pod>::all(client).list(&ListParams::default()).await;
    Html(match (nodes, pods) {
        (Ok(nodes), Ok(pods)) => render(words, &nodes.items, &pods.items),
        (Err(error), _) | (_, Err(error)) => {
            format!("<!doctype html><title>Maar</title><p>{}: {}", words.failed, escape(&error.to_string()))
        }
    })
}

fn render(words: &Words, nodes: &[Node], pods: &[Pod]) -> String {
    let mut pods_of: BTreeMap<&str, usize> = BTreeMap::new();
    let mut phases: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in pods {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
        *pods_of.entry(node.unwrap_or_default()).or_default() += 1;
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        *phases.entry(phase.unwrap_or("Unknown")).or_default() += 1;
    }
    let mut rows = String::new();
    for node in nodes {
        let name = node.metadata.name.as_deref().unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = write!(
            rows,
            "<tr><td>{}<td>{}<td>{}<td>{}",
            escape(name),
            if is_ready(node) { "✓" } else { "✗" },
            escape(&resources(node)),
            pods_of.get(name).copied().unwrap_or(0)
        );
    }
    let summary: Vec<String> =
        phases.iter().map(|(phase, count)| format!("{} {count}", escape(phase))).collect();
    format!(
        "<!doctype html><html lang={}><meta charset=utf-8><meta http-equiv=refresh content=5>\
         <meta name=viewport content=\"width=device-width\"><title>{}</title><style>{STYLE}</style>\
         <main><h1>{}</h1><p>{} {} · {} {} {}</p>\
         <table><thead><tr><th>{}<th>{}<th>{}<th>{}</thead><tbody>{rows}</tbody></table></main></html>",
        words.language,
        words.title,
        words.title,
        nodes.len(),
        words.nodes,
        pods.len(),
        words.pods,
        summary.join(" · "),
        words.name,
        words.ready,
        words.resources,
        words.used_by,
    )
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;margin:0;color:#1b2530;background:#f5f7f9}\
    main{max-width:60rem;margin:3rem auto;padding:0 1.5rem}h1{font-weight:600;margin:0}\
    table{width:100%;border-collapse:collapse;background:#fff;border-radius:8px;overflow:hidden;margin-top:1.5rem}\
    th,td{text-align:left;padding:.5rem .9rem;border-bottom:1px solid #e6eaee}th{font-weight:600;background:#eef2f5}\
    @media(prefers-color-scheme:dark){body{background:#12181e;color:#dde5ec}table{background:#1a222a}\
    th{background:#222c36}th,td{border-color:#2b3641}}";

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// CPU, memory and whatever cards the node has.
fn resources(node: &Node) -> String {
    let Some(capacity) = node.status.as_ref().and_then(|status| status.capacity.as_ref()) else {
        return String::new();
    };
    let shown = capacity.iter().filter(|(name, _)| !matches!(name.as_str(), "pods" | "ephemeral-storage"));
    shown.map(|(name, quantity)| format!("{name} {}", quantity.0)).collect::<Vec<_>>().join(", ")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_page_shows_nodes_and_escapes_what_is_not_its_own() {
        let node: Node = serde_json::from_value(json!({
            "metadata": {"name": "<gpu>"},
            "status": {"capacity": {"cpu": "8", "nvidia.com/gpu": "4", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}]},
        }))
        .unwrap();
        let page = render(&ENGLISH, &[node], &[]);
        assert!(page.contains("&lt;gpu&gt;") && !page.contains("<gpu>"), "{page}");
        assert!(page.contains("cpu 8, nvidia.com/gpu 4"), "{page}");
        assert!(render(&CHINESE, &[], &[]).contains("正在运行"));
    }
}
