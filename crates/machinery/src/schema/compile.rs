//! From a schema in JSON to the tree that is walked.
//!
//! The compiler takes what it understands and reports what it cannot use (a pattern that does not compile, a value of the
//! wrong type). Whether a schema is *allowed* is another question, answered by [`crate::crd`] for custom resources.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    Additional, Checks, Child, Format, Kind, Limit, ListType, Pattern, Properties, Schema, resource, rules,
};
use crate::error::{FieldError, Path};

/// Compiles a schema that refers to no definitions.
pub fn compile(document: &Value) -> Result<Schema, Vec<FieldError>> {
    let mut compiler = Compiler::new(|_| None);
    let schema = compiler.schema(document, &Path::Root);
    compiler.finish().map(|()| schema)
}

/// Finds the definition behind a `$ref`.
type Resolve<'a> = Box<dyn Fn(&str) -> Option<Child> + 'a>;

/// Compiles schemas that may refer to definitions.
pub struct Compiler<'a> {
    resolve: Resolve<'a>,
    errors: Vec<FieldError>,
    /// The nearest list above whose items cannot be told from those before.
    uncorrelated: Option<String>,
}

impl std::fmt::Debug for Compiler<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Compiler").field("errors", &self.errors).finish_non_exhaustive()
    }
}

impl<'a> Compiler<'a> {
    /// A compiler that finds the definition behind a `$ref` with `resolve`.
    pub fn new(resolve: impl Fn(&str) -> Option<Child> + 'a) -> Self {
        Self { resolve: Box::new(resolve), errors: Vec::new(), uncorrelated: None }
    }

    /// What could not be used so far.
    pub fn finish(self) -> Result<(), Vec<FieldError>> {
        if self.errors.is_empty() { Ok(()) } else { Err(self.errors) }
    }

    /// Compiles one schema; `path` is where it stands, for errors.
    pub fn schema(&mut self, document: &Value, path: &Path<'_>) -> Schema {
        self.node(document, false, path)
    }

    /// Compiles the schema of a whole object: `apiVersion`, `kind` and `metadata` need not be said.
    pub fn resource(&mut self, document: &Value, path: &Path<'_>) -> Schema {
        self.node(document, true, path)
    }

    fn node(&mut self, document: &Value, is_object: bool, path: &Path<'_>) -> Schema {
        let Some(document) = document.as_object() else {
            self.errors.push(FieldError::invalid(path, document.clone(), "a schema must be an object"));
            return Schema::default();
        };
        let kind = self.kind(document, path);
        let text = |name: &str| document.get(name).and_then(Value::as_str);
        let flag = |name: &str| document.get(name).and_then(Value::as_bool).unwrap_or_default();
        let mut schema = Schema {
            kind,
            nullable: flag("nullable"),
            properties: self.properties(document, path),
            additional: self.additional(document, path),
            required: texts(document, "required").map(Into::into).collect(),
            items: self.items(document, path),
            list_type: list_type(text("x-kubernetes-list-type")),
            list_map_keys: texts(document, "x-kubernetes-list-map-keys").map(Arc::from).collect(),
            atomic: text("x-kubernetes-map-type") == Some("atomic"),
            preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
            embedded_resource: is_object || flag("x-kubernetes-embedded-resource"),
            default: document.get("default").cloned(),
            format: text("format").and_then(|name| Format::parse(name, kind)),
            checks: self.checks(document, path),
            ..Schema::default()
        };
        if schema.embedded_resource {
            resource::add_object_fields(&mut schema);
        }
        schema.has_defaults =
            schema.default.is_some() || children(&schema).any(|child| owned(child, |s| s.has_defaults));
        schema.has_embedded =
            schema.embedded_resource || children(&schema).any(|child| owned(child, |s| s.has_embedded));
        self.rules(document, &mut schema, path);
        schema
    }

    /// Rules see the whole node, so they come last.
    fn rules(&mut self, document: &Map<String, Value>, schema: &mut Schema, path: &Path<'_>) {
        match rules::compile(document, schema, path, self.uncorrelated.as_deref()) {
            Ok(rules) => schema.rules = rules,
            Err(errors) => self.errors.extend(errors),
        }
        schema.has_rules =
            !schema.rules.is_empty() || children(schema).any(|child| owned(child, |s| s.has_rules));
    }

    /// A schema below another one: a definition where there is a `$ref`.
    pub fn child(&mut self, document: &Value, path: &Path<'_>) -> Child {
        let reference = document.get("$ref").and_then(Value::as_str);
        match reference.map(|reference| (reference, (self.resolve)(reference))) {
            Some((_, Some(child))) => child,
            Some((reference, None)) => {
                self.errors.push(FieldError::not_found(path.field("$ref"), reference));
                Schema::default().into()
            }
            None => self.schema(document, path).into(),
        }
    }

    fn kind(&mut self, document: &Map<String, Value>, path: &Path<'_>) -> Kind {
        if document.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
            return Kind::IntOrString;
        }
        match document.get("type").and_then(Value::as_str) {
            None | Some("") => Kind::Any,
            Some("object") => Kind::Object,
            Some("array") => Kind::Array,
            Some("string") => Kind::String,
            Some("integer") => Kind::Integer,
            Some("number") => Kind::Number,
            Some("boolean") => Kind::Boolean,
            Some(other) => {
                let known = ["array", "boolean", "integer", "number", "object", "string"];
                self.errors.push(FieldError::not_supported(path.field("type"), other, known));
                Kind::Any
            }
        }
    }

    fn properties(&mut self, document: &Map<String, Value>, path: &Path<'_>) -> Properties {
        let path = path.field("properties");
        let Some(properties) = document.get("properties").and_then(Value::as_object) else {
            return Properties::default();
        };
        properties
            .iter()
            .map(|(name, value)| (name.as_str().into(), self.child(value, &path.key(name))))
            .collect()
    }

    fn items(&mut self, document: &Map<String, Value>, path: &Path<'_>) -> Option<Child> {
        let items = document.get("items")?;
        let keyed = document.get("x-kubernetes-list-type").and_then(Value::as_str) == Some("map");
        let outer = self.uncorrelated.clone();
        if !keyed && outer.is_none() {
            self.uncorrelated = Some(path.to_string());
        }
        let child = self.child(items, &path.field("items"));
        self.uncorrelated = outer;
        Some(child)
    }

    fn additional(&mut self, document: &Map<String, Value>, path: &Path<'_>) -> Additional {
        match document.get("additionalProperties") {
            None | Some(Value::Bool(false)) => Additional::None,
            Some(Value::Bool(true)) => Additional::Any,
            Some(schema) => Additional::Schema(self.child(schema, &path.field("additionalProperties"))),
        }
    }

    fn checks(&mut self, document: &Map<String, Value>, path: &Path<'_>) -> Option<Box<Checks>> {
        const KEYWORDS: [&str; 16] = [
            "enum",
            "pattern",
            "minimum",
            "maximum",
            "multipleOf",
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "uniqueItems",
            "minProperties",
            "maxProperties",
            "allOf",
            "anyOf",
            "oneOf",
            "not",
        ];
        if !KEYWORDS.iter().any(|keyword| document.contains_key(*keyword)) {
            return None;
        }
        let count = |name: &str| document.get(name).and_then(Value::as_u64);
        Some(Box::new(Checks {
            enumeration: document
                .get("enum")
                .and_then(Value::as_array)
                .map(|values| values.as_slice().into()),
            pattern: self.pattern(document, path),
            minimum: limit(document, "minimum", "exclusiveMinimum"),
            maximum: limit(document, "maximum", "exclusiveMaximum"),
            multiple_of: document.get("multipleOf").and_then(Value::as_f64),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            min_items: count("minItems"),
            max_items: count("maxItems"),
            unique_items: document.get("uniqueItems") == Some(&Value::Bool(true)),
            min_properties: count("minProperties"),
            max_properties: count("maxProperties"),
            all_of: self.branches(document, "allOf", path),
            any_of: self.branches(document, "anyOf", path),
            one_of: self.branches(document, "oneOf", path),
            not: document.get("not").map(|schema| Box::new(self.schema(schema, &path.field("not")))),
        }))
    }

    fn pattern(&mut self, document: &Map<String, Value>, path: &Path<'_>) -> Option<Pattern> {
        let source = document.get("pattern").and_then(Value::as_str).filter(|source| !source.is_empty())?;
        Pattern::new(source)
            .map_err(|error| {
                let detail = format!("must be a valid regular expression, but isn't: {error}");
                self.errors.push(FieldError::invalid(path.field("pattern"), source, detail));
            })
            .ok()
    }

    fn branches(&mut self, document: &Map<String, Value>, name: &str, path: &Path<'_>) -> Box<[Schema]> {
        let path = path.field(name);
        let branches = document.get(name).and_then(Value::as_array);
        branches
            .into_iter()
            .flatten()
            .enumerate()
            .map(|(index, branch)| self.schema(branch, &path.index(index)))
            .collect()
    }
}

/// Asks a child that belongs to its parent. Definitions, which may contain themselves, carry neither defaults nor rules.
fn owned(child: &Child, ask: impl Fn(&Schema) -> bool) -> bool {
    match child {
        Child::Own(schema) => ask(schema),
        Child::Shared(_) => false,
    }
}

fn children(schema: &Schema) -> impl Iterator<Item = &Child> {
    let additional = match &schema.additional {
        Additional::Schema(child) => Some(child),
        Additional::None | Additional::Any => None,
    };
    schema.properties.children().map(|(_, child)| child).chain(additional).chain(&schema.items)
}

fn texts<'a>(document: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a str> {
    document.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn list_type(name: Option<&str>) -> ListType {
    match name {
        Some("set") => ListType::Set,
        Some("map") => ListType::Map,
        _ => ListType::Atomic,
    }
}

fn limit(document: &Map<String, Value>, name: &str, exclusive: &str) -> Option<Limit> {
    let value = document.get(name).and_then(Value::as_f64)?;
    let exclusive = document.get(exclusive).and_then(Value::as_bool).unwrap_or_default();
    Some(Limit { value, exclusive })
}
