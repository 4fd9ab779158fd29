//! Questions about users that are answered and not stored: whose token is this, who am I, may they.

use axum::response::Response;
use http::StatusCode;
use maar_machinery::error::FieldError;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::rbac::{Ask, Rule};
use crate::request::{Query, Target, WriteOptions};
use crate::resource::Transient;
use crate::server::{Caller, Server, UserInfo, respond_value};
use crate::status::ApiError;
use crate::verbs::decode_body;

const AUTHENTICATION: &str = "authentication.k8s.io/v1";
const AUTHORIZATION: &str = "authorization.k8s.io/v1";

/// A question about access.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AccessSpec {
    user: String,
    groups: Option<Vec<String>>,
    uid: String,
    resource_attributes: Option<ResourceAttributes>,
    non_resource_attributes: Option<PathAttributes>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResourceAttributes {
    namespace: String,
    verb: String,
    group: String,
    resource: String,
    subresource: String,
    name: String,
    #[serde(rename = "fieldSelector")]
    field_selector: Option<SelectorAttributes>,
    #[serde(rename = "labelSelector")]
    label_selector: Option<SelectorAttributes>,
}

/// What a list is narrowed to. No rule of ours looks at it; that it is said in one way is checked all the same.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SelectorAttributes {
    raw_selector: String,
    requirements: Option<Vec<Value>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PathAttributes {
    path: String,
    verb: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TokenSpec {
    token: String,
    audiences: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RulesSpec {
    namespace: String,
}

impl Server {
    /// Answers a question that is not stored.
    pub(crate) async fn on_transient(
        &self,
        what: Transient,
        caller: &Caller,
        target: &Target,
        query: &Query,
        body: &[u8],
    ) -> Result<Response, ApiError> {
        let options = WriteOptions::parse(query)?;
        if what == Transient::Binding {
            return self.on_bindings(caller, &target.namespace, &options, body).await;
        }
        let asked: Value = decode_body(body)?;
        check_bare(&asked)?;
        let answer = match what {
            Transient::TokenReview => self.review_token(&asked)?,
            Transient::SelfSubjectReview => {
                let status = json!({"userInfo": caller.user});
                review("SelfSubjectReview", AUTHENTICATION, None, &status)
            }
            Transient::SelfSubjectRulesReview => self.review_rules(&caller.user, &asked)?,
            _ => self.review_access(what, caller, target, &asked)?,
        };
        Ok(respond_value(StatusCode::CREATED, &answer))
    }

    fn review_token(&self, asked: &Value) -> Result<Value, ApiError> {
        let spec: TokenSpec = spec(asked)?;
        if spec.token.is_empty() {
            return Err(ApiError::bad_request("token is required for TokenReview in authentication"));
        }
        let status = match self.verify_token(&spec.token, spec.audiences.as_deref().unwrap_or_default()) {
            Ok(mut verified) => {
                verified.user.groups.push("system:authenticated".into());
                json!({"authenticated": true, "user": verified.user, "audiences": verified.audiences})
            }
            Err(error) => json!({"user": {}, "error": error.to_string()}),
        };
        Ok(review("TokenReview", AUTHENTICATION, asked.get("spec"), &status))
    }

    fn review_access(
        &self,
        what: Transient,
        caller: &Caller,
        target: &Target,
        asked: &Value,
    ) -> Result<Value, ApiError> {
        let spec: AccessSpec = spec(asked)?;
        let kind = match what {
            Transient::SelfSubjectAccessReview => "SelfSubjectAccessReview",
            Transient::LocalSubjectAccessReview => "LocalSubjectAccessReview",
            _ => "SubjectAccessReview",
        };
        let user = if what == Transient::SelfSubjectAccessReview {
            caller.user.clone()
        } else {
            let groups = spec.groups.clone().unwrap_or_default();
            if spec.user.is_empty() && groups.is_empty() {
                let why = "at least one of user or group must be specified";
                return Err(invalid(&FieldError::invalid("spec.user", "", why)));
            }
            UserInfo { username: spec.user.clone(), uid: spec.uid.clone(), groups, ..UserInfo::default() }
        };
        if what == Transient::LocalSubjectAccessReview {
            if let Some(path) = &spec.non_resource_attributes {
                let why = "disallowed on this kind of request";
                let value = json!({"path": path.path, "verb": path.verb});
                return Err(invalid(&FieldError::invalid("spec.nonResourceAttributes", value, why)));
            }
            let namespace = spec.resource_attributes.as_ref().map_or("", |attributes| &attributes.namespace);
            if namespace != target.namespace {
                let why = format!("must match namespace: {}", target.namespace);
                let field = "spec.resourceAttributes.namespace";
                return Err(invalid(&FieldError::invalid(field, namespace, why)));
            }
        }
        let status = match self.policy().allows(&user, &ask(&spec)?) {
            Some(why) if why.is_empty() => json!({"allowed": true}),
            Some(why) => json!({"allowed": true, "reason": &*why}),
            None => json!({"allowed": false}),
        };
        Ok(review(kind, AUTHORIZATION, asked.get("spec"), &status))
    }

    fn review_rules(&self, user: &UserInfo, asked: &Value) -> Result<Value, ApiError> {
        let spec: RulesSpec = spec(asked)?;
        if spec.namespace.is_empty() {
            return Err(ApiError::bad_request("no namespace on request"));
        }
        let (paths, resources): (Vec<Rule>, Vec<Rule>) =
            self.policy().rules(user, &spec.namespace).into_iter().partition(|rule| !rule.paths.is_empty());
        let status = json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false});
        // The question is not repeated.
        Ok(review("SelfSubjectRulesReview", AUTHORIZATION, Some(&json!({})), &status))
    }
}

/// A question has no name: it is not kept.
fn check_bare(asked: &Value) -> Result<(), ApiError> {
    let named = asked["metadata"].as_object().is_some_and(|metadata| {
        metadata
            .iter()
            .any(|(field, value)| field != "namespace" && field != "managedFields" && !value.is_null())
    });
    if named {
        return Err(invalid(&FieldError::invalid("metadata", Value::Null, "must be empty")));
    }
    Ok(())
}

/// 422, as the real server says it: without the kind.
fn invalid(error: &FieldError) -> ApiError {
    ApiError::invalid_question("authorization.k8s.io", "", "", error)
}

fn check_selectors(attributes: &ResourceAttributes) -> Result<(), ApiError> {
    let selectors =
        [("fieldSelector", &attributes.field_selector), ("labelSelector", &attributes.label_selector)];
    for (field, selector) in selectors {
        let Some(selector) = selector else { continue };
        let path = format!("spec.resourceAttributes.{field}");
        match (selector.raw_selector.as_str(), selector.requirements.as_deref().unwrap_or_default()) {
            ("", []) => {
                let why = "at least one of rawSelector or requirements must be specified";
                return Err(invalid(&FieldError::required(format!("{path}.requirements"), why)));
            }
            ("", _) | (_, []) => {}
            (raw, _) => {
                let why = "may not be specified at the same time as requirements";
                return Err(invalid(&FieldError::invalid(format!("{path}.rawSelector"), raw, why)));
            }
        }
    }
    Ok(())
}

fn ask(spec: &AccessSpec) -> Result<Ask<'_>, ApiError> {
    if let Some(attributes) = &spec.resource_attributes {
        check_selectors(attributes)?;
    }
    match (&spec.resource_attributes, &spec.non_resource_attributes) {
        (Some(attributes), None) => Ok(Ask::Resource {
            verb: &attributes.verb,
            group: &attributes.group,
            resource: &attributes.resource,
            subresource: &attributes.subresource,
            namespace: &attributes.namespace,
            name: &attributes.name,
        }),
        (None, Some(attributes)) => Ok(Ask::Path { verb: &attributes.verb, path: &attributes.path }),
        (given, _) => {
            let field =
                if given.is_some() { "spec.nonResourceAttributes" } else { "spec.resourceAttributes" };
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            Err(invalid(&FieldError::invalid(field, Value::Null, why)))
        }
    }
}

fn spec<T: DeserializeOwned + Default>(asked: &Value) -> Result<T, ApiError> {
    match asked.get("spec") {
        None | Some(Value::Null) => Ok(T::default()),
        Some(spec) => serde_json::from_value(spec.clone())
            .map_err(|error| ApiError::bad_request(format!("spec cannot be read: {error}"))),
    }
}

fn review(kind: &str, api_version: &str, spec: Option<&Value>, status: &Value) -> Value {
    let mut answer = json!({"kind": kind, "apiVersion": api_version, "metadata": {}, "status": status});
    if let Some(spec) = spec {
        answer["spec"] = spec.clone();
    }
    answer
}
