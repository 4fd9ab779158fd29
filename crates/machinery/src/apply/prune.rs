//! What goes away: fields that a manager applied before, does not apply now, and nobody else owns.

use serde_json::{Map, Value};

use super::ManagedFields;
use crate::fields::{Element, List, ListKind, Object, Set, Type, element_of};

/// What is left of a merged object.
pub(super) struct Pruned {
    /// As it is to be stored.
    pub(super) object: Value,
    /// The same with what was emptied standing as null, because it is not gone: who owns the empty thing still does.
    emptied: Option<Value>,
}

impl Pruned {
    /// Nothing was to be pruned.
    pub(super) fn whole(object: Value) -> Self {
        Self { object, emptied: None }
    }

    /// The object as it is to be compared with the live one.
    pub(super) fn compared(&self) -> &Value {
        self.emptied.as_ref().unwrap_or(&self.object)
    }
}

/// The merged object without what only the last configuration of the manager had.
pub(super) fn prune(merged: Value, managed: &ManagedFields, last: &Set, ty: &Type) -> Pruned {
    if last.is_empty() {
        return Pruned::whole(merged);
    }
    let last = last.clone().with_named_fields(ty);
    let all = Set::from_value(&merged, ty).with_named_fields(ty);
    let kept = |object: &Value| Set::from_value(object, ty).with_named_fields(ty);
    let pruned = Remover { keep_emptied: true }.run(&merged, &last, ty);

    // What anybody owns comes back, and with it the structs around it.
    let owned = managed.entries().iter().fold(Set::new(), |all, entry| all.union(entry.fields.clone()));
    let stay = kept(&pruned).union(owned.with_named_fields(ty));
    let pruned = Remover { keep_emptied: true }.run(&merged, &all.clone().difference(&stay), ty);

    // What the manager did not apply last time is not its to remove, even if nobody owns it.
    let gone = all.difference(&kept(&pruned)).intersection(&last);
    if gone.is_empty() {
        return Pruned::whole(merged);
    }
    Pruned {
        object: Remover { keep_emptied: false }.run(&merged, &gone, ty),
        emptied: Some(Remover { keep_emptied: true }.run(&merged, &gone, ty)),
    }
}

/// Takes paths out of values.
struct Remover {
    /// Whether a key whose object or list was emptied stays, as null.
    keep_emptied: bool,
}

impl Remover {
    fn run(&self, value: &Value, gone: &Set, ty: &Type) -> Value {
        self.remove(value, gone, ty).unwrap_or_else(|| Value::Object(Map::new()))
    }

    /// The value without the paths; `None` if nothing is left of an object or list, or if it is one value as a whole.
    fn remove(&self, value: &Value, gone: &Set, ty: &Type) -> Option<Value> {
        match (ty, value) {
            (Type::Object(object), Value::Object(map)) if !object.is_atomic() => {
                self.object(map, gone, Some(object))
            }
            (Type::Untyped, Value::Object(map)) => self.object(map, gone, None),
            (Type::List(list), Value::Array(items)) if list.kind != ListKind::Atomic => {
                self.list(items, gone, list)
            }
            (Type::Object(_) | Type::List(_), _) | (Type::Untyped, Value::Array(_)) => None,
            (Type::Scalar | Type::Untyped, scalar) => Some(scalar.clone()),
        }
    }

    fn object(&self, map: &Map<String, Value>, gone: &Set, object: Option<&Object>) -> Option<Value> {
        let mut rest = Map::new();
        let mut emptied = false;
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
            let left = self.remove(value, gone, ty);
            emptied |= left.is_none();
            if let Some(left) = left.or(self.keep_emptied.then_some(Value::Null)) {
                rest.insert(key.clone(), left);
            }
        }
        (emptied || !rest.is_empty()).then_some(Value::Object(rest))
    }

    fn list(&self, items: &[Value], gone: &Set, list: &List) -> Option<Value> {
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
                Some(gone) => rest.extend(self.remove(item, gone, &list.element)),
                None => rest.push(item.clone()),
            }
        }
        (!rest.is_empty()).then_some(Value::Array(rest))
    }
}
