//! What a kubeconfig has in the cluster.

use k8s_openapi::api::{
    authentication::v1::TokenRequest, certificates::v1::CertificateSigningRequest, core::v1::ServiceAccount,
    rbac::v1::RoleBinding,
};
use maar_api::names;
use maar_records::Kubeconfig;
use serde_json::{Value, json};

use super::{KubeconfigMode, certificate_name};

/// What people may in their namespace; see deploy/rbac/user.yaml.
pub(super) const ROLE: &str = "maar-user";
/// Where the ServiceAccounts of devices are, and nothing else: in the namespaces of users their Pods could run as them, and
/// in our own the right to make their tokens would be one to be any of our roles.
pub(super) const DEVICES: &str = "maar-devices";
/// Which kubeconfig an object is of.
const LABEL: &str = "maar.io/kubeconfig";
const SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// What objects of a kubeconfig are called.
pub(super) fn name(id: &str) -> String {
    format!("maar-{id}")
}

/// The name that the API server gives to who comes with a token of the provider.
pub(super) fn oidc_name(user: &str) -> String {
    format!("maar:{user}")
}

fn metadata(id: &str, namespace: Option<&str>) -> Value {
    json!({
        "name": name(id),
        "namespace": namespace,
        "labels": { names::LABEL_MANAGED_BY: names::MANAGED_BY, LABEL: id },
    })
}

fn object<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).expect("the literal above has the shape of its kind")
}

/// Lets whoever has it in.
pub(super) fn binding(kubeconfig: &Kubeconfig, mode: KubeconfigMode, namespace: &str) -> RoleBinding {
    let (id, user) = (kubeconfig.id.as_str(), kubeconfig.user.as_str());
    let person =
        |name: String| json!({ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name });
    let subject = match mode {
        KubeconfigMode::Certificate => person(certificate_name(user, id)),
        KubeconfigMode::Oidc => person(oidc_name(user)),
        KubeconfigMode::Token => json!({ "kind": "ServiceAccount", "name": name(id), "namespace": DEVICES }),
    };
    object(json!({
        "metadata": metadata(id, Some(namespace)),
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ROLE },
        "subjects": [subject],
    }))
}

/// Who it is, by token. Its Pods, of which there are none, would get no token by themselves.
pub(super) fn account(id: &str) -> ServiceAccount {
    object(json!({ "metadata": metadata(id, Some(DEVICES)), "automountServiceAccountToken": false }))
}

pub(super) fn token(seconds: i64) -> TokenRequest {
    object(json!({ "spec": { "audiences": [], "expirationSeconds": seconds } }))
}

/// The request that the cluster is to sign.
pub(super) fn signing(id: &str, request: &str, seconds: i64) -> CertificateSigningRequest {
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    object(json!({
        "metadata": metadata(id, None),
        "spec": {
            "request": BASE64_STANDARD.encode(request),
            "signerName": SIGNER,
            "expirationSeconds": seconds,
            "usages": ["client auth"],
        },
    }))
}

/// The same, approved.
pub(super) fn approved(mut asked: CertificateSigningRequest) -> CertificateSigningRequest {
    let condition = json!({
        "type": "Approved", "status": "True", "reason": "MaarPortal",
        "message": "the portal knows whose device this is",
    });
    asked.status.get_or_insert_default().conditions.get_or_insert_default().push(object(condition));
    asked
}

#[cfg(test)]
mod tests {
    use maar_records::{KubeconfigId, UserId};

    use super::*;

    #[test]
    fn each_way_has_its_own_subject_and_no_group() {
        let kubeconfig = Kubeconfig {
            id: KubeconfigId::new("d-1"),
            user: UserId::new("u-1"),
            mode: String::new(),
            device: "laptop".to_owned(),
            created_at: jiff::Timestamp::UNIX_EPOCH,
            expires_at: jiff::Timestamp::UNIX_EPOCH,
            revoked_at: None,
        };
        let subjects: Vec<String> = KubeconfigMode::ALL
            .map(|mode| {
                let made = binding(&kubeconfig, mode, "user-ada-x");
                assert_eq!((made.role_ref.kind.as_str(), made.role_ref.name.as_str()), ("ClusterRole", ROLE));
                let subject = &made.subjects.unwrap()[0];
                format!("{} {} {}", subject.kind, subject.namespace.clone().unwrap_or_default(), subject.name)
            })
            .to_vec();
        assert_eq!(
            subjects,
            ["User  maar:u-1:d-1", "User  maar:u-1", "ServiceAccount maar-devices maar-d-1"]
        );
    }
}
