//! A node for one account alone.
//!
//! An account owns pools, so the node goes into a pool that is the account's own: `account-<name>`. The pool it had is
//! kept in an annotation, and comes back when it is released. The account gets the pool before the node does, and loses it
//! after: at no time is the node in a pool that nobody owns, which everybody could use.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams},
};
use maar_api::{names, v1alpha1::Account};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::admin::{api, merge, refused};
use crate::{
    access::Verb,
    error::{ApiError, Code},
    route::{Answer, Call, Method::Put, Route, Target},
};

/// Node annotation: the pool it had before an account took it; empty if it had none.
pub(super) const ANNOTATION_POOL_BEFORE: &str = "maar.io/pool-before";
const ATTEMPTS: usize = 4;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(Put, "/nodes/{name}/account", "occupyNode", (Verb::Change, Target::Node), occupy)
            .says("Give a node to one account alone, or to everybody again")
            .takes::<Occupation>(),
    ]
}

/// Whose a node shall be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Occupation {
    /// The account; null gives it back to everybody.
    account: Option<String>,
}

fn pool_of(account: &str) -> String {
    format!("account-{account}")
}

/// The account that has a node for itself by [`occupy`].
pub(super) fn account_of(node: &Node, accounts: &[Arc<Account>]) -> Option<String> {
    node.annotations().get(ANNOTATION_POOL_BEFORE)?;
    let pool = node.labels().get(names::LABEL_POOL)?;
    accounts.iter().find(|account| account.spec.owned_pools.contains(pool)).map(|account| account.name_any())
}

async fn occupy(call: Call) -> Result<Answer, ApiError> {
    let asked: Occupation = call.body()?;
    let name = call.node()?.name_any();
    // Fresh: what is cached may not know yet what the last call did.
    let node = api(&call).get(&name).await.map_err(|error| refused(&name, error))?;
    let before = json!({ "pool": node.labels().get(names::LABEL_POOL) });
    let old = node.annotations().get(ANNOTATION_POOL_BEFORE).cloned();
    let own = old.as_ref().and_then(|_| node.labels().get(names::LABEL_POOL)).cloned();
    let pool = match &asked.account {
        Some(account) => {
            // It becomes a part of a path.
            let letter = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || "-.".contains(one);
            if account.is_empty() || !account.chars().all(letter) {
                return Err(ApiError::invalid("account", "does not exist"));
            }
            let pool = pool_of(account);
            if pool.len() > 63 {
                return Err(ApiError::invalid("account", "has a name too long to be a label"));
            }
            own_pool(&call, account, &pool, true).await?;
            let kept = old.or_else(|| node.labels().get(names::LABEL_POOL).cloned()).unwrap_or_default();
            put(&call, json!(pool), json!(kept)).await?;
            Some(pool)
        }
        None => match old {
            None => None,
            Some(old) => {
                let pool = Some(old).filter(|pool| !pool.is_empty());
                put(&call, json!(pool), Value::Null).await?;
                pool
            }
        },
    };
    if let Some(left) = own.filter(|left| Some(left) != pool.as_ref()) {
        release(&call, &left).await?;
    }
    Ok(Answer::done().change(Some(before), Some(json!({ "pool": pool, "account": asked.account }))))
}

async fn put(call: &Call, pool: Value, before: Value) -> Result<Node, ApiError> {
    merge(
        call,
        json!({ "metadata": {
            "labels": { names::LABEL_POOL: pool },
            "annotations": { ANNOTATION_POOL_BEFORE: before },
        } }),
    )
    .await
}

/// The pool belongs to nobody any more when its last node has left.
async fn release(call: &Call, pool: &str) -> Result<(), ApiError> {
    let Some(account) = pool.strip_prefix("account-") else { return Ok(()) };
    let params = kube::api::ListParams::default().labels(&format!("{}={pool}", names::LABEL_POOL));
    let left = api(call).list_metadata(&params).await.map_err(|error| refused("of the pool", error))?;
    if !left.items.is_empty() {
        return Ok(());
    }
    match own_pool(call, account, pool, false).await {
        // The account is gone, and its pool with it.
        Err(error) if error.code == Code::Invalid => Ok(()),
        other => other,
    }
}

/// Makes the pool the account's own, or not.
async fn own_pool(call: &Call, account: &str, pool: &str, own: bool) -> Result<(), ApiError> {
    let accounts: Api<Account> = Api::all(call.portal.client.clone());
    for _ in 0..ATTEMPTS {
        let found = accounts.get_opt(account).await;
        let found = found.map_err(|error| ApiError::of_cluster(&format!("account {account}"), error))?;
        let found = found.ok_or_else(|| ApiError::invalid("account", "does not exist"))?;
        let mut pools = found.spec.owned_pools.clone();
        if pools.iter().any(|one| one == pool) == own {
            return Ok(());
        }
        pools.retain(|one| one != pool);
        if own {
            pools.push(pool.to_owned());
        }
        let metadata = json!({ "resourceVersion": found.resource_version() });
        let patch = json!({ "metadata": metadata, "spec": { "ownedPools": pools } });
        match accounts.patch(account, &PatchParams::default(), &Patch::Merge(&patch)).await {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(ApiError::of_cluster(&format!("account {account}"), error)),
        }
    }
    Err(ApiError::new(Code::Conflict, "the account keeps changing: try again"))
}
