//! The kubeconfig of the embedded cluster, with where else Maar answers.

use std::net::SocketAddr;

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::commands::client::{EXPLAIN_URL, EXTENSION};

/// Adds to each cluster where the scheduler tells why something waits: kubectl passes over extensions of others.
pub(super) fn with_explanations(kubeconfig: &str, page: SocketAddr) -> anyhow::Result<String> {
    let mut whole: Value = serde_saphyr::from_str(kubeconfig).context("reading the new kubeconfig")?;
    let extension = json!([{"name": EXTENSION, "extension": {EXPLAIN_URL: format!("http://{page}")}}]);
    for cluster in whole["clusters"].as_array_mut().into_iter().flatten() {
        cluster["cluster"]["extensions"] = extension.clone();
    }
    serde_saphyr::to_string(&whole).context("writing the new kubeconfig")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_stays() {
        let text = "kind: Config\nclusters:\n- name: maar\n  cluster:\n    server: https://127.0.0.1:1\n";
        let page = "127.0.0.1:8090".parse().unwrap();
        let written: Value = serde_saphyr::from_str(&with_explanations(text, page).unwrap()).unwrap();
        let extension = json!([{"name": "maar.io", "extension": {"explainUrl": "http://127.0.0.1:8090"}}]);
        let cluster = json!({"server": "https://127.0.0.1:1", "extensions": extension});
        assert_eq!(written, json!({"kind": "Config", "clusters": [{"name": "maar", "cluster": cluster}]}));
    }
}
