//! The door to the CEL engine: reading an expression, running it, and functions that macros expand to.
//!
//! The engine is other people's code fed with what users write, so a panic in it becomes an error here and expressions that
//! would make it recurse too deeply are refused.

use std::{
    cmp::Ordering,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use kube_cel::{
    KubeCelExt,
    cel::{
        Context, ExecutionError, IdedExpr, Program, Value,
        objects::{Key, Map, OptionalValue},
        parser::Parser,
    },
};

use super::value::{convert, convert_old};
use crate::schema::Schema;

/// The longest expression that is read.
const LONGEST: usize = 16 * 1024;
/// The most brackets that may stand inside each other.
const DEEPEST: usize = 64;

thread_local! {
    /// The functions that rules may call. Contexts cannot be shared between threads, and filling one takes a while.
    static FUNCTIONS: Context<'static> = functions();
}

fn functions() -> Context<'static> {
    let mut context = Context::default().with_all();
    context.add_function("dyn", |value: Value| Ok::<_, ExecutionError>(value));
    context.add_function("type", |value: Value| Ok::<_, ExecutionError>(type_of(&value)));
    for name in TYPES {
        context.add_variable_from_value(name, type_named(name));
    }
    context.add_function("@pairs", |value: Value| pairs(&value));
    context.add_function("@insert", |map: Value, key: Value, value: Value| insert(&map, key, value));
    context.add_function("@sorted", |items: Value, keys: Value| sorted(&items, &keys));
    context
}

/// The types that rules may name, as in `type(self) == string`.
pub(super) const TYPES: [&str; 9] =
    ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "uint"];

/// A type as a value. The engine has none, so it is a text that no other text equals.
fn type_named(name: &str) -> Value {
    Value::String(Arc::new(format!("\u{0}type {name}")))
}

fn type_of(value: &Value) -> Value {
    type_named(match value {
        Value::Bool(_) => "bool",
        Value::Bytes(_) => "bytes",
        Value::Float(_) => "double",
        Value::Int(_) => "int",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Null => "null_type",
        Value::String(_) => "string",
        Value::UInt(_) => "uint",
        _ => "other",
    })
}

/// Reads an expression.
pub(super) fn parse(source: &str) -> Result<IdedExpr, String> {
    if source.len() > LONGEST {
        return Err(format!("the expression is longer than {LONGEST} bytes"));
    }
    let mut depth: usize = 0;
    for byte in source.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return Err(format!("the expression nests deeper than {DEEPEST} levels"));
        }
    }
    let parsed = catch_unwind(|| Parser::new().enable_optional_syntax(true).parse(source));
    parsed.map_err(|_| "the expression cannot be read")?.map_err(|errors| errors.to_string())
}

/// The variables that the rules of one place see.
pub(super) struct Variables {
    this: Value,
    old: Option<Value>,
}

impl Variables {
    pub(super) fn new(value: &serde_json::Value, old: Option<&serde_json::Value>, schema: &Schema) -> Self {
        let uses_old = schema.rules.iter().any(|rule| rule.uses_old_self);
        Self {
            this: convert(value, schema),
            old: old.filter(|_| uses_old).map(|old| convert_old(old, value, schema)),
        }
    }
}

/// Runs an expression; `optional_old_self` makes `oldSelf` an optional value.
pub(super) fn run(
    expression: &IdedExpr,
    variables: &Variables,
    optional_old_self: bool,
) -> Result<Value, String> {
    FUNCTIONS.with(|functions| {
        let mut context = functions.new_inner_scope();
        context.add_variable_from_value("self", variables.this.clone());
        if optional_old_self {
            let old = variables.old.clone().map_or_else(OptionalValue::none, OptionalValue::of);
            context.add_variable_from_value("oldSelf", Value::Opaque(Arc::new(old)));
        } else if let Some(old) = &variables.old {
            context.add_variable_from_value("oldSelf", old.clone());
        }
        match catch_unwind(AssertUnwindSafe(|| context.resolve(expression))) {
            Ok(result) => result.map_err(|error| describe(&error)),
            Err(_) => Err("internal error".to_owned()),
        }
    })
}

/// Runs an expression over named values.
pub(super) fn run_with<'a>(
    expression: &IdedExpr,
    values: impl Iterator<Item = (&'a str, Value)>,
) -> Result<Value, String> {
    FUNCTIONS.with(|functions| {
        let mut context = functions.new_inner_scope();
        for (name, value) in values {
            context.add_variable_from_value(name, value);
        }
        match catch_unwind(AssertUnwindSafe(|| context.resolve(expression))) {
            Ok(result) => result.map_err(|error| describe(&error)),
            Err(_) => Err("internal error".to_owned()),
        }
    })
}

/// The engine's errors in the words of the real server, as far as they differ.
fn describe(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::NoSuchOverload => "no such overload".to_owned(),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::IndexOutOfBounds(Value::Int(index)) => format!("index out of bounds: {index}"),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        other => other.to_string(),
    }
}

/// A point in time, read by the engine so that it is of the engine's type.
pub(super) fn timestamp(text: &str) -> Option<Value> {
    construct("timestamp(x)", text)
}

/// A length of time, likewise.
pub(super) fn duration(text: &str) -> Option<Value> {
    construct("duration(x)", text)
}

fn construct(source: &'static str, text: &str) -> Option<Value> {
    let program = Program::compile(source).ok()?;
    FUNCTIONS.with(|functions| {
        let mut context = functions.new_inner_scope();
        context.add_variable_from_value("x", text.to_owned());
        catch_unwind(AssertUnwindSafe(|| program.execute(&context))).ok()?.ok()
    })
}

/// Index and value of each item, or key and value of each entry.
fn pairs(value: &Value) -> Result<Value, ExecutionError> {
    let pair = |left: Value, right: &Value| Value::List(Arc::new(vec![left, right.clone()]));
    match value {
        Value::List(items) => {
            let pairs = items
                .iter()
                .enumerate()
                .map(|(index, item)| pair(Value::Int(i64::try_from(index).unwrap_or(i64::MAX)), item));
            Ok(Value::List(Arc::new(pairs.collect())))
        }
        Value::Map(map) => {
            let mut entries: Vec<(&Key, &Value)> = map.map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let pairs = entries.into_iter().map(|(key, value)| pair(key.clone().into(), value));
            Ok(Value::List(Arc::new(pairs.collect())))
        }
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

fn insert(map: &Value, key: Value, value: Value) -> Result<Value, ExecutionError> {
    let Value::Map(map) = map else { return Err(ExecutionError::NoSuchOverload) };
    let mut entries = (*map.map).clone();
    let key = match key {
        Value::Int(key) => Key::Int(key),
        Value::UInt(key) => Key::Uint(key),
        Value::Bool(key) => Key::Bool(key),
        Value::String(key) => Key::String(key),
        other => return Err(ExecutionError::unsupported_key_type(other)),
    };
    entries.insert(key, value);
    Ok(Value::Map(Map { map: Arc::new(entries) }))
}

fn sorted(items: &Value, keys: &Value) -> Result<Value, ExecutionError> {
    let (Value::List(items), Value::List(keys)) = (items, keys) else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let mut pairs: Vec<(&Value, &Value)> = keys.iter().zip(items.iter()).collect();
    let mut comparable = true;
    pairs.sort_by(|(left, _), (right, _)| {
        left.partial_cmp(right).unwrap_or_else(|| {
            comparable = false;
            Ordering::Equal
        })
    });
    if !comparable {
        return Err(ExecutionError::NoSuchOverload);
    }
    Ok(Value::List(Arc::new(pairs.into_iter().map(|(_, item)| item.clone()).collect())))
}
