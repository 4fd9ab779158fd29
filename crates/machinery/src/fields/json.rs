//! FieldsV1: how a set of paths stands in `metadata.managedFields`.
//!
//! A key is `f:<name>`, `k:<keys as JSON>`, `v:<value as JSON>` or `i:<place>`; its object holds what is below, with
//! `.` if the path itself is a member as well. An empty object is a member.

use serde_json::{Map, Value};

use super::set::Node;
use super::{Element, Set};

/// Why a FieldsV1 document could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldsError {
    /// A key that names no step.
    #[error("{0:?} is no path element")]
    Element(String),
    /// Something other than an object where one must stand.
    #[error("fields are objects, all the way down")]
    NotAnObject,
}

impl Set {
    /// The set as FieldsV1.
    pub fn to_fields_v1(&self) -> Value {
        Value::Object(self.encode(false))
    }

    fn encode(&self, member: bool) -> Map<String, Value> {
        let mut map = Map::new();
        if member && !self.is_empty() {
            map.insert(".".to_owned(), Value::Object(Map::new()));
        }
        for node in self.nodes() {
            map.insert(write_element(&node.element), Value::Object(node.children.encode(node.member)));
        }
        map
    }

    /// Whether any path of this set is in a FieldsV1 document, without reading all of it.
    pub(crate) fn meets_fields_v1(&self, fields: &Value) -> bool {
        let Value::Object(map) = fields else { return false };
        self.nodes().iter().any(|node| {
            let Some(below) = map.get(&write_element(&node.element)) else { return false };
            let member = below.as_object().is_some_and(|map| map.is_empty() || map.contains_key("."));
            (node.member && member) || node.children.meets_fields_v1(below)
        })
    }

    /// Takes the paths of this set out of a FieldsV1 document, with all that is below them if `recursive`.
    pub(crate) fn take_from_fields_v1(&self, fields: &mut Map<String, Value>, recursive: bool) {
        for node in self.nodes() {
            let key = write_element(&node.element);
            let Some(Value::Object(below)) = fields.get_mut(&key) else { continue };
            let member = below.is_empty() || below.remove(".").is_some();
            node.children.take_from_fields_v1(below, recursive);
            let stays = member && !node.member;
            if (below.is_empty() && !stays) || (node.member && recursive) {
                fields.remove(&key);
            } else if stays && !below.is_empty() {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
        }
    }

    /// Reads FieldsV1; steps of a kind not known here are dropped, as the API server does.
    pub fn from_fields_v1(fields: &Value) -> Result<Self, FieldsError> {
        let Value::Object(map) = fields else { return Err(FieldsError::NotAnObject) };
        decode(map).map(|(_, set)| set)
    }
}

/// Whether the path that leads here is a member, and what is below.
fn decode(map: &Map<String, Value>) -> Result<(bool, Set), FieldsError> {
    let mut nodes = Vec::with_capacity(map.len());
    let mut member = false;
    for (key, below) in map {
        if key == "." {
            member = true;
            continue;
        }
        let Some(element) = read_element(key)? else { continue };
        let Value::Object(below) = below else { return Err(FieldsError::NotAnObject) };
        let (member, children) = decode(below)?;
        nodes.push(Node::new(element, member, children));
    }
    let set = Set::from_nodes(nodes);
    Ok((member || set.is_empty(), set))
}

pub(crate) fn write_field(name: &str) -> String {
    ["f:", name].concat()
}

pub(crate) fn write_element(element: &Element) -> String {
    match element {
        Element::Field(name) => write_field(name),
        Element::Value(value) => format!("v:{value}"),
        Element::Index(place) => format!("i:{place}"),
        Element::Key(keys) => {
            use std::fmt::Write as _;
            let mut text = String::with_capacity(32);
            text.push_str("k:{");
            for (index, (name, value)) in keys.iter().enumerate() {
                let comma = if index == 0 { "" } else { "," };
                // Names of keys are identifiers of a schema: nothing in them needs escaping.
                let _ = write!(text, "{comma}\"{name}\":{value}");
            }
            text.push('}');
            text
        }
    }
}

fn read_element(key: &str) -> Result<Option<Element>, FieldsError> {
    let wrong = || FieldsError::Element(key.to_owned());
    let (kind, rest) = key.split_once(':').filter(|(kind, _)| kind.len() == 1).ok_or_else(wrong)?;
    Ok(Some(match kind {
        "f" => Element::Field(rest.into()),
        "v" => Element::value(serde_json::from_str::<Value>(rest).map_err(|_| wrong())?),
        "i" => Element::Index(rest.parse().map_err(|_| wrong())?),
        "k" => Element::key(serde_json::from_str::<Map<String, Value>>(rest).map_err(|_| wrong())?),
        _ => return Ok(None),
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::set::tests::any_set;
    use super::*;

    #[test]
    fn sets_stand_as_the_api_server_writes_them() {
        let ports =
            [Element::field("ports"), Element::key([("port", json!(80)), ("protocol", json!("TCP"))])];
        let set = Set::of([
            ports.to_vec(),
            [ports.as_slice(), &[Element::field("name")]].concat(),
            vec![Element::field("replicas")],
            vec![Element::field("finalizers"), Element::value("a/b")],
            vec![Element::field("places"), Element::Index(2)],
        ]);
        let want = json!({
            "f:finalizers": {"v:\"a/b\"": {}},
            "f:places": {"i:2": {}},
            "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:name": {}}},
            "f:replicas": {},
        });
        assert_eq!(set.to_fields_v1(), want);
        assert_eq!(Set::from_fields_v1(&want).unwrap(), set);
    }

    #[test]
    fn steps_of_the_future_are_dropped_and_nonsense_is_refused() {
        let set = Set::from_fields_v1(&json!({"x:new": {}, "f:a": {}})).unwrap();
        assert_eq!(set.paths(), [".a"]);
        for wrong in
            [json!({"nocolon": {}}), json!({"k:{": {}}), json!({"i:x": {}}), json!([]), json!({"f:a": 1})]
        {
            assert!(Set::from_fields_v1(&wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_the_same(set in any_set()) {
            prop_assert_eq!(Set::from_fields_v1(&set.to_fields_v1()).unwrap(), set);
        }

        #[test]
        fn sets_are_taken_away_on_paper_as_they_are_in_memory(a in any_set(), b in any_set(), recursive: bool) {
            let Value::Object(mut fields) = a.to_fields_v1() else { unreachable!() };
            b.take_from_fields_v1(&mut fields, recursive);
            let rest = if recursive { a.recursive_difference(&b) } else { a.difference(&b) };
            prop_assert_eq!(Value::Object(fields), rest.to_fields_v1());
        }

        #[test]
        fn two_sets_meet_on_paper_as_they_do_in_memory(a in any_set(), b in any_set()) {
            prop_assert_eq!(a.meets_fields_v1(&b.to_fields_v1()), !a.intersection(&b).is_empty());
        }
    }
}
