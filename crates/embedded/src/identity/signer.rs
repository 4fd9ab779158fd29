//! Signs approved certificate requests of the signers that belong to the cluster itself.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestCondition, CertificateSigningRequestStatus,
};
use rcgen::{
    CertificateSigningRequestParams, DnType, DnValue, ExtendedKeyUsagePurpose, KeyUsagePurpose, SanType,
};

use super::approval::{self, CLIENT_SIGNER, TABLE};
use super::pki::Terms;
use super::subjects;
use crate::controllers::{Again, BoxController, Controller};
use crate::local::Local;
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};

const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const KUBELET_SERVING: &str = "kubernetes.io/kubelet-serving";
const LONGEST: Duration = Duration::from_hours(365 * 24);

/// The control loop.
pub(crate) fn signer(server: &Arc<Server>) -> BoxController {
    Arc::new(Signer { local: Local::new(Arc::clone(server), "csrsigning-controller") })
}

struct Signer {
    local: Local,
}

impl Controller for Signer {
    fn name(&self) -> &'static str {
        "csrsigning-controller"
    }

    fn tables(&self) -> Vec<&'static str> {
        vec![TABLE]
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        vec![Key::new(&table.into(), "", &event.entry.meta.name)]
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        self.look_at(key.name()).map(|result| result.map(|()| None)).boxed()
    }
}

impl Signer {
    async fn look_at(&self, name: &str) -> Result<(), ApiError> {
        let Some(entry) = self.local.entry::<CertificateSigningRequest>("", name) else { return Ok(()) };
        let Some(request) = entry.typed::<CertificateSigningRequest>() else { return Ok(()) };
        if !wants_signature(&request) {
            return Ok(());
        }
        let organizations = approval::organizations(&entry.value());
        match self.sign(&request, &organizations) {
            Ok(certificate) => {
                self.answer(name, move |status| status.certificate = Some(certificate.clone())).await
            }
            Err(message) => {
                let now = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
                    self.local.server().world.clock.now(),
                );
                let failed = CertificateSigningRequestCondition {
                    type_: "Failed".into(),
                    status: "True".into(),
                    reason: Some("SignerValidationFailure".into()),
                    message: Some(message),
                    last_update_time: Some(now),
                    ..CertificateSigningRequestCondition::default()
                };
                self.answer(name, move |status| {
                    status.conditions.get_or_insert_default().push(failed.clone());
                })
                .await
            }
        }
    }

    async fn answer(
        &self,
        name: &str,
        change: impl Fn(&mut CertificateSigningRequestStatus) + Send + Sync,
    ) -> Result<(), ApiError> {
        let change = |request: &mut CertificateSigningRequest| change(request.status.get_or_insert_default());
        self.local.modify_status("", name, change).await.map(|_| ())
    }

    fn sign(
        &self,
        request: &CertificateSigningRequest,
        organizations: &[String],
    ) -> Result<ByteString, String> {
        let spec = &request.spec;
        let pem = std::str::from_utf8(&spec.request.0).map_err(|error| error.to_string())?;
        let parsed = CertificateSigningRequestParams::from_pem(pem).map_err(|error| error.to_string())?;
        let subject = subjects::of_request(pem).ok_or("its subject cannot be read")?;
        let usages: BTreeSet<&str> = spec.usages.iter().flatten().map(String::as_str).collect();
        check(
            &spec.signer_name,
            &parsed,
            organizations,
            &usages,
            spec.username.as_deref().unwrap_or_default(),
        )?;
        let seconds = spec.expiration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let lifetime = seconds.map_or(LONGEST, Duration::from_secs).min(LONGEST);
        let terms = terms(&usages, lifetime);
        let pki = &self.local.server().identity.pki;
        let certificate = pki.sign(parsed, &subject, terms).map_err(|error| error.to_string())?;
        Ok(ByteString(certificate.into_bytes()))
    }
}

/// Approved, not answered yet, and for one of the cluster's own signers.
fn wants_signature(request: &CertificateSigningRequest) -> bool {
    let status = request.status.clone().unwrap_or_default();
    let has = |kind: &str| status.conditions.iter().flatten().any(|condition| condition.type_ == kind);
    let answered = status.certificate.is_some_and(|certificate| !certificate.0.is_empty());
    let own = [CLIENT_SIGNER, KUBELET_CLIENT, KUBELET_SERVING].contains(&request.spec.signer_name.as_str());
    own && has("Approved") && !has("Denied") && !has("Failed") && !answered
}

/// What each signer insists on.
fn check(
    signer: &str,
    request: &CertificateSigningRequestParams,
    organizations: &[String],
    usages: &BTreeSet<&str>,
    username: &str,
) -> Result<(), String> {
    let purpose = if signer == KUBELET_SERVING { "server auth" } else { "client auth" };
    if !usages.contains(purpose) {
        return Err(format!("usages did not include {purpose:?}"));
    }
    let allowed = [purpose, "digital signature", "key encipherment"];
    if let Some(other) = usages.iter().find(|usage| !allowed.contains(usage)) {
        return Err(format!("usage {other:?} is not allowed by {signer}"));
    }
    if signer == CLIENT_SIGNER {
        return Ok(());
    }
    check_kubelet(signer, request, organizations, username)
}

fn check_kubelet(
    signer: &str,
    request: &CertificateSigningRequestParams,
    organizations: &[String],
    username: &str,
) -> Result<(), String> {
    if organizations != ["system:nodes"] {
        return Err("subject organization is not system:nodes".into());
    }
    let name = common_name(request).unwrap_or_default();
    if !name.starts_with("system:node:") {
        return Err("subject common name does not begin with system:node:".into());
    }
    let names = &request.params.subject_alt_names;
    if signer == KUBELET_CLIENT {
        return if names.is_empty() { Ok(()) } else { Err("subjectAltNames are not allowed".into()) };
    }
    if name != username {
        return Err("subject common name is not the requesting user".into());
    }
    let host = |name: &SanType| matches!(name, SanType::DnsName(_) | SanType::IpAddress(_));
    if names.is_empty() || !names.iter().all(host) {
        return Err("DNS or IP subjectAltNames are required, others are not allowed".into());
    }
    Ok(())
}

fn common_name(request: &CertificateSigningRequestParams) -> Option<String> {
    match request.params.distinguished_name.get(&DnType::CommonName)? {
        DnValue::Utf8String(text) => Some(text.clone()),
        DnValue::PrintableString(text) => Some(text.as_str().to_owned()),
        DnValue::Ia5String(text) => Some(text.as_str().to_owned()),
        _ => None,
    }
}

fn terms(usages: &BTreeSet<&str>, lifetime: Duration) -> Terms {
    let mut terms = Terms { key_usages: Vec::new(), extended: Vec::new(), lifetime };
    for usage in usages {
        match *usage {
            "digital signature" => terms.key_usages.push(KeyUsagePurpose::DigitalSignature),
            "key encipherment" => terms.key_usages.push(KeyUsagePurpose::KeyEncipherment),
            "client auth" => terms.extended.push(ExtendedKeyUsagePurpose::ClientAuth),
            "server auth" => terms.extended.push(ExtendedKeyUsagePurpose::ServerAuth),
            _ => {}
        }
    }
    terms
}
