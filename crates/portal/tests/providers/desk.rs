//! A portal without a cluster, and browsers with all their cookies.

use std::{collections::BTreeMap, net::SocketAddr, path::Path, sync::Arc};

use axum::{Router, body::Body, extract::ConnectInfo};
use http::{HeaderMap, Request, header};
use http_body_util::BodyExt as _;
use kube::Client;
use maar_controller::clock::SystemClock;
use maar_portal::{Entropy, PasswordCost, Portal, Providers, Settings, first_admin, router};
use maar_records::Records;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tower::ServiceExt as _;

pub(crate) const ORIGIN: &str = "http://portal.test";
pub(crate) const FIRST: &str = "the first password";
/// Every secret that a file of providers refers to.
pub(crate) const SECRET: &str = "a secret of the provider";

/// A portal. Nothing here asks the cluster, so there is none.
pub(crate) struct Desk {
    pub(crate) records: Records,
    pub(crate) router: Router,
}

impl Desk {
    pub(crate) async fn new(providers: &str) -> Self {
        Self::with(providers, |_| {}).await
    }

    pub(crate) async fn with(providers: &str, change: impl FnOnce(&mut Settings)) -> Self {
        let records = Records::open("sqlite::memory:").await.unwrap();
        let first = Some(FIRST.to_owned());
        first_admin(&records, first, PasswordCost::CHEAP, &Entropy::system(), now()).await.unwrap();
        Self { router: another(&records, providers, change), records }
    }

    pub(crate) fn browser(&self) -> Jar {
        Jar::new(self.router.clone())
    }

    /// The first administrator, with a password of his own.
    pub(crate) async fn admin(&self) -> Jar {
        let jar = self.browser();
        assert_eq!(jar.post("/login", json!({ "name": "admin", "password": FIRST })).await.0, 200);
        let change = json!({ "current": FIRST, "new": "correct horse battery" });
        assert_eq!(jar.call("PUT", "/me/password", Some(change)).await.0, 204);
        jar
    }

    /// What the audit log says of logins, the newest first.
    pub(crate) async fn logins(&self, admin: &Jar) -> Vec<Value> {
        let (status, said) = admin.get("/audit?action=login&limit=100").await;
        assert_eq!(status, 200, "{said}");
        said["items"].as_array().unwrap().clone()
    }
}

/// A portal on records that others use, too.
pub(crate) fn another(records: &Records, providers: &str, change: impl FnOnce(&mut Settings)) -> Router {
    let mut settings = Settings::at(vec![ORIGIN.to_owned()]);
    settings.password_cost = PasswordCost::CHEAP;
    if !providers.is_empty() {
        settings.providers = Providers::parse(providers, &read).unwrap();
    }
    change(&mut settings);
    let nowhere = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    let client = Client::try_from(nowhere).unwrap();
    let portal =
        Portal::new(settings, client, records.clone(), Arc::new(SystemClock), Entropy::system()).unwrap();
    router(&portal)
}

/// Files that begin at the root are real; all others hold the secret.
fn read(path: &Path) -> std::io::Result<String> {
    if path.is_absolute() { std::fs::read_to_string(path) } else { Ok(format!("{SECRET}\n")) }
}

pub(crate) fn now() -> jiff::Timestamp {
    use maar_controller::clock::Clock as _;
    SystemClock.now()
}

/// A browser.
pub(crate) struct Jar {
    pub(crate) router: Router,
    pub(crate) cookies: Mutex<BTreeMap<String, String>>,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Jar {
    pub(crate) fn new(router: Router) -> Self {
        Self { router, cookies: Mutex::default(), peer: None, headers: Vec::new() }
    }

    /// The same browser, as it is now.
    pub(crate) fn copy(&self) -> Self {
        Self { cookies: Mutex::new(self.cookies.lock().clone()), ..Self::new(self.router.clone()) }
    }

    pub(crate) async fn raw(&self, method: &str, path: &str, body: Option<Value>) -> (u16, HeaderMap, Value) {
        let whole = ["/api", "/oauth"].iter().any(|root| path.starts_with(root));
        let path = if whole { path.to_owned() } else { format!("/api/v1{path}") };
        let mut request = Request::builder().method(method).uri(path);
        let cookies: Vec<String> =
            self.cookies.lock().iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !cookies.is_empty() {
            request = request.header(header::COOKIE, cookies.join("; "));
        }
        if method != "GET" {
            request = request.header("x-maar-request", "1").header(header::ORIGIN, ORIGIN);
        }
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        if let Some(peer) = self.peer {
            request = request.extension(ConnectInfo(peer));
        }
        let body = match body {
            Some(value) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(value.to_string())
            }
            None => Body::empty(),
        };
        let response = self.router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        self.keep(&parts.headers);
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        (parts.status.as_u16(), parts.headers, value)
    }

    fn keep(&self, headers: &HeaderMap) {
        let mut cookies = self.cookies.lock();
        for cookie in headers.get_all(header::SET_COOKIE) {
            let text = cookie.to_str().unwrap();
            assert!(text.contains("HttpOnly") && text.contains("SameSite=Lax"), "{text}");
            let (name, value) = text.split(';').next().unwrap().split_once('=').unwrap();
            if text.contains("Max-Age=0") {
                cookies.remove(name);
            } else {
                cookies.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let (status, _, said) = self.raw(method, path, body).await;
        (status, said)
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        self.call("GET", path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.call("POST", path, Some(body)).await
    }

    /// Where an address leads to.
    pub(crate) async fn follow(&self, path: &str) -> String {
        let (status, headers, said) = self.raw("GET", path, None).await;
        assert_eq!(status, 303, "{path}: {said}");
        headers[header::LOCATION].to_str().unwrap().to_owned()
    }

    pub(crate) async fn me(&self) -> Value {
        let (status, me) = self.get("/me").await;
        assert_eq!(status, 200, "{me}");
        me
    }

    pub(crate) async fn is_nobody(&self) -> bool {
        self.get("/me").await.0 == 401
    }
}
