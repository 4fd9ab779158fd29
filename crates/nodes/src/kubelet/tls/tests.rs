//! Who gets an answer over the network, with a stand-in for the API server that knows one good user and one good token.

use axum::{Json, Router, routing::post};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    any_certificate::AnyCertificate,
    clock::Clock,
    simulated::{console::SimulatedConsole, runtime::Simulation},
    table::Table,
};

/// Answers reviews: `good-token` is `reader`, and only `apiserver` and `reader` may do anything.
fn api_server() -> kube::Client {
    let tokens = async |Json(review): Json<Value>| {
        let good = review["spec"]["token"] == "good-token";
        Json(
            json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "metadata": {}, "spec": {},
            "status": { "authenticated": good, "user": { "username": "reader" } } }),
        )
    };
    let access = async |Json(review): Json<Value>| {
        let allowed = ["apiserver", "reader"].iter().any(|user| review["spec"]["user"] == *user);
        Json(json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {},
            "spec": {}, "status": { "allowed": allowed } }))
    };
    let router = Router::new()
        .route("/apis/authentication.k8s.io/v1/tokenreviews", post(tokens))
        .route("/apis/authorization.k8s.io/v1/subjectaccessreviews", post(access));
    kube::Client::new(router, "default")
}

/// An authority, and certificates of it.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

fn named(name: &str) -> CertificateParams {
    let mut parameters = CertificateParams::new(Vec::<String>::new()).expect("no names, no problem");
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, name);
    parameters.distinguished_name = subject;
    parameters
}

impl Authority {
    fn new() -> Self {
        let mut parameters = named("authority");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let pem = parameters.self_signed(&key).expect("a certificate").pem();
        Self { pem, issuer: Issuer::new(parameters, key) }
    }

    fn certificate(&self, name: &str) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        let key = KeyPair::generate().expect("a key");
        let certificate = named(name).signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.der().clone(), PrivateKeyDer::try_from(key.serialize_der()).expect("a key"))
    }
}

/// Starts kubelets without nodes and returns their address.
async fn start(client_ca: Option<String>, shutdown: &CancellationToken) -> SocketAddr {
    let (client, clock) = (api_server(), Clock::tokio(jiff::Timestamp::UNIX_EPOCH));
    let runtime = Arc::new(Simulation { start_delay: std::time::Duration::ZERO });
    let (events, _) = crate::events::Recorder::new(crate::EventPolicy::None);
    let table = Arc::new(parking_lot::Mutex::new(Table::new(runtime, events)));
    let console =
        SimulatedConsole { client: client.clone(), clock: clock.clone(), table: table.clone(), seed: 0 };
    let access = Access::new(client.clone(), clock.clone(), client_ca.is_some());
    let listen = Listen { address: (Ipv4Addr::LOCALHOST, 0).into(), client_ca };
    let bound = bind(&listen, access).await.expect("a free port");
    let address = bound.address;
    let kubelet =
        Kubelet { table, console: Arc::new(console), clock, client, seed: 0, shutdown: shutdown.clone() };
    tokio::spawn(kubelet.listen(bound));
    address
}

type Identity = (CertificateDer<'static>, PrivateKeyDer<'static>);

async fn ask(
    address: SocketAddr,
    path: &str,
    identity: Option<Identity>,
    token: Option<&str>,
) -> (u16, String) {
    // As an API server does that was given no authority for kubelets.
    let builder = AnyCertificate::builder().expect("versions");
    let config = match identity {
        Some((certificate, key)) => {
            builder.with_client_auth_cert(vec![certificate], key).expect("an identity")
        }
        None => builder.with_no_client_auth(),
    };
    let stream = TcpStream::connect(address).await.expect("it listens");
    let name = ServerName::try_from("localhost").expect("a name");
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.expect("a handshake");
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("http");
    tokio::spawn(connection);
    let mut request = http::Request::get(path).header("host", "localhost");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.body(Empty::<bytes::Bytes>::new()).expect("a request");
    let response = sender.send_request(request).await.expect("an answer");
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    (status, String::from_utf8_lossy(&body).into_owned())
}

#[tokio::test]
async fn without_a_client_ca_nobody_is_answered() {
    let shutdown = CancellationToken::new();
    let address = start(None, &shutdown).await;
    assert_eq!(ask(address, "/healthz", None, None).await, (200, "ok".into()));
    for token in [None, Some("good-token")] {
        assert_eq!(ask(address, "/metrics", None, token).await.0, 401);
    }
    let identity = Authority::new().certificate("apiserver");
    assert_eq!(ask(address, "/metrics", Some(identity), None).await.0, 401);
    shutdown.cancel();
}

#[tokio::test]
async fn with_a_client_ca_the_api_server_decides() {
    let shutdown = CancellationToken::new();
    let authority = Authority::new();
    let address = start(Some(authority.pem.clone()), &shutdown).await;
    let known = |name: &str| Some(authority.certificate(name));
    assert_eq!(ask(address, "/metrics", None, None).await.0, 401);
    assert_eq!(ask(address, "/metrics", None, Some("bad-token")).await.0, 401);
    assert_eq!(ask(address, "/metrics", None, Some("good-token")).await.0, 200);
    assert_eq!(ask(address, "/metrics", known("apiserver"), None).await.0, 200);
    let (status, text) = ask(address, "/metrics", known("stranger"), None).await;
    assert_eq!((status, text.as_str()), (403, "Forbidden: user \"stranger\" may not get nodes/metrics\n"));
    let (status, text) = ask(address, "/containerLogs/a/b/c", known("apiserver"), None).await;
    assert_eq!((status, text.as_str()), (404, "pod \"b_a\" not found\n"));
    shutdown.cancel();
}

#[test]
fn a_client_ca_must_hold_certificates() {
    assert_eq!(roots(&Authority::new().pem).expect("good").len(), 1);
    for bad in ["", "hello", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        assert!(matches!(roots(bad), Err(ListenError::ClientCa(_))), "{bad:?}");
    }
}

#[test]
fn kubelets_listen_beside_an_api_server_of_this_machine_only() {
    let made = rcgen::generate_simple_self_signed(vec!["a".to_owned()]).expect("a certificate");
    let at = |url: &str| {
        let mut config = kube::Config::new(url.parse().expect("an address"));
        config.root_cert = Some(vec![made.cert.der().to_vec()]);
        Listen::beside(&config)
    };
    for url in ["https://127.0.0.1:6443", "https://localhost:6443", "https://[::1]:6443"] {
        let listen = at(url).expect(url);
        assert!(listen.address.ip().is_loopback());
        assert_eq!(roots(&listen.client_ca.expect("an authority")).expect("certificates").len(), 1);
    }
    assert!(at("https://10.0.0.1:6443").is_none() && at("https://example.com").is_none());
}
