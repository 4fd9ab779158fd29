//! Who may ask for certificates, and who may decide on them.

use serde_json::{Value, json};
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::{FromDer as _, X509CertificationRequest};

use super::policy::MASTERS;
use super::rbac::Ask;
use crate::resource::{Resource, Subresource};
use crate::server::{Caller, Server, UserInfo};
use crate::status::ApiError;
use crate::store::Key;

pub(super) const TABLE: &str = "certificatesigningrequests.certificates.k8s.io";
const GROUP: &str = "certificates.k8s.io";
pub(super) const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// Writes down who asks; what the request says about that is dropped.
pub(super) fn stamp(user: &UserInfo, object: &mut Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for field in ["uid", "extra"] {
        spec.remove(field);
    }
    spec.insert("username".into(), user.username.clone().into());
    spec.insert("groups".into(), user.groups.clone().into());
    if !user.uid.is_empty() {
        spec.insert("uid".into(), user.uid.clone().into());
    }
    if !user.extra.is_empty() {
        spec.insert("extra".into(), json!(user.extra));
    }
}

/// The organizations a request names, as far as it can be read.
pub(super) fn organizations(object: &Value) -> Vec<String> {
    use base64::Engine as _;
    let encoded = object["spec"]["request"].as_str().unwrap_or_default();
    let Ok(bytes) = base64::engine::general_purpose::STANDARD.decode(encoded) else { return Vec::new() };
    let Ok((_, pem)) = parse_x509_pem(&bytes) else { return Vec::new() };
    let Ok((_, request)) = X509CertificationRequest::from_der(&pem.contents) else { return Vec::new() };
    let subject = &request.certification_request_info.subject;
    subject.iter_organization().filter_map(|name| name.as_str().ok()).map(str::to_owned).collect()
}

/// A certificate for the API server's own administrators is made with the cluster, not on request.
pub(super) fn check_request(resource: &Resource, key: &Key, object: &Value) -> Result<(), ApiError> {
    let restricted = object["spec"]["signerName"] == CLIENT_SIGNER
        && organizations(object).iter().any(|name| name == MASTERS);
    if restricted {
        let why = format!("use of {CLIENT_SIGNER} signer with {MASTERS} group is not allowed");
        return Err(ApiError::forbidden(resource, key.name(), why));
    }
    Ok(())
}

impl Server {
    /// Deciding and signing need a right for the signer concerned, besides the one for the object.
    pub(super) fn check_approval(
        &self,
        caller: &Caller,
        resource: &Resource,
        key: &Key,
        subresource: Option<Subresource>,
        new: &Value,
        old: &Value,
    ) -> Result<(), ApiError> {
        let changed = |member: &str| new["status"][member] != old["status"][member];
        let verb = match subresource {
            Some(Subresource::Approval) if changed("conditions") => "approve",
            Some(Subresource::Status) if changed("certificate") || changed("conditions") => "sign",
            _ => return Ok(()),
        };
        let signer = old["spec"]["signerName"].as_str().unwrap_or_default();
        let domain = signer.split('/').next().unwrap_or_default();
        let any = format!("{domain}/*");
        let policy = self.policy();
        let may = |name: &str| {
            policy.allows(&caller.user, &Ask::object(verb, GROUP, "signers", "", name)).is_some()
        };
        if may(signer) || may(&any) {
            return Ok(());
        }
        let why = format!("user not permitted to {verb} requests with signerName {signer:?}");
        Err(ApiError::forbidden(resource, key.name(), why))
    }
}
