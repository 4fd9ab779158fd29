//! Volumes that are made once the node of their Pod is known.

use std::time::Duration;

use http::{Request, header};
use kube::Client;
use maar_controller::{Categorized as _, Category, error::chain};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::{Bind, Bound, READ};
use crate::adapter::wire;

/// How often volume claims are looked at, and how long, until they have their volumes.
const CLAIM_LOOK: Duration = Duration::from_secs(1);
const CLAIM_LOOKS: u32 = 120;
/// How a claim is told which node its volume has to reach.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// Tells claims which node their volumes have to reach, and waits until they have them.
pub(super) async fn choose_volumes(client: &Client, bind: &Bind) -> Result<(), Bound> {
    for claim in &bind.claims {
        let path = claim_path(bind, claim);
        let choice = json!({"metadata": {"annotations": {SELECTED_NODE: bind.node}}});
        let request = Request::patch(path)
            .header(header::CONTENT_TYPE, "application/merge-patch+json")
            .body(choice.to_string().into_bytes())
            .map_err(|error| Bound::Refused(error.to_string()))?;
        let answer = timeout(READ, client.request::<wire::Claim>(request)).await;
        match answer {
            Ok(Ok(_)) => {}
            Ok(Err(error)) if error.category() == Category::NotLeader => return Err(Bound::Stopped),
            Ok(Err(error)) => return Err(Bound::Refused(format!("claim {claim}: {}", chain(&error)))),
            // Whatever becomes of the claim, the Pod has not been bound.
            Err(_) => return Err(Bound::Refused(format!("claim {claim}: no answer in time"))),
        }
    }
    for _ in 0..CLAIM_LOOKS {
        if all_bound(client, bind).await {
            return Ok(());
        }
        sleep(CLAIM_LOOK).await;
    }
    Err(Bound::Refused(format!(
        "its claims ({}) got no volume for node {}",
        bind.claims.join(", "),
        bind.node
    )))
}

async fn all_bound(client: &Client, bind: &Bind) -> bool {
    for claim in &bind.claims {
        let Ok(request) = Request::get(claim_path(bind, claim)).body(Vec::new()) else { return false };
        let found = timeout(READ, client.request::<wire::Claim>(request)).await;
        if !found.is_ok_and(|found| found.is_ok_and(|claim| claim.status.phase == "Bound")) {
            return false;
        }
    }
    true
}

fn claim_path(bind: &Bind, claim: &str) -> String {
    format!("/api/v1/namespaces/{}/persistentvolumeclaims/{claim}", bind.namespace)
}
