//! Letting a device in, and not any more.

use k8s_openapi::api::{
    core::v1::ServiceAccount,
    rbac::v1::{ClusterRole, RoleBinding},
};
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use maar_issuer::DEVICE_PREFIX;
use maar_records::{Kubeconfig, User};

use super::{
    KubeconfigMode,
    objects::{self, ROLE, SYSTEM},
};
use crate::{error::ApiError, namespace::namespace_of, portal::Portal};

/// What people may in their namespace, for a cluster that has no manifests of Maar: `maar up`. The client is an
/// administrator's.
pub async fn install_user_role(client: &Client) -> Result<(), kube::Error> {
    let manifest = include_str!("../../../../deploy/rbac/user.yaml");
    let role: ClusterRole =
        serde_saphyr::from_str(manifest).expect("the manifest in the repository is a ClusterRole");
    let params = PatchParams::apply("maar-portal").force();
    let api: Api<ClusterRole> = Api::all(client.clone());
    api.patch(ROLE, &params, &Patch::Apply(&role)).await.map(drop)
}

fn bindings(portal: &Portal, namespace: &str) -> Api<RoleBinding> {
    Api::namespaced(portal.client.clone(), namespace)
}

fn accounts(portal: &Portal) -> Api<ServiceAccount> {
    Api::namespaced(portal.client.clone(), SYSTEM)
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
