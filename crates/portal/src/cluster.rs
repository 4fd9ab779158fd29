//! How the portal reaches its cluster.

use kube::{Client, Config};

/// Clients of one cluster.
#[derive(Clone)]
pub struct Clients {
    /// For nearly everything: where it comes from a configuration, it tries again while the cluster is busy.
    pub client: Client,
    /// For evictions. A budget refuses with the code of a busy cluster (429), and a client that tries that again keeps
    /// silent about it for minutes.
    pub once: Client,
}

impl std::fmt::Debug for Clients {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Clients").finish_non_exhaustive()
    }
}

/// For a client that does not try again by itself, as that of the embedded cluster.
impl From<Client> for Clients {
    fn from(client: Client) -> Self {
        Self { once: client.clone(), client }
    }
}

impl TryFrom<Config> for Clients {
    type Error = kube::Error;

    fn try_from(config: Config) -> Result<Self, kube::Error> {
        let mut once = config.clone();
        once.default_retry = false;
        Ok(Self { client: Client::try_from(config)?, once: Client::try_from(once)? })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use axum::{Router, routing::any};
    use http::{StatusCode, header};
    use k8s_openapi::api::core::v1::Pod;
    use kube::{Api, api::EvictParams};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_refused_eviction_is_asked_for_once() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let refuse = any(move || async move {
            counted.fetch_add(1, Ordering::SeqCst);
            let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "it would violate the budget", "reason": "TooManyRequests", "code": 429 });
            (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "1")], axum::Json(status))
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(refuse)).await });
        let config = Config::new(format!("http://{address}").parse().unwrap());
        assert!(config.default_retry, "kube tries again unless it is told not to");
        let clients = Clients::try_from(config).unwrap();
        let pods: Api<Pod> = Api::namespaced(clients.once, "default");
        match pods.evict("desk", &EvictParams::default()).await {
            Err(kube::Error::Api(status)) => assert_eq!(status.code, 429),
            other => panic!("{other:?}"),
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }
}
