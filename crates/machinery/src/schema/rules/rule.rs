//! One rule, compiled.

use kube_cel::cel::{self, IdedExpr, common::ast::Expr};
use serde_json::{Map, Value};

use super::{check, check::Problem, engine, engine::Variables, expand, path};
use crate::{
    error::{FieldError, FieldErrorKind, Path},
    schema::{Kind, Schema},
};

/// The longest message that an expression may make.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// A rule of `x-kubernetes-validations`.
#[derive(Debug)]
pub struct Rule {
    source: Box<str>,
    message: Option<Box<str>>,
    kind: FieldErrorKind,
    field_path: Option<Box<str>>,
    /// Whether the rule compares with the value before.
    pub uses_old_self: bool,
    /// Whether the rule also runs where there is no value before.
    pub optional_old_self: bool,
    pub(super) expression: IdedExpr,
    pub(super) message_expression: Option<IdedExpr>,
}

impl Rule {
    /// What names the rule in errors: its message, or else itself.
    pub(super) fn title(&self) -> &str {
        self.message.as_deref().unwrap_or(&self.source)
    }

    pub(super) fn holds(&self, variables: &Variables) -> Result<bool, String> {
        match engine::run(&self.expression, variables, self.optional_old_self)? {
            cel::Value::Bool(truth) => Ok(truth),
            other => Err(format!("expected a bool, got {}", other.type_of())),
        }
    }

    pub(super) fn complaint(
        &self,
        value: &Value,
        schema: &Schema,
        variables: &Variables,
        path: &Path<'_>,
    ) -> FieldError {
        let detail = self.made_message(variables).unwrap_or_else(|| match &self.message {
            Some(message) => message.to_string(),
            None => format!("failed rule: {}", self.source),
        });
        let path = match &self.field_path {
            Some(field) if matches!(path, Path::Root) => field.to_string(),
            Some(field) => format!("{path}.{field}"),
            None => path.to_string(),
        };
        let shown = !matches!(schema.kind, Kind::Object | Kind::Array);
        let detail = if self.kind == FieldErrorKind::Duplicate { String::new() } else { detail };
        FieldError::new(self.kind, path, shown.then(|| value.clone()), detail)
    }

    /// The message that the rule's expression makes, unless it fails or makes something unfit.
    fn made_message(&self, variables: &Variables) -> Option<String> {
        let expression = self.message_expression.as_ref()?;
        let cel::Value::String(text) = engine::run(expression, variables, self.optional_old_self).ok()?
        else {
            return None;
        };
        let text = text.trim();
        let fits = !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n');
        fits.then(|| text.to_owned())
    }
}

/// Compiles the rules of a node. `path` is where the node stands, `uncorrelated` where above it old items cannot be told.
pub(in crate::schema) fn compile(
    document: &Map<String, Value>,
    schema: &Schema,
    path: &Path<'_>,
    uncorrelated: Option<&str>,
) -> Result<Box<[Rule]>, Vec<FieldError>> {
    let path = path.field("x-kubernetes-validations");
    let documents = document.get("x-kubernetes-validations").and_then(Value::as_array);
    let mut errors = Vec::new();
    let mut rules = Vec::new();
    for (index, document) in documents.into_iter().flatten().enumerate() {
        let Some(document) = document.as_object() else { continue };
        match compile_one(document, schema, &path.index(index), uncorrelated) {
            Ok(rule) => rules.push(rule),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(rules.into()) } else { Err(errors) }
}

fn compile_one(
    document: &Map<String, Value>,
    schema: &Schema,
    path: &Path<'_>,
    uncorrelated: Option<&str>,
) -> Result<Rule, FieldError> {
    let text = |name: &str| {
        document.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
    };
    let source = text("rule").unwrap_or_default();
    let optional = document.get("optionalOldSelf").and_then(Value::as_bool);
    let optional_old_self = optional.unwrap_or_default();
    let invalid = |field: &str, problem: Problem| {
        FieldError::invalid(path.field(field), Value::Object(document.clone()), problem.to_string())
    };
    let mut expression = read(source).map_err(|problem| invalid("rule", problem))?;
    check::rule(&expression, schema, optional_old_self).map_err(|problem| invalid("rule", problem))?;
    let uses_old_self = mentions(&mut expression, "oldSelf");
    if let Some(above) = uncorrelated.filter(|_| uses_old_self) {
        let detail =
            format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {above}");
        return Err(FieldError::invalid(path.field("rule"), source, detail));
    }
    if let Some(optional) = optional.filter(|_| !uses_old_self) {
        let detail = "may not be set if oldSelf is not used in rule";
        return Err(FieldError::invalid(path.field("optionalOldSelf"), optional, detail));
    }
    let message_expression = text("messageExpression")
        .map(|source| {
            let expression = read(source)?;
            check::message(&expression, schema, optional_old_self).map(|()| expression)
        })
        .transpose()
        .map_err(|problem| invalid("messageExpression", problem))?;
    let field_path = text("fieldPath")
        .map(|field| {
            let error = || FieldError::invalid(path.field("fieldPath"), field, "must be a valid path");
            path::normalize(field, schema).map(Into::into).ok_or_else(error)
        })
        .transpose()?;
    Ok(Rule {
        source: source.into(),
        message: text("message").map(Into::into),
        kind: text("reason").and_then(FieldErrorKind::from_reason).unwrap_or(FieldErrorKind::Invalid),
        field_path,
        uses_old_self,
        optional_old_self,
        expression,
        message_expression,
    })
}

fn read(source: &str) -> Result<IdedExpr, Problem> {
    Ok(engine::parse(source).and_then(expand::expand)?)
}

fn mentions(expression: &mut IdedExpr, name: &str) -> bool {
    expression.expr == Expr::Ident(name.to_owned())
        || expand::children(&mut expression.expr).into_iter().any(|child| mentions(child, name))
}
