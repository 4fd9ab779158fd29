//! A provider, somebody who uses it, and clients.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::{DecodingKey, Validation, decode, decode_header, jwk::JwkSet};
use maar_issuer::{
    ApiKey, Authorized, Clients, Host, HostError, Issuer, Lives, Params, Refusal, Sealer, Settings, SignedIn,
};
use maar_records::{NewUser, Records, User, UserId};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub(crate) const ISSUER: &str = "https://gpu.example";
pub(crate) const SECRET: &str = "a secret of the tool";
pub(crate) const TOOL: &str = "https://tool.example/callback";
pub(crate) const LOCAL: &str = "http://127.0.0.1:4321/callback";
pub(crate) const VERIFIER: &str = "a-verifier-that-is-long-enough-to-be-one-of-them";

#[derive(Debug)]
pub(crate) struct Fake {
    now: Mutex<Timestamp>,
    drawn: AtomicU64,
    pub(crate) revoked: Mutex<Vec<String>>,
}

impl Host for Fake {
    fn now(&self) -> Timestamp {
        *self.now.lock()
    }

    fn fill(&self, bytes: &mut [u8]) -> bool {
        for part in bytes.chunks_mut(16) {
            let drawn = self.drawn.fetch_add(1, Ordering::Relaxed);
            let hash = Sha256::digest(drawn.to_be_bytes());
            let length = part.len();
            part.copy_from_slice(&hash[..length]);
        }
        true
    }

    fn groups(&self, user: &User) -> Vec<String> {
        vec![format!("maar:account:lab-of-{}", user.name)]
    }

    fn may_give<'a>(&'a self, _: &'a User, scope: &'a str) -> BoxFuture<'a, Result<bool, HostError>> {
        let may = !self.revoked.lock().iter().any(|one| one == scope);
        Box::pin(std::future::ready(Ok(may)))
    }

    fn api_key<'a>(&'a self, user: &'a User, client: &'a str) -> BoxFuture<'a, Result<ApiKey, HostError>> {
        let secret = format!("maar_key_of_{}_by_{client}", user.name);
        Box::pin(std::future::ready(Ok(ApiKey { secret, seconds: 3600 })))
    }
}

pub(crate) struct World {
    pub(crate) records: Records,
    pub(crate) host: Arc<Fake>,
    pub(crate) issuer: Issuer,
    pub(crate) ada: SignedIn,
}

fn clients() -> Clients {
    let file = json!({ "clients": [
        { "id": "tool", "name": "The tool", "secretFile": "s", "redirects": [TOOL] },
        { "id": "inside", "secretFile": "s", "redirects": [TOOL], "trusted": true },
        { "id": "other", "secretFile": "s", "redirects": [TOOL], "trusted": true },
    ] });
    let read = |_: &Path| Ok(SECRET.to_owned());
    Clients::new(serde_json::from_value(file).unwrap(), false, &read).unwrap()
}

pub(crate) fn settings() -> Settings {
    Settings {
        issuer: ISSUER.to_owned(),
        clients: clients(),
        sealer: Sealer::new(&[7; 32]).unwrap(),
        rsa: Vec::new(),
        lives: Lives::default(),
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::on("sqlite::memory:").await
    }

    /// The same later, by another process that opens the same records.
    pub(crate) async fn restarted(self, url: &str) -> Self {
        let Self { host, ada, .. } = self;
        let records = Records::open(url).await.unwrap();
        let issuer = Issuer::new(settings(), records.clone(), Arc::clone(&host) as Arc<dyn Host>);
        Self { records, host, issuer, ada }
    }

    pub(crate) async fn on(url: &str) -> Self {
        let records = Records::open(url).await.unwrap();
        let begin: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let host =
            Arc::new(Fake { now: Mutex::new(begin), drawn: AtomicU64::new(0), revoked: Mutex::default() });
        let issuer = Issuer::new(settings(), records.clone(), Arc::clone(&host) as Arc<dyn Host>);
        let ada = SignedIn { user: user(&records, "ada", begin).await, at: Some(begin) };
        Self { records, host, issuer, ada }
    }

    pub(crate) fn wait(&self, seconds: i64) {
        let mut now = self.host.now.lock();
        *now += SignedDuration::from_secs(seconds);
    }

    pub(crate) async fn authorize(&self, query: &str, who: Option<&SignedIn>) -> Authorized {
        self.issuer.authorize(&Params::parse(query.as_bytes()), who).await
    }

    /// The code that a browser comes back with at once.
    pub(crate) async fn code(&self, query: &str) -> String {
        match self.authorize(query, Some(&self.ada)).await {
            Authorized::Go(back) => pair(&back, "code").unwrap_or_else(|| panic!("{back}")),
            other => panic!("{other:?}"),
        }
    }

    /// The code that a browser comes back with after its user has agreed.
    pub(crate) async fn agreed(&self, query: &str) -> String {
        let Authorized::Ask { id, again: false } = self.authorize(query, Some(&self.ada)).await else {
            panic!("it is asked")
        };
        assert!(self.issuer.question(&id, &self.ada).await.unwrap().consent, "nothing goes on by itself");
        let back = self.issuer.answer(&id, &self.ada, true).await.unwrap();
        pair(&back, "code").unwrap_or_else(|| panic!("{back}"))
    }

    pub(crate) async fn token(&self, pairs: &[(&str, &str)]) -> Result<Value, Refusal> {
        let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        self.issuer.token(&Params::parse(text.as_bytes()), None).await
    }

    /// Changes a code of `inside` for tokens.
    pub(crate) async fn spend(&self, code: &str) -> Result<Value, Refusal> {
        self.token(&[
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", TOOL),
            ("client_id", "inside"),
            ("client_secret", SECRET),
            ("code_verifier", VERIFIER),
        ])
        .await
    }

    pub(crate) async fn refresh(&self, token: &str) -> Result<Value, Refusal> {
        self.token(&[
            ("grant_type", "refresh_token"),
            ("refresh_token", token),
            ("client_id", "inside"),
            ("client_secret", SECRET),
        ])
        .await
    }

    pub(crate) async fn userinfo(&self, token: &str) -> Result<Value, Refusal> {
        self.issuer.userinfo(Some(&format!("Bearer {token}"))).await
    }

    /// What a token says, checked by another library with the keys that are shown now.
    pub(crate) async fn checked(&self, token: &str, audience: &str) -> Result<Value, String> {
        let keys: JwkSet = serde_json::from_value(self.issuer.jwks().await.unwrap()).unwrap();
        let header = decode_header(token).map_err(|error| error.to_string())?;
        let key = keys.find(&header.kid.unwrap()).ok_or("the key is not shown")?;
        let mut rules = Validation::new(jsonwebtoken::Algorithm::ES256);
        rules.set_audience(&[audience]);
        rules.set_issuer(&[ISSUER]);
        // The clock of the test is not that of the library.
        rules.validate_exp = false;
        let read = decode::<Value>(token, &DecodingKey::from_jwk(key).unwrap(), &rules);
        read.map(|read| read.claims).map_err(|error| error.to_string())
    }
}

pub(crate) async fn user(records: &Records, name: &str, now: Timestamp) -> User {
    let new = NewUser {
        display_name: format!("{name} of the tests"),
        email: Some(format!("{name}@example.com")),
        ..NewUser::named(UserId::new(format!("u-{name}")), name)
    };
    records.create_user(&new, now).await.unwrap()
}

/// A parameter of an address.
pub(crate) fn pair(address: &str, name: &str) -> Option<String> {
    let query = address.split_once('?')?.1;
    form_urlencoded::parse(query.as_bytes())
        .find(|(found, _)| found == name)
        .map(|(_, value)| value.into_owned())
}

/// What a client asks, with PKCE.
pub(crate) fn asks(client: &str, redirect: &str, scope: &str, more: &[(&str, &str)]) -> String {
    let challenge = {
        use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
        BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER))
    };
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("client_id", client),
            ("redirect_uri", redirect),
            ("scope", scope),
            ("response_type", "code"),
            ("state", "a state"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ])
        .extend_pairs(more)
        .finish()
}
