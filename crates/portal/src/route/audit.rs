//! What the audit log keeps of a write.

use maar_records::{Actor, ActorKind, AuditId, Entry, Outcome, UserId};

use super::{Answer, Call, Route};
use crate::error::{ApiError, Code};

/// What was tried, and what came of it.
pub(super) fn entry(
    route: &Route,
    call: &Call,
    account: Option<String>,
    result: &Result<Answer, ApiError>,
) -> Entry {
    let answer = result.as_ref().ok();
    Entry {
        action: route.name.to_owned(),
        object_kind: route.target.word().to_owned(),
        object_name: answer
            .and_then(|answer| answer.object.clone())
            .unwrap_or_else(|| call.object_name(route)),
        account,
        outcome: match result {
            Ok(_) => Outcome::Done,
            Err(error) if is_denial(error.code) => Outcome::Denied,
            Err(_) => Outcome::Failed,
        },
        detail: result.as_ref().err().map(ApiError::detail),
        before: answer.and_then(|answer| answer.before.clone()),
        after: answer.and_then(|answer| answer.after.clone()),
        ..call.entry()
    }
}

/// What is about to be done. The names of things that are yet to be made stand in the body.
pub(super) fn begun(route: &Route, call: &Call, account: Option<String>) -> Entry {
    let named = ["/name", "/metadata/name"].iter().find_map(|place| call.raw_body().pointer(place)?.as_str());
    let object_name = match (route.target, named, call.subject().person()) {
        (super::Target::New(..), Some(name), Some(person)) => format!("{}/{name}", person.namespace),
        _ => call.object_name(route),
    };
    Entry {
        action: route.name.to_owned(),
        object_kind: route.target.word().to_owned(),
        object_name,
        account,
        ..call.entry()
    }
}

const fn is_denial(code: Code) -> bool {
    matches!(
        code,
        Code::Forbidden
            | Code::NotFound
            | Code::ScopeMissing
            | Code::PasswordChangeRequired
            | Code::CrossSite
    )
}

impl Call {
    /// An entry with who asks, when and from where.
    pub(crate) fn entry(&self) -> Entry {
        let actor = match self.subject().person() {
            Some(person) => Actor {
                kind: if self.caller.by_key() { ActorKind::Key } else { ActorKind::User },
                id: Some(UserId::new(&person.id)),
                name: person.name.clone(),
                via: self.caller.via(),
            },
            None => Actor { kind: ActorKind::Anonymous, id: None, name: "nobody".to_owned(), via: None },
        };
        Entry {
            id: AuditId::new(self.request_id.clone()),
            at: self.now(),
            actor,
            action: String::new(),
            object_kind: String::new(),
            object_name: String::new(),
            account: None,
            outcome: Outcome::Done,
            detail: None,
            before: None,
            after: None,
            address: self.address.map(|address| address.to_string()),
            request_id: Some(self.request_id.clone()),
        }
    }
}
