//! Compiled structural schemas: one tree for built-in kinds and for custom resources alike.
//!
//! A [`Schema`] is compiled once from JSON ([`compile`]) and then only borrowed. Every operation walks the value and the tree
//! side by side: [`prune`] drops what the schema does not know, [`default`] fills what it knows a value for, [`validate`] and
//! [`validate_update`] say what is wrong. The tree may be recursive: a [`Child`] is either owned or a shared definition.

mod child;
mod compile;
mod default;
mod format;
#[cfg(test)]
mod laws;
mod lists;
mod merge;
mod pattern;
mod properties;
mod prune;
mod resource;
mod rules;
mod validate;

use std::sync::Arc;

use serde_json::Value;

pub use child::Child;
pub use compile::{Compiler, compile};
pub use default::default;
pub use format::Format;
pub(crate) use format::whole;
pub use lists::check_lists;
pub use merge::to_type;
pub use pattern::{Pattern, PatternError};
pub use properties::Properties;
pub use prune::prune;
pub use rules::{Condition, Judgement, Rule, check_costs, judge_rules, validate_rules, validate_rules_at};
pub use validate::{validate, validate_at, validate_update};

/// The JSON type a schema asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Kind {
    /// No type: any JSON value.
    #[default]
    Any,
    /// An object.
    Object,
    /// A list.
    Array,
    /// A text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// True or false.
    Boolean,
    /// `x-kubernetes-int-or-string`: a whole number or a text.
    IntOrString,
}

/// What identifies the items of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ListType {
    /// Nothing: the list is one value.
    #[default]
    Atomic,
    /// The item itself.
    Set,
    /// Some of the item's fields, see [`Schema::list_map_keys`].
    Map,
}

/// What an object may hold beside its named properties.
#[derive(Clone, Debug, Default)]
pub enum Additional {
    /// Nothing.
    #[default]
    None,
    /// Anything whatever (`additionalProperties: true`), of which nothing is known.
    Any,
    /// Values of one schema: the object is a map.
    Schema(Child),
}

impl Additional {
    /// Whether the object is a map.
    pub fn is_map(&self) -> bool {
        !matches!(self, Self::None)
    }
}

/// One node of a compiled schema.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a keyword of its own in the schema's source")]
pub struct Schema {
    /// The JSON type.
    pub kind: Kind,
    /// Whether `null` is a value here.
    pub nullable: bool,
    /// The name of the definition this node is, for built-in kinds: `io.k8s.api.core.v1.PodSpec`.
    pub name: Option<Arc<str>>,
    /// Known fields of an object.
    pub properties: Properties,
    /// What else an object may hold.
    pub additional: Additional,
    /// Fields an object must hold.
    pub required: Box<[Box<str>]>,
    /// The items of a list.
    pub items: Option<Child>,
    /// What identifies the items of a list.
    pub list_type: ListType,
    /// Fields that identify an item of a list of type map.
    pub list_map_keys: Box<[Arc<str>]>,
    /// The whole object is one value to a merge.
    pub atomic: bool,
    /// Unknown fields stay.
    pub preserve_unknown: bool,
    /// The object is a whole Kubernetes object inside another one.
    pub embedded_resource: bool,
    /// What stands here when nothing was given.
    pub default: Option<Value>,
    /// Whether a default is set here or anywhere below; saves walking the rest.
    pub has_defaults: bool,
    /// What a text or number stands for.
    pub format: Option<Format>,
    /// Limits on the value.
    pub checks: Option<Box<Checks>>,
    /// Whether a whole object is embedded here or anywhere below; saves walking the rest.
    pub has_embedded: bool,
    /// Rules in CEL.
    pub rules: Box<[Rule]>,
    /// Whether a rule stands here or anywhere below; saves walking the rest.
    pub has_rules: bool,
}

/// Value validations of a node: limits that say nothing about its shape.
#[derive(Debug, Default)]
pub struct Checks {
    /// The values allowed.
    pub enumeration: Option<Box<[Value]>>,
    /// What a text must match.
    pub pattern: Option<Pattern>,
    /// The smallest number.
    pub minimum: Option<Limit>,
    /// The largest number.
    pub maximum: Option<Limit>,
    /// Numbers must be a multiple of this.
    pub multiple_of: Option<f64>,
    /// The fewest characters of a text.
    pub min_length: Option<u64>,
    /// The most characters of a text.
    pub max_length: Option<u64>,
    /// The fewest items of a list.
    pub min_items: Option<u64>,
    /// The most items of a list.
    pub max_items: Option<u64>,
    /// No two items of a list are equal.
    pub unique_items: bool,
    /// The fewest entries of an object.
    pub min_properties: Option<u64>,
    /// The most entries of an object.
    pub max_properties: Option<u64>,
    /// All of these must hold.
    pub all_of: Box<[Schema]>,
    /// At least one of these must hold.
    pub any_of: Box<[Schema]>,
    /// Exactly one of these must hold.
    pub one_of: Box<[Schema]>,
    /// This must not hold.
    pub not: Option<Box<Schema>>,
}

/// An end of a range of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The end itself.
    pub value: f64,
    /// The end is not part of the range.
    pub exclusive: bool,
}

impl Schema {
    /// The schema below a field, be it named or an entry of a map.
    pub fn field(&self, name: &str) -> Option<&Schema> {
        self.properties.get(name).or(match &self.additional {
            Additional::Schema(child) => Some(child),
            Additional::None | Additional::Any => None,
        })
    }
}

impl Schema {
    /// The type as schemas name it; several are joined by commas.
    pub(crate) fn kind_name(&self) -> &'static str {
        match self.kind {
            Kind::Any => "",
            Kind::Object => "object",
            Kind::Array => "array",
            Kind::String => "string",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Boolean => "boolean",
            Kind::IntOrString => "integer,string",
        }
    }
}

/// The JSON type of a value as schemas name it.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        // What does not fit in 64 bits is read as a number with a fraction.
        Value::Number(number) if !number.is_i64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
