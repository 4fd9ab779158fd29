//! Puts the definitions of Maar's kinds into a cluster.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client, ResourceExt as _};
use maar_api::v1alpha1::definitions;
use maar_controller::{Error, apply::Writer};
use tokio::time::{Instant, sleep};

const WRITER: Writer = Writer::new("maar-install");
/// How long a definition may take to be served.
const PATIENCE: Duration = Duration::from_secs(30);

/// The definitions could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The cluster did not do what was asked.
    #[error(transparent)]
    Cluster(#[from] Error),
    /// The cluster took a definition and does not serve it.
    #[error("the cluster does not serve {0}")]
    NotServed(String),
}

/// Installs the definitions, or brings them up to date, and waits until they are served.
pub async fn install(client: &Client) -> Result<(), InstallError> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in definitions() {
        WRITER.apply(&api, definition).await?;
    }
    let end = Instant::now() + PATIENCE;
    for definition in definitions() {
        let name = definition.name_any();
        while !is_served(&api, &name).await? {
            if Instant::now() > end {
                return Err(InstallError::NotServed(name));
            }
            sleep(Duration::from_millis(50)).await;
        }
    }
    Ok(())
}

async fn is_served(api: &Api<CustomResourceDefinition>, name: &str) -> Result<bool, Error> {
    let found = api.get(name).await.map_err(|source| Error::in_step(format!("read {name}"), source))?;
    let conditions = found.status.and_then(|status| status.conditions).unwrap_or_default();
    Ok(conditions.iter().any(|condition| condition.type_ == "Established" && condition.status == "True"))
}
