//! What not every real cluster has, and how one finds out.

use kube::Client;
use serde::Deserialize;
use serde_json::Value;

use super::call::Call;

/// Something a row needs of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// Lists by watch.
    WatchList,
}

impl Need {
    /// Whether the cluster has it.
    pub async fn is_met(self, client: &Client) -> anyhow::Result<bool> {
        let Self::WatchList = self;
        let path = "/api/v1/namespaces/default/configmaps?watch=true&sendInitialEvents=true\
                    &resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1";
        let answer = Call::new("GET", path).send(client).await?.value();
        // Without it there is an error, or nothing until the time is over.
        let marked = |event: &Value| event.get("type").and_then(Value::as_str) == Some("BOOKMARK");
        Ok(answer.as_array().map_or_else(|| marked(&answer), |events| events.iter().any(marked)))
    }

    /// Why it may be missing.
    pub fn explanation(self) -> &'static str {
        let Self::WatchList = self;
        "kube-apiserver streams lists only with etcd 3.4.31, 3.5.13 or newer, and this one has an older etcd"
    }
}
