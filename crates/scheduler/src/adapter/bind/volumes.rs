//! Volumes that claims get once the node of their Pod is known: new ones, or some that were made beforehand.

use std::time::Duration;

use http::{Request, header};
use kube::Client;
use maar_controller::{Categorized as _, Category, error::chain};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{Bind, Binder, Bound, ClaimChoice, READ, promise::promise};
use crate::adapter::{translate::SELECTED_NODE, wire};

/// How often volume claims are looked at, and how long, until they have their volumes.
const CLAIM_LOOK: Duration = Duration::from_secs(1);
const CLAIM_LOOKS: u32 = 120;

/// Tells claims which node their volumes have to reach, or promises them volumes; and waits until they have them.
pub(super) async fn choose_volumes(binder: &Binder, bind: &Bind) -> Result<(), Bound> {
    for claim in &bind.claims {
        match &claim.volume {
            None => select_node(&binder.client, bind, &claim.name).await?,
            Some(volume) => promise(binder, bind, &claim.name, volume).await?,
        }
    }
    for _ in 0..CLAIM_LOOKS {
        if all_bound(&binder.client, bind).await? {
            return Ok(());
        }
        sleep(CLAIM_LOOK).await;
    }
    let claims: Vec<&str> = bind.claims.iter().map(|claim| claim.name.as_str()).collect();
    Err(Bound::Refused(format!("its claims ({}) got no volume for node {}", claims.join(", "), bind.node)))
}

/// Tells a claim which node its volume has to reach.
async fn select_node(client: &Client, bind: &Bind, claim: &str) -> Result<(), Bound> {
    let choice = json!({"metadata": {"annotations": {SELECTED_NODE: bind.node}}});
    match patch::<wire::Claim>(client, &claim_path(bind, claim), &choice).await {
        Ok(_) => Ok(()),
        Err(Failure::NotLeader) => Err(Bound::Stopped),
        // Whatever becomes of the claim, the Pod has not been bound.
        Err(Failure::Other(_, why)) => Err(Bound::Refused(format!("claim {claim}: {why}"))),
    }
}

async fn all_bound(client: &Client, bind: &Bind) -> Result<bool, Bound> {
    for claim in &bind.claims {
        let found = match get::<wire::Claim>(client, &claim_path(bind, &claim.name)).await {
            Ok(found) => found,
            Err(Failure::NotLeader) => return Err(Bound::Stopped),
            Err(Failure::Other(Category::Missing, _)) => {
                return Err(Bound::Refused(format!("the volume claim {} is gone", claim.name)));
            }
            Err(Failure::Other(..)) => return Ok(false),
        };
        if found.status.phase != "Bound" {
            return Ok(false);
        }
        is_as_chosen(claim, &found)?;
    }
    Ok(true)
}

/// Somebody else may have given the claim another volume, which the node may not reach.
fn is_as_chosen(claim: &ClaimChoice, found: &wire::Claim) -> Result<(), Bound> {
    match &claim.volume {
        Some(chosen) if chosen.volume != found.spec.volume_name => Err(Bound::Refused(format!(
            "the volume claim {} got the volume {} and not {}",
            claim.name, found.spec.volume_name, chosen.volume
        ))),
        _ => Ok(()),
    }
}

pub(super) fn claim_path(bind: &Bind, claim: &str) -> String {
    format!("/api/v1/namespaces/{}/persistentvolumeclaims/{claim}", bind.namespace)
}

/// Why a request came to nothing.
pub(super) enum Failure {
    /// This process does not lead any more.
    NotLeader,
    /// Anything else, in words.
    Other(Category, String),
}

pub(super) async fn get<K: DeserializeOwned>(client: &Client, path: &str) -> Result<K, Failure> {
    let request = Request::get(path).body(Vec::new());
    send(client, request).await
}

pub(super) async fn patch<K: DeserializeOwned>(
    client: &Client,
    path: &str,
    change: &Value,
) -> Result<K, Failure> {
    let request = Request::patch(path)
        .header(header::CONTENT_TYPE, "application/merge-patch+json")
        .body(change.to_string().into_bytes());
    send(client, request).await
}

async fn send<K: DeserializeOwned>(
    client: &Client,
    request: Result<Request<Vec<u8>>, http::Error>,
) -> Result<K, Failure> {
    let request = request.map_err(|error| Failure::Other(Category::Invalid, error.to_string()))?;
    match timeout(READ, client.request::<K>(request)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) if error.category() == Category::NotLeader => Err(Failure::NotLeader),
        Ok(Err(error)) => Err(Failure::Other(error.category(), chain(&error))),
        Err(_) => Err(Failure::Other(Category::Transient, "no answer in time".to_owned())),
    }
}
