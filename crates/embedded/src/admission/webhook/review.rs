//! The question to a webhook and its answer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::configuration::Webhook;
use crate::server::UserInfo;
use crate::status::ApiError;

/// A kind and a resource in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) kind: Value,
    pub(super) resource: Value,
}

/// All that a webhook is told.
#[derive(Debug)]
pub(super) struct Question<'a> {
    pub(super) uid: String,
    /// In the version the webhook wants.
    pub(super) named: Named,
    /// In the version of the request.
    pub(super) requested: Named,
    pub(super) subresource: &'a str,
    pub(super) operation: &'a str,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) user: &'a UserInfo,
    pub(super) object: Option<Value>,
    pub(super) old: Option<Value>,
    pub(super) options: Value,
    pub(super) dry_run: bool,
}

/// The first version of reviews that a webhook accepts and this server speaks.
pub(super) fn version(webhook: &Webhook) -> Option<&'static str> {
    webhook.admission_review_versions.iter().find_map(|version| match version.as_str() {
        "v1" => Some("v1"),
        "v1beta1" => Some("v1beta1"),
        _ => None,
    })
}

impl Question<'_> {
    pub(super) fn review(&self, version: &str) -> Value {
        let mut request = json!({
            "uid": self.uid,
            "kind": self.named.kind,
            "resource": self.named.resource,
            "requestKind": self.requested.kind,
            "requestResource": self.requested.resource,
            "operation": self.operation,
            "userInfo": self.user,
            "object": self.object,
            "oldObject": self.old,
            "dryRun": self.dry_run,
            "options": self.options,
        });
        let texts = [
            ("subResource", self.subresource),
            ("requestSubResource", self.subresource),
            ("name", self.name),
            ("namespace", self.namespace),
        ];
        for (field, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            request[field] = text.into();
        }
        json!({"kind": "AdmissionReview", "apiVersion": format!("admission.k8s.io/{version}"), "request": request})
    }
}

/// What a webhook decided.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Verdict {
    pub(super) allowed: bool,
    /// A JSON patch, not empty.
    pub(super) patch: Option<Value>,
    pub(super) warnings: Vec<String>,
    status: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    #[serde(default)]
    uid: String,
    allowed: bool,
    #[serde(default)]
    status: Value,
    patch: Option<String>,
    patch_type: Option<String>,
    #[serde(default)]
    warnings: Option<Vec<String>>,
}

impl Verdict {
    /// Reads an answer; what is wrong with it otherwise.
    pub(super) fn read(body: &[u8], version: &str, uid: &str, mutating: bool) -> Result<Self, String> {
        let invalid = |why: String| format!("received invalid webhook response: {why}");
        let review: Value =
            serde_json::from_slice(body).map_err(|error| invalid(format!("it is not JSON: {error}")))?;
        if review["response"].is_null() {
            return Err(invalid("webhook response was absent".into()));
        }
        let response =
            Response::deserialize(&review["response"]).map_err(|error| invalid(error.to_string()))?;
        let strict = version == "v1";
        if strict {
            check_identity(&review, &response, uid).map_err(invalid)?;
            check_patch(&response, mutating).map_err(invalid)?;
        }
        let patch = response.patch.filter(|patch| mutating && !patch.is_empty());
        let patch = patch.map(|patch| decode_patch(&patch)).transpose()?;
        Ok(Self {
            allowed: response.allowed,
            patch: patch.filter(|patch| patch.as_array().is_none_or(|steps| !steps.is_empty())),
            warnings: response.warnings.unwrap_or_default(),
            status: response.status,
        })
    }

    /// The refusal, in the words and with the code the webhook chose.
    pub(super) fn refusal(&self, webhook: &str) -> ApiError {
        let denied = format!("admission webhook {webhook:?} denied the request");
        let text = |field: &str| self.status[field].as_str().filter(|text| !text.is_empty());
        let message = match text("message").or_else(|| text("reason")) {
            Some(why) => format!("{denied}: {why}"),
            None => format!("{denied} without explanation"),
        };
        let code = self.status["code"].as_u64().and_then(|code| u16::try_from(code).ok());
        let code = code.filter(|code| (400..600).contains(code)).unwrap_or(400);
        let reason = text("reason").unwrap_or_default().to_owned();
        let mut error = ApiError::new(code, reason, message);
        error.details = self.status.get("details").filter(|details| details.is_object()).cloned();
        error
    }
}

fn check_identity(review: &Value, response: &Response, uid: &str) -> Result<(), String> {
    if review["kind"] != "AdmissionReview" || review["apiVersion"] != "admission.k8s.io/v1" {
        return Err(format!(
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {}, Kind={}",
            review["apiVersion"].as_str().unwrap_or_default(),
            review["kind"].as_str().unwrap_or_default()
        ));
    }
    if response.uid != uid {
        return Err(format!("expected response.uid={uid:?}, got {:?}", response.uid));
    }
    Ok(())
}

fn check_patch(response: &Response, mutating: bool) -> Result<(), String> {
    let patch = response.patch.as_ref().is_some_and(|patch| !patch.is_empty());
    match (mutating, patch, response.patch_type.as_deref()) {
        (false, true, _) => Err("validating webhook may not return response.patch".into()),
        (false, _, Some(_)) => Err("validating webhook may not return response.patchType".into()),
        (true, true, None) => Err("webhook returned response.patch but not response.patchType".into()),
        (true, false, Some(_)) => Err("webhook returned response.patchType but not response.patch".into()),
        (true, true, Some(kind)) if kind != "JSONPatch" => Err(format!("unsupported patch type {kind:?}")),
        _ => Ok(()),
    }
}

fn decode_patch(text: &str) -> Result<Value, String> {
    let wrong = |why: String| format!("received undecodable patch in webhook response: {why}");
    let bytes = STANDARD.decode(text).map_err(|error| wrong(error.to_string()))?;
    let steps: Vec<Value> = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
    Ok(steps.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(response: &Value, mutating: bool) -> Result<Verdict, String> {
        let review =
            json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response});
        Verdict::read(review.to_string().as_bytes(), "v1", "u", mutating)
    }

    #[test]
    fn an_answer_belongs_to_its_question() {
        assert!(read(&json!({"uid": "u", "allowed": true}), true).unwrap().allowed);
        assert!(
            read(&json!({"uid": "v", "allowed": true}), true).unwrap_err().contains("expected response.uid")
        );
        assert!(read(&json!(null), true).unwrap_err().contains("absent"));
        assert!(Verdict::read(b"<html>", "v1", "u", true).unwrap_err().contains("not JSON"));
        let other = json!({"kind": "Pod", "apiVersion": "v1", "response": {"uid": "u", "allowed": true}});
        assert!(Verdict::read(other.to_string().as_bytes(), "v1", "u", true).is_err());
        assert!(Verdict::read(other.to_string().as_bytes(), "v1beta1", "u", true).unwrap().allowed);
    }

    #[test]
    fn patches_come_with_their_type_and_only_from_mutating_webhooks() {
        let patch = STANDARD.encode(r#"[{"op":"add","path":"/a","value":1}]"#);
        let whole = json!({"uid": "u", "allowed": true, "patch": patch, "patchType": "JSONPatch"});
        assert_eq!(read(&whole, true).unwrap().patch.unwrap()[0]["path"], "/a");
        assert!(read(&whole, false).is_err());
        assert!(read(&json!({"uid": "u", "allowed": true, "patch": patch}), true).is_err());
        assert!(read(&json!({"uid": "u", "allowed": true, "patchType": "JSONPatch"}), true).is_err());
        let broken = json!({"uid": "u", "allowed": true, "patch": "???", "patchType": "JSONPatch"});
        assert!(read(&broken, true).unwrap_err().contains("undecodable patch"));
        let empty =
            json!({"uid": "u", "allowed": true, "patch": STANDARD.encode("[]"), "patchType": "JSONPatch"});
        assert_eq!(read(&empty, true).unwrap().patch, None);
    }

    #[test]
    fn a_refusal_says_what_the_webhook_says() {
        let rows = [
            (json!(null), 400, "", "denied the request without explanation"),
            (
                json!({"message": "no", "code": 418, "reason": "Teapot"}),
                418,
                "Teapot",
                "denied the request: no",
            ),
            (json!({"reason": "Forbidden", "code": 200}), 400, "Forbidden", "denied the request: Forbidden"),
        ];
        for (status, code, reason, message) in rows {
            let verdict = read(&json!({"uid": "u", "allowed": false, "status": status}), false).unwrap();
            let error = verdict.refusal("w.example.com");
            assert_eq!((error.code, &*error.reason), (code, reason));
            assert_eq!(error.message, format!("admission webhook \"w.example.com\" {message}"));
        }
    }
}
