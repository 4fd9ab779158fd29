//! Letting a device in, and not any more.

use jiff::Timestamp;
use k8s_openapi::api::{
    core::v1::{Namespace, ServiceAccount},
    rbac::v1::{ClusterRole, RoleBinding},
};
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use maar_issuer::DEVICE_PREFIX;
use maar_records::{Kubeconfig, User};
use serde_json::json;

use super::{
    KubeconfigMode,
    objects::{self, DEVICES, ROLE},
};
use crate::{error::ApiError, namespace::namespace_of, portal::Portal};

/// What people may in their namespace, for a cluster that has no manifests of Maar: `maar up`. The client is an
/// administrator's.
pub async fn install_user_role(client: &Client) -> Result<(), kube::Error> {
    let role = user_role();
    let params = PatchParams::apply("maar-portal").force();
    let api: Api<ClusterRole> = Api::all(client.clone());
    api.patch(ROLE, &params, &Patch::Apply(&role)).await?;
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": DEVICES } });
    let api: Api<Namespace> = Api::all(client.clone());
    api.patch(DEVICES, &params, &Patch::Apply(&namespace)).await.map(drop)
}

fn user_role() -> ClusterRole {
    let manifest = include_str!("../../../../deploy/rbac/user.yaml");
    serde_saphyr::from_str(manifest).expect("the manifest in the repository is a ClusterRole")
}

fn bindings(portal: &Portal, namespace: &str) -> Api<RoleBinding> {
    Api::namespaced(portal.client.clone(), namespace)
}

fn accounts(portal: &Portal) -> Api<ServiceAccount> {
    Api::namespaced(portal.client.clone(), DEVICES)
}

/// Lets whoever has the kubeconfig into the namespace.
pub(super) async fn allow(
    portal: &Portal,
    kubeconfig: &Kubeconfig,
    mode: KubeconfigMode,
    namespace: &str,
) -> Result<(), ApiError> {
    let binding = objects::binding(kubeconfig, mode, namespace);
    let created = bindings(portal, namespace).create(&PostParams::default(), &binding).await;
    created.map(drop).map_err(|error| {
        // The namespace may have been taken away behind our back.
        portal.namespaces.forget(namespace);
        ApiError::of_cluster("the role binding", error)
    })
}

/// A token of a ServiceAccount that is made for it.
pub(super) async fn token(portal: &Portal, id: &str, seconds: i64) -> Result<String, ApiError> {
    let (api, params) = (accounts(portal), PostParams::default());
    let failed = |error| ApiError::of_cluster("the service account of the kubeconfig", error);
    api.create(&params, &objects::account(id)).await.map_err(failed)?;
    let made = api.create_token_request(&objects::name(id), &params, &objects::token(seconds)).await;
    let status = made.map_err(failed)?.status;
    status.and_then(|status| status.token).ok_or_else(|| {
        ApiError::unavailable("the cluster", std::io::Error::other("a token request without a token"))
    })
}

/// Takes away what a kubeconfig may. Doing it again changes nothing.
pub(super) async fn revoke(
    portal: &Portal,
    kubeconfig: &Kubeconfig,
    namespace: &str,
) -> Result<(), ApiError> {
    let (id, now) = (kubeconfig.id.as_str(), portal.clock.now());
    let name = objects::name(id);
    gone(bindings(portal, namespace).delete(&name, &DeleteParams::default()).await.map(drop))?;
    if kubeconfig.mode == KubeconfigMode::Token.as_str() {
        gone(accounts(portal).delete(&name, &DeleteParams::default()).await.map(drop))?;
    }
    if kubeconfig.mode == KubeconfigMode::Oidc.as_str() {
        let scope = format!("{DEVICE_PREFIX}{id}");
        portal.records.revoke_grants_with(&kubeconfig.user, &scope, now).await?;
    }
    Ok(portal.records.revoke_kubeconfig(&kubeconfig.id, now).await?)
}

fn gone(result: Result<(), kube::Error>) -> Result<(), ApiError> {
    match result {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => other.map_err(|error| ApiError::of_cluster("the role binding", error)),
    }
}

/// Takes away all kubeconfigs of a user.
pub(crate) async fn revoke_all(portal: &Portal, user: &User) -> Result<(), ApiError> {
    let namespace = namespace_of(&user.name, user.id.as_str());
    for kubeconfig in portal.records.live_kubeconfigs(&user.id, portal.clock.now()).await? {
        revoke(portal, &kubeconfig, &namespace).await?;
    }
    Ok(())
}

/// Takes away what kubeconfigs have left in the cluster that have ended by themselves; how many. Every portal does it, since
/// doing it again changes nothing.
pub(crate) async fn sweep(portal: &Portal) -> Result<usize, ApiError> {
    let ended = portal.records.ended_kubeconfigs(portal.clock.now()).await?;
    let mut swept = 0;
    for kubeconfig in &ended {
        let user = portal.records.user(&kubeconfig.user).await?;
        let namespace = namespace_of(&user.name, user.id.as_str());
        match revoke(portal, kubeconfig, &namespace).await {
            Ok(()) => swept += 1,
            // One that cannot be taken away is no reason to leave the others.
            Err(error) => {
                let id = kubeconfig.id.as_str();
                tracing::warn!(
                    kubeconfig.id = id,
                    "a kubeconfig that has ended cannot be taken away: {error}"
                );
            }
        }
    }
    Ok(swept)
}

/// Takes away the kubeconfigs of a user that would work beyond his end. Tokens of the provider last minutes, and it gives
/// no new ones to who has ended.
pub(crate) async fn revoke_beyond(portal: &Portal, user: &User, end: Timestamp) -> Result<(), ApiError> {
    let namespace = namespace_of(&user.name, user.id.as_str());
    let beyond = |one: &Kubeconfig| one.expires_at > end && one.mode != KubeconfigMode::Oidc.as_str();
    let live = portal.records.live_kubeconfigs(&user.id, portal.clock.now()).await?;
    for kubeconfig in live.into_iter().filter(beyond) {
        revoke(portal, &kubeconfig, &namespace).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What makes Pods, keeps secrets, gives rights, or takes what others send to an address.
    const SEALED: [&str; 21] = [
        "pods",
        "replicationcontrollers",
        "podtemplates",
        "deployments",
        "replicasets",
        "statefulsets",
        "daemonsets",
        "jobs",
        "cronjobs",
        "workspaces",
        "aijobs",
        "secrets",
        "serviceaccounts",
        "serviceaccounts/token",
        "roles",
        "rolebindings",
        "services",
        "endpoints",
        "endpointslices",
        "ingresses",
        "networkpolicies",
    ];

    #[test]
    fn kubectl_neither_makes_pods_nor_takes_what_others_send_to_an_address() {
        for rule in user_role().rules.unwrap() {
            let resources = rule.resources.unwrap_or_default();
            let makes = |verb: &String| !["get", "list", "watch", "delete"].contains(&verb.as_str());
            assert!(!resources.iter().chain(&rule.verbs).any(|word| word.contains('*')), "{resources:?}");
            if rule.verbs.iter().any(makes) {
                let sealed: Vec<&String> =
                    resources.iter().filter(|one| SEALED.contains(&one.as_str())).collect();
                assert!(sealed.is_empty(), "{sealed:?}: {:?}", rule.verbs);
            }
        }
    }
}
