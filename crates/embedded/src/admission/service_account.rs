//! Every Pod runs as a service account: one is named, its token is mounted, its pull secrets are taken over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Attributes;
use super::json::{items, items_mut, push};
use crate::server::Server;
use crate::status::ApiError;

const DEFAULT: &str = "default";
const TABLE: &str = "serviceaccounts";
/// Pods that a node made of its own accord carry this; they are shown, not changed.
const MIRROR: &str = "kubernetes.io/config.mirror";
const VOLUME_PREFIX: &str = "kube-api-access-";
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// A token is for an hour; the seven seconds tell it from one that a person asked for.
const TOKEN_SECONDS: i64 = 3607;
const ENFORCE_SECRETS: &str = "kubernetes.io/enforce-mountable-secrets";

/// How long a Pod waits for the account that every namespace is given.
const PATIENCE: Duration = Duration::from_millis(1500);

/// What of an account matters to its Pods.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Account {
    metadata: AccountMeta,
    automount_service_account_token: Option<bool>,
    image_pull_secrets: Vec<Reference>,
    secrets: Vec<Reference>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AccountMeta {
    name: String,
    annotations: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Reference {
    name: String,
}

impl Server {
    /// Completes a new Pod by its account.
    pub(super) async fn give_service_account(
        &self,
        attributes: &Attributes<'_>,
        pod: &mut Value,
    ) -> Result<(), ApiError> {
        if !self.admission.service_accounts || is_mirror(pod) {
            return Ok(());
        }
        name_account(pod);
        let account = self.account(attributes, account_name(pod)).await?;
        complete(pod, &account, || self.world.name_suffix());
        Ok(())
    }

    /// Refuses a Pod that may not run as its account, whoever changed it meanwhile.
    pub(super) async fn check_service_account(
        &self,
        attributes: &Attributes<'_>,
        pod: &Value,
    ) -> Result<(), ApiError> {
        if !self.admission.service_accounts {
            return Ok(());
        }
        if is_mirror(pod) {
            return check_mirror(pod).map_err(|why| attributes.forbidden(why));
        }
        let name = account_name(pod);
        if name.is_empty() {
            let (namespace, pod) = (attributes.namespace, attributes.name);
            return Err(
                attributes.forbidden(format!("no service account specified for pod {namespace}/{pod}"))
            );
        }
        let account = self.account(attributes, name).await?;
        check_secrets(pod, &account).map_err(|why| attributes.forbidden(why))
    }

    async fn account(&self, attributes: &Attributes<'_>, name: &str) -> Result<Arc<Account>, ApiError> {
        let namespace = attributes.namespace;
        let find = || self.stored(TABLE, namespace, name).and_then(|entry| entry.view::<Account>());
        if let Some(account) = find() {
            return Ok(account);
        }
        // The default account of a new namespace is on its way.
        if name == DEFAULT {
            let mut follower = self.store.follow();
            let waiting = async {
                loop {
                    if let Some(account) = find() {
                        return account;
                    }
                    follower.changed().await;
                }
            };
            if let Ok(account) = tokio::time::timeout(PATIENCE, waiting).await {
                return Ok(account);
            }
        }
        let why =
            format!("error looking up service account {namespace}/{name}: serviceaccount {name:?} not found");
        Err(attributes.forbidden(why))
    }
}

fn is_mirror(pod: &Value) -> bool {
    pod["metadata"]["annotations"].get(MIRROR).is_some()
}

fn account_name(pod: &Value) -> &str {
    pod["spec"]["serviceAccountName"].as_str().unwrap_or_default()
}

/// The account has an old and a new field; both are shown.
fn name_account(pod: &mut Value) {
    if account_name(pod).is_empty() {
        pod["spec"]["serviceAccountName"] = DEFAULT.into();
    }
    pod["spec"]["serviceAccount"] = pod["spec"]["serviceAccountName"].clone();
}

/// Mounts the token and takes over the pull secrets.
fn complete(pod: &mut Value, account: &Account, suffix: impl FnOnce() -> String) {
    let wanted = pod["spec"]["automountServiceAccountToken"].as_bool();
    if wanted.or(account.automount_service_account_token).unwrap_or(true) {
        mount_token(pod, suffix);
    }
    let own = items(&pod["spec"], "imagePullSecrets").next().is_some();
    if !own && !account.image_pull_secrets.is_empty() {
        let names = account.image_pull_secrets.iter().map(|secret| json!({"name": secret.name}));
        pod["spec"]["imagePullSecrets"] = names.collect();
    }
}

fn mount_token(pod: &mut Value, suffix: impl FnOnce() -> String) {
    let named = |volume: &Value| volume["name"].as_str().map(ToOwned::to_owned);
    let volumes = items(&pod["spec"], "volumes");
    let existing = volumes.filter_map(named).find(|name| name.starts_with(VOLUME_PREFIX));
    let exists = existing.is_some();
    let volume = existing.unwrap_or_else(|| format!("{VOLUME_PREFIX}{}", suffix()));
    let mut mounted = false;
    for list in ["initContainers", "containers"] {
        for container in items_mut(&mut pod["spec"], list) {
            mounted |= add_mount(container, &volume);
        }
    }
    if mounted && !exists {
        push(&mut pod["spec"], "volumes", token_volume(&volume));
    }
}

/// Mounts the volume unless something else is at its place.
fn add_mount(container: &mut Value, volume: &str) -> bool {
    if items(container, "volumeMounts").any(|mount| mount["mountPath"] == MOUNT_PATH) {
        return false;
    }
    let mount = json!({"name": volume, "readOnly": true, "mountPath": MOUNT_PATH});
    push(container, "volumeMounts", mount);
    true
}

fn token_volume(name: &str) -> Value {
    json!({"name": name, "projected": {"defaultMode": 0o644, "sources": [
        {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [
            {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
        ]}},
    ]}})
}

fn check_mirror(pod: &Value) -> Result<(), &'static str> {
    if !account_name(pod).is_empty() {
        return Err("a mirror pod may not reference service accounts");
    }
    if !secrets(pod).is_empty() {
        return Err("a mirror pod may not reference secrets");
    }
    let volumes = items(&pod["spec"], "volumes");
    let mut sources = volumes.flat_map(|volume| items(&volume["projected"], "sources"));
    if sources.any(|source| source["serviceAccountToken"].is_object()) {
        return Err("a mirror pod may not use ServiceAccountToken volume projections");
    }
    Ok(())
}

/// The secrets that volumes and containers use, each with how a refusal names it.
fn secrets(pod: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found = Vec::new();
    for volume in items(&pod["spec"], "volumes") {
        if volume["secret"].is_object() {
            found.push((text(&volume["secret"]["secretName"]), "volume with".to_owned()));
        }
    }
    for (list, word) in [("initContainers", "init container"), ("containers", "container")] {
        for container in items(&pod["spec"], list) {
            let who = format!("{word} {}", text(&container["name"]));
            for variable in items(container, "env") {
                let reference = &variable["valueFrom"]["secretKeyRef"];
                if reference.is_object() {
                    let by = format!("{who} with envVar {} referencing", text(&variable["name"]));
                    found.push((text(&reference["name"]), by));
                }
            }
            for source in items(container, "envFrom") {
                if source["secretRef"].is_object() {
                    found.push((
                        text(&source["secretRef"]["name"]),
                        format!("{who} with envFrom referencing"),
                    ));
                }
            }
        }
    }
    found
}

/// An account may insist that its Pods use only the secrets it lists.
fn check_secrets(pod: &Value, account: &Account) -> Result<(), String> {
    let insists = account.metadata.annotations.get(ENFORCE_SECRETS);
    if !insists.is_some_and(|text| matches!(text.as_str(), "1" | "t" | "T" | "true" | "TRUE" | "True")) {
        return Ok(());
    }
    let name = &account.metadata.name;
    let listed = |list: &[Reference], secret: &str| list.iter().any(|one| one.name == secret);
    for (secret, by) in secrets(pod) {
        if !listed(&account.secrets, &secret) {
            return Err(format!(
                "{by} secret.secretName={secret:?} is not allowed because service account {name} does not \
                 reference that secret"
            ));
        }
    }
    for (index, pull) in items(&pod["spec"], "imagePullSecrets").enumerate() {
        let secret = pull["name"].as_str().unwrap_or_default();
        if !listed(&account.image_pull_secrets, secret) {
            return Err(format!(
                "imagePullSecrets[{index}].name={secret:?} is not allowed because service account {name} does \
                 not reference that imagePullSecret"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
