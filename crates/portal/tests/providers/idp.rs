//! A provider of logins that says what a test wants it to say.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Form, Json, Router,
    extract::State,
    routing::{get, post},
};
use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use http::{HeaderMap, StatusCode};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use parking_lot::Mutex;
use ring::{
    rand::SystemRandom,
    signature::{Ed25519KeyPair, KeyPair as _},
};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::desk::{SECRET, now};

pub(crate) const CLIENT: &str = "maar";

/// The provider, at a free port of this machine.
pub(crate) struct Idp {
    pub(crate) issuer: String,
    pub(crate) said: Arc<Said>,
}

/// What it says, and what it has seen.
pub(crate) struct Said {
    issuer: String,
    /// Claims of the next tokens, besides the usual; null takes one away.
    pub(crate) claims: Mutex<Value>,
    /// What it answers when asked who it is.
    pub(crate) userinfo: Mutex<Value>,
    signer: Mutex<Signer>,
    shown: Mutex<Vec<Value>>,
    /// Makes something else of a token.
    pub(crate) forge: Mutex<Option<Forge>>,
    /// By the code that was given, what was asked with.
    codes: Mutex<BTreeMap<String, Asked>>,
    pub(crate) keys_read: AtomicUsize,
}

/// Makes something else of a token.
pub(crate) type Forge = fn(&str) -> String;
type Asked = BTreeMap<String, String>;

struct Signer {
    kid: String,
    key: EncodingKey,
}

fn signer(kid: &str) -> (Signer, Value) {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
    let x = BASE64_URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
    let public = json!({ "kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": kid, "x": x });
    (Signer { kid: kid.to_owned(), key: EncodingKey::from_ed_der(document.as_ref()) }, public)
}

impl Idp {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let (signer, public) = signer("first");
        let said = Arc::new(Said {
            issuer: issuer.clone(),
            claims: Mutex::new(json!({})),
            userinfo: Mutex::new(json!({})),
            signer: Mutex::new(signer),
            shown: Mutex::new(vec![public]),
            forge: Mutex::default(),
            codes: Mutex::default(),
            keys_read: AtomicUsize::new(0),
        });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(document))
            .route("/keys", get(keys))
            .route("/token", post(token))
            .route("/me", get(userinfo))
            .with_state(Arc::clone(&said));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { issuer, said }
    }

    /// The file of providers for it.
    pub(crate) fn config(&self, more: &str) -> String {
        format!(
            "providers:\n- {{ kind: oidc, id: corp, title: Corp SSO, issuer: '{}', clientId: {CLIENT}, clientSecretFile: secret, {more} }}\n",
            self.issuer
        )
    }

    /// Signs tokens with a key that it does not show.
    pub(crate) fn hide_key(&self, kid: &str) {
        *self.said.signer.lock() = signer(kid).0;
    }

    /// Lets somebody in who was sent here, and answers where the browser is sent back to: below the portal's origin.
    pub(crate) fn lets_in(&self, location: &str) -> String {
        let asked = self.asked(location);
        let code = format!("code-{}", self.said.codes.lock().len());
        let fields = [("code", code.as_str()), ("state", &asked["state"]), ("iss", &self.issuer)];
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let back = asked["redirect_uri"].strip_prefix(super::desk::ORIGIN).unwrap().to_owned();
        self.said.codes.lock().insert(code, asked);
        format!("{back}?{query}")
    }

    /// What a browser was sent here with, which is as the standards say.
    pub(crate) fn asked(&self, location: &str) -> Asked {
        let query = location.strip_prefix(&format!("{}/authorize?", self.issuer)).unwrap();
        let asked: BTreeMap<String, String> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        assert_eq!((asked["response_type"].as_str(), asked["client_id"].as_str()), ("code", CLIENT));
        assert_eq!(asked["code_challenge_method"], "S256");
        assert!(asked["state"].len() >= 43 && asked["code_challenge"].len() == 43, "{asked:?}");
        asked
    }
}

async fn document(State(said): State<Arc<Said>>) -> Json<Value> {
    let issuer = &said.issuer;
    Json(json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/keys"),
        "userinfo_endpoint": format!("{issuer}/me"),
    }))
}

async fn keys(State(said): State<Arc<Said>>) -> Json<Value> {
    said.keys_read.fetch_add(1, Ordering::Relaxed);
    Json(json!({ "keys": *said.shown.lock() }))
}

/// Gives tokens for a code, once, to the client that asked for it.
async fn token(
    State(said): State<Arc<Said>>,
    headers: HeaderMap,
    Form(form): Form<BTreeMap<String, String>>,
) -> (StatusCode, Json<Value>) {
    let refused = |why: &str| (StatusCode::BAD_REQUEST, Json(json!({ "error": why })));
    let basic = format!("Basic {}", BASE64_STANDARD.encode(format!("{CLIENT}:{}", SECRET.replace(' ', "+"))));
    if headers.get("authorization").and_then(|value| value.to_str().ok()) != Some(&basic) {
        return refused("invalid_client");
    }
    let Some(asked) = said.codes.lock().remove(&form["code"]) else { return refused("invalid_grant") };
    let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(form["code_verifier"].as_bytes()));
    if asked["code_challenge"] != challenge || asked["redirect_uri"] != form["redirect_uri"] {
        return refused("invalid_grant");
    }
    let made = said.id_token(asked.get("nonce").map_or("", String::as_str));
    let forged = said.forge.lock().map_or(made.clone(), |forge| forge(&made));
    (StatusCode::OK, Json(json!({ "access_token": "at", "token_type": "Bearer", "id_token": forged })))
}

async fn userinfo(State(said): State<Arc<Said>>, headers: HeaderMap) -> (StatusCode, Json<Value>) {
    if headers.get("authorization").is_none_or(|value| value != "Bearer at") {
        return (StatusCode::UNAUTHORIZED, Json(json!({ "error": "invalid_token" })));
    }
    (StatusCode::OK, Json(said.userinfo.lock().clone()))
}

impl Said {
    fn id_token(&self, nonce: &str) -> String {
        let second = now().as_second();
        let mut claims: Map<String, Value> = serde_json::from_value(json!({
            "iss": self.issuer, "aud": CLIENT, "sub": "248", "nonce": nonce, "iat": second, "exp": second + 300,
            "preferred_username": "ada", "name": "Ada Lovelace", "email": "ada@corp.example",
        }))
        .unwrap();
        for (name, value) in self.claims.lock().as_object().unwrap() {
            if value.is_null() {
                claims.remove(name);
            } else {
                claims.insert(name.clone(), value.clone());
            }
        }
        let signer = self.signer.lock();
        let header = Header { kid: Some(signer.kid.clone()), ..Header::new(Algorithm::EdDSA) };
        encode(&header, &claims, &signer.key).unwrap()
    }
}
