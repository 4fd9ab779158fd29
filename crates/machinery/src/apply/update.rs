//! The bookkeeping of writes that are no apply: who changes a field owns it.

use serde_json::{Map, Value};

use super::Request;
use super::managed::{self, ManagedFields, Operation, metadata_mut};
use crate::fields::{Comparison, Set, Type};

const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Maintains `metadata.managedFields` of an object that is about to be stored after a create (`live` is `None`), an
/// update or a patch.
///
/// The manager comes to own what it changed and others lose it. An object that lost its managed fields stays without
/// until somebody applies to it: a client drops them by writing a list that is empty or holds one empty entry.
pub fn update(live: Option<&Value>, new: &mut Value, ty: &Type, request: &Request<'_>) {
    let given = take_list(new);
    let kept = live.and_then(|live| live.get("metadata")?.get("managedFields"));
    let comparison = compare(live, new, ty, request);
    let same_list = given.is_none() || given.as_ref() == kept || !request.subresource.is_empty();
    if comparison.is_same() && same_list {
        // The usual write that changes nothing: spare the reading and writing of sets.
        if let (Some(metadata), Some(kept)) = (metadata_mut(new), kept) {
            metadata.insert("managedFields".to_owned(), kept.clone());
        }
        return;
    }
    let mut managed = starting_point(given.as_ref(), kept, same_list);
    if managed.is_empty() && live.is_some() {
        return;
    }
    record(&mut managed, comparison, request);
    managed.store(new);
}

/// The entries to start from: those of the request where they make sense, else those of the live object.
fn starting_point(given: Option<&Value>, kept: Option<&Value>, same_list: bool) -> ManagedFields {
    let read =
        |list: Option<&Value>| list.and_then(|list| ManagedFields::decode(list).ok()).unwrap_or_default();
    if same_list {
        return read(kept);
    }
    if given.is_some_and(is_reset) {
        return ManagedFields::default();
    }
    match read(given) {
        managed if managed.is_empty() => read(kept),
        managed => managed,
    }
}

fn is_reset(list: &Value) -> bool {
    match list.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([only]) => only.as_object().is_some_and(Map::is_empty),
        _ => false,
    }
}

/// Notes a change by the request's manager.
fn record(managed: &mut ManagedFields, comparison: Comparison, request: &Request<'_>) {
    // Its own older entry loses what changed as well, and gets it back with the new time.
    managed.give_up(None, &comparison);
    let own = comparison.modified.union(comparison.added).difference(managed::unowned());
    if !own.is_empty() {
        managed.add(request.identity(Operation::Update), own, request.now);
    }
    managed.cap();
}

/// What a write changes, as far as it counts here; `new` carries no managed fields.
fn compare(live: Option<&Value>, new: &Value, ty: &Type, request: &Request<'_>) -> Comparison {
    let mut comparison = match live {
        None => Comparison::of(&Value::Object(Map::new()), new, ty),
        Some(live) => Comparison::of(live, new, ty),
    };
    comparison.removed = comparison.removed.recursive_difference(managed_fields_path());
    match request.ignored {
        Some(ignored) => comparison.without(ignored),
        None => comparison,
    }
}

fn managed_fields_path() -> &'static Set {
    static PATH: std::sync::OnceLock<Set> = std::sync::OnceLock::new();
    PATH.get_or_init(|| Set::of_fields(&[&["metadata", "managedFields"]]))
}

/// An object that nobody tracked gets one owner of everything before the first apply to it.
pub(super) fn before_first_apply(
    live: Option<&Value>,
    base: &Value,
    mut managed: ManagedFields,
    ty: &Type,
    request: &Request<'_>,
) -> ManagedFields {
    if live.is_some() && managed.is_empty() {
        let request = Request { manager: BEFORE_FIRST_APPLY, ..*request };
        record(&mut managed, compare(None, base, ty, &request), &request);
    }
    managed
}

/// Takes the list out of an object.
pub(super) fn take_list(object: &mut Value) -> Option<Value> {
    object.get("metadata")?.get("managedFields")?;
    metadata_mut(object)?.remove("managedFields")
}

/// Gives an object the times of the live one where nothing but times of managed fields differs, so that a write that
/// changes nothing is none. Says whether the two are now equal.
pub fn keep_times_of_no_change(live: &Value, new: &mut Value) -> bool {
    if !same_but(live, new, "metadata", |live, new| {
        same_but(live, new, "managedFields", |live, new| match (live.as_array(), new.as_array()) {
            (Some(live), Some(new)) => {
                live.len() == new.len()
                    && live
                        .iter()
                        .all(|entry| new.iter().any(|other| same_but(entry, other, "time", |_, _| true)))
            }
            _ => live == new,
        })
    }) {
        return false;
    }
    let list = live.get("metadata").and_then(|metadata| metadata.get("managedFields"));
    if let (Some(list), Some(metadata)) = (list, metadata_mut(new)) {
        metadata.insert("managedFields".to_owned(), list.clone());
    }
    true
}

/// Whether two objects have the same keys and values, where one key is compared in its own way.
fn same_but(left: &Value, right: &Value, key: &str, special: impl Fn(&Value, &Value) -> bool) -> bool {
    let (Some(left), Some(right)) = (left.as_object(), right.as_object()) else { return left == right };
    left.len() == right.len()
        && left.iter().all(|(name, value)| {
            right
                .get(name)
                .is_some_and(|other| if name == key { special(value, other) } else { value == other })
        })
}

#[cfg(test)]
mod tests;
