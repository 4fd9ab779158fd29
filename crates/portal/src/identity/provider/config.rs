//! What an operator writes: a file in YAML with a list of providers. Secrets are not in it, only where they are.

use std::{
    io,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::Value;

use super::{
    Admission, Provider, Way, code::CodeProvider, ldap::LdapConfig, oauth2::OAuth2Config, oidc::OidcConfig,
    proxy::ProxyConfig, secret::Files,
};
use crate::rules::Wrong;

/// Names that stand for something else in addresses and in the audit log.
const RESERVED: [&str; 4] = ["providers", "development", "password", "change"];
/// The longest name: the records keep it with a word before it.
const LONGEST: usize = 40;

/// What is wrong with the configuration of providers.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// The file cannot be read.
    #[error("reading the file of providers {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is not what such a file is.
    #[error("the file of providers: {0}")]
    Shape(String),
    /// A field is wrong.
    #[error("the file of providers: {field}: {why}")]
    Field {
        /// Where.
        field: String,
        /// What is wrong, and what is allowed.
        why: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    providers: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum ProviderConfig {
    Oidc(OidcConfig),
    Oauth2(OAuth2Config),
    Ldap(LdapConfig),
    Proxy(ProxyConfig),
}

pub(super) fn parse(
    text: &str,
    read: &dyn Fn(&Path) -> io::Result<String>,
) -> Result<Vec<Provider>, ProviderError> {
    let file: File = serde_saphyr::from_str(text).map_err(|error| ProviderError::Shape(error.to_string()))?;
    let mut all: Vec<Provider> = Vec::new();
    for (index, value) in file.providers.into_iter().enumerate() {
        let place = place(index, &value);
        let field = |why: String| ProviderError::Field { field: place.clone(), why };
        let config: ProviderConfig =
            serde_json::from_value(value).map_err(|error| field(error.to_string()))?;
        let provider = config.build(&Files(read)).map_err(|wrong| ProviderError::Field {
            field: format!("{place}.{}", wrong.field),
            why: wrong.why,
        })?;
        if all.iter().any(|other| other.id == provider.id) {
            return Err(ProviderError::Field { field: format!("{place}.id"), why: "is taken".to_owned() });
        }
        all.push(provider);
    }
    Ok(all)
}

/// Where a provider stands in the file, with its name if it has one.
fn place(index: usize, value: &Value) -> String {
    match value.get("id").and_then(Value::as_str) {
        Some(id) => format!("providers[{index}] ({})", id.escape_default()),
        None => format!("providers[{index}]"),
    }
}

impl ProviderConfig {
    fn build(self, files: &Files<'_>) -> Result<Provider, Wrong> {
        let (id, title) = match &self {
            Self::Oidc(one) => (one.id.clone(), one.title.clone()),
            Self::Oauth2(one) => (one.id.clone(), one.title.clone()),
            Self::Ldap(one) => (one.id.clone(), one.title.clone()),
            Self::Proxy(one) => (one.id.clone(), one.title.clone()),
        };
        check_id(&id)?;
        let (admission, way): (Admission, Way) = match self {
            Self::Oidc(config) => {
                let (admission, oidc) = config.build(files)?;
                (admission, Way::Code(Box::new(CodeProvider::Oidc(oidc))))
            }
            Self::Oauth2(config) => {
                let (admission, oauth2) = config.build(files)?;
                (admission, Way::Code(Box::new(CodeProvider::OAuth2(oauth2))))
            }
            Self::Ldap(config) => {
                let (admission, ldap) = config.build(files)?;
                (admission, Way::Ldap(Box::new(ldap)))
            }
            Self::Proxy(config) => {
                let (admission, proxy) = config.build(files)?;
                (admission, Way::Proxy(Box::new(proxy)))
            }
        };
        Ok(Provider { title: title.unwrap_or_else(|| id.clone()), id, admission, way })
    }
}

fn check_id(id: &str) -> Result<(), Wrong> {
    let inside = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-';
    if id.is_empty() || id.len() > LONGEST || !id.chars().all(inside) {
        return Err(Wrong::new("id", format!("has letters a-z, digits and dashes, at most {LONGEST}")));
    }
    if RESERVED.contains(&id) {
        return Err(Wrong::new("id", format!("is none of {}", RESERVED.join(", "))));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
