//! Routes of policies, for platform administrators.

use jiff::SignedDuration;
use kube::ResourceExt as _;
use maar_api::v1alpha1::{Account, CleanupSpec};
use maar_jobs::check_policy;
use maar_records::{AuditFilter, Outcome, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::preview::{Preview, hash, preview};
use crate::{
    access::{Kind, Verb},
    account::update,
    error::{ApiError, Code},
    page::{Page, PageQuery, page},
    route::{
        Answer, Call,
        Method::{Delete, Get, Post, Put},
        Route, Target,
    },
};

/// How long a preview is good for.
const FRESH: SignedDuration = SignedDuration::from_hours(1);
/// Entries of the audit log that are looked through for it.
const LOOKED: u32 = 100;

pub(crate) fn routes() -> Vec<Route> {
    let all = Target::Cluster(Kind::Account);
    let one = (Verb::Start, Target::Account);
    vec![
        Route::at_once(Get, "/policies", "listPolicies", (Verb::See, all), list)
            .says("Clean-up policies of all accounts that have one")
            .query::<PageQuery>()
            .answers::<Page<PolicyView>>(),
        Route::new(Post, "/policies/preview", "previewPolicy", (Verb::Start, all), show)
            .says("What a policy would do now, whether it is there or not; nothing is changed")
            .query::<PageQuery>()
            .takes::<PreviewRequest>()
            .answers::<Preview>(),
        Route::new(Put, "/policies/{name}", "setPolicy", one, set)
            .says("Set the policy of an account; it is switched off until it is switched on")
            .takes::<CleanupSpec>()
            .answers::<PolicyView>(),
        Route::new(Delete, "/policies/{name}", "deletePolicy", one, delete)
            .says("Take the policy of an account away; that of the account above holds then"),
        Route::new(Put, "/policies/{name}/enabled", "enablePolicy", one, enable)
            .says("Switch a policy on, after a preview of exactly it, or off")
            .takes::<Switch>()
            .answers::<Switched>(),
    ]
}

/// The policy of an account.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PolicyView {
    /// The account, which is also its name.
    account: String,
    enabled: bool,
    policy: CleanupSpec,
}

fn view(account: &Account) -> Option<PolicyView> {
    let policy = account.spec.cleanup.clone()?;
    Some(PolicyView { account: account.name_any(), enabled: !policy.dry_run, policy })
}

fn list(call: &Call) -> Result<Answer, ApiError> {
    let found: Vec<PolicyView> =
        call.portal.live.accounts.list(None).iter().filter_map(|one| view(one)).collect();
    Answer::json(&page(found, &call.query::<PageQuery>()?, |one| one.account.clone())?)
}

/// A policy to be looked at.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreviewRequest {
    /// The account it is for.
    account: String,
    /// The policy; that of the account if it is not said.
    policy: Option<CleanupSpec>,
}

async fn show(call: Call) -> Result<Answer, ApiError> {
    let asked: PreviewRequest = call.body()?;
    let account = call.portal.live.accounts.get("", &asked.account);
    let account = account.ok_or_else(|| ApiError::invalid("account", "does not exist"))?;
    let policy = asked.policy.or_else(|| account.spec.cleanup.clone());
    let policy =
        policy.ok_or_else(|| ApiError::invalid("policy", "is not said, and the account has none"))?;
    check(&policy, "policy.")?;
    let made = preview(&call.portal, &asked.account, &policy, call.now()).await?;
    let made = made.paged(&call.query::<PageQuery>()?)?;
    let after = json!({ "hash": made.hash, "policy": policy, "findings": made.total });
    Ok(Answer::json(&made)?.about(asked.account).change(None, Some(after)))
}

/// Refuses what the shape of a policy does not: times and zones that do not exist.
fn check(policy: &CleanupSpec, place: &str) -> Result<(), ApiError> {
    check_policy(policy).map_err(|(field, why)| ApiError::invalid(format!("{place}{field}"), why))
}

fn cleanup_of(account: &Account) -> Option<Value> {
    account.spec.cleanup.as_ref().and_then(|policy| serde_json::to_value(policy).ok())
}

/// Replaces the policy: merging would keep rules that are gone.
fn replaced(old: Option<&CleanupSpec>, new: Option<&CleanupSpec>) -> Map<String, Value> {
    let mut value = new.map_or(Value::Null, |policy| json!(policy));
    let old = old.map(|policy| json!(policy));
    if let (Some(new), Some(old)) = (value.as_object_mut(), old.as_ref().and_then(Value::as_object)) {
        for rule in old.keys().filter(|rule| !new.contains_key(*rule)).cloned().collect::<Vec<_>>() {
            new.insert(rule, Value::Null);
        }
    }
    Map::from_iter([("cleanup".to_owned(), value)])
}

async fn set(call: Call) -> Result<Answer, ApiError> {
    let asked: CleanupSpec = call.body()?;
    check(&asked, "")?;
    let name = call.account()?.name_any();
    let (old, made) = update(&call, &name, |account| {
        let old = account.spec.cleanup.as_ref();
        // What is written anew as it was stays switched on; anything else has to be looked at first.
        let same = old.is_some_and(|old| !old.dry_run && hash(old) == hash(&asked));
        let policy = CleanupSpec { dry_run: !same, ..asked.clone() };
        Ok(replaced(old, Some(&policy)))
    })
    .await?;
    let answer = match view(&made) {
        Some(view) => Answer::json(&view)?,
        None => Answer::done(),
    };
    Ok(answer.change(cleanup_of(&old), cleanup_of(&made)))
}

async fn delete(call: Call) -> Result<Answer, ApiError> {
    let name = call.account()?.name_any();
    let (old, _) = update(&call, &name, |account| match &account.spec.cleanup {
        None => Err(ApiError::not_found("this policy")),
        old => Ok(replaced(old.as_ref(), None)),
    })
    .await?;
    Ok(Answer::done().change(cleanup_of(&old), None))
}

/// On or off.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Switch {
    enabled: bool,
}

/// A policy that was switched.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Switched {
    enabled: bool,
    /// What it does now, if it was switched on; the first of it, if that is much.
    #[serde(skip_serializing_if = "Option::is_none")]
    preview: Option<Preview>,
}

async fn enable(call: Call) -> Result<Answer, ApiError> {
    let asked: Switch = call.body()?;
    let name = call.account()?.name_any();
    // What the cluster has, not what was cached: the hash must be that of what is switched on.
    let looked = if asked.enabled { looked_at(&call, &name).await? } else { Vec::new() };
    let (old, made) = update(&call, &name, |account| {
        let policy = account.spec.cleanup.as_ref().ok_or_else(|| ApiError::not_found("this policy"))?;
        if asked.enabled && policy.dry_run && !looked.contains(&hash(policy)) {
            return Err(ApiError::new(
                Code::PreviewRequired,
                "look at what this policy would do first (POST /policies/preview), not longer than an hour ago",
            ));
        }
        Ok(Map::from_iter([("cleanup".to_owned(), json!({ "dryRun": !asked.enabled }))]))
    })
    .await?;
    let shown = match made.spec.cleanup.as_ref().filter(|_| asked.enabled) {
        Some(policy) => {
            let made = preview(&call.portal, &name, policy, call.now()).await?;
            Some(made.paged(&PageQuery::default())?)
        }
        None => None,
    };
    let answer = Answer::json(&Switched { enabled: asked.enabled, preview: shown })?;
    Ok(answer.change(cleanup_of(&old), cleanup_of(&made)))
}

/// Hashes of the policies of the account that the asker has looked at lately.
async fn looked_at(call: &Call, account: &str) -> Result<Vec<String>, ApiError> {
    let filter = AuditFilter {
        actor: Some(UserId::new(&call.person()?.id)),
        action: Some("previewPolicy".to_owned()),
        object_name: Some(account.to_owned()),
        outcome: Some(Outcome::Done),
        from: call.now().checked_sub(FRESH).ok(),
        ..AuditFilter::default()
    };
    let found = call.portal.records.audit(&filter, &maar_records::Page::first(LOOKED)?).await?;
    let hash = |record: &maar_records::AuditRecord| {
        Some(record.entry.after.as_ref()?.get("hash")?.as_str()?.to_owned())
    };
    Ok(found.items.iter().filter_map(hash).collect())
}
