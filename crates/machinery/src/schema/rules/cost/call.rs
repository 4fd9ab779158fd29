//! The cost of calls: operators, the functions of CEL, and the libraries of Kubernetes.

use kube_cel::cel::{
    IdedExpr,
    common::ast::{CallExpr, Expr, LiteralValue, operators},
};

use super::{
    estimate::{Estimate, Nature, Scope, Type, estimate},
    size::{Size, part},
};
use crate::schema::rules::check::functions::full_name;

/// To read a text or bytes, by their length.
const READ: f64 = 0.1;
/// To try a pattern on one character, by the length of the pattern.
const PATTERN: f64 = 0.25;
/// The longest pattern of a named format.
const FORMAT: f64 = 128.0;

pub(super) fn call<'a>(call: &CallExpr, scope: &Scope<'_, 'a>) -> Estimate<'a> {
    let name = full_name(call);
    // The target of a library's function is the library's name.
    let target = call.target.as_deref().filter(|_| name == call.func_name);
    let target = target.map(|target| estimate(target, scope));
    let arguments: Vec<_> = call.args.iter().map(|argument| estimate(argument, scope)).collect();
    let spent = arguments.iter().chain(&target).fold(0, |sum: u64, part| sum.saturating_add(part.cost));
    let mut made = match (target, arguments.as_slice()) {
        (None, [one]) => of_one(&name, one),
        (None, [left, right]) => of_two(&name, left, right, call.args.get(1), scope.root()),
        (None, [test, then, other]) if name == operators::CONDITIONAL => {
            let most = test.cost.saturating_add(then.cost.max(other.cost));
            let inside = then.inside.zip(other.inside).map(|(then, other)| then.or(other));
            let size = then.size().or(other.size());
            return Estimate::sized(most, then.of.clone().moved(), size).holding(inside);
        }
        (Some(target), arguments) => of_target(&name, &target, arguments, &call.args),
        _ => None,
    }
    .unwrap_or_else(|| Estimate::sized(1, Type::Unknown, Size::exactly(1)));
    made.cost = made.cost.saturating_add(spent);
    made
}

fn read(size: Size) -> u64 {
    part(size.most, READ)
}

#[expect(clippy::unnecessary_wraps, reason = "an arm among others that may know nothing")]
fn single<'a>(cost: u64) -> Option<Estimate<'a>> {
    Some(Estimate::of(cost, Type::Single))
}

fn of_one<'a>(name: &str, one: &Estimate<'a>) -> Option<Estimate<'a>> {
    let size = one.size();
    match name {
        "dyn" => Some(Estimate::sized(1, one.of.clone(), size).holding(one.inside)),
        "bytes" if one.of.nature() == Nature::Text => {
            let size = Size { least: size.least, most: size.most.saturating_mul(4) };
            Some(Estimate::sized(read(one.size()), Type::Bytes, size))
        }
        "string" if one.of.nature() == Nature::Bytes => {
            let size = Size { least: size.least / 4, most: size.most };
            Some(Estimate::sized(read(one.size()), Type::Text, size))
        }
        "string" => Some(Estimate::of(1, Type::Text)),
        "jsonpatch.escapeKey" => Some(Estimate::sized(read(size), Type::Text, size)),
        "url" | "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
            single(read(size))
        }
        "ip.isCanonical" => single(part(size.most, 2.0 * READ)),
        "optional.of" | "optional.ofNonZeroValue" => {
            Some(Estimate::of(1, Type::Optional(Box::new(one.of.clone().moved()))))
        }
        "@not_strictly_false"
        | "!_"
        | "-_"
        | "size"
        | "int"
        | "uint"
        | "double"
        | "duration"
        | "timestamp" => single(1),
        _ => None,
    }
}

fn of_two<'a>(
    name: &str,
    left: &Estimate<'a>,
    right: &Estimate<'a>,
    key: Option<&IdedExpr>,
    root: Size,
) -> Option<Estimate<'a>> {
    let natures = [left.of.nature(), right.of.nature()];
    let unknown = natures.iter().all(|nature| *nature == Nature::Unknown);
    let texts = natures.iter().any(|nature| matches!(nature, Nature::Text | Nature::Bytes));
    match name {
        // What is taken is part of what was spent.
        operators::LOGICAL_AND | operators::LOGICAL_OR => single(0),
        operators::EQUALS | operators::NOT_EQUALS => single(compare(left, right)),
        operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS => {
            single(if texts || unknown { compare(left, right).max(u64::from(unknown)) } else { 1 })
        }
        operators::ADD => Some(add(left, right, natures)),
        operators::SUBSTRACT | operators::MULTIPLY | operators::DIVIDE | operators::MODULO => single(1),
        operators::IN => single(match natures[1] {
            Nature::Map => 1,
            _ => right.size().most,
        }),
        operators::INDEX => {
            let element = left.of.element();
            Some(match (left.inside, &element) {
                (Some(inside), _) => Estimate::sized(1, element, inside),
                (None, Type::Place(_)) => Estimate::of(1, element),
                (None, _) => Estimate::sized(1, element, root),
            })
        }
        operators::OPT_INDEX => {
            let found = match key.map(|key| &key.expr) {
                Some(Expr::Literal(LiteralValue::String(field))) if left.of.nature() != Nature::List => {
                    left.of.field(field.inner())
                }
                _ => left.of.element(),
            };
            Some(Estimate::of(1, Type::Optional(Box::new(found.moved()))))
        }
        "sets.contains" | "sets.intersects" => single(left.size().times(right.size()).most.saturating_add(1)),
        "sets.equivalent" => single(left.size().times(right.size()).most.saturating_mul(2).saturating_add(1)),
        _ => None,
    }
}

/// Values are compared as far as the shorter one goes.
fn compare(left: &Estimate<'_>, right: &Estimate<'_>) -> u64 {
    part(left.size().most.min(right.size().most), READ)
}

fn add<'a>(left: &Estimate<'a>, right: &Estimate<'a>, natures: [Nature; 2]) -> Estimate<'a> {
    let size = left.size().plus(right.size());
    let inside = left.inside.zip(right.inside).map(|(left, right)| left.or(right));
    let is = |nature| natures.contains(&nature);
    if is(Nature::List) {
        return Estimate::sized(1, right.of.clone().moved(), size).holding(inside);
    }
    if is(Nature::Single) {
        return Estimate::of(1, Type::Single);
    }
    let of = if is(Nature::Text) {
        Type::Text
    } else if is(Nature::Bytes) {
        Type::Bytes
    } else {
        Type::Unknown
    };
    Estimate::sized(read(size), of, size)
}

fn of_target<'a>(
    name: &str,
    target: &Estimate<'a>,
    arguments: &[Estimate<'a>],
    expressions: &[IdedExpr],
) -> Option<Estimate<'a>> {
    let size = target.size();
    let text = |cost, size| Some(Estimate::sized(cost, Type::Text, size));
    match (name, arguments) {
        ("startsWith" | "endsWith", [affix]) => single(read(affix.size())),
        ("contains", [sought]) => single(read(size).saturating_mul(read(sought.size()))),
        ("matches", [pattern]) => single(search(size, pattern)),
        ("find", [pattern, ..]) => text(search(size, pattern), Size::up_to(size.most)),
        ("findAll", [pattern, ..]) => {
            let list = Type::List(Box::new(Type::Text));
            Some(Estimate::sized(search(size, pattern), list, Size::up_to(size.most)))
        }
        ("lowerAscii" | "upperAscii" | "substring" | "trim", _) => text(read(size), size),
        ("replace", [sought, other, ..]) => {
            text(part(size.most, 2.0 * READ), replaced(size, sought.size(), other.size()))
        }
        ("split", rest) => {
            let limit = rest.get(1).and_then(|_| whole(expressions.get(1)?)).unwrap_or(size.most);
            let list = Type::List(Box::new(Type::Text));
            Some(Estimate::sized(part(size.most, 2.0 * READ), list, Size::up_to(limit)))
        }
        ("join", rest) => {
            let separators = Size { least: size.least.saturating_sub(1), most: size.most.saturating_sub(1) };
            let between = rest.first().map_or(Size::exactly(0), |between| between.size().times(separators));
            let joined = size.times(Estimate::of(0, target.of.element()).size()).plus(between);
            text(read(joined), joined)
        }
        ("isSorted" | "indexOf" | "lastIndexOf", _) => single(through(target)),
        ("sum" | "min" | "max", _) => Some(Estimate::of(through(target), target.of.element().moved())),
        ("orValue" | "value", _) => {
            let Type::Optional(inner) = &target.of else { return Some(Estimate::of(1, Type::Unknown)) };
            Some(Estimate::of(1, (**inner).clone()))
        }
        ("validate", [text]) => single(part(read(text.size()), FORMAT * PATTERN)),
        ("containsIP", _) => single(4),
        ("containsCIDR", _) => single(7),
        ("charAt" | "format", _) => Some(Estimate::of(1, Type::Text)),
        ("size", _) => single(1),
        _ => None,
    }
}

/// A pattern is tried at every character, and once where there is none.
fn search(text: Size, pattern: &Estimate<'_>) -> u64 {
    part(text.most.saturating_add(1), READ).saturating_mul(part(pattern.size().most, PATTERN))
}

/// To look at every item of a list, and to read it where it is a text.
fn through(list: &Estimate<'_>) -> u64 {
    if list.of.nature() != Nature::List {
        return read(list.size());
    }
    let item = Estimate::of(0, list.of.element());
    let texts = matches!(item.of.nature(), Nature::Text | Nature::Bytes);
    let each = if texts { read(item.size()).saturating_add(1) } else { 1 };
    list.size().most.saturating_mul(each)
}

/// The longest text that replacing can make.
fn replaced(text: Size, sought: Size, other: Size) -> Size {
    let most = if sought.least == 0 {
        text.most.saturating_add(1).saturating_mul(other.most).saturating_add(text.most)
    } else if other.most <= sought.least {
        text.most
    } else {
        text.most.div_ceil(sought.least).saturating_mul(other.most)
    };
    Size::up_to(most)
}

fn whole(expression: &IdedExpr) -> Option<u64> {
    let Expr::Literal(LiteralValue::Int(number)) = &expression.expr else { return None };
    u64::try_from(*number.inner()).ok()
}
