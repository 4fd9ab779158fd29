//! Clients: programs that want to know who somebody is.

use std::{
    collections::BTreeMap,
    fmt, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::{
    Refusal, redirect,
    scope::{API, DEVICE_PREFIX, OFFLINE, USUAL, granted},
};

/// Our own commands.
pub const CLI: &str = "maar-cli";
/// What kube-apiserver is told to expect in tokens, and kubectl's plug-in asks as.
pub const KUBERNETES: &str = "kubernetes";

/// How tokens for a client are signed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum Algorithm {
    #[default]
    #[serde(rename = "ES256")]
    Es256,
    #[serde(rename = "RS256")]
    Rs256,
    /// RS256 where an operator has brought a key for it, else ES256. An API server that takes nothing else than RS256, which
    /// is what its flags mean if they do not say, is then served as well. No file says this.
    #[serde(skip)]
    AsBrought,
}

/// A client.
#[derive(Clone)]
pub struct Client {
    /// What it calls itself.
    pub id: String,
    /// What people are told that it is.
    pub name: String,
    /// The hash of its secret; a public client has none.
    secret: Option<[u8; 32]>,
    pub(crate) redirects: Vec<String>,
    /// A program on the machine of its user: the port of loopback addresses is free.
    pub(crate) native: bool,
    /// May use the device flow.
    pub(crate) device: bool,
    /// Nobody is asked whether he agrees, unless it is a native one.
    pub(crate) trusted: bool,
    pub(crate) algorithm: Algorithm,
    scopes: Vec<String>,
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Client {
    pub(crate) const fn is_public(&self) -> bool {
        self.secret.is_none()
    }

    /// Whether its user has to agree. Anything on the machine of a user can listen on a loopback address, also a page that
    /// he forwards from elsewhere: what comes back there is never given unasked (RFC 8252, 8.6).
    pub(crate) const fn asks(&self) -> bool {
        !self.trusted || self.native
    }

    pub(crate) fn knows(&self, secret: &str) -> bool {
        // Hashes are compared, so that how long it takes tells nothing of the secret.
        self.secret.is_some_and(|own| own == <[u8; 32]>::from(Sha256::digest(secret)))
    }

    pub(crate) fn may_ask(&self, scope: &str) -> bool {
        let device = scope.strip_prefix(DEVICE_PREFIX);
        self.scopes.iter().any(|own| own == scope)
            || self.id == KUBERNETES && device.is_some_and(is_identifier)
    }

    /// What of the scopes that are asked for it may have. Tokens for the cluster are of one kubeconfig, and end with it:
    /// without one they could not be taken back.
    pub(crate) fn granted(&self, asked: Option<&str>) -> Result<Vec<String>, Refusal> {
        let scopes = granted(asked, |scope| self.may_ask(scope));
        let devices = scopes.iter().filter(|scope| scope.starts_with(DEVICE_PREFIX)).count();
        if self.id == KUBERNETES && devices != 1 {
            let why = "scope has to name one kubeconfig: see maar kubeconfig write --mode oidc";
            return Err(Refusal::new("invalid_scope", why));
        }
        let has = |scope: &str| scopes.iter().any(|one| one == scope);
        if has(API) && has(OFFLINE) {
            let why = "a key for the API lasts for weeks by itself: it goes without offline_access";
            return Err(Refusal::new("invalid_scope", why));
        }
        Ok(scopes)
    }
}

fn is_identifier(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|one| one.is_ascii_alphanumeric() || one == b'-')
}

/// What a file says of clients.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientFile {
    #[serde(default)]
    clients: Vec<ClientEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ClientEntry {
    id: String,
    name: Option<String>,
    secret_file: Option<PathBuf>,
    #[serde(default)]
    redirects: Vec<String>,
    #[serde(default)]
    native: bool,
    #[serde(default)]
    device: bool,
    #[serde(default)]
    trusted: bool,
    #[serde(default)]
    algorithm: Algorithm,
    scopes: Option<Vec<String>>,
}

/// What is wrong with a client in the file.
#[derive(Debug, thiserror::Error)]
#[error("the client {id}: {why}")]
pub struct ClientError {
    id: String,
    why: String,
}

/// All clients.
#[derive(Debug, Clone)]
pub struct Clients(BTreeMap<String, Client>);

impl Default for Clients {
    fn default() -> Self {
        let mut cli = own(CLI, "The maar command", &[]);
        // A key for the API is worth more than a token: only who types the code of a device gives one away.
        cli.scopes.push(API.to_owned());
        let mut kubernetes =
            own(KUBERNETES, "kubectl", &["http://127.0.0.1/callback", "http://[::1]/callback"]);
        kubernetes.algorithm = Algorithm::AsBrought;
        Self([cli, kubernetes].map(|client| (client.id.clone(), client)).into())
    }
}

/// One of our own: public, and on the machine of its user.
fn own(id: &str, name: &str, redirects: &[&str]) -> Client {
    Client {
        id: id.to_owned(),
        name: name.to_owned(),
        secret: None,
        redirects: redirects.iter().copied().map(str::to_owned).collect(),
        native: true,
        device: true,
        trusted: true,
        algorithm: Algorithm::Es256,
        scopes: USUAL.map(str::to_owned).to_vec(),
    }
}

impl Clients {
    /// Our own, and those of a file; `read` reads the files with their secrets. `rsa` says whether there is a key for RS256.
    pub fn new(
        file: ClientFile,
        rsa: bool,
        read: &dyn Fn(&Path) -> io::Result<String>,
    ) -> Result<Self, ClientError> {
        let mut clients = Self::default();
        for entry in file.clients {
            let id = entry.id.clone();
            let wrong = |why: String| ClientError { id: id.clone(), why };
            if !is_identifier(&entry.id) {
                return Err(wrong("its id is letters, digits and dashes, 64 at most".to_owned()));
            }
            let client = entry.client(rsa, read).map_err(&wrong)?;
            if clients.0.insert(client.id.clone(), client).is_some() {
                return Err(wrong("there are two, or it is one of Maar's own".to_owned()));
            }
        }
        Ok(clients)
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Client> {
        self.0.get(id)
    }
}

impl ClientEntry {
    fn client(self, rsa: bool, read: &dyn Fn(&Path) -> io::Result<String>) -> Result<Client, String> {
        for address in &self.redirects {
            redirect::check(address).map_err(|why| format!("redirects: {address}: {why}"))?;
        }
        if self.redirects.is_empty() && !self.device {
            return Err("it has neither redirects nor device: true, so nobody can come back to it".to_owned());
        }
        if self.algorithm == Algorithm::Rs256 && !rsa {
            return Err("algorithm: RS256 needs an RSA key (--oidc-rsa-key)".to_owned());
        }
        let scopes = self.scopes.unwrap_or_else(|| USUAL.map(str::to_owned).to_vec());
        if let Some(other) = scopes.iter().find(|scope| !USUAL.contains(&scope.as_str())) {
            return Err(format!("scopes: {other} is none of {}", USUAL.join(", ")));
        }
        let secret = self.secret_file.as_deref().map(|path| secret_of(path, read)).transpose()?;
        Ok(Client {
            name: self.name.unwrap_or_else(|| self.id.clone()),
            id: self.id,
            secret,
            redirects: self.redirects,
            native: self.native,
            device: self.device,
            trusted: self.trusted,
            algorithm: self.algorithm,
            scopes,
        })
    }
}

fn secret_of(path: &Path, read: &dyn Fn(&Path) -> io::Result<String>) -> Result<[u8; 32], String> {
    let text = read(path).map_err(|error| format!("secretFile: {}: {error}", path.display()))?;
    let secret = text.trim_end_matches(['\r', '\n']);
    if secret.len() < 16 {
        return Err(format!("secretFile: {}: it has less than 16 characters", path.display()));
    }
    Ok(Sha256::digest(secret).into())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn clients(entry: &Value) -> Result<Clients, String> {
        let file =
            serde_json::from_value(json!({ "clients": [entry] })).map_err(|error| error.to_string())?;
        let read = |_: &Path| Ok("a secret of the client\n".to_owned());
        Clients::new(file, false, &read).map_err(|error| error.to_string())
    }

    #[test]
    fn a_client_is_what_its_file_says() {
        let entry = json!({ "id": "grafana", "secretFile": "s", "redirects": ["https://g.example/cb"] });
        let all = clients(&entry).unwrap();
        let grafana = all.get("grafana").unwrap();
        assert!(grafana.knows("a secret of the client") && !grafana.knows("") && !grafana.trusted);
        assert!(grafana.may_ask("groups") && !grafana.may_ask("maar") && !grafana.may_ask("kubeconfig:d-1"));
        let (cli, kubernetes) = (all.get(CLI).unwrap(), all.get(KUBERNETES).unwrap());
        assert!(cli.is_public() && cli.may_ask("maar") && !cli.may_ask("kubeconfig:d-1"));
        assert!(
            kubernetes.may_ask("kubeconfig:d-1")
                && !kubernetes.may_ask("maar")
                && !kubernetes.may_ask("kubeconfig:%")
        );
    }

    #[test]
    fn only_what_is_trusted_and_no_page_can_pose_as_is_not_asked_about() {
        let trusted = |native: bool| {
            let redirects = if native { "http://127.0.0.1/cb" } else { "https://a.example/cb" };
            let entry = json!({ "id": "a", "redirects": [redirects], "native": native, "trusted": true });
            clients(&entry).unwrap().get("a").unwrap().asks()
        };
        assert!(!trusted(false) && trusted(true));
        let all = Clients::default();
        assert!(all.get(KUBERNETES).unwrap().asks());
        assert!(all.get(CLI).unwrap().redirects.is_empty(), "it uses the device flow alone");
    }

    #[test]
    fn tokens_for_the_cluster_are_of_one_kubeconfig() {
        let all = Clients::default();
        let granted = |client: &str, scope: &str| all.get(client).unwrap().granted(Some(scope));
        assert!(granted(KUBERNETES, "openid kubeconfig:d-1").is_ok() && granted(CLI, "openid").is_ok());
        for scope in ["openid", "openid kubeconfig:%", "openid kubeconfig:d-1 kubeconfig:d-2", ""] {
            assert_eq!(granted(KUBERNETES, scope).unwrap_err().code, "invalid_scope", "{scope}");
        }
        assert!(granted(CLI, "openid maar").is_ok());
        assert_eq!(granted(CLI, "openid maar offline_access").unwrap_err().code, "invalid_scope");
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_reason() {
        let rows = [
            (json!({ "id": "a b", "redirects": ["https://a/"] }), "letters, digits"),
            (json!({ "id": "a" }), "nobody can come back"),
            (json!({ "id": "a", "redirects": ["http://a.example/cb"] }), "https://HOST/PATH"),
            (json!({ "id": "maar-cli", "redirects": ["https://a.example/cb"] }), "Maar's own"),
            (json!({ "id": "a", "redirects": ["https://a.example/cb"], "scopes": ["maar"] }), "none of"),
            (
                json!({ "id": "a", "redirects": ["https://a.example/cb"], "algorithm": "RS256" }),
                "--oidc-rsa-key",
            ),
            (json!({ "id": "a", "redirects": ["https://a.example/cb"], "algorithm": "none" }), "none"),
            (json!({ "id": "a", "redirect": ["https://a.example/cb"] }), "unknown field"),
        ];
        for (entry, want) in rows {
            let why = clients(&entry).unwrap_err();
            assert!(why.contains(want), "{entry}: {why}");
        }
    }
}
