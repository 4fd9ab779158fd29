//! From a schema to the shape that merging and server-side apply go by.

use std::collections::HashMap;

use super::{Additional, Kind, ListType, Schema};
use crate::{
    fields::{Field, Key, ListKind, Object, Type},
    merge_keys::{self, MergeFact},
};

/// The shape of values of this schema.
///
/// Built-in definitions bring what [`merge_keys`] says about them; custom resources say it themselves.
pub fn to_type(schema: &Schema) -> Type {
    Conversion::default().shape(schema, None)
}

/// Any object, in kinds that carry what others understand.
const RAW: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

#[derive(Default)]
struct Conversion {
    /// Definitions met so far; `None` while one is being converted, which is where recursion is cut.
    known: HashMap<String, Option<Type>>,
}

impl Conversion {
    fn shape(&mut self, schema: &Schema, fact: Option<&MergeFact>) -> Type {
        let overridden = fact.is_some_and(|fact| fact.atomic.is_some());
        let Some(name) = schema.name.as_deref().filter(|_| !overridden) else {
            return self.build(schema, fact);
        };
        if let Some(known) = self.known.get(name) {
            return known.clone().unwrap_or(Type::Untyped);
        }
        self.known.insert(name.to_owned(), None);
        let shape = self.build(schema, fact);
        self.known.insert(name.to_owned(), Some(shape.clone()));
        shape
    }

    fn build(&mut self, schema: &Schema, fact: Option<&MergeFact>) -> Type {
        // Whatever is in there is none of the server's business: it belongs to one manager whole.
        if schema.name.as_deref() == Some(RAW) {
            return Type::from_object(Object::new(Vec::new()).atomic(true).with_rest(Type::Untyped));
        }
        match schema.kind {
            Kind::String | Kind::Integer | Kind::Number | Kind::Boolean | Kind::IntOrString => Type::Scalar,
            Kind::Array => self.list(schema, fact),
            Kind::Any if schema.properties.is_empty() && !schema.additional.is_map() => Type::Untyped,
            Kind::Object | Kind::Any => self.object(schema, fact),
        }
    }

    fn list(&mut self, schema: &Schema, fact: Option<&MergeFact>) -> Type {
        let element = schema.items.as_deref().map_or(Type::Untyped, |items| self.shape(items, None));
        let kind = fact.and_then(|fact| fact.list.clone()).unwrap_or_else(|| list_kind(schema));
        Type::list(element, kind)
    }

    fn object(&mut self, schema: &Schema, fact: Option<&MergeFact>) -> Type {
        let definition = schema.name.as_deref();
        let fields: Vec<Field> = schema
            .properties
            .iter()
            .map(|(name, property)| {
                let fact = definition.and_then(|definition| merge_keys::of(definition, name));
                let field = Field::new(name, self.shape(property, fact));
                match fact {
                    Some(fact) => field.with_patch(fact.patch.clone()).always(fact.always),
                    None => field,
                }
            })
            .collect();
        let atomic = fact
            .and_then(|fact| fact.atomic)
            .unwrap_or_else(|| schema.atomic || definition.is_some_and(merge_keys::is_atomic));
        let object = Object::new(fields).atomic(atomic);
        Type::from_object(match &schema.additional {
            Additional::Schema(entry) => object.with_rest(self.shape(entry, None)),
            Additional::Any => object.with_rest(Type::Untyped),
            Additional::None if schema.preserve_unknown => object.with_rest(Type::Untyped),
            Additional::None => object,
        })
    }
}

fn list_kind(schema: &Schema) -> ListKind {
    match schema.list_type {
        ListType::Atomic => ListKind::Atomic,
        ListType::Set => ListKind::Set,
        ListType::Map => ListKind::Map(
            schema
                .list_map_keys
                .iter()
                .map(|name| Key { name: name.clone(), default: key_default(schema, name) })
                .collect(),
        ),
    }
}

fn key_default(schema: &Schema, key: &str) -> Option<serde_json::Value> {
    schema.items.as_deref()?.properties.get(key)?.default.clone()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{builtin, schema::compile};

    #[test]
    fn built_in_lists_merge_by_their_keys() {
        let pod = builtin::merge_type("", "v1", "Pod").unwrap();
        let spec = pod.field("spec").unwrap();
        let Some(Type::List(containers)) = spec.field("containers") else { panic!("a list") };
        let ListKind::Map(keys) = &containers.kind else { panic!("keyed") };
        assert_eq!(&*keys[0].name, "name");
        let Type::Object(object) = &containers.element else { panic!("an object") };
        let ports = object.find("ports").unwrap();
        assert_eq!(ports.patch.merge_key.as_deref(), Some("containerPort"));
        let Some(Type::Object(selector)) =
            pod.field("metadata").and_then(|meta| meta.field("ownerReferences")?.element())
        else {
            panic!("an object")
        };
        assert!(selector.is_atomic());
    }

    #[test]
    fn a_definition_that_contains_itself_is_cut() {
        let crd = builtin::merge_type("apiextensions.k8s.io", "v1", "CustomResourceDefinition").unwrap();
        let versions = crd.field("spec").and_then(|spec| spec.field("versions")?.element()).unwrap();
        let props = versions.field("schema").and_then(|schema| schema.field("openAPIV3Schema")).unwrap();
        assert_eq!(props.field("not"), Some(&Type::Untyped));
        assert_eq!(props.field("type"), Some(&Type::Scalar));
    }

    #[test]
    fn custom_resources_say_it_themselves() {
        let schema = compile(&json!({"type": "object", "properties": {
            "keyed": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "p"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}, "p": {"type": "string", "default": "TCP"}}},
            },
            "atomic": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "any": {"x-kubernetes-preserve-unknown-fields": true},
            "either": {"x-kubernetes-int-or-string": true},
        }}))
        .unwrap();
        let shape = to_type(&schema);
        let Some(Type::List(keyed)) = shape.field("keyed") else { panic!("a list") };
        assert_eq!(keyed.kind, ListKind::Map(Box::new([Key::new("k"), Key::new("p").with_default("TCP")])));
        let Some(Type::Object(atomic)) = shape.field("atomic") else { panic!("an object") };
        assert!(atomic.is_atomic());
        assert_eq!(shape.field("open").and_then(|open| open.field("x")), Some(&Type::Untyped));
        assert_eq!(shape.field("any"), Some(&Type::Untyped));
        assert_eq!(shape.field("either"), Some(&Type::Scalar));
    }
}
