//! Somebody who asks.

use std::sync::Mutex;

use axum::{Router, body::Body};
use http::{HeaderMap, Method, Request, header};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::world::ORIGIN;

pub(crate) struct Browser {
    router: Router,
    cookie: Mutex<Option<String>>,
    key: Option<String>,
}

impl Browser {
    pub(crate) fn new(router: Router) -> Self {
        Self { router, cookie: Mutex::default(), key: None }
    }

    /// A program with an API key.
    pub(crate) fn program(&self, key: &str) -> Self {
        Self { router: self.router.clone(), cookie: Mutex::default(), key: Some(key.to_owned()) }
    }

    /// The same session in another browser.
    pub(crate) fn stolen(&self) -> Self {
        let cookie = self.cookie.lock().unwrap().clone();
        Self { router: self.router.clone(), cookie: Mutex::new(cookie), key: None }
    }

    /// The same session at another portal.
    pub(crate) fn at(&self, router: Router) -> Self {
        Self { router, ..self.stolen() }
    }

    /// What it holds of its session.
    pub(crate) fn cookie(&self) -> String {
        self.cookie.lock().unwrap().clone().unwrap_or_default()
    }

    /// The headers that a page of the portal sends.
    pub(crate) fn request(&self, method: &str, path: &str) -> http::request::Builder {
        let whole = ["/api", "/oauth", "/.well-known"].iter().any(|root| path.starts_with(root));
        let uri = if whole { path.to_owned() } else { format!("/api/v1{path}") };
        let mut request = Request::builder().method(method).uri(uri);
        if let Some(cookie) = &*self.cookie.lock().unwrap() {
            request = request.header(header::COOKIE, cookie);
        }
        if let Some(key) = &self.key {
            return request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        if Method::from_bytes(method.as_bytes()).unwrap() != Method::GET {
            request = request.header("x-maar-request", "1").header(header::ORIGIN, ORIGIN);
        }
        request
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> (u16, HeaderMap, Value) {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        if let Some(cookie) = parts.headers.get(header::SET_COOKIE) {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
            *self.cookie.lock().unwrap() = Some(pair);
        }
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
        (parts.status.as_u16(), parts.headers, value)
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let mut request = self.request(method, path);
        let body = match body {
            Some(value) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(value.to_string())
            }
            None => Body::empty(),
        };
        let (status, _, value) = self.send(request.body(body).unwrap()).await;
        (status, value)
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        self.call("GET", path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.call("POST", path, Some(body)).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> (u16, Value) {
        self.call("PUT", path, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> (u16, Value) {
        self.call("DELETE", path, None).await
    }

    pub(crate) async fn login(&self, name: &str, password: &str) -> (u16, Value) {
        self.post("/login", json!({ "name": name, "password": password })).await
    }

    pub(crate) async fn changes_password(&self, from: &str, to: &str) {
        let (status, said) = self.put("/me/password", json!({ "current": from, "new": to })).await;
        assert_eq!(status, 204, "{said}");
    }

    pub(crate) async fn namespace(&self) -> String {
        self.get("/me").await.1["namespace"].as_str().unwrap().to_owned()
    }

    /// Makes a workspace and answers its path.
    pub(crate) async fn workspace(&self, name: &str, more: Value) -> String {
        let mut body = json!({ "name": name, "image": "busybox" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (status, made) = self.post("/workspaces", body).await;
        assert_eq!(status, 201, "{made}");
        format!("/workspaces/{}/{name}", made["namespace"].as_str().unwrap())
    }

    /// Makes an API key and answers its secret.
    pub(crate) async fn key(&self, name: &str, scopes: &[&str]) -> (String, String) {
        let (status, made) =
            self.post("/me/keys", json!({ "name": name, "scopes": scopes, "days": 1 })).await;
        assert_eq!(status, 201, "{made}");
        (made["id"].as_str().unwrap().to_owned(), made["secret"].as_str().unwrap().to_owned())
    }
}
