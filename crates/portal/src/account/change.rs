//! Making, changing and ending accounts, and who belongs to them.
//!
//! What an account may have is for platform administrators. Who belongs to it, with which part and up to which cap, is
//! also for its own administrators; a cap is never above what the account itself may have, and nothing here makes anybody
//! a platform administrator: that is no part in an account.

use std::{collections::BTreeMap, sync::Arc};

use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
};
use maar_api::{
    ResourceList, names,
    v1alpha1::{Account, MemberRole, MemberSpec},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{AccountView, Held, room::WORKSPACES, view};
use crate::{
    access::{Kind, Verb},
    error::{ApiError, Code},
    route::{
        Answer, Call,
        Method::{Delete, Post, Put},
        Route, Target,
    },
};

/// How often it is tried again when somebody else changes the account at the same time.
const ATTEMPTS: usize = 5;
/// How deep the tree of accounts is followed.
const DEPTH: usize = 64;

pub(super) fn routes() -> Vec<Route> {
    let members = (Verb::Change, Target::Account);
    vec![
        Route::new(Post, "/accounts", "createAccount", (Verb::Start, Target::Cluster(Kind::Account)), create)
            .says("Make an account")
            .takes::<NewAccount>()
            .answers::<AccountView>(),
        // What it may have is what it may make others pay for: not for its own administrators.
        Route::new(Put, "/accounts/{name}", "changeAccount", (Verb::Start, Target::Account), change)
            .says("Change what an account may have; what is not said stays")
            .takes::<AccountChange>()
            .answers::<AccountView>(),
        Route::new(Delete, "/accounts/{name}", "deleteAccount", (Verb::Delete, Target::Account), delete)
            .says("End an account that has no work and no accounts below it"),
        Route::new(Put, "/accounts/{name}/members/{user}", "setMember", members, set_member)
            .says("Make somebody a member of an account, or change his part in it")
            .takes::<MemberChange>(),
        Route::new(Delete, "/accounts/{name}/members/{user}", "removeMember", members, remove_member)
            .says("Let somebody leave an account"),
    ]
}

/// What an account may have. What is not said stays, or is as usual for a new one.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AccountChange {
    display_name: Option<String>,
    /// The account it is part of; an empty text makes it a root.
    parent: Option<String>,
    /// Kept free for it even when it is idle.
    guaranteed: Option<ResourceList>,
    /// Its fair part.
    deserved: Option<ResourceList>,
    /// Never more than this; `workspaces` counts those that there are, suspended ones too.
    capability: Option<ResourceList>,
    /// How what nobody deserves is divided among brothers.
    weight: Option<i32>,
    /// Everyone is a member.
    everyone: Option<bool>,
    /// The most a member may have who has no cap of his own; `workspaces` as above.
    member_capability: Option<ResourceList>,
    /// Node pools it may use; every pool that nobody owns if none is named.
    pools: Option<Vec<String>>,
}

impl AccountChange {
    /// The fields of the spec that change.
    fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                fields.insert(name.to_owned(), value);
            }
        };
        let text = |text: &String| if text.is_empty() { Value::Null } else { json!(text) };
        put("displayName", self.display_name.as_ref().map(text));
        put("parent", self.parent.as_ref().map(text));
        put("guaranteed", self.guaranteed.as_ref().map(|list| json!(list)));
        put("deserved", self.deserved.as_ref().map(|list| json!(list)));
        put("capability", self.capability.as_ref().map(|list| json!(list)));
        put("weight", self.weight.map(|weight| json!(weight)));
        put("everyone", self.everyone.map(|open| json!(open)));
        put("memberCapability", self.member_capability.as_ref().map(|list| json!(list)));
        put("pools", self.pools.as_ref().map(|pools| json!(pools)));
        fields
    }

    fn check(&self, name: &str, accounts: &[Arc<Account>]) -> Result<(), ApiError> {
        let lists = [
            ("guaranteed", &self.guaranteed, false),
            ("deserved", &self.deserved, false),
            ("capability", &self.capability, true),
            ("memberCapability", &self.member_capability, true),
        ];
        for (field, list, limits) in lists {
            if let Some(list) = list {
                check_amounts(field, list, limits)?;
            }
        }
        let Some(parent) = self.parent.as_deref().filter(|parent| !parent.is_empty()) else { return Ok(()) };
        let by_name: BTreeMap<String, &Account> =
            accounts.iter().map(|account| (account.name_any(), &**account)).collect();
        if !by_name.contains_key(parent) {
            return Err(ApiError::invalid("parent", "does not exist"));
        }
        let above = |one: &&Account| by_name.get(one.spec.parent.as_ref()?).copied();
        let mut path = std::iter::successors(by_name.get(parent).copied(), above).take(DEPTH);
        if parent == name || path.any(|account| account.name_any() == name) {
            return Err(ApiError::invalid("parent", "is the account itself, or one below it"));
        }
        Ok(())
    }
}

/// An account to be made.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewAccount {
    /// Letters a-z, digits and dashes, at most 63.
    name: String,
    #[serde(flatten)]
    change: AccountChange,
}

fn api(call: &Call) -> Api<Account> {
    Api::all(call.portal.client.clone())
}

fn refused(name: &str, error: kube::Error) -> ApiError {
    ApiError::of_cluster(&format!("account {name}"), error)
}

async fn create(call: Call) -> Result<Answer, ApiError> {
    let asked: NewAccount = call.body()?;
    if asked.name.len() > 63 {
        return Err(ApiError::invalid("name", "has at most 63 characters"));
    }
    asked.change.check(&asked.name, &call.portal.live.accounts.list(None))?;
    let spec = Value::Object(without_nulls(asked.change.fields()));
    let account =
        serde_json::from_value::<Account>(json!({ "metadata": { "name": asked.name }, "spec": spec }));
    let account = account.map_err(|error| ApiError::shape("body", error))?;
    let made = api(&call).create(&PostParams::default(), &account).await;
    let made = made.map_err(|error| refused(&asked.name, error))?;
    call.portal.live.accounts.seen("", &asked.name).await;
    Ok(Answer::created(&view(&call, &Held::now(&call.portal), &made, None))?
        .about(asked.name)
        .change(None, Some(spec)))
}

fn without_nulls(fields: Map<String, Value>) -> Map<String, Value> {
    fields.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

/// What the fields that change were before.
fn before(account: &Account, fields: &Map<String, Value>) -> Value {
    let all = serde_json::to_value(&account.spec).unwrap_or_default();
    let of = |name: &String| (name.clone(), all.get(name).cloned().unwrap_or_default());
    fields.keys().map(of).collect::<Map<String, Value>>().into()
}

/// Merging would keep resources that are no longer named.
fn replacing(account: &Account, fields: &Map<String, Value>) -> Map<String, Value> {
    let old = before(account, fields);
    let mut made = fields.clone();
    for (name, value) in &mut made {
        let (Some(new), Some(old)) = (value.as_object_mut(), old[name.as_str()].as_object()) else {
            continue;
        };
        for gone in old.keys().filter(|gone| !new.contains_key(*gone)).cloned().collect::<Vec<_>>() {
            new.insert(gone, Value::Null);
        }
    }
    made
}

async fn change(call: Call) -> Result<Answer, ApiError> {
    let asked: AccountChange = call.body()?;
    let name = call.account()?.name_any();
    asked.check(&name, &call.portal.live.accounts.list(None))?;
    let fields = asked.fields();
    if fields.is_empty() {
        return Err(ApiError::invalid("body", "names something to change"));
    }
    let (old, made) = update(&call, &name, |account| Ok(replacing(account, &fields))).await?;
    let (old, new) = (before(&old, &fields), before(&made, &fields));
    Ok(Answer::json(&view(&call, &Held::now(&call.portal), &made, None))?.change(Some(old), Some(new)))
}

/// Writes what `make` says on top of the version that it was told of.
pub(crate) async fn update(
    call: &Call,
    name: &str,
    make: impl Fn(&Account) -> Result<Map<String, Value>, ApiError>,
) -> Result<(Account, Account), ApiError> {
    for _ in 0..ATTEMPTS {
        let found = api(call).get(name).await.map_err(|error| refused(name, error))?;
        let spec = make(&found)?;
        let metadata = json!({ "resourceVersion": found.resource_version(), "uid": found.uid() });
        let patch = json!({ "metadata": metadata, "spec": spec });
        match api(call).patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await {
            Ok(changed) => return Ok((found, changed)),
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(refused(name, error)),
        }
    }
    Err(ApiError::new(Code::Conflict, "the account keeps changing: try again"))
}

async fn delete(call: Call) -> Result<Answer, ApiError> {
    let account = call.account()?;
    let (name, live) = (account.name_any(), &call.portal.live);
    if name == names::DEFAULT_ACCOUNT {
        return Err(ApiError::new(Code::Conflict, "the account of everybody stays"));
    }
    let children =
        live.accounts.list(None).iter().filter(|one| one.spec.parent.as_ref() == Some(&name)).count();
    let running = live.jobs.list(None);
    let jobs = running.iter().filter(|job| {
        let over = job.status.as_ref().is_some_and(|status| status.phase.is_final());
        job.spec.account() == name && !over
    });
    let desks = live.workspaces.list(None);
    let desks = desks.iter().filter(|desk| desk.spec.account() == name).count();
    let work = jobs.count() + desks;
    if children + work > 0 {
        let message = format!("{work} jobs and workspaces and {children} accounts below still belong to it");
        return Err(ApiError::new(Code::Conflict, message));
    }
    let only = Preconditions { uid: account.uid(), resource_version: None };
    let gone = api(&call).delete(&name, &DeleteParams::default().preconditions(only)).await;
    gone.map_err(|error| refused(&name, error))?;
    Ok(Answer::done().change(serde_json::to_value(&account.spec).ok(), None))
}

/// A member's part.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MemberChange {
    #[serde(default)]
    role: MemberRole,
    /// Never more than this; as the account says for all its members if nothing is named.
    #[serde(default)]
    cap: ResourceList,
}

/// Whether amounts make sense; of workspaces only how many there are at most can be said.
fn check_amounts(field: &str, list: &ResourceList, limits: bool) -> Result<(), ApiError> {
    for (resource, amount) in list {
        let wrong = |why: &str| Err(ApiError::invalid(format!("{field}.{resource}"), why));
        if amount.is_negative() {
            return wrong("is below nothing");
        }
        if resource == WORKSPACES && !limits {
            return wrong("is for capability and memberCapability: nothing is kept free for workspaces");
        }
        if resource == WORKSPACES && amount.nanos() % 1_000_000_000 != 0 {
            return wrong("is a whole number");
        }
    }
    Ok(())
}

/// A cap above what the account itself may have promises what nobody can give.
fn check_cap(account: &Account, cap: &ResourceList) -> Result<(), ApiError> {
    check_amounts("cap", cap, true)?;
    for (resource, amount) in cap {
        let most = account.spec.capability.get(resource);
        if account.spec.capability.contains(resource) && *amount > most {
            let why = format!("is more than the {most} of the account");
            return Err(ApiError::invalid(format!("cap.{resource}"), why));
        }
    }
    Ok(())
}

fn member_of(account: &Account, user: &str) -> Option<Value> {
    let found = account.spec.members.iter().find(|member| member.user == user)?;
    serde_json::to_value(found).ok()
}

async fn set_member(call: Call) -> Result<Answer, ApiError> {
    let asked: MemberChange = call.body()?;
    let (name, user) = (call.account()?.name_any(), call.part("user").to_owned());
    // A name that nobody has yet could be taken by anybody later.
    if call.portal.records.user_by_name(&user).await?.is_none() {
        return Err(ApiError::invalid("user", "is not a user of this portal"));
    }
    let member = MemberSpec { user: user.clone(), role: asked.role, capability: asked.cap };
    let (old, made) = update(&call, &name, |account| {
        check_cap(account, &member.capability)?;
        let mut members = account.spec.members.clone();
        match members.iter_mut().find(|one| one.user == user) {
            Some(known) => *known = member.clone(),
            None => members.push(member.clone()),
        }
        Ok(Map::from_iter([("members".to_owned(), json!(members))]))
    })
    .await?;
    let answer = Answer::done().about(format!("{name}/{user}"));
    Ok(answer.change(member_of(&old, &user), member_of(&made, &user)))
}

async fn remove_member(call: Call) -> Result<Answer, ApiError> {
    let (name, user) = (call.account()?.name_any(), call.part("user").to_owned());
    let (old, _) = update(&call, &name, |account| {
        let mut members = account.spec.members.clone();
        members.retain(|one| one.user != user);
        if members.len() == account.spec.members.len() {
            return Err(ApiError::not_found("this member"));
        }
        Ok(Map::from_iter([("members".to_owned(), json!(members))]))
    })
    .await?;
    Ok(Answer::done().about(format!("{name}/{user}")).change(member_of(&old, &user), None))
}

#[cfg(test)]
mod tests {
    use maar_api::Quantity;

    use super::*;

    fn account(name: &str, spec: &Value) -> Account {
        serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap()
    }

    #[test]
    fn caps_stay_within_the_account() {
        let lab = account("lab", &json!({ "capability": { "nvidia.com/gpu": "8" } }));
        let cap = |resource: &str, units| {
            ResourceList::from_iter([(resource.to_owned(), Quantity::from_units(units))])
        };
        assert!(check_cap(&lab, &cap("nvidia.com/gpu", 8)).is_ok());
        assert!(check_cap(&lab, &cap("cpu", 1000)).is_ok(), "the account names no limit of it");
        let wrong = check_cap(&lab, &cap("nvidia.com/gpu", 9)).unwrap_err();
        assert_eq!(wrong.field.as_deref(), Some("cap.nvidia.com/gpu"));
        assert!(check_cap(&lab, &cap("cpu", -1)).is_err());
    }

    #[test]
    fn amounts_that_make_no_sense_are_named() {
        let change = |body: Value| serde_json::from_value::<AccountChange>(body).unwrap().check("lab", &[]);
        assert!(change(json!({ "capability": { "workspaces": "5", "cpu": "500m" } })).is_ok());
        for (body, field) in [
            (json!({ "capability": { "workspaces": "1500m" } }), "capability.workspaces"),
            (json!({ "memberCapability": { "workspaces": "-1" } }), "memberCapability.workspaces"),
            (json!({ "guaranteed": { "workspaces": "1" } }), "guaranteed.workspaces"),
            (json!({ "deserved": { "cpu": "-1" } }), "deserved.cpu"),
        ] {
            assert_eq!(change(body).unwrap_err().field.as_deref(), Some(field));
        }
    }

    #[test]
    fn accounts_make_no_circles() {
        let all: Vec<Arc<Account>> = [("a", None), ("b", Some("a")), ("c", Some("b"))]
            .into_iter()
            .map(|(name, parent)| Arc::new(account(name, &json!({ "parent": parent }))))
            .collect();
        let under =
            |parent: &str| AccountChange { parent: Some(parent.to_owned()), ..AccountChange::default() };
        assert!(under("c").check("new", &all).is_ok() && under("").check("a", &all).is_ok());
        for (name, parent) in [("a", "c"), ("a", "a"), ("a", "none")] {
            assert!(under(parent).check(name, &all).is_err(), "{name} under {parent}");
        }
    }

    #[test]
    fn what_is_no_longer_named_goes() {
        let lab = account("lab", &json!({ "capability": { "cpu": "8", "nvidia.com/gpu": "8" } }));
        let change = AccountChange {
            capability: Some(ResourceList::from_iter([("cpu".to_owned(), Quantity::from_units(4))])),
            ..AccountChange::default()
        };
        let made = replacing(&lab, &change.fields());
        assert_eq!(made["capability"], json!({ "cpu": "4", "nvidia.com/gpu": null }));
    }
}
