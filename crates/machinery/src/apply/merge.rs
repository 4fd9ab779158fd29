//! The typed merge: what the configuration says, over what is live.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::ApplyError;
use crate::fields::{Element, List, ListKind, Object, Type, element_of, map_of};

/// The live object with the configuration laid over it.
pub(super) fn merge(live: &Value, applied: &Value, ty: &Type) -> Result<Value, ApplyError> {
    let merged = merge_values(Some(live), Some(applied), ty)?;
    Ok(merged.unwrap_or_else(|| Value::Object(Map::new())))
}

fn merge_values(
    live: Option<&Value>,
    applied: Option<&Value>,
    ty: &Type,
) -> Result<Option<Value>, ApplyError> {
    match ty {
        Type::Scalar => Ok(leaf(live, applied)),
        Type::Object(object) if object.is_atomic() => Ok(leaf(live, applied)),
        Type::Object(object) => merge_objects(live, applied, Some(object)),
        Type::Untyped => match applied.or(live) {
            Some(Value::Object(_) | Value::Null) | None => merge_objects(live, applied, None),
            Some(_) => Ok(leaf(live, applied)),
        },
        Type::List(list) if list.kind == ListKind::Atomic => Ok(leaf(live, applied)),
        Type::List(list) => merge_lists(live, applied, list),
    }
}

fn leaf(live: Option<&Value>, applied: Option<&Value>) -> Option<Value> {
    applied.or(live).cloned()
}

fn merge_objects(
    live: Option<&Value>,
    applied: Option<&Value>,
    object: Option<&Object>,
) -> Result<Option<Value>, ApplyError> {
    let (old, new) = (map_of(live), map_of(applied));
    if old.is_empty() && new.is_empty() {
        // Nothing to descend into: which kind of nothing it is matters.
        return Ok(leaf(live, applied));
    }
    let below = |key: &str| match object {
        Some(object) => object.get(key).unwrap_or(&Type::Untyped),
        None => &Type::Untyped,
    };
    let mut merged = Map::new();
    for (key, value) in new {
        if let Some(value) = merge_values(old.get(key), Some(value), below(key))? {
            merged.insert(key.clone(), value);
        }
    }
    for (key, value) in old {
        if !new.contains_key(key) {
            merged.insert(key.clone(), value.clone());
        }
    }
    Ok((!merged.is_empty()).then_some(Value::Object(merged)))
}

fn merge_lists(
    live: Option<&Value>,
    applied: Option<&Value>,
    list: &List,
) -> Result<Option<Value>, ApplyError> {
    let (old, new) = (items_of(live), items_of(applied));
    if old.is_empty() && new.is_empty() {
        return Ok(leaf(live, applied));
    }
    let old = Side::read(old, list)?;
    let new = Side::read(new, list)?;
    if let Some(double) = new.doubles().next() {
        return Err(ApplyError::Internal(format!("duplicate entries for key {double}")));
    }
    let merged = interleave(&old, &new, list)?;
    Ok((!merged.is_empty()).then_some(Value::Array(merged)))
}

fn items_of(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// A list with what identifies its items.
struct Side<'a> {
    items: Vec<(Element, &'a Value)>,
    /// Where an identity first stands, and how often.
    places: BTreeMap<Element, (usize, usize)>,
}

impl<'a> Side<'a> {
    fn read(items: &'a [Value], list: &List) -> Result<Self, ApplyError> {
        let mut side = Self { items: Vec::with_capacity(items.len()), places: BTreeMap::new() };
        for (index, item) in items.iter().enumerate() {
            let element = element_of(list, item)
                .map_err(|fault| ApplyError::Internal(format!("element {index}: {fault}")))?;
            side.places.entry(element.clone()).or_insert((side.items.len(), 0)).1 += 1;
            side.items.push((element, item));
        }
        Ok(side)
    }

    fn has(&self, element: &Element) -> bool {
        self.places.contains_key(element)
    }

    /// The one item of this identity; doubles are not merged with anything.
    fn only(&self, element: &Element) -> Option<&'a Value> {
        self.places
            .get(element)
            .filter(|(_, count)| *count == 1)
            .and_then(|(at, _)| Some(self.items.get(*at)?.1))
    }

    fn doubles(&self) -> impl Iterator<Item = &Element> {
        self.places.iter().filter(|(_, (_, count))| *count > 1).map(|(element, _)| element)
    }
}

/// Applied items come in their own order; live ones that are not applied stay where they were, relative to the applied
/// items around them.
fn interleave(old: &Side<'_>, new: &Side<'_>, list: &List) -> Result<Vec<Value>, ApplyError> {
    let mut merged = Vec::with_capacity(old.items.len().max(new.items.len()));
    let mut shared =
        new.items.iter().map(|(element, _)| element).filter(|element| old.has(element)).peekable();
    let mut done: BTreeSet<&Element> = BTreeSet::new();
    let (mut left, mut right) = (0, 0);
    while left < old.items.len() || right < new.items.len() {
        if let (Some((had, _)), Some((wanted, _))) = (old.items.get(left), new.items.get(right)) {
            if had == wanted {
                done.insert(wanted);
                merged.extend(merge_values(old.only(wanted), new.only(wanted), &list.element)?);
                (left, right) = (left + 1, right + 1);
                shared.next();
                continue;
            }
            if new.has(had) && shared.peek().is_some_and(|next| *next != had) {
                // Applied too, but its turn comes later or has been.
                left += 1;
                continue;
            }
        }
        if let Some((had, item)) = old.items.get(left) {
            if !new.has(had) {
                merged.push((*item).clone());
                left += 1;
                continue;
            }
            if done.contains(had) {
                left += 1;
            }
        }
        if let Some((wanted, _)) = new.items.get(right) {
            done.insert(wanted);
            merged.extend(merge_values(old.only(wanted), new.only(wanted), &list.element)?);
            right += 1;
            shared.next_if(|next| *next == wanted);
        }
    }
    Ok(merged)
}
