//! What can be said of a template, and what is shown of it. Pure.

use jiff::Timestamp;
use maar_records::{Template, TemplateText};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    access::{Kind, Object, Owner, Person},
    job::NewJob,
    profile::Profiles,
    rules::Wrong,
    workspace::NewWorkspace,
};

/// What a template makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum TemplateKind {
    Workspace,
    Job,
}

impl TemplateKind {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Job => "job",
        }
    }
}

/// A template to be saved.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewTemplate {
    /// What it makes.
    pub(super) kind: TemplateKind,
    /// What its owner calls it; unlike his others of this kind.
    pub(super) name: String,
    /// What it is for.
    #[serde(default)]
    pub(super) description: String,
    /// What a request to make it would hold; a name may be missing.
    pub(super) body: Map<String, Value>,
    /// The account it is shared with, if it is.
    #[serde(default)]
    pub(super) account: Option<String>,
}

impl NewTemplate {
    /// What is kept, if something could be made of it.
    pub(super) fn checked(self, person: &Person, profiles: &Profiles) -> Result<TemplateText, Wrong> {
        check_body(self.kind, &self.body, person, profiles)?;
        let Self { account, name, description, body, .. } = self;
        Ok(TemplateText { account, name, description, body: Value::Object(body) })
    }
}

/// Whether something could be made of a body, if it had a name.
fn check_body(
    kind: TemplateKind,
    body: &Map<String, Value>,
    person: &Person,
    profiles: &Profiles,
) -> Result<(), Wrong> {
    let inside = |wrong: Wrong| Wrong { field: format!("body.{}", wrong.field), ..wrong };
    let unread = |error: serde_json::Error| Wrong::shape("body", error);
    if body.contains_key("template") {
        return Err(Wrong::new("body.template", "a template does not begin from another"));
    }
    let mut whole = Value::Object(body.clone());
    match kind {
        TemplateKind::Workspace => {
            whole["name"] = json!("template");
            let asked: NewWorkspace = serde_json::from_value(whole).map_err(unread)?;
            crate::workspace::plan(&asked, person, profiles).map_err(inside)?;
        }
        TemplateKind::Job => {
            if whole.get("metadata").is_none_or(Value::is_object) {
                whole["metadata"]["name"] = json!("template");
            }
            let asked: NewJob = serde_json::from_value(whole).map_err(unread)?;
            crate::job::plan(asked, person, profiles).map_err(inside)?;
        }
    }
    Ok(())
}

/// A template.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TemplateView {
    id: String,
    kind: String,
    name: String,
    description: String,
    /// The account it is shared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    /// It is the asker's own.
    mine: bool,
    #[schemars(with = "String")]
    created: Timestamp,
    #[schemars(with = "String")]
    updated: Timestamp,
}

/// A template with what it holds.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TemplateDetail {
    #[serde(flatten)]
    view: TemplateView,
    /// What a request to make it would hold.
    body: Value,
}

pub(super) fn view(template: &Template, person: &Person) -> TemplateView {
    TemplateView {
        id: template.id.as_str().to_owned(),
        kind: template.kind.clone(),
        name: template.name.clone(),
        description: template.description.clone(),
        account: template.account.clone(),
        mine: template.owner.as_str() == person.id,
        created: template.created_at,
        updated: template.updated_at,
    }
}

pub(super) fn detail(template: &Template, person: &Person) -> TemplateDetail {
    TemplateDetail { view: view(template, person), body: template.body.clone() }
}

/// What access to it is decided by.
pub(crate) fn object_of(template: &Template) -> Object {
    of(template.owner.as_str(), template.account.clone())
}

pub(super) fn of(owner: &str, account: Option<String>) -> Object {
    Object { kind: Kind::Template, owner: Owner::User(owner.to_owned()), account }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::person;

    fn field_of(kind: &str, body: &Value) -> Option<String> {
        let asked = json!({ "kind": kind, "name": "mine", "body": body });
        let asked: NewTemplate = serde_json::from_value(asked).unwrap();
        asked.checked(&person("ada"), &Profiles::default()).err().map(|wrong| wrong.field)
    }

    #[test]
    fn nothing_is_saved_of_which_nothing_could_be_made() {
        assert_eq!(field_of("workspace", &json!({ "image": "busybox" })), None);
        assert_eq!(field_of("workspace", &json!({ "image": "a;b" })).as_deref(), Some("body.image"));
        assert_eq!(
            field_of("workspace", &json!({ "image": "a", "privileged": true })).as_deref(),
            Some("body")
        );
        assert_eq!(
            field_of("workspace", &json!({ "image": "a", "template": "t-1" })).as_deref(),
            Some("body.template")
        );
        let container = |more: Value| {
            json!({ "spec": { "tasks": [{ "name": "main", "template": { "spec": {
                "hostNetwork": more, "containers": [{ "name": "main", "image": "busybox" }] } } }] } })
        };
        assert_eq!(field_of("job", &container(json!(false))), None);
        assert_eq!(
            field_of("job", &container(json!(true))).as_deref(),
            Some("body.spec.tasks[0].template.spec.hostNetwork")
        );
        assert_eq!(field_of("job", &json!({ "metadata": 7 })).as_deref(), Some("body"));
    }
}
