//! What the API says about ports of workspaces and jobs.

use jiff::{SignedDuration, Timestamp};
use maar_gateway::ports::Apps;
use maar_records::{PortVisit, SharedPort, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    behind::{Behind, about, label_of},
    reach::port_of,
    sharing::{Comes, ShareKind, admits},
};
use crate::{
    access::Verb,
    error::{ApiError, Code},
    identity::{hash, secret},
    route::{Answer, Call},
};

/// How long a ticket waits for the browser that asked for it.
const TICKET: SignedDuration = SignedDuration::from_secs(60);
/// The longest that a link can be valid.
const LONGEST_HOURS: i64 = 30 * 24;
/// How long it is if nothing is said.
const USUAL_HOURS: i64 = 24;

/// With whom a port is shared.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SharingView {
    kind: ShareKind,
    /// Until when.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<Timestamp>,
    /// The link; shown this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
}

impl SharingView {
    fn of(share: Option<&SharedPort>) -> Self {
        let expires = share.and_then(|share| share.expires_at);
        Self { kind: ShareKind::of(share), expires, link: None }
    }
}

/// A port of a workspace or a job.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PortView {
    port: u16,
    /// What listens there, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    sharing: SharingView,
}

/// Ports of a workspace or a job.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ports {
    /// Whether this portal shows what listens on ports at all.
    served: bool,
    /// Why it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_served_because: Option<&'static str>,
    items: Vec<PortView>,
}

/// Why a portal shows no apps.
const NOT_SERVED: &str = "apps are not served here: the portal was not told --apps-domain or --apps-url";

/// Where a port can be seen.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpenedPort {
    /// For one use, soon: it makes a cookie on the app's own origin and leads on to it.
    url: String,
    /// When it is too late.
    #[schemars(with = "String")]
    expires: Timestamp,
}

/// With whom a port shall be shared.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct NewSharing {
    kind: ShareKind,
    /// For how long; a link is valid for 24 hours if it is not said, and for 30 days at most.
    hours: Option<i64>,
}

/// Named ports first, then those that are shared besides.
fn listed(behind: &Behind, shared: &[SharedPort]) -> Vec<PortView> {
    let names = behind.named();
    let share_of = |port: u16| shared.iter().find(|share| share.place.port == port);
    let others = shared.iter().map(|share| share.place.port);
    let others = others.filter(|port| names.iter().all(|(named, _)| named != port)).map(|port| (port, None));
    let all = names.iter().map(|(port, name)| (*port, Some(name.clone()))).chain(others);
    all.map(|(port, name)| PortView { port, name, sharing: SharingView::of(share_of(port)) }).collect()
}

/// `GET …/ports`.
pub(super) async fn list(call: Call) -> Result<Answer, ApiError> {
    let found = Behind::of(&call)?;
    let place = found.place(1);
    let records = &call.portal.records;
    let shared = records.shared_ports(&place.namespace, &place.workspace, &place.uid, call.now()).await?;
    let served = call.portal.settings.apps.is_some();
    let not_served_because = (!served).then_some(NOT_SERVED);
    Answer::json(&Ports { served, not_served_because, items: listed(&found, &shared) })
}

fn apps(call: &Call) -> Result<&Apps, ApiError> {
    let none = || ApiError::new(Code::Unavailable, NOT_SERVED);
    call.portal.settings.apps.as_ref().ok_or_else(none)
}

/// `POST …/ports/{port}/open`.
pub(super) async fn open(call: Call) -> Result<Answer, ApiError> {
    let (port, apps) = (port_of(&call)?, apps(&call)?);
    let found = Behind::of(&call)?;
    let (place, object) = (found.place(port), found.object());
    let records = &call.portal.records;
    let share = records.shared_port(&place, call.now()).await?;
    let comes = Comes::User { enter: call.may(Verb::Enter, &object), visit: call.may(Verb::Visit, &object) };
    if !admits(share.as_ref(), comes) {
        return Err(ApiError::new(Code::Forbidden, "its owner has not shared this port with you"));
    }
    let proof = call.caller.proof_text().ok_or_else(|| ApiError::new(Code::SignedOut, "sign in first"))?;
    let ticket = secret(&call.portal.entropy)?;
    let expires = later(call.now(), TICKET)?;
    let (label, (_, about)) = (label_of(&place), about(&place));
    let visit = PortVisit {
        token: hash(&ticket),
        ticket: true,
        proof,
        place,
        created_at: call.now(),
        expires_at: expires,
    };
    records.create_port_visit(&visit).await?;
    let opened = OpenedPort { url: apps.entrance(&label, "enter", &ticket), expires };
    Ok(Answer::json(&opened)?.about(about).change(None, Some(json!({ "port": port }))))
}

fn later(now: Timestamp, by: SignedDuration) -> Result<Timestamp, ApiError> {
    now.checked_add(by).map_err(|error| ApiError::invalid("hours", error.to_string()))
}

/// Until when something is shared; nothing if for good.
fn end(asked: &NewSharing, now: Timestamp) -> Result<Option<Timestamp>, ApiError> {
    let hours = match (asked.kind, asked.hours) {
        (ShareKind::Private, Some(_)) => {
            return Err(ApiError::invalid("hours", "what is private does not end"));
        }
        (ShareKind::Private | ShareKind::Account, None) => return Ok(None),
        (ShareKind::Link, None) => USUAL_HOURS,
        (_, Some(hours)) => hours,
    };
    if !(1..=LONGEST_HOURS).contains(&hours) {
        return Err(ApiError::invalid("hours", format!("say between 1 and {LONGEST_HOURS}")));
    }
    later(now, SignedDuration::from_hours(hours)).map(Some)
}

/// `PUT …/ports/{port}/sharing`. Who looks after the account takes sharing back and makes none: what is shared are the
/// owner's files, under his name.
pub(super) async fn share(call: Call) -> Result<Answer, ApiError> {
    let (port, asked): (u16, NewSharing) = (port_of(&call)?, call.body()?);
    let found = Behind::of(&call)?;
    let (place, records, now) = (found.place(port), &call.portal.records, call.now());
    let expires = end(&asked, now)?;
    let before = records.shared_port(&place, now).await?;
    let before = json!({ "port": port, "kind": ShareKind::of(before.as_ref()).as_str() });
    let mut view = SharingView { kind: asked.kind, expires, link: None };
    if asked.kind == ShareKind::Private {
        records.unshare_port(&place).await?;
    } else {
        if !call.may(Verb::Enter, &found.object()) {
            return Err(ApiError::new(Code::Forbidden, "only its owner shares a port"));
        }
        let apps = apps(&call)?;
        let word = if asked.kind == ShareKind::Link { Some(secret(&call.portal.entropy)?) } else { None };
        view.link = word.as_deref().map(|word| apps.entrance(&label_of(&place), "link", word));
        let share = SharedPort {
            place,
            user: UserId::new(&call.person()?.id),
            kind: asked.kind.as_str().to_owned(),
            secret: word.as_deref().map(hash),
            created_at: now,
            expires_at: expires,
        };
        records.share_port(&share).await?;
    }
    let after = json!({ "port": port, "kind": asked.kind.as_str(), "expires": expires });
    Ok(Answer::json(&view)?.change(Some(before), Some(after)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn ports_are_listed_by_their_names_and_by_being_shared() {
        let workspace = serde_json::from_value(json!({
            "metadata": { "name": "desk", "namespace": "n", "uid": "u" },
            "spec": { "image": "a", "type": "Jupyter", "ports": [{ "name": "board", "port": 6006 }] },
        }));
        let workspace = Behind::Workspace(Arc::new(workspace.unwrap()));
        let shared = |port: u16, kind: &str| SharedPort {
            place: workspace.place(port),
            user: UserId::new("u-ada"),
            kind: kind.to_owned(),
            secret: None,
            created_at: Timestamp::UNIX_EPOCH,
            expires_at: None,
        };
        let items = listed(&workspace, &[shared(3000, "link"), shared(6006, "account")]);
        insta::assert_json_snapshot!(items, @r#"
        [
          {
            "port": 8888,
            "name": "jupyter",
            "sharing": {
              "kind": "private"
            }
          },
          {
            "port": 6006,
            "name": "board",
            "sharing": {
              "kind": "account"
            }
          },
          {
            "port": 3000,
            "sharing": {
              "kind": "link"
            }
          }
        ]
        "#);
    }

    #[test]
    fn links_end() {
        let now = Timestamp::UNIX_EPOCH;
        let ends =
            |kind, hours| end(&NewSharing { kind, hours }, now).map(|end| end.map(|end| end.to_string()));
        assert_eq!(ends(ShareKind::Link, None).unwrap().as_deref(), Some("1970-01-02T00:00:00Z"));
        assert_eq!(ends(ShareKind::Account, None).unwrap(), None);
        assert_eq!(ends(ShareKind::Account, Some(1)).unwrap().as_deref(), Some("1970-01-01T01:00:00Z"));
        for (kind, hours) in
            [(ShareKind::Link, 0), (ShareKind::Link, 721), (ShareKind::Private, 1), (ShareKind::Account, -1)]
        {
            assert!(ends(kind, Some(hours)).is_err(), "{kind:?} {hours}");
        }
    }
}
