//! Routes of templates.

use maar_records::{TemplateFilter, TemplateId, UserId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::text::{NewTemplate, TemplateDetail, TemplateKind, TemplateView, detail, object_of, of, view};
use crate::{
    access::{Kind, Verb},
    error::{ApiError, Code},
    identity::identifier,
    page::{Page, PageQuery},
    route::{
        Answer, Call,
        Method::{Delete, Get, Post, Put},
        Route, Target,
    },
};

pub(crate) fn routes() -> Vec<Route> {
    let (all, one) = (Target::Asker(Kind::Template), Target::Template);
    vec![
        Route::new(Get, "/templates", "listTemplates", (Verb::See, all), list)
            .says("Own templates, and those that are shared with an account of the asker, newest first")
            .query::<TemplateQuery>()
            .query::<PageQuery>()
            .answers::<Page<TemplateView>>(),
        Route::new(Post, "/templates", "createTemplate", (Verb::Start, all), create)
            .says("Save a template, for oneself or for an account that one is a member of")
            .takes::<NewTemplate>()
            .answers::<TemplateView>(),
        Route::at_once(Get, "/templates/{id}", "getTemplate", (Verb::See, one), get)
            .says("One template with what it holds")
            .answers::<TemplateDetail>(),
        Route::new(Put, "/templates/{id}", "changeTemplate", (Verb::Change, one), change)
            .says("Save a template over what it was")
            .takes::<NewTemplate>(),
        Route::new(Delete, "/templates/{id}", "deleteTemplate", (Verb::Delete, one), delete)
            .says("Remove a template; what was made of it stays"),
    ]
}

/// Which templates.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TemplateQuery {
    /// Only those that make this.
    kind: Option<TemplateKind>,
}

async fn list(call: Call) -> Result<Answer, ApiError> {
    let person = call.person()?;
    let filter = TemplateFilter {
        owner: Some(UserId::new(&person.id)),
        accounts: person.accounts.keys().cloned().collect(),
        kind: call.query::<TemplateQuery>()?.kind.map(|kind| kind.as_str().to_owned()),
    };
    let mut found = call.portal.records.templates(&filter, &call.query::<PageQuery>()?.records()?).await?;
    found.items.retain(|one| call.may(Verb::See, &object_of(one)));
    Answer::json(&Page::of_records(found, |one| view(&one, person)))
}

fn get(call: &Call) -> Result<Answer, ApiError> {
    Answer::json(&detail(call.template()?, call.person()?))
}

/// Whether the asker may share something with an account.
fn may_share(call: &Call, account: Option<&String>) -> Result<(), ApiError> {
    let Some(account) = account else { return Ok(()) };
    if call.may(Verb::Start, &of(&call.person()?.id, Some(account.clone()))) {
        return Ok(());
    }
    let why = "is an account that you are a member of";
    Err(ApiError::new(Code::Forbidden, why).at("account"))
}

async fn create(call: Call) -> Result<Answer, ApiError> {
    let asked: NewTemplate = call.body()?;
    let person = call.person()?;
    may_share(&call, asked.account.as_ref())?;
    let (kind, text) = (asked.kind, asked.checked(person, &call.portal.settings.profiles)?);
    let (portal, owner) = (&call.portal, UserId::new(&person.id));
    let id = TemplateId::new(identifier(&portal.entropy, "t")?);
    portal.records.create_template(&id, &owner, kind.as_str(), &text, call.now()).await?;
    let made = portal.records.template(&id).await?;
    let after = json!({ "kind": made.kind, "name": made.name, "account": made.account });
    Ok(Answer::created(&view(&made, person))?.about(id.as_str()).change(None, Some(after)))
}

async fn change(call: Call) -> Result<Answer, ApiError> {
    let asked: NewTemplate = call.body()?;
    let found = call.template()?;
    if asked.kind.as_str() != found.kind {
        return Err(ApiError::invalid("kind", format!("stays {}", found.kind)));
    }
    if asked.account != found.account {
        // Who keeps order in an account may mend or withdraw what was shared with it; others see it only if its owner says so.
        if asked.account.is_some() && found.owner.as_str() != call.person()?.id {
            let why = "is for the owner of the template to choose";
            return Err(ApiError::new(Code::Forbidden, why).at("account"));
        }
        may_share(&call, asked.account.as_ref())?;
    }
    let text = asked.checked(call.person()?, &call.portal.settings.profiles)?;
    call.portal.records.update_template(&found.id, &text, call.now()).await?;
    let before = json!({ "name": found.name, "account": found.account });
    let after = json!({ "name": text.name, "account": text.account });
    Ok(Answer::done().change(Some(before), Some(after)))
}

async fn delete(call: Call) -> Result<Answer, ApiError> {
    let found = call.template()?;
    call.portal.records.delete_template(&found.id).await?;
    let before = json!({ "kind": found.kind, "name": found.name, "account": found.account });
    Ok(Answer::done().change(Some(before), None))
}
