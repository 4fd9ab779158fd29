//! A certificate of the cluster, by its own signer.

use std::time::Duration;

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use tokio::time::{Instant, sleep};

use super::objects;
use crate::{error::ApiError, portal::Portal};

/// How long the cluster may take to sign, and how often it is looked.
const PATIENCE: Duration = Duration::from_secs(10);
const PACE: Duration = Duration::from_millis(50);

/// The certificate for a request, as PEM. What was made for it in the cluster is taken away again.
pub(super) async fn sign(portal: &Portal, id: &str, request: &str, seconds: i64) -> Result<String, ApiError> {
    let api: Api<CertificateSigningRequest> = Api::all(portal.client.clone());
    let failed = |error| ApiError::of_cluster("the certificate request", error);
    let asked = objects::signing(id, request, seconds);
    let made = api.create(&PostParams::default(), &asked).await.map_err(failed)?;
    let signed = approve_and_wait(&api, made).await;
    let gone = api.delete(&objects::name(id), &DeleteParams::default()).await;
    if let Err(error) = gone {
        // The cluster forgets it by itself after a while.
        tracing::warn!(%error, kubeconfig.id = id, "a certificate request could not be taken away");
    }
    signed
}

async fn approve_and_wait(
    api: &Api<CertificateSigningRequest>,
    made: CertificateSigningRequest,
) -> Result<String, ApiError> {
    let failed = |error| ApiError::of_cluster("the certificate request", error);
    let name = made.metadata.name.clone().unwrap_or_default();
    let approved = objects::approved(made);
    api.replace_subresource("approval", &name, &PostParams::default(), &approved).await.map_err(failed)?;
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        let found = api.get(&name).await.map_err(failed)?;
        if let Some(certificate) = found.status.and_then(|status| status.certificate) {
            return String::from_utf8(certificate.0)
                .map_err(|error| ApiError::unavailable("the signer of the cluster", error));
        }
        sleep(PACE).await;
    }
    let why = std::io::Error::other("no certificate within ten seconds");
    Err(ApiError::unavailable("the signer of the cluster", why))
}
