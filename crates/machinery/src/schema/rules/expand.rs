//! Macros that Kubernetes has and the engine lacks, rewritten into comprehensions that it knows:
//! `sortBy`, `optMap` and `optFlatMap`, and `all`, `exists`, `existsOne`, `transformList`, `transformMap` with two variables.

use kube_cel::cel::{
    IdedExpr,
    common::{
        ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr, LiteralValue, MapExpr, operators},
        types::{CelBool, CelInt},
    },
};

const RESULT: &str = "@result";
const PAIR: &str = "@pair";

/// Rewrites an expression.
pub(super) fn expand(mut expression: IdedExpr) -> Result<IdedExpr, String> {
    for child in children(&mut expression.expr) {
        *child = expand(std::mem::take(child))?;
    }
    let Expr::Call(mut call) = expression.expr else { return Ok(expression) };
    if call.func_name == operators::OPT_SELECT {
        // The engine's own way fails where the field is missing, which is what the operator is for.
        operators::OPT_INDEX.clone_into(&mut call.func_name);
    }
    match rewrite(call)? {
        Ok(rewritten) => Ok(rewritten),
        Err(call) => Ok(IdedExpr { id: expression.id, expr: Expr::Call(call) }),
    }
}

/// Every expression directly inside of another one.
pub(super) fn children(expression: &mut Expr) -> Vec<&mut IdedExpr> {
    match expression {
        Expr::Call(call) => call.target.as_deref_mut().into_iter().chain(&mut call.args).collect(),
        Expr::Comprehension(loops) => vec![
            &mut loops.iter_range,
            &mut loops.accu_init,
            &mut loops.loop_cond,
            &mut loops.loop_step,
            &mut loops.result,
        ],
        Expr::List(list) => list.elements.iter_mut().collect(),
        Expr::Map(map) => map
            .entries
            .iter_mut()
            .flat_map(|entry| match &mut entry.expr {
                EntryExpr::MapEntry(entry) => vec![&mut entry.key, &mut entry.value],
                EntryExpr::StructField(field) => vec![&mut field.value],
            })
            .collect(),
        Expr::Select(select) => vec![&mut select.operand],
        Expr::Struct(_) | Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => Vec::new(),
    }
}

/// The rewritten call, or the call itself where there is nothing to rewrite.
fn rewrite(call: CallExpr) -> Result<Result<IdedExpr, CallExpr>, String> {
    let CallExpr { func_name, target, args } = call;
    let rewritten = match (func_name.as_str(), target, <[IdedExpr; 3]>::try_from(args)) {
        (
            name @ ("all" | "exists" | "existsOne" | "exists_one" | "transformList" | "transformMap"),
            Some(target),
            Ok([key, value, body]),
        ) => two_variables(name, *target, &variable(&key)?, &variable(&value)?, None, body),
        (name @ ("transformList" | "transformMap"), Some(target), Err(args)) if args.len() == 4 => {
            let mut args = args.into_iter();
            let mut next = || args.next().unwrap_or_default();
            let (key, value, filter, body) = (next(), next(), next(), next());
            two_variables(name, *target, &variable(&key)?, &variable(&value)?, Some(filter), body)
        }
        ("sortBy", Some(target), Err(args)) if args.len() == 2 => {
            let mut args = args.into_iter();
            let (name, body) = (args.next().unwrap_or_default(), args.next().unwrap_or_default());
            sort_by(*target, &variable(&name)?, body)
        }
        (name @ ("optMap" | "optFlatMap"), Some(target), Err(args)) if args.len() == 2 => {
            let mut args = args.into_iter();
            let (variable, body) = (args.next().unwrap_or_default(), args.next().unwrap_or_default());
            opt_map(name, *target, &self::variable(&variable)?, body)
        }
        (_, target, args) => {
            let args = args.map_or_else(|args| args, Vec::from);
            return Ok(Err(CallExpr { func_name, target, args }));
        }
    };
    Ok(Ok(rewritten))
}

fn variable(expression: &IdedExpr) -> Result<String, String> {
    match &expression.expr {
        Expr::Ident(name) => Ok(name.clone()),
        _ => Err("argument must be a simple name".to_owned()),
    }
}

fn ided(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}

fn ident(name: &str) -> IdedExpr {
    ided(Expr::Ident(name.to_owned()))
}

fn truth(value: bool) -> IdedExpr {
    ided(Expr::Literal(LiteralValue::Boolean(CelBool::from(value))))
}

fn number(value: i64) -> IdedExpr {
    ided(Expr::Literal(LiteralValue::Int(CelInt::from(value))))
}

fn list(elements: Vec<IdedExpr>) -> IdedExpr {
    ided(Expr::List(ListExpr::new(elements)))
}

fn call(name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    ided(Expr::Call(CallExpr { func_name: name.to_owned(), target: None, args }))
}

/// Evaluates `body` with a variable set: a loop over nothing, whose accumulator is the variable.
fn bind(name: &str, value: IdedExpr, body: IdedExpr) -> IdedExpr {
    ided(Expr::Comprehension(Box::new(ComprehensionExpr {
        iter_range: list(Vec::new()),
        iter_var: "@unused".to_owned(),
        iter_var2: None,
        accu_var: name.to_owned(),
        accu_init: value,
        loop_cond: truth(false),
        loop_step: ident(name),
        result: body,
    })))
}

/// A loop over pairs of index and item, or key and value.
fn two_variables(
    name: &str,
    target: IdedExpr,
    key: &str,
    value: &str,
    filter: Option<IdedExpr>,
    body: IdedExpr,
) -> IdedExpr {
    let result = || ident(RESULT);
    let (start, condition, step, end) = match name {
        "all" => (
            truth(true),
            call(operators::NOT_STRICTLY_FALSE, vec![result()]),
            call(operators::LOGICAL_AND, vec![result(), body]),
            result(),
        ),
        "exists" => (
            truth(false),
            call(operators::NOT_STRICTLY_FALSE, vec![call(operators::LOGICAL_NOT, vec![result()])]),
            call(operators::LOGICAL_OR, vec![result(), body]),
            result(),
        ),
        "transformList" => {
            (list(Vec::new()), truth(true), call(operators::ADD, vec![result(), list(vec![body])]), result())
        }
        "transformMap" => (
            ided(Expr::Map(MapExpr { entries: Vec::new() })),
            truth(true),
            call("@insert", vec![result(), ident(key), body]),
            result(),
        ),
        _ => {
            let counted = call(operators::ADD, vec![result(), number(1)]);
            (
                number(0),
                truth(true),
                call(operators::CONDITIONAL, vec![body, counted, result()]),
                call(operators::EQUALS, vec![result(), number(1)]),
            )
        }
    };
    let step = match filter {
        Some(filter) => call(operators::CONDITIONAL, vec![filter, step, result()]),
        None => step,
    };
    let part = |index| call(operators::INDEX, vec![ident(PAIR), number(index)]);
    ided(Expr::Comprehension(Box::new(ComprehensionExpr {
        iter_range: call("@pairs", vec![target]),
        iter_var: PAIR.to_owned(),
        iter_var2: None,
        accu_var: RESULT.to_owned(),
        accu_init: start,
        loop_cond: condition,
        loop_step: bind(key, part(0), bind(value, part(1), step)),
        result: end,
    })))
}

/// Sorts items by what `body` makes of each.
fn sort_by(target: IdedExpr, name: &str, body: IdedExpr) -> IdedExpr {
    let keys = ided(Expr::Comprehension(Box::new(ComprehensionExpr {
        iter_range: ident("@items"),
        iter_var: name.to_owned(),
        iter_var2: None,
        accu_var: RESULT.to_owned(),
        accu_init: list(Vec::new()),
        loop_cond: truth(true),
        loop_step: call(operators::ADD, vec![ident(RESULT), list(vec![body])]),
        result: ident(RESULT),
    })));
    bind("@items", target, call("@sorted", vec![ident("@items"), keys]))
}

/// What `body` makes of what an optional value holds.
fn opt_map(name: &str, target: IdedExpr, variable: &str, body: IdedExpr) -> IdedExpr {
    let method = |target: IdedExpr, name: &str, args: Vec<IdedExpr>| {
        let target = Some(Box::new(target));
        ided(Expr::Call(CallExpr { func_name: name.to_owned(), target, args }))
    };
    let held = bind(variable, method(target.clone(), "value", Vec::new()), body);
    let made = if name == "optMap" { method(ident("optional"), "of", vec![held]) } else { held };
    let nothing = method(ident("optional"), "none", Vec::new());
    call(operators::CONDITIONAL, vec![method(target, "hasValue", Vec::new()), made, nothing])
}
