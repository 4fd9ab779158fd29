//! Which entries of the audit log.

use jiff::Timestamp;

use super::Outcome;
use crate::UserId;
use crate::database::Query;

/// Which entries; what is not given does not matter.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    /// Of this user.
    pub actor: Option<UserId>,
    /// Of this name, which need not be a user's.
    pub actor_name: Option<String>,
    /// This action.
    pub action: Option<String>,
    /// On this kind of thing.
    pub object_kind: Option<String>,
    /// On the thing of this name.
    pub object_name: Option<String>,
    /// In this account.
    pub account: Option<String>,
    /// That ended so.
    pub outcome: Option<Outcome>,
    /// Of this request.
    pub request_id: Option<String>,
    /// At this time or later.
    pub from: Option<Timestamp>,
    /// Before this time.
    pub until: Option<Timestamp>,
}

impl AuditFilter {
    pub(super) fn apply(&self, query: Query) -> Query {
        query
            .and("actor_id = ", self.actor.as_ref())
            .and("actor_name = ", self.actor_name.as_ref())
            .and("action = ", self.action.as_ref())
            .and("object_kind = ", self.object_kind.as_ref())
            .and("object_name = ", self.object_name.as_ref())
            .and("account = ", self.account.as_ref())
            .and("outcome = ", self.outcome.map(Outcome::as_str))
            .and("request_id = ", self.request_id.as_ref())
            .and("at >= ", self.from)
            .and("at < ", self.until)
    }
}
