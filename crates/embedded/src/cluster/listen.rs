//! Reaching a cluster from outside the process: a TLS listener and the kubeconfigs that lead to it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use super::pace::pace;
use super::{Cluster, advertise};
use crate::identity::{Peer, PkiError, Transport, TransportError};
use crate::server::UserInfo;

/// How long requests that are under way may take once the listener stops; watches never end by themselves.
const LAST_REQUESTS: Duration = Duration::from_secs(2);

/// How long a client may take to agree on TLS.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Why a listener could not start.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address cannot be used.
    #[error("listening on {address}: {source}")]
    Address {
        /// What was asked for.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// TLS could not be set up.
    #[error("preparing TLS: {0}")]
    Transport(#[from] TransportError),
}

/// A cluster's open port. Dropping it closes the port.
#[derive(Debug)]
pub struct Listener {
    /// Where it listens; the port is the one chosen if any was asked for.
    pub address: SocketAddr,
    stop: CancellationToken,
    tasks: TaskTracker,
    _stop_on_drop: DropGuard,
}

impl Listener {
    /// The address clients on this machine use.
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        format!("https://{address}")
    }

    /// Accepts nothing new, lets requests under way finish for a moment, then closes all connections.
    pub async fn stop(self) {
        self.stop.cancel();
        self.tasks.wait().await;
    }
}

impl Cluster {
    /// Serves the cluster on an address, with TLS.
    pub async fn listen(&self, address: SocketAddr) -> Result<Listener, ListenError> {
        self.listen_as(address, &[]).await
    }

    /// The same, for clients that know the machine by other names or addresses too.
    pub async fn listen_as(&self, address: SocketAddr, names: &[String]) -> Result<Listener, ListenError> {
        let mut names = names.to_vec();
        if !address.ip().is_unspecified() && !address.ip().is_loopback() {
            names.push(address.ip().to_string());
        }
        let transport = Arc::new(Transport::new(&self.server, &names)?);
        let failed = |source| ListenError::Address { address, source };
        let socket = TcpListener::bind(address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let stop = self.stop.child_token();
        let tasks = TaskTracker::new();
        tasks.spawn(accept(socket, transport, self.router.clone(), stop.clone(), tasks.clone()));
        if let Some(reached) = advertise::reachable(address, &names) {
            let (server, told) = (Arc::clone(&self.server), Arc::clone(&self.advertised));
            tasks.spawn(advertise::keep(server, told, reached, stop.clone()));
        }
        tasks.close();
        Ok(Listener { address, stop: stop.clone(), tasks, _stop_on_drop: stop.drop_guard() })
    }

    /// A kubeconfig for the administrator.
    pub fn kubeconfig(&self, listener: &Listener) -> Result<String, PkiError> {
        self.kubeconfig_for(listener, &Self::admin())
    }

    /// A kubeconfig with a client certificate for `user`.
    pub fn kubeconfig_for(&self, listener: &Listener, user: &UserInfo) -> Result<String, PkiError> {
        let pki = &self.server.identity.pki;
        let identity = pki.client(user)?;
        let credentials = [
            ("client-certificate-data", STANDARD.encode(&identity.certificate)),
            ("client-key-data", STANDARD.encode(&identity.key)),
        ];
        Ok(kubeconfig(&listener.url(), &pki.authority()?.pem, &user.username, &credentials))
    }

    /// The certificate by which clients know this cluster, in PEM.
    pub fn root_ca(&self) -> Result<String, PkiError> {
        Ok(self.server.identity.pki.authority()?.pem.clone())
    }

    /// A bearer token that makes its holder the administrator.
    pub fn admin_token(&self) -> Result<String, PkiError> {
        Ok(self.server.identity.pki.admin_token()?.to_owned())
    }
}

fn kubeconfig(url: &str, authority: &str, user: &str, credentials: &[(&str, String)]) -> String {
    let authority = STANDARD.encode(authority);
    // A JSON string is a YAML string, whatever is in it.
    let user = serde_json::Value::from(user);
    let credentials: Vec<String> =
        credentials.iter().map(|(name, value)| format!("    {name}: {value}\n")).collect();
    let credentials = credentials.concat();
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: maar\nclusters:\n- name: maar\n  cluster:\n    server: {url}\n    \
         certificate-authority-data: {authority}\ncontexts:\n- name: maar\n  context:\n    cluster: maar\n    \
         user: {user}\nusers:\n- name: {user}\n  user:\n{credentials}"
    )
}

async fn accept(
    socket: TcpListener,
    transport: Arc<Transport>,
    router: Router,
    stop: CancellationToken,
    tasks: TaskTracker,
) {
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            accepted = socket.accept() => accepted,
        };
        match accepted {
            Ok((stream, from)) => {
                let (transport, router, stop) = (Arc::clone(&transport), router.clone(), stop.clone());
                tasks.spawn(async move {
                    if let Err(error) = serve(stream, &transport, router, stop).await {
                        tracing::debug!(%from, %error, "a connection failed");
                    }
                });
            }
            // Out of file descriptors, most likely: connections that end make room.
            Err(error) => {
                tracing::warn!(%error, "accepting a connection failed");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

async fn serve(
    stream: TcpStream,
    transport: &Transport,
    router: Router,
    stop: CancellationToken,
) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let acceptor = TlsAcceptor::from(Arc::clone(&transport.config));
    let stream = tokio::select! {
        biased;
        () = stop.cancelled() => return Ok(()),
        stream = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)) => stream??,
    };
    let peer = transport.peer(stream.get_ref().1.peer_certificates().unwrap_or_default());
    let service = router.map_request(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert::<Peer>(peer.clone());
        request.map(Body::new)
    });
    let service = service.map_response(pace);
    let builder = Builder::new(TokioExecutor::new());
    let connection =
        builder.serve_connection_with_upgrades(TokioIo::new(stream), TowerToHyperService::new(service));
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        done = connection.as_mut() => return done,
    }
    connection.as_mut().graceful_shutdown();
    tokio::time::timeout(LAST_REQUESTS, connection).await.unwrap_or(Ok(()))
}
