//! What changed between two values of a type, path by path.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::set::Node;
use super::{Element, Field, List, ListKind, Object, Set, Type, element_of};

/// The paths by which two values differ. Only items that became or ceased to be doubles are in two of the sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Only the old value has them.
    pub removed: Set,
    /// Both have them, differently.
    pub modified: Set,
    /// Only the new value has them.
    pub added: Set,
}

impl Comparison {
    /// Compares two values.
    pub fn of(old: &Value, new: &Value, ty: &Type) -> Self {
        let [removed, modified, added] = compare(Some(old), Some(new), ty).parts;
        Self { removed: removed.set(), modified: modified.set(), added: added.set() }
    }

    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }

    /// Whether any of the paths is in a FieldsV1 document.
    pub(crate) fn meets(&self, fields: &Value) -> bool {
        [&self.removed, &self.modified, &self.added].into_iter().any(|set| set.meets_fields_v1(fields))
    }

    /// The same without paths in or below a set.
    pub fn without(self, ignored: &Set) -> Self {
        Self {
            removed: self.removed.recursive_difference(ignored),
            modified: self.modified.recursive_difference(ignored),
            added: self.added.recursive_difference(ignored),
        }
    }
}

const REMOVED: usize = 0;
const MODIFIED: usize = 1;
const ADDED: usize = 2;

/// For each of removed, modified and added: whether the place itself is in it, and what is below.
#[derive(Default)]
struct Delta {
    parts: [Part; 3],
}

#[derive(Default)]
struct Part {
    member: bool,
    nodes: Vec<Node>,
}

impl Part {
    fn set(self) -> Set {
        Set::from_nodes(self.nodes)
    }

    fn is_void(&self) -> bool {
        !self.member && self.nodes.is_empty()
    }
}

impl Delta {
    /// One value in the place of another.
    fn leaf(old: &Value, new: &Value) -> Self {
        let mut delta = Self::default();
        delta.parts[MODIFIED].member = old != new;
        delta
    }

    /// A value that came or went counts itself, besides what is in it.
    fn whole(part: usize, value: &Value, ty: &Type) -> Self {
        let mut delta = Self::default();
        delta.parts[part] = Part { member: true, nodes: whole(value, ty) };
        delta
    }

    fn push(&mut self, below: Self, element: impl FnOnce() -> Element) {
        if below.parts.iter().all(Part::is_void) {
            return;
        }
        let element = element();
        for (part, below) in self.parts.iter_mut().zip(below.parts) {
            if !below.is_void() {
                let member = below.member;
                part.nodes.push(Node::new(element.clone(), member, below.set()));
            }
        }
    }
}

fn compare(old: Option<&Value>, new: Option<&Value>, ty: &Type) -> Delta {
    match (old, new) {
        (None, None) => Delta::default(),
        (None, Some(new)) => Delta::whole(ADDED, new, ty),
        (Some(old), None) => Delta::whole(REMOVED, old, ty),
        (Some(old), Some(new)) => match ty {
            Type::Scalar => Delta::leaf(old, new),
            Type::Object(object) if object.is_atomic() => Delta::leaf(old, new),
            Type::Object(object) => compare_objects(old, new, Some(object)),
            Type::Untyped => compare_objects(old, new, None),
            Type::List(list) if list.kind == ListKind::Atomic => Delta::leaf(old, new),
            Type::List(list) => compare_lists(old, new, list),
        },
    }
}

/// All that is in a value, structs and lists included.
fn whole(value: &Value, ty: &Type) -> Vec<Node> {
    let object = match ty {
        Type::Scalar => return Vec::new(),
        Type::List(list) => return whole_list(value, list),
        Type::Object(object) if object.is_atomic() => return Vec::new(),
        Type::Object(object) => Some(&**object),
        Type::Untyped => None,
    };
    let node = |(key, value): (&String, &Value)| {
        let step = Step::to(key, object);
        Node::new(step.element(key), true, Set::from_nodes(whole(value, step.ty)))
    };
    map_of(Some(value)).iter().map(node).collect()
}

fn whole_list(value: &Value, list: &List) -> Vec<Node> {
    if list.kind == ListKind::Atomic {
        return Vec::new();
    }
    let node = |(element, items): (Element, Vec<&Value>)| {
        let below = match items.as_slice() {
            [only] => whole(only, &list.element),
            _ => Vec::new(),
        };
        Node::new(element, true, Set::from_nodes(below))
    };
    groups(value, list).into_iter().map(node).collect()
}

fn compare_objects(old: &Value, new: &Value, object: Option<&Object>) -> Delta {
    let (old_map, new_map) = (map_of(Some(old)), map_of(Some(new)));
    if old_map.is_empty() && new_map.is_empty() {
        return Delta::leaf(old, new);
    }
    let scalar = |value: &Value| !value.is_object() && !value.is_null();
    // Where one side is no object, the place itself changed too.
    let mut delta = if scalar(old) || scalar(new) { Delta::leaf(old, new) } else { Delta::default() };
    for (key, value) in new_map {
        let step = Step::to(key, object);
        let before = old_map.get(key).or_else(|| step.stand_in(old));
        delta.push(compare(before, Some(value), step.ty), || step.element(key));
    }
    for (key, value) in old_map.iter().filter(|(key, _)| !new_map.contains_key(*key)) {
        let step = Step::to(key, object);
        delta.push(compare(Some(value), step.stand_in(new), step.ty), || step.element(key));
    }
    delta
}

/// The object that stands somewhere, or an empty one.
pub(crate) fn map_of(value: Option<&Value>) -> &Map<String, Value> {
    static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    value.and_then(Value::as_object).unwrap_or(&EMPTY)
}

/// What a type says about a key of an object.
struct Step<'a> {
    known: Option<&'a Field>,
    ty: &'a Type,
}

impl<'a> Step<'a> {
    fn to(key: &str, object: Option<&'a Object>) -> Self {
        let known = object.and_then(|object| object.find(key));
        let rest = || object.and_then(Object::rest).unwrap_or(&Type::Untyped);
        Self { known, ty: known.map_or_else(rest, |field| &field.ty) }
    }

    fn element(&self, key: &str) -> Element {
        match self.known {
            Some(field) => Element::Field(field.name.clone()),
            None => Element::field(key),
        }
    }

    /// A field that is always written is there, empty, wherever the struct around it is.
    fn stand_in(&self, around: &Value) -> Option<&'static Value> {
        static NULL: Value = Value::Null;
        static OBJECT: LazyLock<Value> = LazyLock::new(|| Value::Object(Map::new()));
        let always = around.is_object() && self.known.is_some_and(|field| field.always);
        always.then(|| if matches!(self.ty, Type::Object(_)) { &*OBJECT } else { &NULL })
    }
}

fn compare_lists(old: &Value, new: &Value, list: &List) -> Delta {
    let empty = |value: &Value| value.as_array().is_none_or(Vec::is_empty);
    if empty(old) && empty(new) {
        return Delta::leaf(old, new);
    }
    if old == new {
        return Delta::default();
    }
    let mut delta = Delta::default();
    let mut before = groups(old, list).into_iter().peekable();
    for (element, after) in groups(new, list) {
        while let Some((gone, had)) = before.next_if(|(other, _)| *other < element) {
            compare_items(&mut delta, gone, &had, &[], list);
        }
        let had = before.next_if(|(other, _)| *other == element).map(|(_, had)| had).unwrap_or_default();
        compare_items(&mut delta, element, &had, &after, list);
    }
    for (gone, had) in before {
        compare_items(&mut delta, gone, &had, &[], list);
    }
    delta
}

/// The items of a list by identity, sorted; more than one where they cannot be told apart.
fn groups<'a>(value: &'a Value, list: &List) -> Vec<(Element, Vec<&'a Value>)> {
    let items = value.as_array().into_iter().flatten();
    let mut named: Vec<_> =
        items.filter_map(|item| Some((element_of(list, item).ok()?, vec![item]))).collect();
    named.sort_by(|a, b| a.0.cmp(&b.0));
    named.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            earlier.1.append(&mut later.1);
        }
        same
    });
    named
}

/// Items that cannot be told apart count as one value; a change from or to such a state replaces it.
fn compare_items(delta: &mut Delta, element: Element, old: &[&Value], new: &[&Value], list: &List) {
    let mut below = match (old, new) {
        ([] | [_], [] | [_]) => compare(old.first().copied(), new.first().copied(), &list.element),
        ([_, _, ..], [_, _, ..]) => Delta::default(),
        ([_, _, ..], _) => compare(None, new.first().copied(), &list.element),
        (_, [_, _, ..]) => compare(old.first().copied(), None, &list.element),
    };
    match (old.len() > 1, new.len() > 1) {
        (true, true) => below.parts[MODIFIED].member |= old != new,
        (true, false) => below.parts[REMOVED].member = true,
        (false, true) => below.parts[ADDED].member = true,
        (false, false) => {}
    }
    delta.push(below, || element);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::sample;
    use super::*;
    use crate::patch::merge::tests::any_object;

    fn paths(old: &Value, new: &Value, ty: &Type) -> [Vec<String>; 3] {
        let comparison = Comparison::of(old, new, ty);
        [comparison.removed.paths(), comparison.modified.paths(), comparison.added.paths()]
    }

    #[test]
    fn changes_are_found_at_their_paths() {
        let old = json!({"metadata": {"labels": {"a": "1", "b": "1"}}, "spec": {
            "containers": [{"name": "c", "image": "1", "args": ["x"]}], "tolerations": [{"key": "a"}],
        }});
        let new = json!({"metadata": {"labels": {"a": "2", "c": "1"}}, "spec": {
            "containers": [{"name": "d", "image": "1"}, {"name": "c", "image": "2", "args": ["x"]}],
            "tolerations": [{"key": "b"}],
        }});
        let [removed, modified, added] = paths(&old, &new, &sample::pod());
        assert_eq!(removed, [".metadata.labels.b"]);
        assert_eq!(
            modified,
            [".metadata.labels.a", ".spec.tolerations", ".spec.containers[name=\"c\"].image",]
        );
        let item = ".spec.containers[name=\"d\"]";
        assert_eq!(
            added,
            [
                ".metadata.labels.c".to_owned(),
                item.to_owned(),
                format!("{item}.image"),
                format!("{item}.name"),
            ]
        );
    }

    #[test]
    fn a_map_that_comes_or_goes_counts_itself() {
        let with = json!({"metadata": {"labels": {"a": "1"}}});
        let without = json!({"metadata": {}});
        let ty = sample::pod();
        assert_eq!(paths(&without, &with, &ty)[ADDED], [".metadata.labels", ".metadata.labels.a"]);
        assert_eq!(paths(&with, &without, &ty)[REMOVED], [".metadata.labels", ".metadata.labels.a"]);
    }

    #[test]
    fn a_struct_that_is_always_written_counts_only_what_is_in_it() {
        let with = json!({"metadata": {"name": "a"}, "spec": {"replicas": 1}});
        let [_, _, added] = paths(&json!({}), &with, &sample::deployment());
        assert_eq!(added, [".metadata.name", ".spec.replicas"]);
    }

    #[test]
    fn doubles_in_a_list_change_as_one() {
        let ty = sample::pod();
        let env = |items: Value| json!({"spec": {"containers": [{"name": "c", "env": items}]}});
        let (one, two) = (json!({"name": "X", "value": "1"}), json!({"name": "X", "value": "2"}));
        let single = env(json!([one]));
        let double = env(json!([one, two]));
        let path = ".spec.containers[name=\"c\"].env[name=\"X\"]".to_owned();
        let [removed, modified, added] = paths(&single, &double, &ty);
        assert_eq!(
            (removed, modified, added),
            (vec![path.clone(), format!("{path}.name"), format!("{path}.value")], vec![], vec![path.clone()],)
        );
        let [_, modified, _] = paths(&double, &env(json!([two, one])), &ty);
        assert_eq!(modified, [path]);
    }

    proptest! {
        #[test]
        fn a_value_does_not_differ_from_itself(value in any_object()) {
            prop_assert!(Comparison::of(&value, &value, &Type::Untyped).is_same());
        }

        #[test]
        fn what_is_added_one_way_is_removed_the_other(a in any_object(), b in any_object()) {
            let there = Comparison::of(&a, &b, &Type::Untyped);
            let back = Comparison::of(&b, &a, &Type::Untyped);
            prop_assert_eq!(there.added, back.removed);
            prop_assert_eq!(there.modified, back.modified);
        }

        #[test]
        fn values_without_a_difference_are_equal(a in any_object(), b in any_object()) {
            prop_assert_eq!(Comparison::of(&a, &b, &Type::Untyped).is_same(), a == b);
        }
    }
}
