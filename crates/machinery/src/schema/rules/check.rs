//! What can be told about an expression without running it: names that do not exist, fields that the schema does not have,
//! an answer that cannot be true or false.
//!
//! The engine has no types of its own, so this follows the schema as far as fields and items lead and lets the rest pass.

pub(super) mod functions;
mod types;

use kube_cel::cel::{
    IdedExpr,
    common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, operators},
};

use super::{engine, escape::escape};
use crate::schema::{Additional, Kind, Schema};

/// What is known of an expression's value.
#[derive(Clone, Copy)]
enum Known<'a> {
    /// Nothing.
    Dynamic,
    /// It has this schema.
    Schema(&'a Schema),
    /// It is metadata, of which only the names can be seen.
    Metadata,
    /// It is true or false.
    Truth,
    /// It is something else than true or false; the word is for messages.
    Other(&'static str),
}

/// A variable that is in scope where values are to be written into a text.
const FORMAT: &str = "@format";

/// The variables in scope, innermost first.
struct Scope<'a> {
    name: &'a str,
    known: Known<'a>,
    outer: Option<&'a Scope<'a>>,
}

/// Why an expression cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    /// It makes no sense.
    #[error("compilation failed: {0}")]
    Compilation(String),
    /// It answers with something of the wrong type.
    #[error("{0}")]
    Answer(&'static str),
    /// It answers with this and not with true or false.
    #[error("must evaluate to bool but got {0}")]
    Type(&'static str),
}

impl From<String> for Problem {
    fn from(problem: String) -> Self {
        Self::Compilation(problem)
    }
}

/// Checks a rule: it must be true or false.
pub(super) fn rule(expression: &IdedExpr, schema: &Schema, optional_old_self: bool) -> Result<(), Problem> {
    match top(expression, schema, optional_old_self)? {
        Known::Truth | Known::Dynamic => Ok(()),
        Known::Schema(schema) if matches!(schema.kind, Kind::Boolean | Kind::Any) => Ok(()),
        _ => Err(Problem::Answer("cel expression must evaluate to a bool")),
    }
}

/// Checks a condition over values of which only the names are known: it must be true or false.
pub(super) fn condition(expression: &IdedExpr, names: &[&str]) -> Result<(), Problem> {
    condition_in(expression, names, None)
}

fn condition_in(expression: &IdedExpr, names: &[&str], outer: Option<&Scope<'_>>) -> Result<(), Problem> {
    if let Some((name, rest)) = names.split_first() {
        return condition_in(expression, rest, Some(&Scope { name, known: Known::Dynamic, outer }));
    }
    let Some(scope) = outer else { return Ok(()) };
    match infer(expression, scope)? {
        Known::Truth | Known::Dynamic => Ok(()),
        Known::Other(word) => Err(Problem::Type(word)),
        Known::Schema(_) | Known::Metadata => Err(Problem::Answer("must evaluate to bool")),
    }
}

/// Checks a message expression: it must be a text.
pub(super) fn message(
    expression: &IdedExpr,
    schema: &Schema,
    optional_old_self: bool,
) -> Result<(), Problem> {
    match top(expression, schema, optional_old_self)? {
        Known::Dynamic | Known::Other("string" | "sum") => Ok(()),
        Known::Schema(schema) if matches!(schema.kind, Kind::String | Kind::Any) => Ok(()),
        _ => Err(Problem::Answer("messageExpression must evaluate to a string")),
    }
}

fn top<'a>(
    expression: &'a IdedExpr,
    schema: &'a Schema,
    optional_old_self: bool,
) -> Result<Known<'a>, String> {
    let this = Scope { name: "self", known: Known::Schema(schema), outer: None };
    let known = if optional_old_self { Known::Dynamic } else { Known::Schema(schema) };
    let old = Scope { name: "oldSelf", known, outer: Some(&this) };
    // What is found lives as long as the schema, not as long as the scopes, so only its nature leaves.
    Ok(match infer(expression, &old)? {
        Known::Schema(found) if matches!(found.kind, Kind::Boolean) => Known::Truth,
        Known::Schema(found) if matches!(found.kind, Kind::Any | Kind::IntOrString) => Known::Dynamic,
        Known::Schema(found) => Known::Other(type_word(found)),
        Known::Metadata => Known::Other("object"),
        Known::Truth => Known::Truth,
        Known::Other(word) => Known::Other(word),
        Known::Dynamic => Known::Dynamic,
    })
}

fn infer<'a>(expression: &'a IdedExpr, scope: &'a Scope<'a>) -> Result<Known<'a>, String> {
    match &expression.expr {
        Expr::Ident(name) => lookup(name, scope),
        Expr::Literal(literal) => Ok(match literal {
            LiteralValue::Boolean(_) => Known::Truth,
            LiteralValue::String(_) => Known::Other("string"),
            LiteralValue::Null => Known::Other("null"),
            LiteralValue::Bytes(_) => Known::Other("bytes"),
            LiteralValue::Double(_) => Known::Other("double"),
            LiteralValue::Int(_) => Known::Other("int"),
            LiteralValue::UInt(_) => Known::Other("uint"),
        }),
        Expr::Select(select) => {
            // A name with dots may be one of a function library; those are checked where they are called.
            let found = infer(&select.operand, scope)?;
            let field = self::select(found, &select.field)?;
            Ok(if select.test { Known::Truth } else { field })
        }
        Expr::List(list) => {
            alike(list.elements.iter(), scope)?;
            Ok(Known::Other("list"))
        }
        Expr::Map(map) => {
            let entries = || {
                map.entries.iter().filter_map(|entry| match &entry.expr {
                    EntryExpr::MapEntry(entry) => Some(entry),
                    EntryExpr::StructField(_) => None,
                })
            };
            alike(entries().map(|entry| &entry.key), scope)?;
            alike(entries().map(|entry| &entry.value), scope)?;
            Ok(Known::Other("map"))
        }
        Expr::Call(call) => self::call(call, scope),
        Expr::Comprehension(loops) => comprehension(loops, scope),
        Expr::Struct(_) => Err("messages cannot be constructed in rules".to_owned()),
        Expr::Unspecified => Err("the expression is empty".to_owned()),
    }
}

/// What stands in one list, or on one side of a map, is of one type, unless it is to be written into a text.
fn alike<'a>(elements: impl Iterator<Item = &'a IdedExpr>, scope: &Scope<'_>) -> Result<(), String> {
    let mut first = None;
    for element in elements {
        let found = types::of(infer(element, scope)?);
        if types::differ(first, found) && lookup(FORMAT, scope).is_err() {
            let (first, found) = (first.unwrap_or_default(), found.unwrap_or_default());
            return Err(format!("expected type '{first}' but found '{found}'"));
        }
        first = first.or(found);
    }
    Ok(())
}

fn lookup<'a>(name: &str, scope: &'a Scope<'a>) -> Result<Known<'a>, String> {
    let mut place = Some(scope);
    while let Some(scope) = place {
        if scope.name == name {
            return Ok(scope.known);
        }
        place = scope.outer;
    }
    if engine::TYPES.contains(&name) {
        return Ok(Known::Other("type"));
    }
    Err(format!("undeclared reference to '{name}' (in container '')"))
}

fn select<'a>(known: Known<'a>, field: &str) -> Result<Known<'a>, String> {
    match known {
        Known::Dynamic | Known::Other("map" | "sum") => Ok(Known::Dynamic),
        Known::Metadata if matches!(field, "name" | "generateName") => Ok(Known::Other("string")),
        Known::Metadata => Err(format!("undefined field '{field}'")),
        Known::Schema(schema) => select_in(schema, field),
        Known::Truth => Err("type 'bool' does not support field selection".to_owned()),
        Known::Other(word) => Err(format!("type '{word}' does not support field selection")),
    }
}

fn select_in<'a>(schema: &'a Schema, field: &str) -> Result<Known<'a>, String> {
    match schema.kind {
        Kind::Any if schema.properties.is_empty() => return Ok(Known::Dynamic),
        Kind::IntOrString => return Ok(Known::Dynamic),
        Kind::Object | Kind::Any => {}
        _ => return Err(format!("type '{}' does not support field selection", type_word(schema))),
    }
    let found = schema.properties.iter().find(|(name, _)| escape(name).as_deref() == Some(field));
    match (found, &schema.additional) {
        (Some(("metadata", _)), _) if schema.embedded_resource => Ok(Known::Metadata),
        // Nothing is known of a field without a type, and rules do not see it.
        (Some((_, found)), _) if found.kind == Kind::Any && found.properties.is_empty() => {
            Err(format!("undefined field '{field}'"))
        }
        (Some((_, found)), _) => Ok(Known::Schema(found)),
        (None, Additional::Schema(entry)) => Ok(Known::Schema(entry)),
        (None, Additional::Any) => Ok(Known::Dynamic),
        (None, Additional::None) => Err(format!("undefined field '{field}'")),
    }
}

fn call<'a>(call: &'a CallExpr, scope: &'a Scope<'a>) -> Result<Known<'a>, String> {
    let name = functions::full_name(call);
    if !functions::is_known(&name) {
        return Err(format!("undeclared reference to '{name}' (in container '')"));
    }
    // The target of a library's function is the library's name.
    let target = call.target.as_deref().filter(|_| name == call.func_name);
    let target = target.map(|target| infer(target, scope)).transpose()?;
    let mut kinds = Vec::with_capacity(call.args.len());
    if name == "format" {
        functions::check_format(call)?;
        let inner = Scope { name: FORMAT, known: Known::Dynamic, outer: Some(scope) };
        for argument in &call.args {
            kinds.push(nature(infer(argument, &inner)?));
        }
    } else {
        for argument in &call.args {
            kinds.push(infer(argument, scope)?);
        }
    }
    types::check(&name, target, &kinds)?;
    match (name.as_str(), kinds.as_slice()) {
        (operators::INDEX, [container, _]) => Ok(element(*container)),
        (operators::IN, [item, Known::Schema(container)])
            if types::differ(types::of(*item), of_what_is_in(container)) =>
        {
            Err("found no matching overload for '@in'".to_owned())
        }
        (operators::OPT_INDEX, [container, _]) => {
            let field = call.args.get(1).map(|field| &field.expr);
            if let (Some(Expr::Literal(LiteralValue::String(field))), Known::Schema(schema)) =
                (field, *container)
                && schema.kind == Kind::Object
            {
                select(*container, field.inner())?;
            }
            Ok(Known::Dynamic)
        }
        (operators::CONDITIONAL, [_, then, other]) => {
            Ok(if types::of(*then) == types::of(*other) { *then } else { Known::Dynamic })
        }
        // A sum is never a truth value; whether it is a text or a number is only sometimes known.
        (
            operators::ADD
            | operators::SUBSTRACT
            | operators::MULTIPLY
            | operators::DIVIDE
            | operators::MODULO,
            [left, right],
        ) => {
            let types = types::of(*left).zip(types::of(*right));
            let made = types.and_then(|(left, right)| types::sum(&name, left, right));
            Ok(Known::Other(made.unwrap_or("sum")))
        }
        _ => Ok(functions::answer(&name)),
    }
}

/// The type of the items of a list, or of the keys of a map.
fn of_what_is_in(container: &Schema) -> Option<&'static str> {
    match container.kind {
        Kind::Array => types::of(Known::Schema(container.items.as_deref()?)),
        Kind::Object if container.additional.is_map() => Some("string"),
        _ => None,
    }
}

/// What an item of a list or an entry of a map is.
fn element(known: Known<'_>) -> Known<'_> {
    match known {
        Known::Schema(schema) => match (schema.items.as_deref(), &schema.additional) {
            (Some(items), _) => Known::Schema(items),
            (None, Additional::Schema(entry)) => Known::Schema(entry),
            (None, _) => Known::Dynamic,
        },
        _ => Known::Dynamic,
    }
}

fn comprehension<'a>(loops: &'a ComprehensionExpr, scope: &'a Scope<'a>) -> Result<Known<'a>, String> {
    let range = infer(&loops.iter_range, scope)?;
    let start = infer(&loops.accu_init, scope)?;
    let bound = matches!(&loops.iter_range.expr, Expr::List(list) if list.elements.is_empty());
    let item = match range {
        Known::Schema(schema) if schema.kind == Kind::Array => element(range),
        Known::Schema(schema) if schema.kind == Kind::Object => Known::Other("string"),
        Known::Schema(schema) if !matches!(schema.kind, Kind::Any | Kind::IntOrString) => {
            return Err(format!(
                "expression of type '{}' cannot be range of a comprehension",
                type_word(schema)
            ));
        }
        _ => Known::Dynamic,
    };
    let known = if bound { start } else { Known::Dynamic };
    let accumulator = Scope { name: &loops.accu_var, known, outer: Some(scope) };
    let inner = Scope { name: &loops.iter_var, known: item, outer: Some(&accumulator) };
    for part in [&loops.loop_cond, &loops.loop_step] {
        nature(infer(part, &inner)?);
    }
    let result = nature(infer(&loops.result, &accumulator)?);
    // A loop that starts with a truth value ends with one; `filter` and `map` end with a list.
    Ok(match (result, start) {
        (Known::Dynamic, Known::Truth) if !bound => Known::Truth,
        (Known::Dynamic, Known::Other(word))
            if !bound && loops.result.expr == Expr::Ident(loops.accu_var.clone()) =>
        {
            Known::Other(word)
        }
        (result, _) => result,
    })
}

/// What leaves a scope: schemas found inside are dropped, since they may be borrowed from it.
fn nature<'a>(known: Known<'_>) -> Known<'a> {
    match known {
        Known::Truth => Known::Truth,
        Known::Other(word) => Known::Other(word),
        Known::Schema(schema) if schema.kind == Kind::Boolean => Known::Truth,
        Known::Schema(schema) if schema.kind == Kind::String => {
            types::of(Known::Schema(schema)).map_or(Known::Dynamic, Known::Other)
        }
        Known::Dynamic | Known::Schema(_) | Known::Metadata => Known::Dynamic,
    }
}

fn type_word(schema: &Schema) -> &'static str {
    match schema.kind {
        Kind::Any | Kind::IntOrString => "dyn",
        Kind::Object if schema.additional.is_map() => "map",
        Kind::Object => "object",
        Kind::Array => "list",
        Kind::String => "string",
        Kind::Integer => "int",
        Kind::Number => "double",
        Kind::Boolean => "bool",
    }
}
