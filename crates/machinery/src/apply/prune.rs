//! What goes away: fields that a manager applied before, does not apply now, and nobody else owns.

use serde_json::{Map, Value};

use super::ManagedFields;
use crate::fields::{Element, List, ListKind, Object, Set, Type, element_of};

/// The merged object without what only the last configuration of the manager had.
pub(super) fn prune(merged: Value, managed: &ManagedFields, last: &Set, ty: &Type) -> Value {
    if last.is_empty() {
        return merged;
    }
    let last = last.clone().with_named_fields(ty);
    let all = Set::from_value(&merged, ty).with_named_fields(ty);
    let kept = |object: &Value| Set::from_value(object, ty).with_named_fields(ty);
    let pruned = remove(&merged, &last, ty);

    // What anybody owns comes back, and with it the structs around it.
    let owned = managed.entries().iter().fold(Set::new(), |all, entry| all.union(entry.fields.clone()));
    let stay = kept(&pruned).union(owned.with_named_fields(ty));
    let pruned = remove(&merged, &all.clone().difference(&stay), ty);

    // What the manager did not apply last time is not its to remove, even if nobody owns it.
    let gone = all.difference(&kept(&pruned));
    remove(&merged, &gone.intersection(&last), ty)
}

fn remove(value: &Value, gone: &Set, ty: &Type) -> Value {
    remove_below(value, gone, ty).unwrap_or_else(|| Value::Object(Map::new()))
}

/// The value without the paths; `None` if nothing is left of an object or list, or if it is one value as a whole.
fn remove_below(value: &Value, gone: &Set, ty: &Type) -> Option<Value> {
    match (ty, value) {
        (Type::Object(object), Value::Object(map)) if !object.is_atomic() => {
            remove_from_object(map, gone, Some(object))
        }
        (Type::Untyped, Value::Object(map)) => remove_from_object(map, gone, None),
        (Type::List(list), Value::Array(items)) if list.kind != ListKind::Atomic => {
            remove_from_list(items, gone, list)
        }
        (Type::Object(_) | Type::List(_), _) | (Type::Untyped, Value::Array(_)) => None,
        (Type::Scalar | Type::Untyped, scalar) => Some(scalar.clone()),
    }
}

fn remove_from_object(map: &Map<String, Value>, gone: &Set, object: Option<&Object>) -> Option<Value> {
    let mut rest = Map::new();
    for (key, value) in map {
        let element = Element::field(key.as_str());
        if gone.has(&element) {
            continue;
        }
        let Some(gone) = gone.below(&element) else {
            rest.insert(key.clone(), value.clone());
            continue;
        };
        let ty = object.map_or(&Type::Untyped, |object| object.get(key).unwrap_or(&Type::Untyped));
        if let Some(value) = remove_below(value, gone, ty) {
            rest.insert(key.clone(), value);
        }
    }
    (!rest.is_empty()).then_some(Value::Object(rest))
}

fn remove_from_list(items: &[Value], gone: &Set, list: &List) -> Option<Value> {
    let mut rest = Vec::with_capacity(items.len());
    for item in items {
        let Ok(element) = element_of(list, item) else {
            rest.push(item.clone());
            continue;
        };
        if gone.has(&element) {
            continue;
        }
        match gone.below(&element) {
            Some(gone) => rest.extend(remove_below(item, gone, &list.element)),
            None => rest.push(item.clone()),
        }
    }
    (!rest.is_empty()).then_some(Value::Array(rest))
}
