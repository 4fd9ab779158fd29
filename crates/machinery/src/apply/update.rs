//! The bookkeeping of writes that are no apply: who changes a field owns it.

use serde_json::{Map, Value};

use super::Request;
use super::managed::{self, ManagedFields, Operation, metadata_mut};
use crate::fields::{Comparison, Set, Type, fields_of_new};

const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Maintains `metadata.managedFields` of an object that is about to be stored after a create (`live` is `None`), an
/// update or a patch.
///
/// The manager comes to own what it changed and others lose it. An object that lost its managed fields stays without
/// until somebody applies to it: a client drops them by writing a list that is empty or holds one empty entry.
pub fn update(live: Option<&Value>, new: &mut Value, ty: &Type, request: &Request<'_>) {
    let given = take_list(new);
    if live.is_none() && given.is_none() {
        let list = first_list(new, ty, request);
        return managed::store_list(new, list);
    }
    let kept = live.and_then(|live| live.get("metadata")?.get("managedFields"));
    let comparison = compare(live, new, ty, request);
    let edited = match &given {
        Some(given) if request.subresource.is_empty() && Some(given) != kept => edit(given, kept),
        _ => None,
    };
    let list = match edited {
        Some(managed) => managed.encode(),
        None if given.as_ref() == kept => given.unwrap_or_else(no_list),
        None => kept.cloned().unwrap_or_else(no_list),
    };
    let untracked = live.is_some() && list.as_array().is_none_or(Vec::is_empty);
    if untracked {
        return;
    }
    let list = if comparison.is_same() { list } else { record(list, comparison, request) };
    managed::store_list(new, list);
}

/// The list of an object that is made: one owner, of everything.
fn first_list(new: &Value, ty: &Type, request: &Request<'_>) -> Value {
    let mut fields = fields_of_new(new, ty);
    if let Some(ignored) = request.ignored {
        ignored.take_from_fields_v1(&mut fields, true);
    }
    managed::unowned().take_from_fields_v1(&mut fields, false);
    if fields.is_empty() {
        return no_list();
    }
    let own = request.identity(Operation::Update);
    Value::Array(vec![managed::encode_entry(&own, Some(request.now), Value::Object(fields))])
}

fn no_list() -> Value {
    Value::Array(Vec::new())
}

/// The entries that a client asks for, if they make sense.
fn edit(given: &Value, kept: Option<&Value>) -> Option<ManagedFields> {
    if is_reset(given) {
        // With nothing to drop, an empty list is no request.
        return kept.map(|_| ManagedFields::default());
    }
    ManagedFields::decode(given).ok().filter(|managed| !managed.is_empty())
}

fn is_reset(list: &Value) -> bool {
    match list.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([only]) => only.as_object().is_some_and(Map::is_empty),
        _ => false,
    }
}

/// Notes a change by the request's manager. Only entries that the change concerns are read and written anew.
fn record(list: Value, comparison: Comparison, request: &Request<'_>) -> Value {
    let Value::Array(entries) = list else { return no_list() };
    let own = request.identity(Operation::Update);
    let crowded = entries.len() >= managed::MAX_UPDATE_MANAGERS;
    let concerned = |entry: &Value| {
        crowded || own.is_of(entry) || entry.get("fieldsV1").is_some_and(|fields| comparison.meets(fields))
    };
    let (concerned, untouched): (Vec<Value>, Vec<Value>) = entries.into_iter().partition(concerned);
    let mut managed = ManagedFields::decode(&Value::Array(concerned)).unwrap_or_default();
    // Its own older entry loses what changed as well, and gets it back with the new time.
    managed.give_up(None, &comparison);
    let changed = comparison.modified.union(comparison.added).difference(managed::unowned());
    if !changed.is_empty() {
        managed.add(own, changed, request.now);
    }
    managed.cap();
    managed.encode_among(untouched)
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
pub(super) fn before_first_apply(base: &Value, ty: &Type, request: &Request<'_>) -> ManagedFields {
    let request = Request { manager: BEFORE_FIRST_APPLY, ..*request };
    ManagedFields::decode(&first_list(base, ty, &request)).unwrap_or_default()
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
