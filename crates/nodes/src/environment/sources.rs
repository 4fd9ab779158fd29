//! The ConfigMaps and Secrets that a Pod refers to.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{ConfigMap, Container, EnvFromSource, Secret};
use kube::{Api, Client};
use thiserror::Error;

/// Why a container cannot be configured.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("{0}")]
pub(crate) struct SourceError(String);

impl SourceError {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(super) fn of_variable(self, name: &str) -> Self {
        Self(format!("environment variable {name}: {}", self.0))
    }
}

/// Data of the objects referred to; an object that does not exist is not in the maps.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sources {
    config_maps: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
    secrets: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
}

impl Sources {
    /// Data for tests and for those who have it already.
    #[cfg(test)]
    pub(crate) fn of(config_maps: &[(&str, &[(&str, &str)])], secrets: &[(&str, &[(&str, &str)])]) -> Self {
        let read = |list: &[(&str, &[(&str, &str)])]| {
            let data = |pairs: &[(&str, &str)]| {
                pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
            };
            list.iter().map(|(name, pairs)| ((*name).to_owned(), data(pairs))).collect()
        };
        Self { config_maps: read(config_maps), secrets: read(secrets) }
    }

    /// Reads what `containers` and `more` (names of ConfigMaps and of Secrets) refer to.
    pub(crate) async fn fetch<'a>(
        client: &Client,
        namespace: &str,
        containers: impl Iterator<Item = &'a Container> + Send,
        more: (BTreeSet<String>, BTreeSet<String>),
    ) -> Result<Self, SourceError> {
        let (mut config_maps, mut secrets) = more;
        for container in containers {
            names(container, &mut config_maps, &mut secrets);
        }
        let failed = |kind: &str, name: &str, error: kube::Error| {
            SourceError(format!("reading {kind} {name}: {error}"))
        };
        let mut sources = Self::default();
        let api = Api::<ConfigMap>::namespaced(client.clone(), namespace);
        for name in config_maps {
            if let Some(found) =
                api.get_opt(&name).await.map_err(|error| failed("ConfigMap", &name, error))?
            {
                let text =
                    found.data.unwrap_or_default().into_iter().map(|(key, text)| (key, text.into_bytes()));
                let binary =
                    found.binary_data.unwrap_or_default().into_iter().map(|(key, bytes)| (key, bytes.0));
                sources.config_maps.insert(name, text.chain(binary).collect());
            }
        }
        let api = Api::<Secret>::namespaced(client.clone(), namespace);
        for name in secrets {
            if let Some(found) = api.get_opt(&name).await.map_err(|error| failed("Secret", &name, error))? {
                let data = found.data.unwrap_or_default().into_iter().map(|(key, bytes)| (key, bytes.0));
                sources.secrets.insert(name, data.collect());
            }
        }
        Ok(sources)
    }

    pub(crate) fn config_map(&self, name: &str) -> Option<&BTreeMap<String, Vec<u8>>> {
        self.config_maps.get(name)
    }

    pub(crate) fn secret(&self, name: &str) -> Option<&BTreeMap<String, Vec<u8>>> {
        self.secrets.get(name)
    }

    pub(super) fn config_map_key(
        &self,
        name: &str,
        key: &str,
        optional: bool,
    ) -> Result<Option<String>, SourceError> {
        key_of("configmap", name, key, self.config_map(name), optional)
    }

    pub(super) fn secret_key(
        &self,
        name: &str,
        key: &str,
        optional: bool,
    ) -> Result<Option<String>, SourceError> {
        key_of("secret", name, key, self.secret(name), optional)
    }

    /// Everything in an `envFrom`.
    pub(super) fn all_of(&self, source: &EnvFromSource) -> Result<Vec<(String, String)>, SourceError> {
        let (kind, name, data, optional) = if let Some(reference) = &source.config_map_ref {
            ("configmap", &reference.name, self.config_map(&reference.name), reference.optional)
        } else if let Some(reference) = &source.secret_ref {
            ("secret", &reference.name, self.secret(&reference.name), reference.optional)
        } else {
            return Ok(Vec::new());
        };
        match data {
            Some(data) => Ok(data
                .iter()
                .map(|(key, value)| (key.clone(), String::from_utf8_lossy(value).into_owned()))
                .collect()),
            None if optional == Some(true) => Ok(Vec::new()),
            None => Err(SourceError(format!("{kind} {name:?} not found"))),
        }
    }
}

fn key_of(
    kind: &str,
    name: &str,
    key: &str,
    data: Option<&BTreeMap<String, Vec<u8>>>,
    optional: bool,
) -> Result<Option<String>, SourceError> {
    match data.map(|data| data.get(key)) {
        Some(Some(value)) => Ok(Some(String::from_utf8_lossy(value).into_owned())),
        _ if optional => Ok(None),
        Some(None) => Err(SourceError(format!("couldn't find key {key} in {kind} {name:?}"))),
        None => Err(SourceError(format!("{kind} {name:?} not found"))),
    }
}

/// Adds the names of what `container` refers to.
fn names(container: &Container, config_maps: &mut BTreeSet<String>, secrets: &mut BTreeSet<String>) {
    for source in container.env_from.iter().flatten() {
        config_maps.extend(source.config_map_ref.as_ref().map(|reference| reference.name.clone()));
        secrets.extend(source.secret_ref.as_ref().map(|reference| reference.name.clone()));
    }
    for source in container.env.iter().flatten().filter_map(|variable| variable.value_from.as_ref()) {
        config_maps.extend(source.config_map_key_ref.as_ref().map(|reference| reference.name.clone()));
        secrets.extend(source.secret_key_ref.as_ref().map(|reference| reference.name.clone()));
    }
}
