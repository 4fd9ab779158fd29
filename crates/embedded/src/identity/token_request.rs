//! Tokens on request: `serviceaccounts/token`.

use axum::response::Response;
use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use maar_machinery::error::FieldError;
use serde::Deserialize;
use serde_json::{Value, json};

use super::policy::service_account_user;
use super::token::{Bound, Claims, ISSUER, Reference};
use crate::admission::{Action, Attributes};
use crate::request::WriteOptions;
use crate::resource::Subresource;
use crate::server::{Call, Server, respond_value};
use crate::status::ApiError;
use crate::store::Entry;
use crate::verbs::decode_body;
use crate::world::seconds_text;

const GROUP: &str = "authentication.k8s.io";
const KIND: &str = "TokenRequest";
const DEFAULT_SECONDS: i64 = 3600;
const LEAST_SECONDS: i64 = 600;
pub(super) const MOST_SECONDS: i64 = 1 << 32;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TokenRequest {
    #[serde(default)]
    spec: TokenRequestSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TokenRequestSpec {
    audiences: Option<Vec<String>>,
    expiration_seconds: Option<i64>,
    bound_object_ref: Option<BoundObject>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct BoundObject {
    kind: String,
    api_version: String,
    name: String,
    uid: String,
}

impl Server {
    /// A token for a service account.
    pub(crate) async fn on_token(&self, call: &Call<'_>, body: &[u8]) -> Result<Response, ApiError> {
        let account = self.get(&call.resource, &call.key())?;
        let asked: Value = decode_body(body)?;
        let now = self.world.clock.now();
        let mut answer = completed(&asked, &account, now)?;
        // Before there is a token: who is asked shall not get it.
        let attributes = Attributes::of_call(call, Subresource::Token, Action::Create)?;
        self.admit_part(&attributes, Some(&mut answer), None).await?;
        let spec = read(&answer)?;
        let seconds = spec.expiration_seconds.unwrap_or(DEFAULT_SECONDS);
        let bound = self.bound(call, &account, spec.bound_object_ref.as_ref())?;
        let claims = self.claims(bound, spec.audiences.unwrap_or_default(), now, seconds);
        let token = if WriteOptions::parse(call.query)?.dry_run {
            String::new()
        } else {
            self.sign_token(&claims).map_err(ApiError::internal)?
        };
        let expires = now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
        answer["status"] = json!({"token": token, "expirationTimestamp": seconds_text(expires)});
        Ok(respond_value(StatusCode::CREATED, &answer))
    }

    pub(super) fn claims(&self, bound: Bound, aud: Vec<String>, now: Timestamp, seconds: i64) -> Claims {
        let now = now.as_second();
        Claims {
            aud,
            exp: now.saturating_add(seconds),
            iat: now,
            iss: ISSUER.to_owned(),
            jti: self.world.uid(),
            sub: service_account_user(&bound.namespace, &bound.serviceaccount.name),
            kubernetes: bound,
            nbf: now,
        }
    }

    fn bound(
        &self,
        call: &Call<'_>,
        account: &Entry,
        object: Option<&BoundObject>,
    ) -> Result<Bound, ApiError> {
        let namespace = account.meta.namespace.to_string();
        let serviceaccount =
            Reference { name: account.meta.name.to_string(), uid: account.meta.uid.to_string() };
        let mut bound = Bound { namespace, serviceaccount, ..Bound::default() };
        let Some(object) = object else { return Ok(bound) };
        let (plural, slot) = match (object.api_version.as_str(), object.kind.as_str()) {
            ("v1", "Pod") => ("pods", &mut bound.pod),
            ("v1", "Secret") => ("secrets", &mut bound.secret),
            ("v1", "Node") => ("nodes", &mut bound.node),
            (version, kind) => {
                return Err(ApiError::bad_request(format!(
                    "cannot bind token to object of type {version}, Kind={kind}"
                )));
            }
        };
        let resource = self.resource("", "v1", plural)?;
        let namespace = if resource.namespaced { &*account.meta.namespace } else { "" };
        let uid = self
            .uid_of(plural, namespace, &object.name)
            .ok_or_else(|| ApiError::not_found(&resource, &object.name))?;
        if !object.uid.is_empty() && object.uid != uid {
            let why = format!(
                "the UID in the bound object reference ({}) does not match the UID in record. The object might have been deleted and then recreated",
                object.uid
            );
            return Err(ApiError::conflict_of_kind(&resource, &object.name, why));
        }
        *slot = Some(Reference { name: object.name.clone(), uid });
        if plural == "pods" {
            bound.node = self.check_pod(call, account, &object.name)?;
        }
        Ok(bound)
    }

    /// A Pod can only carry tokens of the account it runs as. Answers the node it is on.
    fn check_pod(&self, call: &Call<'_>, account: &Entry, name: &str) -> Result<Option<Reference>, ApiError> {
        let pods = self.resource("", "v1", "pods")?;
        let key = crate::store::Key::new(&pods.table, &account.meta.namespace, name);
        let pod = self.get(&pods, &key)?.value();
        let runs_as = pod["spec"]["serviceAccountName"].as_str().unwrap_or("default");
        if runs_as == &*account.meta.name {
            let node = pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty());
            return Ok(node.map(|node| Reference {
                name: node.to_owned(),
                uid: self.uid_of("nodes", "", node).unwrap_or_default(),
            }));
        }
        let why = format!(
            "cannot bind token for serviceaccount {:?} to pod running with different serviceaccount name.",
            account.meta.name
        );
        Err(ApiError::bad_request(format!("{} {:?}: {why}", call.resource.qualified(), account.meta.name)))
    }
}

fn read(request: &Value) -> Result<TokenRequestSpec, ApiError> {
    let request: TokenRequest = serde_json::from_value(request.clone())
        .map_err(|error| ApiError::bad_request(format!("the token request cannot be read: {error}")))?;
    check_seconds(request.spec.expiration_seconds.unwrap_or(DEFAULT_SECONDS))?;
    Ok(request.spec)
}

/// The request with what it leaves open, and without an answer yet.
fn completed(asked: &Value, account: &Entry, now: Timestamp) -> Result<Value, ApiError> {
    let spec = read(asked)?;
    let named = asked["metadata"]["name"].as_str().unwrap_or_default();
    if !named.is_empty() && named != &*account.meta.name {
        let why = "must match the service account name if specified";
        let error = FieldError::invalid("metadata.name", named, why);
        return Err(ApiError::invalid_question(GROUP, KIND, &account.meta.name, &error));
    }
    let audiences = spec.audiences.filter(|list| !list.is_empty()).unwrap_or_else(|| vec![ISSUER.into()]);
    Ok(json!({
        "kind": KIND,
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": &*account.meta.name,
            "namespace": &*account.meta.namespace,
            "creationTimestamp": seconds_text(now),
        },
        "spec": {
            "audiences": audiences,
            "expirationSeconds": spec.expiration_seconds.unwrap_or(DEFAULT_SECONDS),
            "boundObjectRef": asked["spec"].get("boundObjectRef").cloned().unwrap_or_default(),
        },
        "status": {"token": "", "expirationTimestamp": null},
    }))
}

fn check_seconds(seconds: i64) -> Result<(), ApiError> {
    let detail = if seconds < LEAST_SECONDS {
        "may not specify a duration less than 10 minutes"
    } else if seconds > MOST_SECONDS {
        "may not specify a duration larger than 2^32 seconds"
    } else {
        return Ok(());
    };
    let error = FieldError::invalid("spec.expirationSeconds", seconds, detail);
    Err(ApiError::invalid_question(GROUP, KIND, "", &error))
}
