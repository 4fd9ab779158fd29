//! Who owns which field: server-side apply, and the bookkeeping of every other write.
//!
//! [`update`] is called after a create, update or patch and maintains `metadata.managedFields`; [`apply`] merges an
//! applied configuration into the live object and maintains it too. Both are pure: the time comes in the [`Request`].
//!
//! All entries are compared in the schema of the request's version: a change of API version renames no field here.

mod check;
mod conflict;
mod last_applied;
mod managed;
mod merge;
mod prune;
mod update;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::fields::{Comparison, Set, Type};
use prune::Pruned;

pub use conflict::{ApplyError, Conflict};
pub use managed::{ManagedFields, Manager, Operation};
pub use update::{keep_times_of_no_change, update};

/// Who writes, where and when.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The field manager; empty counts as `unknown`.
    pub manager: &'a str,
    /// The subresource written through, or empty.
    pub subresource: &'a str,
    /// The version of the object as it is written, such as `apps/v1`.
    pub api_version: &'a str,
    /// The time of the write.
    pub now: Timestamp,
    /// Fields that this endpoint resets and nobody can come to own through it, such as `.status` of the main one.
    pub ignored: Option<&'a Set>,
}

/// Merges an applied configuration into the live object and takes note of who owns what.
///
/// Fields that the manager applied before, but not now, go away unless somebody else owns them. Fields that somebody
/// else owns and that would change are [`Conflict`]s, unless `force` takes them over. The result equals the live object
/// if the configuration changes nothing.
pub fn apply(
    live: Option<&Value>,
    applied: &Value,
    ty: &Type,
    request: &Request<'_>,
    force: bool,
) -> Result<Value, ApplyError> {
    check::check(applied, ty, request)?;
    let mut base = live.cloned().unwrap_or_else(|| Value::Object(Map::new()));
    let mut managed = ManagedFields::take(&mut base)
        .map_err(|fault| ApplyError::Internal(format!("failed to decode managed fields: {fault}")))?;
    if managed.is_empty() && live.is_some() {
        managed = update::before_first_apply(&base, ty, request);
    }
    let attempt = |force| run(&base, applied, ty, request, managed.clone(), force);
    let mut outcome = attempt(force);
    if let Err(ApplyError::Conflicts(conflicts)) = outcome {
        outcome = match last_applied::remaining_conflicts(conflicts, &base, ty, request) {
            rest if rest.is_empty() => attempt(true),
            rest => Err(ApplyError::Conflicts(rest)),
        };
    }
    let (mut object, managed) = outcome?;
    last_applied::sync(&mut object, applied, request);
    managed.store(&mut object);
    Ok(object)
}

fn run(
    live: &Value,
    applied: &Value,
    ty: &Type,
    request: &Request<'_>,
    mut managed: ManagedFields,
    force: bool,
) -> Result<(Value, ManagedFields), ApplyError> {
    let merged = merge::merge(live, applied, ty)?;
    let mut set = Set::from_value(applied, ty);
    if let Some(ignored) = request.ignored {
        set = set.recursive_difference(ignored);
    }
    let identity = request.identity(Operation::Apply);
    let last = managed.replace(identity.clone(), set);
    let pruned = match &last {
        Some(last) => prune::prune(merged, &managed, &last.fields, ty),
        None => Pruned::whole(merged),
    };
    let mut comparison = Comparison::of(live, pruned.compared(), ty);
    if let Some(ignored) = request.ignored {
        comparison = comparison.without(ignored);
    }
    let conflicts = managed.conflicts(&identity, &comparison);
    if !force && !conflicts.is_empty() {
        return Err(ApplyError::Conflicts(conflicts));
    }
    managed.give_up(Some(&identity), &comparison);
    managed.strip(&identity);
    if pruned.compared() != live {
        managed.set_time(&identity, request.now);
    }
    Ok((pruned.object, managed))
}

impl Request<'_> {
    fn identity(&self, operation: Operation) -> managed::Identity {
        managed::Identity {
            manager: if self.manager.is_empty() { "unknown" } else { self.manager }.to_owned(),
            operation,
            api_version: self.api_version.to_owned(),
            subresource: self.subresource.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
