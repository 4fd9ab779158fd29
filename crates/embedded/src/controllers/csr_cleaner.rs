//! Certificate requests are forgotten an hour after they were answered, and a day after they were made or approved if
//! nobody answers.

use std::sync::Arc;

use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;

use super::base::{self, Base};
use super::view::{seconds_after, until};
use super::{Again, Controller};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};
use crate::verbs::DeleteOptions;

const ANSWERED_SECONDS: i64 = 3600;
const OPEN_SECONDS: i64 = 24 * 3600;

#[derive(Debug)]
pub(crate) struct CsrCleaner {
    base: Base,
}

/// When a request is to be deleted.
fn expiry(request: &CertificateSigningRequest) -> Option<Timestamp> {
    let status = request.status.clone().unwrap_or_default();
    let conditions = status.conditions.unwrap_or_default();
    if conditions.is_empty() {
        return Some(seconds_after(request.metadata.creation_timestamp.as_ref()?.0, OPEN_SECONDS));
    }
    let issued = status.certificate.is_some_and(|certificate| !certificate.0.is_empty());
    let ends = conditions.iter().filter_map(|condition| {
        let kept = match condition.type_.as_str() {
            "Approved" if !issued => OPEN_SECONDS,
            "Approved" | "Denied" | "Failed" => ANSWERED_SECONDS,
            _ => return None,
        };
        Some(seconds_after(condition.last_update_time.as_ref()?.0, kept))
    });
    ends.min()
}

impl CsrCleaner {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        Self { base: Base::new(server, "csrcleaner-controller") }
    }

    async fn sync(&self, name: &str) -> Result<Again, ApiError> {
        let Some(request) = self.base.local.get::<CertificateSigningRequest>("", name) else {
            return Ok(None);
        };
        let Some(expiry) = expiry(&request).filter(|_| request.metadata.deletion_timestamp.is_none()) else {
            return Ok(None);
        };
        let wait = until(expiry, self.base.now());
        if !wait.is_zero() {
            return Ok(Some(wait));
        }
        let options = DeleteOptions::of_uid(&request.metadata.uid.unwrap_or_default());
        self.base.local.delete::<CertificateSigningRequest>("", name, &options).await?;
        Ok(None)
    }
}

impl Controller for CsrCleaner {
    fn name(&self) -> &'static str {
        "csrcleaner-controller"
    }

    fn tables(&self) -> Vec<&'static str> {
        vec!["certificatesigningrequests.certificates.k8s.io"]
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        if event.deleted { Vec::new() } else { vec![base::own_key(table, event)] }
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key.name()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    #[test]
    fn requests_are_kept_while_somebody_may_need_them() {
        let said =
            |kind: &str| json!([{"type": kind, "status": "True", "lastUpdateTime": "2026-01-01T14:00:00Z"}]);
        let rows = [
            ("pending", Value::Null, Value::Null, "2026-01-02T12:00:00Z"),
            ("denied", said("Denied"), Value::Null, "2026-01-01T15:00:00Z"),
            ("failed", said("Failed"), Value::Null, "2026-01-01T15:00:00Z"),
            ("approved and not signed", said("Approved"), Value::Null, "2026-01-02T14:00:00Z"),
            ("issued", said("Approved"), json!("YQ=="), "2026-01-01T15:00:00Z"),
        ];
        for (name, conditions, certificate, want) in rows {
            let request = json!({"metadata": {"creationTimestamp": "2026-01-01T12:00:00Z"},
                "spec": {"request": "", "signerName": "example.com/s"},
                "status": {"conditions": conditions, "certificate": certificate}});
            let expiry = expiry(&from_value(request).unwrap()).unwrap();
            assert_eq!(expiry.to_string(), want, "{name}");
        }
    }
}
