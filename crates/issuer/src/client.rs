//! Clients: programs that want to know who somebody is.

use std::{
    collections::BTreeMap,
    fmt, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::{
    redirect,
    scope::{API, DEVICE_PREFIX, USUAL},
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
    /// Nobody is asked whether he agrees.
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

    pub(crate) fn knows(&self, secret: &str) -> bool {
        // Hashes are compared, so that how long it takes tells nothing of the secret.
        self.secret.is_some_and(|own| own == <[u8; 32]>::from(Sha256::digest(secret)))
    }

    pub(crate) fn may_ask(&self, scope: &str) -> bool {
        let device = scope.strip_prefix(DEVICE_PREFIX);
        self.scopes.iter().any(|own| own == scope)
            || self.id == KUBERNETES && device.is_some_and(is_identifier)
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
        Self([own(CLI, "The maar command"), own(KUBERNETES, "kubectl")].into())
    }
}

/// One of our own: public, on the machine of its user, for whom nobody is asked but where it is a device that asks.
fn own(id: &str, name: &str) -> (String, Client) {
    let mut scopes: Vec<String> = USUAL.map(str::to_owned).to_vec();
    if id == CLI {
        scopes.push(API.to_owned());
    }
    let client = Client {
        id: id.to_owned(),
        name: name.to_owned(),
        secret: None,
        redirects: ["http://127.0.0.1/callback", "http://[::1]/callback"].map(str::to_owned).to_vec(),
        native: true,
        device: true,
        trusted: true,
        algorithm: Algorithm::Es256,
        scopes,
    };
    (id.to_owned(), client)
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
            redirect::check(address, self.native).map_err(|why| format!("redirects: {address}: {why}"))?;
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
