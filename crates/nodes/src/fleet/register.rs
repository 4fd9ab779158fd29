//! Making a node known to the cluster.

use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};

use super::{
    FleetError, NODES,
    object::{NodePlan, SET_ANNOTATION},
};
use crate::requests;

/// What the API says about a node of ours.
#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) uid: String,
    pub(crate) object: Value,
    /// It was there before, perhaps from another profile.
    pub(crate) adopted: bool,
}

/// Creates the Node, or takes up the one that this set registered before.
pub(crate) async fn register(
    client: &Client,
    plan: &NodePlan,
    set: &str,
    now: Timestamp,
) -> Result<Registered, FleetError> {
    let step = || format!("registering node {}", plan.name);
    let refused = |error: requests::RequestError| FleetError::request(step(), &error);
    let wanted = plan.node(set, now);
    let (object, adopted) = match requests::create(client, NODES, &wanted).await {
        Ok(object) => (complete(client, plan, object, &wanted).await?, false),
        Err(error) if error.code() == Some(409) => {
            let object = requests::get(client, NODES, &plan.name).await.map_err(refused)?;
            (adopt(client, plan, set, object).await?, true)
        }
        Err(error) => return Err(refused(error)),
    };
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    Ok(Registered { uid, object, adopted })
}

/// A server may keep only `metadata` and `spec` of what is created.
async fn complete(
    client: &Client,
    plan: &NodePlan,
    mut object: Value,
    wanted: &Value,
) -> Result<Value, FleetError> {
    if object["status"]["conditions"].as_array().is_none_or(Vec::is_empty) {
        let patch = json!({ "status": wanted["status"] });
        requests::merge_status(client, NODES, &plan.name, &patch).await.map_err(|error| {
            FleetError::request(format!("writing the status of node {}", plan.name), &error)
        })?;
        object["status"] = wanted["status"].clone();
    }
    Ok(object)
}

/// Labels that people added stay; ours are set again, because the profile may have changed.
async fn adopt(client: &Client, plan: &NodePlan, set: &str, mut object: Value) -> Result<Value, FleetError> {
    let owner = object["metadata"]["annotations"][SET_ANNOTATION].as_str();
    if owner != Some(set) {
        let owner = owner.map_or_else(|| "somebody else".to_owned(), |owner| format!("the set {owner:?}"));
        return Err(FleetError::Taken { name: plan.name.to_string(), owner });
    }
    let labels = plan.labels();
    let patch = json!({ "metadata": { "labels": &labels, "annotations": &plan.shape.pool.annotations } });
    requests::merge(client, NODES, &plan.name, &patch)
        .await
        .map_err(|error| FleetError::request(format!("taking up node {}", plan.name), &error))?;
    for (name, value) in labels {
        object["metadata"]["labels"][name] = json!(value);
    }
    Ok(object)
}
