//! A portal in this process, for a real API server, and people who use it.

use std::{sync::Arc, time::Duration};

use axum::{Router, body::Body};
use http::{Request, header};
use jiff::{SignedDuration, Timestamp};
use kube::{
    Api, Client, Config,
    api::PostParams,
    config::{KubeConfigOptions, Kubeconfig},
};
use maar_api::v1alpha1::Account;
use maar_controller::{
    Environment, RoleConfig,
    clock::{Clock, SharedClock, SystemClock},
    process::Process,
};
use maar_portal::{
    Entropy, IssuerSettings, KubeconfigMode, KubeconfigSettings, PasswordCost, Portal, ProofKey, Settings,
    first_admin, role, router,
};
use maar_records::{KubeconfigId, Records, UserId};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{browser::Browser, server::Server, world::ORIGIN};

const FIRST: &str = "the first password";
const PASSWORD: &str = "correct horse battery";
const LOCAL: &str = "http://127.0.0.1:4321/callback";

/// So many hours.
pub(crate) fn shifted(hours: i64) -> SignedDuration {
    SignedDuration::from_hours(hours)
}

/// A clock that is wrong.
#[derive(Debug)]
struct Shifted(SignedDuration);

impl Clock for Shifted {
    fn now(&self) -> Timestamp {
        SystemClock.now() + self.0
    }
}

pub(crate) struct Desk {
    router: Router,
    records: Records,
    refresh: Mutex<String>,
    _stop: Option<DropGuard>,
}

/// Somebody who is signed in.
pub(crate) struct Person {
    browser: Browser,
    pub(crate) id: String,
    pub(crate) namespace: String,
}

/// The portal as deploy/rbac has it: by the token of its ServiceAccount.
async fn client(server: &Server) -> Client {
    let token = server.as_admin(&["create", "token", "maar-portal", "--namespace", "maar-system"]);
    let (address, authority) = server.reached();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.crt");
    std::fs::write(&file, authority).unwrap();
    let whole = json!({
        "current-context": "x",
        "clusters": [{ "name": "x", "cluster": { "server": address, "certificate-authority": file } }],
        "users": [{ "name": "x", "user": { "token": token.trim() } }],
        "contexts": [{ "name": "x", "context": { "cluster": "x", "user": "x" } }],
    });
    let read: Kubeconfig = serde_json::from_value(whole).unwrap();
    Client::try_from(Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.unwrap())
        .unwrap()
}

fn settings(server: &Server) -> Settings {
    let mut settings = Settings::at(vec![server.issuer.clone(), ORIGIN.to_owned()]);
    settings.password_cost = PasswordCost::CHEAP;
    let clients = "clients:\n- { id: elsewhere, native: true, redirects: ['http://127.0.0.1/callback'] }\n";
    let issuer = IssuerSettings::new(&[7; 32]).unwrap();
    settings.issuer = Some(issuer.with_clients(clients, &|_| Ok(String::new())).unwrap());
    let (address, authority) = server.reached();
    let told = KubeconfigSettings::at(address, Some(authority));
    settings.kubeconfig = Some(KubeconfigSettings { modes: KubeconfigMode::ALL.to_vec(), ..told });
    settings
}

impl Desk {
    /// The portal that the API server asks, with everything it needs in the cluster.
    pub(crate) async fn start(server: &Server) -> Self {
        let read = Kubeconfig::read_from(server.admin()).unwrap();
        let admin = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.unwrap();
        maar_jobs::install(&Client::try_from(admin).unwrap()).await.unwrap();
        server.as_admin(&["create", "namespace", "maar-system"]);
        server.apply("deploy/rbac/portal.yaml");
        server.apply("deploy/rbac/user.yaml");
        let (client, records) = (client(server).await, records().await);
        let clock = Arc::new(SystemClock) as SharedClock;
        let portal =
            Portal::new(settings(server), client.clone(), records.clone(), clock, Entropy::system()).unwrap();
        let (stop, environment) = (CancellationToken::new(), Environment::real());
        let config =
            RoleConfig { identity: "test".to_owned(), election: None, drain: Duration::from_secs(1) };
        let process = Process {
            client,
            environment,
            metrics_address: None,
            health_address: None,
            log_level: None,
            config,
        };
        let listener = TcpListener::bind(("127.0.0.1", server.portal)).await.unwrap();
        let roles = vec![role(Arc::clone(&portal), listener)];
        tokio::spawn(process.run(roles, stop.clone()));
        tokio::time::timeout(Duration::from_mins(1), portal.ready()).await.unwrap();
        Self { router: router(&portal), records, refresh: Mutex::default(), _stop: Some(stop.drop_guard()) }
    }

    /// One that nobody asks: the same name, the same secret, keys of its own.
    pub(crate) async fn foreign(server: &Server) -> Self {
        Self::beside(server, records().await, SignedDuration::ZERO).await
    }

    /// The same portal, with a clock that is wrong.
    pub(crate) async fn with_clock(&self, server: &Server, shift: SignedDuration) -> Self {
        Self::beside(server, self.records.clone(), shift).await
    }

    async fn beside(server: &Server, records: Records, shift: SignedDuration) -> Self {
        let (client, clock) = (client(server).await, Arc::new(Shifted(shift)) as SharedClock);
        let portal =
            Portal::new(settings(server), client, records.clone(), clock, Entropy::system()).unwrap();
        Self { router: router(&portal), records, refresh: Mutex::default(), _stop: None }
    }

    async fn admin(&self) -> Browser {
        let browser = Browser::new(self.router.clone());
        if browser.login("admin", FIRST).await.0 == 200 {
            browser.changes_password(FIRST, PASSWORD).await;
        } else {
            assert_eq!(browser.login("admin", PASSWORD).await.0, 200);
        }
        browser
    }

    /// A new user.
    pub(crate) async fn user(&self, name: &str) -> Person {
        let (status, made) = self.admin().await.post("/users", json!({ "name": name })).await;
        assert_eq!(status, 201, "{made}");
        let browser = Browser::new(self.router.clone());
        let first = made["password"].as_str().unwrap();
        assert_eq!(browser.login(name, first).await.0, 200);
        browser.changes_password(first, PASSWORD).await;
        Person::of(browser).await
    }

    /// An account with a member, as soon as the portal knows of it.
    pub(crate) async fn account(&self, server: &Server, name: &str, member: &str) {
        let read = Kubeconfig::read_from(server.admin()).unwrap();
        let admin = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.unwrap();
        let spec = json!({ "members": [{ "user": member, "role": "Member" }] });
        let account: Account =
            serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap();
        let api: Api<Account> = Api::all(Client::try_from(admin).unwrap());
        api.create(&PostParams::default(), &account).await.unwrap();
        let browser = self.admin().await;
        for _ in 0..400 {
            if browser.get(&format!("/accounts/{name}")).await.0 == 200 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("the portal never saw the account");
    }

    /// A user who is.
    pub(crate) async fn sign_in(&self, name: &str) -> Person {
        let browser = Browser::new(self.router.clone());
        assert_eq!(browser.login(name, PASSWORD).await.0, 200);
        Person::of(browser).await
    }

    /// A kubeconfig of somebody that only this portal knows of.
    pub(crate) async fn known_kubeconfig(&self, person: &Person) -> String {
        let now = SystemClock.now();
        let kubeconfig = maar_records::Kubeconfig {
            id: KubeconfigId::new("d-0123456789abcdef01234567"),
            user: UserId::new(&person.id),
            mode: KubeconfigMode::Oidc.as_str().to_owned(),
            device: "laptop".to_owned(),
            created_at: now,
            expires_at: now + shifted(1),
            revoked_at: None,
        };
        self.records.create_kubeconfig(&kubeconfig).await.unwrap();
        kubeconfig.id.as_str().to_owned()
    }

    /// A token for a client, by the code flow; with the name of a kubeconfig, tied to it.
    pub(crate) async fn id_token(&self, person: &Person, client: &str, kubeconfig: &str) -> String {
        let proof = ProofKey::new([9; 32]);
        let mut scope = "openid groups offline_access".to_owned();
        if !kubeconfig.is_empty() {
            scope = format!("{scope} kubeconfig:{kubeconfig}");
        }
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs([("client_id", client), ("redirect_uri", LOCAL), ("response_type", "code")])
            .extend_pairs([("scope", scope.as_str()), ("code_challenge", &proof.challenge)])
            .append_pair("code_challenge_method", "S256")
            .finish();
        let asked = person.browser.request("GET", &format!("/oauth/authorize?{query}"));
        let (status, headers, said) = person.browser.send(asked.body(Body::empty()).unwrap()).await;
        assert_eq!(status, 303, "{said}");
        let place = headers[header::LOCATION].to_str().unwrap().replace("/consent/", "/consents/");
        let (status, way) = person.browser.post(&place, json!({ "approve": true })).await;
        assert_eq!(status, 200, "{way}");
        let back = way["redirect"].as_str().unwrap().split_once('?').unwrap().1.to_owned();
        let code = form_urlencoded::parse(back.as_bytes()).find(|(name, _)| name == "code");
        let code = code.unwrap_or_else(|| panic!("{back}")).1.into_owned();
        let made = self
            .token(&[
                ("grant_type", "authorization_code"),
                ("code", &code),
                ("redirect_uri", LOCAL),
                ("client_id", client),
                ("code_verifier", &proof.verifier),
            ])
            .await;
        if !kubeconfig.is_empty() {
            made["refresh_token"].as_str().unwrap().clone_into(&mut self.refresh.lock());
        }
        made["id_token"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
    }

    async fn token(&self, pairs: &[(&str, &str)]) -> Value {
        let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        let request = Request::post("/oauth/token")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(text))
            .unwrap();
        Browser::new(self.router.clone()).send(request).await.2
    }

    /// What the refresh token of the kubeconfig is answered.
    pub(crate) async fn refreshed(&self) -> Value {
        let token = self.refresh.lock().clone();
        let pairs = [("grant_type", "refresh_token"), ("refresh_token", &token), ("client_id", "kubernetes")];
        self.token(&pairs).await["error"].clone()
    }
}

async fn records() -> Records {
    let records = Records::open("sqlite::memory:").await.unwrap();
    let first = Some(FIRST.to_owned());
    first_admin(&records, first, PasswordCost::CHEAP, &Entropy::system(), SystemClock.now()).await.unwrap();
    records
}

impl Person {
    async fn of(browser: Browser) -> Self {
        let (_, me) = browser.get("/me").await;
        let text = |field: &str| me[field].as_str().unwrap().to_owned();
        Self { id: text("id"), namespace: text("namespace"), browser }
    }

    pub(crate) async fn kubeconfig(&self, mode: &str) -> (String, String) {
        let (status, said) =
            self.browser.post("/me/kubeconfigs", json!({ "mode": mode, "device": mode })).await;
        assert_eq!(status, 201, "{said}");
        (said["id"].as_str().unwrap().to_owned(), said["kubeconfig"].as_str().unwrap().to_owned())
    }

    pub(crate) async fn revoke(&self, id: &str) {
        assert_eq!(self.browser.delete(&format!("/kubeconfigs/{id}")).await.0, 204);
    }
}
