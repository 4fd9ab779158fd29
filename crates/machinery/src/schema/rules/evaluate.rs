//! Runs an expression over values, as cel-go does.
//!
//! The engine's own way of running differs from it in what people notice: an error in one turn of a loop ends the whole loop,
//! numbers of different types are never equal, and lists without an order are compared by it. So only functions are left to the
//! engine, those of [`functions`] excepted.

mod operate;

use std::{collections::HashMap, sync::Arc};

use kube_cel::cel::{
    IdedExpr, Value,
    common::ast::{
        CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr, LiteralValue, MapExpr, SelectExpr, operators,
    },
    objects::{Key, Map, OptionalValue},
};

use super::{check::functions::full_name, engine, functions, unordered::items};
pub(super) use operate::{add, equal};

/// What came of an expression: a value or the words of an error.
pub(super) type Answer = Result<Value, String>;

pub(super) const NO_SUCH_OVERLOAD: &str = "no such overload";

/// An operator or function that is not for values of these types.
pub(super) fn no_such_overload<T>() -> Result<T, String> {
    Err(NO_SUCH_OVERLOAD.to_owned())
}

/// The variables in scope, innermost first. One may hold an error, which shows only where it is used.
pub(super) struct Scope<'a> {
    pub(super) name: &'a str,
    pub(super) value: Answer,
    pub(super) outer: Option<&'a Scope<'a>>,
}

pub(super) fn evaluate(expression: &IdedExpr, scope: Option<&Scope<'_>>) -> Answer {
    match &expression.expr {
        Expr::Ident(name) => variable(name, scope),
        Expr::Literal(literal) => Ok(self::literal(literal)),
        Expr::Select(select) => self::select(select, scope),
        Expr::List(list) => self::list(list, scope),
        Expr::Map(map) => self::map(map, scope),
        Expr::Call(call) => self::call(call, scope),
        Expr::Comprehension(loops) => self::fold(loops, scope),
        Expr::Struct(_) | Expr::Unspecified => Err("unsupported expression".to_owned()),
    }
}

fn variable(name: &str, scope: Option<&Scope<'_>>) -> Answer {
    let mut place = scope;
    while let Some(scope) = place {
        if scope.name == name {
            return scope.value.clone();
        }
        place = scope.outer;
    }
    if engine::TYPES.contains(&name) {
        return Ok(functions::type_named(name));
    }
    Err(format!("undeclared reference to '{name}' (in container '')"))
}

fn literal(literal: &LiteralValue) -> Value {
    match literal {
        LiteralValue::Boolean(truth) => Value::Bool(*truth.inner()),
        LiteralValue::Bytes(bytes) => Value::Bytes(Arc::new(bytes.inner().to_vec())),
        LiteralValue::Double(number) => Value::Float(*number.inner()),
        LiteralValue::Int(number) => Value::Int(*number.inner()),
        LiteralValue::Null => Value::Null,
        LiteralValue::String(text) => text_value(text.inner()),
        LiteralValue::UInt(number) => Value::UInt(*number.inner()),
    }
}

pub(super) fn text_value(text: impl Into<String>) -> Value {
    Value::String(Arc::new(text.into()))
}

/// What an optional value holds, if this is one.
#[expect(clippy::option_option, reason = "one that holds nothing is not the same as something else")]
pub(super) fn optional(value: &Value) -> Option<Option<&Value>> {
    let Value::Opaque(opaque) = value else { return None };
    opaque.downcast_ref::<OptionalValue>().map(OptionalValue::value)
}

pub(super) fn optional_of(value: Option<Value>) -> Value {
    Value::Opaque(Arc::new(value.map_or_else(OptionalValue::none, OptionalValue::of)))
}

/// A field, or with `has()` whether there is one. The field of an optional value is optional.
fn select(select: &SelectExpr, scope: Option<&Scope<'_>>) -> Answer {
    let operand = evaluate(&select.operand, scope)?;
    let field = |value: &Value| match value {
        Value::Map(map) => map.map.get(&Key::String(Arc::new(select.field.clone()))).cloned(),
        _ => None,
    };
    let held = optional(&operand);
    let found = held.unwrap_or(Some(&operand)).and_then(field);
    match (found, held) {
        (found, _) if select.test => Ok(Value::Bool(found.is_some())),
        (found, Some(_)) => Ok(optional_of(found)),
        (Some(found), None) => Ok(found),
        (None, None) => Err(format!("no such key: {}", select.field)),
    }
}

fn list(list: &ListExpr, scope: Option<&Scope<'_>>) -> Answer {
    let mut made = Vec::with_capacity(list.elements.len());
    for (index, element) in list.elements.iter().enumerate() {
        let value = evaluate(element, scope)?;
        match optional(&value).filter(|_| list.optional_indices.contains(&index)) {
            Some(held) => made.extend(held.cloned()),
            None => made.push(value),
        }
    }
    Ok(Value::List(Arc::new(made)))
}

fn map(map: &MapExpr, scope: Option<&Scope<'_>>) -> Answer {
    let mut made = HashMap::with_capacity(map.entries.len());
    for entry in &map.entries {
        let EntryExpr::MapEntry(entry) = &entry.expr else { return no_such_overload() };
        let key = key(evaluate(&entry.key, scope)?)?;
        let value = evaluate(&entry.value, scope)?;
        let value = match optional(&value).filter(|_| entry.optional) {
            Some(held) => held.cloned(),
            None => Some(value),
        };
        made.extend(value.map(|value| (key, value)));
    }
    Ok(Value::Map(Map { map: Arc::new(made) }))
}

pub(super) fn key(value: Value) -> Result<Key, String> {
    match value {
        Value::Int(key) => Ok(Key::Int(key)),
        Value::UInt(key) => Ok(Key::Uint(key)),
        Value::Bool(key) => Ok(Key::Bool(key)),
        Value::String(key) => Ok(Key::String(key)),
        _ => Err("unsupported key type".to_owned()),
    }
}

fn call(call: &CallExpr, scope: Option<&Scope<'_>>) -> Answer {
    match (call.func_name.as_str(), call.target.as_deref(), call.args.as_slice()) {
        (operators::LOGICAL_AND, None, [left, right]) => logical(false, left, right, scope),
        (operators::LOGICAL_OR, None, [left, right]) => logical(true, left, right, scope),
        (operators::NOT_STRICTLY_FALSE, None, [one]) => {
            Ok(Value::Bool(!matches!(evaluate(one, scope), Ok(Value::Bool(false)))))
        }
        (operators::CONDITIONAL, None, [test, then, other]) => match evaluate(test, scope)? {
            Value::Bool(true) => evaluate(then, scope),
            Value::Bool(false) => evaluate(other, scope),
            _ => no_such_overload(),
        },
        // The other value is looked at only where it is needed, and may fail elsewhere.
        (name @ ("or" | "orValue"), Some(target), [other]) => {
            let target = evaluate(target, scope)?;
            match optional(&target) {
                Some(Some(_)) if name == "or" => Ok(target),
                Some(Some(held)) => Ok(held.clone()),
                Some(None) => evaluate(other, scope),
                None => no_such_overload(),
            }
        }
        _ => function(call, scope),
    }
}

/// `decisive` on one side decides, whatever is on the other, be it an error.
fn logical(decisive: bool, left: &IdedExpr, right: &IdedExpr, scope: Option<&Scope<'_>>) -> Answer {
    let left = evaluate(left, scope);
    if matches!(left, Ok(Value::Bool(truth)) if truth == decisive) {
        return left;
    }
    match (left, evaluate(right, scope)) {
        (_, Ok(Value::Bool(truth))) if truth == decisive => Ok(Value::Bool(decisive)),
        (Err(problem), _) | (_, Err(problem)) => Err(problem),
        (Ok(Value::Bool(_)), Ok(Value::Bool(_))) => Ok(Value::Bool(!decisive)),
        _ => no_such_overload(),
    }
}

fn function(call: &CallExpr, scope: Option<&Scope<'_>>) -> Answer {
    let name = full_name(call);
    // The target of a library's function is the library's name.
    let target = call.target.as_deref().filter(|_| name == call.func_name);
    let target = target.map(|target| evaluate(target, scope)).transpose()?;
    let arguments = call.args.iter().map(|argument| evaluate(argument, scope));
    let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
    if target.is_none()
        && let Some(answer) = operate::operate(&name, &arguments)
    {
        return answer;
    }
    functions::call(&name, target.as_ref(), &arguments)
        .unwrap_or_else(|| engine::call(call, target.as_ref(), &arguments))
}

/// A loop. An error in one turn is kept as what has come of it so far, so that another turn may decide without it.
fn fold(loops: &ComprehensionExpr, scope: Option<&Scope<'_>>) -> Answer {
    let range = evaluate(&loops.iter_range, scope)?;
    let keys: Vec<Value>;
    let items = match (&range, items(&range)) {
        (_, Some(items)) => items,
        (Value::Map(map), None) => {
            let mut sorted: Vec<&Key> = map.map.keys().collect();
            sorted.sort();
            keys = sorted.into_iter().map(Value::from).collect();
            &keys
        }
        _ => return no_such_overload(),
    };
    let start = evaluate(&loops.accu_init, scope);
    let mut kept = Scope { name: &loops.accu_var, value: start, outer: scope };
    for item in items {
        if !matches!(evaluate(&loops.loop_cond, Some(&kept)), Ok(Value::Bool(true))) {
            break;
        }
        let each = Scope { name: &loops.iter_var, value: Ok(item.clone()), outer: Some(&kept) };
        let value = evaluate(&loops.loop_step, Some(&each));
        kept.value = value;
    }
    evaluate(&loops.result, Some(&kept))
}

#[cfg(test)]
mod tests;
