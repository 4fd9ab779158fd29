//! The cost of an expression, with what is known of its value: the costs of others depend on its size.

use kube_cel::cel::{
    IdedExpr,
    common::ast::{ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr},
};

use super::{
    call::call,
    size::{Size, largest},
};
use crate::schema::{Additional, Format, Kind, Schema, rules::escape::escape};

/// The accumulator of the loops that macros stand for; one of another name belongs to a variable that is set once.
const ACCUMULATOR: &str = "@result";

/// The most that an expression costs in a rule of `schema`.
pub(super) fn most(expression: &IdedExpr, schema: &Schema, optional_old_self: bool) -> u64 {
    let place = Estimate::of(1, Type::Place(schema));
    let old =
        if optional_old_self { Type::Optional(Box::new(Type::Like(schema))) } else { Type::Place(schema) };
    let this = Scope { name: "self", value: place, outer: None };
    let old = Scope { name: "oldSelf", value: Estimate::of(1, old), outer: Some(&this) };
    estimate(expression, &old).cost
}

/// What is known of a value.
#[derive(Clone, Debug)]
pub(super) enum Type<'a> {
    /// It stands in the object where this schema is.
    Place(&'a Schema),
    /// It is like values of this schema, wherever it comes from.
    Like(&'a Schema),
    Text,
    Bytes,
    List(Box<Type<'a>>),
    Map,
    /// Its size is one: numbers, truths, times, quantities, addresses.
    Single,
    Optional(Box<Type<'a>>),
    Unknown,
}

/// The types that operators tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nature {
    Text,
    Bytes,
    List,
    Map,
    Object,
    Single,
    Unknown,
}

impl<'a> Type<'a> {
    pub(super) fn nature(&self) -> Nature {
        match self {
            Self::Place(schema) | Self::Like(schema) => match schema.kind {
                Kind::Any | Kind::IntOrString => Nature::Unknown,
                Kind::Array => Nature::List,
                Kind::Object if schema.additional.is_map() => Nature::Map,
                Kind::Object => Nature::Object,
                Kind::Integer | Kind::Number | Kind::Boolean => Nature::Single,
                Kind::String => match schema.format {
                    Some(Format::Byte) => Nature::Bytes,
                    Some(Format::Duration | Format::Date | Format::DateTime) => Nature::Single,
                    _ => Nature::Text,
                },
            },
            Self::Text => Nature::Text,
            Self::Bytes => Nature::Bytes,
            Self::List(_) => Nature::List,
            Self::Map => Nature::Map,
            Self::Single => Nature::Single,
            Self::Optional(inner) if inner.nature() == Nature::Single => Nature::Single,
            Self::Optional(_) | Self::Unknown => Nature::Unknown,
        }
    }

    /// The same where it no longer stands in its place.
    pub(super) fn moved(self) -> Self {
        match self {
            Self::Place(schema) => Self::Like(schema),
            other => other,
        }
    }

    /// An item of a list or a value of a map.
    pub(super) fn element(&self) -> Self {
        let inside = |schema: &'a Schema| match (schema.items.as_deref(), &schema.additional) {
            (Some(items), _) => Some(items),
            (None, Additional::Schema(entry)) => Some(&**entry),
            (None, _) => None,
        };
        match self {
            Self::Place(schema) => inside(schema).map_or(Self::Unknown, Self::Place),
            Self::Like(schema) => inside(schema).map_or(Self::Unknown, Self::Like),
            Self::List(element) => (**element).clone(),
            _ => Self::Unknown,
        }
    }

    /// A field of an object, by the name that rules have for it.
    pub(super) fn field(&self, name: &str) -> Self {
        let (Self::Place(schema) | Self::Like(schema)) = *self else { return Self::Unknown };
        let named = schema.properties.iter().find(|(field, _)| escape(field).as_deref() == Some(name));
        let found = match (named, &schema.additional) {
            (Some((_, field)), _) => Some(field),
            (None, Additional::Schema(entry)) => Some(&**entry),
            (None, _) => None,
        };
        match (found, self) {
            (Some(field), Self::Place(_)) => Self::Place(field),
            (Some(field), _) => Self::Like(field),
            (None, _) => Self::Unknown,
        }
    }

    fn size(&self) -> Option<Size> {
        match self {
            Self::Place(schema) => Some(Size::up_to(largest(schema))),
            other => (other.nature() == Nature::Single).then_some(Size::exactly(1)),
        }
    }
}

/// What an expression costs at most, and its value.
#[derive(Clone, Debug)]
pub(super) struct Estimate<'a> {
    pub(super) cost: u64,
    pub(super) of: Type<'a>,
    known: Option<Size>,
    /// Of what a list or map holds that is made in the expression.
    pub(super) inside: Option<Size>,
}

impl<'a> Estimate<'a> {
    /// A value that is as large as its type says.
    pub(super) fn of(cost: u64, of: Type<'a>) -> Self {
        Self { cost, known: of.size(), of, inside: None }
    }

    pub(super) fn sized(cost: u64, of: Type<'a>, size: Size) -> Self {
        Self { cost, known: Some(size), of, inside: None }
    }

    pub(super) fn holding(mut self, inside: Option<Size>) -> Self {
        self.inside = inside;
        self
    }

    pub(super) fn size(&self) -> Size {
        self.known.unwrap_or(Size::UNKNOWN)
    }

    fn at_cost(mut self, cost: u64) -> Self {
        self.cost = cost;
        self
    }
}

/// The variables in scope, innermost first.
pub(super) struct Scope<'s, 'a> {
    name: &'s str,
    value: Estimate<'a>,
    outer: Option<&'s Scope<'s, 'a>>,
}

impl Scope<'_, '_> {
    /// The size of what the rule is about, which is the outermost variable.
    pub(super) fn root(&self) -> Size {
        self.outer.map_or_else(|| self.value.size(), Scope::root)
    }
}

pub(super) fn estimate<'a>(expression: &IdedExpr, scope: &Scope<'_, 'a>) -> Estimate<'a> {
    match &expression.expr {
        Expr::Ident(name) => variable(name, scope),
        Expr::Literal(literal) => self::literal(literal),
        Expr::Select(select) => self::select(select, scope),
        Expr::Call(call) => self::call(call, scope),
        Expr::Comprehension(loops) => comprehension(loops, scope),
        Expr::List(list) => {
            let elements: Vec<_> = list.elements.iter().map(|element| estimate(element, scope)).collect();
            let cost = elements.iter().fold(10, |sum: u64, element| sum.saturating_add(element.cost));
            let inside = elements.iter().map(Estimate::size).reduce(Size::or).unwrap_or(Size::exactly(0));
            let of = elements.first().map_or(Type::Unknown, |element| element.of.clone().moved());
            let size = Size::exactly(elements.len() as u64);
            Estimate::sized(cost, Type::List(Box::new(of)), size).holding(Some(inside))
        }
        Expr::Map(map) => {
            let entries = map.entries.iter().flat_map(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
                EntryExpr::StructField(field) => vec![&field.value],
            });
            let cost = entries.fold(30, |sum: u64, part| sum.saturating_add(estimate(part, scope).cost));
            Estimate::sized(cost, Type::Map, Size::exactly(map.entries.len() as u64))
        }
        Expr::Struct(_) | Expr::Unspecified => Estimate::of(0, Type::Unknown),
    }
}

fn variable<'a>(name: &str, scope: &Scope<'_, 'a>) -> Estimate<'a> {
    let mut place = Some(scope);
    while let Some(scope) = place {
        if scope.name == name {
            return scope.value.clone().at_cost(1);
        }
        place = scope.outer;
    }
    // The name of a type.
    Estimate::of(1, Type::Single)
}

fn literal<'a>(literal: &LiteralValue) -> Estimate<'a> {
    match literal {
        LiteralValue::String(text) => {
            Estimate::sized(0, Type::Text, Size::exactly(text.inner().chars().count() as u64))
        }
        LiteralValue::Bytes(bytes) => {
            Estimate::sized(0, Type::Bytes, Size::exactly(bytes.inner().len() as u64))
        }
        _ => Estimate::of(0, Type::Single),
    }
}

fn select<'a>(select: &SelectExpr, scope: &Scope<'_, 'a>) -> Estimate<'a> {
    let operand = estimate(&select.operand, scope);
    if select.test {
        return Estimate::of(operand.cost, Type::Single);
    }
    let step = u64::from(matches!(operand.of.nature(), Nature::Map | Nature::Object));
    Estimate::of(operand.cost.saturating_add(step), operand.of.field(&select.field))
}

fn comprehension<'a>(loops: &ComprehensionExpr, scope: &Scope<'_, 'a>) -> Estimate<'a> {
    let walk = Walk::of(loops);
    let range = estimate(walk.range, scope);
    let start = estimate(&loops.accu_init, scope);
    let spent = range.cost.saturating_add(start.cost);
    let kept = Scope { name: &loops.accu_var, value: start, outer: Some(scope) };
    if loops.accu_var != ACCUMULATOR && range.size() == Size::exactly(0) {
        let result = estimate(&loops.result, &kept);
        let cost = spent.saturating_add(result.cost);
        return result.at_cost(cost);
    }
    let size = scope.root();
    let key = walk.key.map(|name| Scope { name, value: range.key(size), outer: Some(&kept) });
    let value = if key.is_some() { range.value(size) } else { range.item(size) };
    let each = Scope { name: walk.value, value, outer: Some(key.as_ref().unwrap_or(&kept)) };
    let (goes_on, step) = (estimate(&loops.loop_cond, &each), estimate(walk.step, &each));
    let result = estimate(&loops.result, &kept);
    let all = range.size().most.saturating_mul(goes_on.cost.saturating_add(step.cost));
    let cost = spent.saturating_add(result.cost).saturating_add(all);
    match &loops.accu_init.expr {
        Expr::List(_) => Estimate::sized(cost, step.of.moved(), range.size()).holding(step.inside),
        Expr::Map(_) => Estimate::sized(cost, Type::Map, range.size()).holding(step.inside),
        _ => Estimate::of(cost, result.of.moved()),
    }
}

/// What a loop goes through, under which names, and what it does with each.
struct Walk<'e> {
    range: &'e IdedExpr,
    key: Option<&'e str>,
    value: &'e str,
    step: &'e IdedExpr,
}

impl<'e> Walk<'e> {
    /// A loop with two variables was written as one over pairs, of which each is taken apart: that is not to be paid for.
    fn of(loops: &'e ComprehensionExpr) -> Self {
        if let Expr::Call(pairs) = &loops.iter_range.expr
            && let ("@pairs", [range]) = (pairs.func_name.as_str(), pairs.args.as_slice())
            && let Expr::Comprehension(key) = &loops.loop_step.expr
            && let Expr::Comprehension(value) = &key.result.expr
        {
            return Self { range, key: Some(&key.accu_var), value: &value.accu_var, step: &value.result };
        }
        Self { range: &loops.iter_range, key: None, value: &loops.iter_var, step: &loops.loop_step }
    }
}

impl Estimate<'_> {
    /// A value of a map or an item of a list. What does not stand in the object is taken to be as large as the root.
    fn value(&self, root: Size) -> Self {
        match &self.of {
            Type::Place(_) => Self::of(1, self.of.element()),
            _ => Self::sized(1, self.of.element(), root),
        }
    }

    fn key(&self, root: Size) -> Self {
        match (self.of.nature(), &self.of) {
            (Nature::List, Type::Place(_)) => Self::of(1, Type::Single),
            // Keys have no limit of their own, and none is counted.
            (_, Type::Place(_)) => Self::sized(1, Type::Text, Size::exactly(0)),
            _ => Self::sized(1, Type::Text, root),
        }
    }

    /// What a loop with one variable goes through: the items of a list, the keys of a map.
    fn item(&self, root: Size) -> Self {
        if self.of.nature() == Nature::Map { self.key(root) } else { self.value(root) }
    }
}
