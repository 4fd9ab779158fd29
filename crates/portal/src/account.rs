//! Accounts: what they have, for those who have a part in them.

mod change;
mod room;

use kube::ResourceExt as _;
use maar_api::{
    ResourceList, names,
    v1alpha1::{Account, MemberSpec, MemberStatus},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    access::{AccountRole, Kind, Object, Verb},
    error::ApiError,
    page::{Page, PageQuery, page},
    route::{Answer, Call, Method::Get, Route, Target},
};

pub(crate) use change::update;
pub(crate) use room::{Held, Room, Turns, cap_of};

pub(crate) fn routes() -> Vec<Route> {
    let mut all = change::routes();
    all.extend([
        Route::at_once(Get, "/accounts", "listAccounts", (Verb::See, Target::Asker(Kind::Account)), list)
            .says("Accounts that the asker has a part in; all for platform administrators")
            .query::<PageQuery>()
            .answers::<Page<AccountView>>(),
        Route::at_once(Get, "/accounts/{name}", "getAccount", (Verb::See, Target::Account), get)
            .says("One account; its members only for those who belong to it")
            .answers::<AccountDetail>(),
    ]);
    all
}

/// An account.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AccountView {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    display_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    /// The part of the asker.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<AccountRole>,
    guaranteed: ResourceList,
    deserved: ResourceList,
    capability: ResourceList,
    used: ResourceList,
    borrowed: ResourceList,
    pending: ResourceList,
    running_pods: i32,
    pending_pods: i32,
    #[serde(flatten)]
    rules: Option<AccountRules>,
}

/// How an account is set up, for those who look after it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AccountRules {
    /// Everyone is a member.
    everyone: bool,
    /// How what nobody deserves is divided among brothers.
    weight: i32,
    /// The most a member may have who has no cap of his own.
    member_capability: ResourceList,
    /// Node pools it may use; every pool that nobody owns if none is named.
    pools: Vec<String>,
}

/// An account with its members.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AccountDetail {
    #[serde(flatten)]
    view: AccountView,
    /// Only for those who belong to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    members: Option<Vec<MemberSpec>>,
    /// What each of them holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Vec<MemberStatus>>,
}

/// What `call` may see of an account, and the part of its asker if he has one.
fn view(call: &Call, held: &Held, account: &Account, role: Option<AccountRole>) -> AccountView {
    let governs = call.may(Verb::Change, &Object::account(&account.name_any()));
    let (spec, mut status) = (&account.spec, account.status.clone().unwrap_or_default());
    held.add(&account.name_any(), &mut status.used);
    AccountView {
        name: account.name_any(),
        display_name: spec.display_name.clone(),
        parent: spec.parent.clone(),
        role,
        guaranteed: spec.guaranteed.clone(),
        deserved: spec.deserved.clone(),
        capability: spec.capability.clone(),
        used: status.used,
        borrowed: status.borrowed,
        pending: status.pending,
        running_pods: status.running_pods,
        pending_pods: status.pending_pods,
        rules: governs.then(|| rules(account)),
    }
}

fn rules(account: &Account) -> AccountRules {
    let spec = &account.spec;
    AccountRules {
        everyone: spec.everyone || account.name_any() == names::DEFAULT_ACCOUNT,
        weight: spec.weight,
        member_capability: spec.member_capability.clone(),
        pools: spec.pools.clone(),
    }
}

fn list(call: &Call) -> Result<Answer, ApiError> {
    let roles = &call.person()?.accounts;
    let mut found = call.portal.live.accounts.list(None);
    found.retain(|one| call.may(Verb::See, &Object::account(&one.name_any())));
    let page = page(found, &call.query::<PageQuery>()?, |one| one.name_any())?;
    let held = Held::now(&call.portal);
    Answer::json(&page.map(|one| view(call, &held, &one, roles.get(&one.name_any()).copied())))
}

fn get(call: &Call) -> Result<Answer, ApiError> {
    let (account, name) = (call.account()?, call.account()?.name_any());
    let role = call.person()?.accounts.get(&name).copied();
    let inside = call.may(Verb::Read, &Object::account(&name));
    Answer::json(&AccountDetail {
        view: view(call, &Held::now(&call.portal), account, role),
        members: inside.then(|| account.spec.members.clone()),
        usage: inside.then(|| account.status.clone().unwrap_or_default().members),
    })
}
