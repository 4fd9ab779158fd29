//! The audit log, for platform administrators.

use axum::body::Body;
use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _};
use http::{HeaderValue, header};
use jiff::Timestamp;
use maar_records::{AuditFilter, AuditRecord, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    access::{Kind, Verb},
    error::ApiError,
    page::{Page, PageQuery},
    route::{Answer, Call, Method::Get, Route, Target},
};

pub(crate) fn routes() -> Vec<Route> {
    let target = (Verb::See, Target::Cluster(Kind::Audit));
    vec![
        Route::new(Get, "/audit", "listAudit", target, list)
            .says("What was done, newest first")
            .query::<AuditQuery>()
            .query::<PageQuery>()
            .answers::<Page<AuditView>>(),
        Route::at_once(Get, "/audit/export", "exportAudit", target, export)
            .says("The same as lines of JSON, oldest first, all of them")
            .query::<AuditQuery>()
            .answers_text("application/x-ndjson"),
    ]
}

/// Which entries.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct AuditQuery {
    /// Who, by name.
    actor: Option<String>,
    /// What was done, by the name of its route.
    action: Option<String>,
    /// Of which kind the object is.
    kind: Option<String>,
    /// The object.
    object: Option<String>,
    account: Option<String>,
    /// How it ended: `done`, `denied`, `failed`, or `unknown` if the portal did not live to tell.
    #[schemars(with = "Option<String>")]
    outcome: Option<Outcome>,
    /// The request.
    request: Option<String>,
    /// From this time on.
    #[schemars(with = "Option<String>")]
    from: Option<Timestamp>,
    /// Before this time.
    #[schemars(with = "Option<String>")]
    until: Option<Timestamp>,
}

impl From<AuditQuery> for AuditFilter {
    fn from(query: AuditQuery) -> Self {
        Self {
            actor_name: query.actor,
            action: query.action,
            object_kind: query.kind,
            object_name: query.object,
            account: query.account,
            outcome: query.outcome,
            request_id: query.request,
            from: query.from,
            until: query.until,
            ..Self::default()
        }
    }
}

/// An entry, as the records keep it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct AuditView(#[schemars(with = "serde_json::Map<String, serde_json::Value>")] AuditRecord);

async fn list(call: Call) -> Result<Answer, ApiError> {
    let filter = call.query::<AuditQuery>()?.into();
    let found = call.portal.records.audit(&filter, &call.query::<PageQuery>()?.records()?).await?;
    Answer::json(&Page::of_records(found, AuditView))
}

fn export(call: &Call) -> Result<Answer, ApiError> {
    let entries = call.portal.records.export_audit(call.query::<AuditQuery>()?.into());
    let lines = entries.map_err(std::io::Error::other).map(|entry| {
        let mut line = serde_json::to_vec(&entry?)?;
        line.push(b'\n');
        Ok::<_, std::io::Error>(Bytes::from(line))
    });
    let file = HeaderValue::from_static("attachment; filename=\"maar-audit.ndjson\"");
    let answer = Answer::stream("application/x-ndjson", Body::from_stream(lines));
    Ok(answer.header(header::CONTENT_DISPOSITION, file))
}
