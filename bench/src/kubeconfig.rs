//! The address in a kubeconfig that `dev/real` or `maar up` wrote.

use std::path::Path;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::client::{Address, Credentials};

pub(crate) fn read(path: &Path) -> anyhow::Result<Address> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let config: Value = serde_saphyr::from_str(&text)?;
    address(&config).with_context(|| format!("understanding {}", path.display()))
}

fn address(config: &Value) -> anyhow::Result<Address> {
    let cluster = &config["clusters"][0]["cluster"];
    let user = &config["users"][0]["user"];
    let server = cluster["server"].as_str().and_then(|url| url.strip_prefix("https://"));
    let credentials = match user["token"].as_str() {
        Some(token) => Credentials::token(token)?,
        None => Credentials::Certificate {
            certificate: decoded(&user["client-certificate-data"])?,
            key: decoded(&user["client-key-data"])?,
        },
    };
    Ok(Address {
        authority: server.context("no server with https")?.to_owned(),
        root: decoded(&cluster["certificate-authority-data"])?,
        credentials,
    })
}

fn decoded(data: &Value) -> anyhow::Result<String> {
    let text = data.as_str().context("neither a token nor data of certificates")?;
    Ok(String::from_utf8(STANDARD.decode(text)?)?)
}
