//! The text of a kubeconfig.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::KubeconfigSettings;
use crate::error::{ApiError, Code};

/// What proves whose it is.
pub(super) enum Proof<'a> {
    /// A certificate, and its key where it was made here.
    Certificate {
        certificate: &'a str,
        key: Option<&'a str>,
    },
    Token(&'a str),
    /// A plug-in that asks a provider.
    Oidc {
        issuer: &'a str,
        id: &'a str,
    },
}

impl Proof<'_> {
    fn user(&self) -> Value {
        match self {
            Self::Certificate { certificate, key } => {
                let mut user = json!({ "client-certificate-data": BASE64_STANDARD.encode(certificate) });
                if let Some(key) = key {
                    user["client-key-data"] = BASE64_STANDARD.encode(key).into();
                }
                user
            }
            Self::Token(token) => json!({ "token": token }),
            Self::Oidc { issuer, id } => json!({ "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": "maar",
                "args": ["kubeconfig", "token", "--issuer", issuer, "--id", id],
                "interactiveMode": "IfAvailable",
                "provideClusterInfo": false,
                "installHint": "maar has to be in PATH: it signs you in",
            } }),
        }
    }
}

/// The whole text. Names do not hold the device, so that a new one takes the place of an old one where it is merged.
pub(super) fn text(
    settings: &KubeconfigSettings,
    user: &str,
    namespace: &str,
    proof: &Proof<'_>,
) -> Result<String, ApiError> {
    let mut cluster = json!({ "server": settings.server });
    if let Some(authority) = &settings.authority {
        cluster["certificate-authority-data"] = BASE64_STANDARD.encode(authority).into();
    }
    let name = format!("{user}@{}", settings.cluster);
    let whole = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": settings.cluster, "cluster": cluster }],
        "users": [{ "name": name, "user": proof.user() }],
        "contexts": [{
            "name": name,
            "context": { "cluster": settings.cluster, "user": name, "namespace": namespace },
        }],
        "current-context": name,
    });
    serde_saphyr::to_string(&whole).map_err(|error| {
        tracing::error!(%error, "a kubeconfig cannot be written");
        ApiError::new(Code::Internal, "a fault of the portal")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_has_its_text() {
        let settings =
            KubeconfigSettings::at("https://kubernetes.example:6443", Some("authority".to_owned()));
        let ways = [
            Proof::Certificate { certificate: "certificate", key: Some("key") },
            Proof::Certificate { certificate: "certificate", key: None },
            Proof::Token("token"),
            Proof::Oidc { issuer: "https://gpu.example", id: "d-1" },
        ];
        let texts = ways.map(|way| text(&settings, "ada", "user-ada-x", &way).unwrap());
        insta::assert_snapshot!(texts.join("---\n"));
    }
}
