//! The door to the CEL engine: reading an expression, running it, and calling the engine's functions.
//!
//! The engine is other people's code fed with what users write, so a panic in it becomes an error here and expressions that
//! would make it recurse too deeply are refused.

use std::panic::{AssertUnwindSafe, catch_unwind};

use kube_cel::{
    KubeCelExt,
    cel::{
        Context, ExecutionError, IdedExpr, Value,
        common::ast::{CallExpr, Expr},
        parser::Parser,
    },
};

use super::{
    evaluate::{Answer, NO_SUCH_OVERLOAD, Scope, evaluate, optional_of},
    expand::children,
    literal::literals,
    unordered::items,
    value::convert,
};
use crate::schema::Schema;

/// The longest expression that is read.
const LONGEST: usize = 16 * 1024;
/// The most brackets that may stand inside each other.
const DEEPEST: usize = 64;
/// The most expressions that may stand inside each other, as in a sum of as many numbers.
const LEVELS: usize = 500;

thread_local! {
    /// The functions of the engine. Contexts cannot be shared between threads, and filling one takes a while.
    static FUNCTIONS: Context<'static> = Context::default().with_all();
}

/// The types that rules may name, as in `type(self) == string`.
pub(super) const TYPES: [&str; 9] =
    ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "uint"];

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
    let source = literals(source)?;
    let parsed = catch_unwind(|| Parser::new().enable_optional_syntax(true).parse(&source));
    let parsed = parsed.map_err(|_| "the expression cannot be read")?;
    let mut expression = parsed.map_err(|errors| errors.to_string())?;
    check_levels(&mut expression)?;
    Ok(expression)
}

/// Refuses what would be too deep to go through, before anything goes through it.
fn check_levels(expression: &mut IdedExpr) -> Result<(), String> {
    let mut open = vec![(expression, 1)];
    while let Some((expression, level)) = open.pop() {
        if level > LEVELS {
            return Err(format!("the expression nests deeper than {LEVELS} levels"));
        }
        open.extend(children(&mut expression.expr).into_iter().map(|child| (child, level + 1)));
    }
    Ok(())
}

/// The variables that the rules of one place see.
pub(super) struct Variables {
    this: Value,
    old: Option<Value>,
}

impl Variables {
    pub(super) fn new(value: &serde_json::Value, old: Option<&serde_json::Value>, schema: &Schema) -> Self {
        let uses_old = schema.rules.iter().any(|rule| rule.uses_old_self);
        Self { this: convert(value, schema), old: old.filter(|_| uses_old).map(|old| convert(old, schema)) }
    }
}

/// Runs an expression; `optional_old_self` makes `oldSelf` an optional value.
pub(super) fn run(expression: &IdedExpr, variables: &Variables, optional_old_self: bool) -> Answer {
    let this = Scope { name: "self", value: Ok(variables.this.clone()), outer: None };
    let old = match &variables.old {
        old if optional_old_self => optional_of(old.clone()),
        Some(old) => old.clone(),
        None => return evaluate(expression, Some(&this)),
    };
    evaluate(expression, Some(&Scope { name: "oldSelf", value: Ok(old), outer: Some(&this) }))
}

/// Runs an expression over named values.
pub(super) fn run_with(expression: &IdedExpr, values: &[(&str, Value)], outer: Option<&Scope<'_>>) -> Answer {
    match values.split_first() {
        Some(((name, value), rest)) => {
            run_with(expression, rest, Some(&Scope { name, value: Ok(value.clone()), outer }))
        }
        None => evaluate(expression, outer),
    }
}

/// Calls a function of a library.
pub(super) fn library(library: &str, name: &str, arguments: &[Value]) -> Answer {
    let target = Some(Box::new(IdedExpr { id: 0, expr: Expr::Ident(library.to_owned()) }));
    self::call(&CallExpr { func_name: name.to_owned(), target, args: Vec::new() }, None, arguments)
}

/// Calls a function of the engine. Without a target the call's own is kept, which names a library.
pub(super) fn call(call: &CallExpr, target: Option<&Value>, arguments: &[Value]) -> Answer {
    FUNCTIONS.with(|functions| {
        let mut context = functions.new_inner_scope();
        let mut variable = |name: String, value: &Value| {
            let value = items(value).map_or_else(|| value.clone(), |items| Value::from(items.to_vec()));
            context.add_variable_from_value(name.clone(), value);
            IdedExpr { id: 0, expr: Expr::Ident(name) }
        };
        let target = match target {
            Some(value) => Some(Box::new(variable("@target".to_owned(), value))),
            None => call.target.clone(),
        };
        let arguments = arguments.iter().enumerate();
        let args = arguments.map(|(index, value)| variable(format!("@{index}"), value)).collect();
        let call = CallExpr { func_name: call.func_name.clone(), target, args };
        let expression = IdedExpr { id: 0, expr: Expr::Call(call) };
        match catch_unwind(AssertUnwindSafe(|| context.resolve(&expression))) {
            Ok(result) => result.map_err(|error| describe(&error)),
            Err(_) => Err("internal error".to_owned()),
        }
    })
}

/// The engine's errors in the words of the real server, as far as they differ.
pub(super) fn describe(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::NoSuchOverload
        | ExecutionError::UnexpectedType { .. }
        | ExecutionError::UnsupportedBinaryOperator(..) => NO_SUCH_OVERLOAD.to_owned(),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::IndexOutOfBounds(Value::Int(index)) => format!("index out of bounds: {index}"),
        ExecutionError::Overflow(_, Value::UInt(_), _) => "unsigned integer overflow".to_owned(),
        ExecutionError::Overflow(_, Value::Timestamp(_), _) => "timestamp overflow".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::FunctionError { message, .. } => message.clone(),
        other => other.to_string(),
    }
}
