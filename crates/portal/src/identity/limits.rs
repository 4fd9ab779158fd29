//! The most that a user may have, said by platform administrators while the portal runs.

use std::collections::BTreeMap;

use maar_api::Quantity;
use maar_records::User;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::caller::person;
use crate::{
    error::ApiError,
    namespace::{QUOTA, check_limits, quota_facts},
    portal::Portal,
    quota::in_words,
    route::{Answer, Call},
};

/// The most that a user may have.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LimitsView {
    /// What was said of him here.
    set: BTreeMap<String, String>,
    /// What holds: that, then what the portal was told at its start of him and of his accounts, then what is usual.
    limits: BTreeMap<String, String>,
}

/// The most that a user may have; what is not said is as for others.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct LimitsRequest {
    /// Amounts by `workspaces`, `jobs`, `pods`, `volumes`, `storage`, `cpu`, `memory`, or a resource such as
    /// `nvidia.com/gpu`.
    limits: BTreeMap<String, Quantity>,
}

fn view(portal: &Portal, user: &User) -> LimitsView {
    let whole = portal.namespaces.limits_of(&person(portal, user, None));
    LimitsView { set: user.limits.clone(), limits: in_words(quota_facts(&whole).limits) }
}

/// `GET /users/{id}/limits`.
pub(super) fn get(call: &Call) -> Result<Answer, ApiError> {
    Answer::json(&view(&call.portal, call.user()?))
}

/// `PUT /users/{id}/limits`. Who has more already keeps it, and gets no more.
pub(super) async fn set(call: Call) -> Result<Answer, ApiError> {
    let asked: LimitsRequest = call.body()?;
    check_limits(&asked.limits).map_err(|(what, why)| ApiError::invalid(format!("limits.{what}"), why))?;
    let limits = asked.limits.iter().map(|(what, amount)| (what.clone(), amount.to_string())).collect();
    let (portal, old) = (&call.portal, call.user()?);
    let user = portal.records.set_limits(&old.id, &limits, call.now()).await?;
    let person = person(portal, &user, None);
    // Who has a namespace is held to it at once, and not only when he comes next.
    if portal.live.quotas.get(&person.namespace, QUOTA).is_some() {
        let made = portal.namespaces.ensure(&person).await;
        made.map_err(|error| ApiError::unavailable("the cluster", error))?;
    }
    let answer = Answer::json(&view(portal, &user))?;
    Ok(answer.about(&user.name).change(Some(json!(old.limits)), Some(json!(user.limits))))
}
