//! A webhook server of this process: TLS as any other, reached through memory or over TCP.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use maar_streams::dial::{BoxedIo, Dial, Dialing, Io};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// What a webhook does with a question.
pub(crate) enum Reply {
    /// The response of a review; the uid is filled in.
    Says(Value),
    /// Other bytes than a review.
    Text(&'static str),
    /// Never.
    Silence,
}

impl Reply {
    pub(crate) fn yes() -> Self {
        Self::Says(json!({"allowed": true}))
    }

    pub(crate) fn patch(patch: &Value) -> Self {
        let patch = STANDARD.encode(patch.to_string());
        Self::Says(json!({"allowed": true, "patchType": "JSONPatch", "patch": patch}))
    }
}

type Decide = dyn Fn(&str, &Value) -> Reply + Send + Sync;

/// The server, and what it was asked: paths and requests.
#[derive(Clone)]
pub(crate) struct Hooks {
    /// The authority of its certificate, as a configuration wants it.
    pub(crate) ca: String,
    tls: Arc<ServerConfig>,
    decide: Arc<Decide>,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Hooks {
    pub(crate) fn new(decide: impl Fn(&str, &Value) -> Reply + Send + Sync + 'static) -> Self {
        let mut parameters = CertificateParams::new(Vec::<String>::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let authority = parameters.self_signed(&key).unwrap();
        let ca = STANDARD.encode(authority.pem());
        let issuer = Issuer::new(parameters, key);
        let names = ["hooks.tools.svc".to_owned(), "127.0.0.1".to_owned()];
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        Self { ca, tls: Arc::new(tls), decide: Arc::new(decide), asked: Arc::default() }
    }

    /// The paths that were asked, in order.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|(path, _)| path.clone()).collect()
    }

    /// The last request that was asked about.
    pub(crate) fn last(&self) -> Value {
        self.asked.lock().unwrap().last().map(|(_, request)| request.clone()).unwrap_or_default()
    }

    /// Dials it through memory by the name of its Service.
    pub(crate) fn dialer(&self) -> Arc<dyn Dial> {
        let hooks = self.clone();
        Arc::new(move |place: &str| -> Option<Dialing> {
            let hooks = hooks.clone();
            (place == "hooks.tools.svc:443").then(|| -> Dialing {
                Box::pin(async move {
                    let (near, far) = tokio::io::duplex(64 << 10);
                    tokio::spawn(hooks.serve(far));
                    Ok(Box::new(near) as BoxedIo)
                })
            })
        })
    }

    /// Listens on a port of this machine.
    pub(crate) async fn listen(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let hooks = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(hooks.clone().serve(stream));
            }
        });
        address
    }

    async fn serve(self, io: impl Io + 'static) {
        let Ok(io) = TlsAcceptor::from(Arc::clone(&self.tls)).accept(io).await else { return };
        let service = service_fn(|request: Request<Incoming>| self.answer(request));
        let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(io), service).await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let path = request.uri().path().to_owned();
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let review: Value = serde_json::from_slice(&body).unwrap();
        let asked = review["request"].clone();
        let reply = (self.decide)(&path, &asked);
        self.asked.lock().unwrap().push((path, asked.clone()));
        let text = match reply {
            Reply::Says(mut response) => {
                response["uid"] = asked["uid"].clone();
                json!({"kind": review["kind"], "apiVersion": review["apiVersion"], "response": response})
                    .to_string()
            }
            Reply::Text(text) => text.to_owned(),
            Reply::Silence => std::future::pending().await,
        };
        Ok(Response::new(Full::new(text.into())))
    }
}

/// One webhook at a path of the server.
pub(crate) fn webhook(hooks: &Hooks, path: &str, more: &Value) -> Value {
    let mut webhook = json!({
        "name": format!("{}.example.com", path.trim_matches('/')) + ".test",
        "clientConfig": {"service": {"namespace": "tools", "name": "hooks", "path": path}, "caBundle": hooks.ca},
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    });
    for (field, value) in more.as_object().unwrap() {
        webhook[field] = value.clone();
    }
    webhook
}
