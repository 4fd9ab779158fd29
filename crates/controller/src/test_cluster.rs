//! The embedded cluster over a wire that can be cut, for tests of this crate.

use std::{future::pending, sync::Arc};

use http::{Method, Request, Response};
use kube::{Client, client::Body};
use maar_embedded::{Cluster, Config};
use parking_lot::Mutex;
use serde_json::json;
use tower::{BoxError, service_fn};

/// What a client's network does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Network {
    #[default]
    Up,
    /// Requests go out and nothing ever comes back or arrives.
    Hanging,
    /// Requests arrive, but their answers are lost.
    AnswersLost,
    /// The server is overloaded.
    Refusing,
}

/// One client's wire to the cluster. Clones are the same one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wire(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    network: Network,
    conflicts: usize,
    writes: Vec<String>,
}

impl Wire {
    pub(crate) fn set(&self, network: Network) {
        self.0.lock().network = network;
    }

    /// The next writes fail as if somebody else had written first.
    pub(crate) fn conflict(&self, times: usize) {
        self.0.lock().conflicts = times;
    }

    /// Method and path of every write that was sent.
    pub(crate) fn writes(&self) -> Vec<String> {
        self.0.lock().writes.clone()
    }

    /// Notes a write, and tells whether it is to fail with a conflict.
    fn sent(&self, request: &Request<Body>) -> bool {
        if *request.method() == Method::GET {
            return false;
        }
        let mut state = self.0.lock();
        state.writes.push(format!("{} {}", request.method(), request.uri().path()));
        let conflict = state.conflicts > 0;
        state.conflicts = state.conflicts.saturating_sub(1);
        conflict
    }
}

/// A cluster without built-in controllers.
pub(crate) async fn cluster() -> Cluster {
    let config = Config { controllers: false, ..Config::simulated(1) };
    Cluster::start(config).await.expect("a cluster in memory starts")
}

/// A client of the administrator and its wire.
pub(crate) fn wired(cluster: &Cluster) -> (Client, Wire) {
    let (client, wire) = (cluster.client(), Wire::default());
    let network = wire.clone();
    let service = service_fn(move |request: Request<Body>| send(client.clone(), network.clone(), request));
    (Client::new(service, "default"), wire)
}

async fn send(client: Client, wire: Wire, request: Request<Body>) -> Result<Response<Body>, BoxError> {
    let network = wire.0.lock().network;
    match network {
        Network::Hanging => pending().await,
        Network::Refusing => Ok(failure(503, "ServiceUnavailable")),
        Network::Up | Network::AnswersLost if wire.sent(&request) => Ok(failure(409, "Conflict")),
        Network::Up => Ok(client.send(request).await?),
        Network::AnswersLost => {
            client.send(request).await?;
            pending().await
        }
    }
}

fn failure(code: u16, reason: &str) -> Response<Body> {
    let status =
        json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason });
    let body = Body::from(status.to_string().into_bytes());
    Response::builder().status(code).body(body).expect("a code and a body make a response")
}
