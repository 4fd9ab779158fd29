//! `x-kubernetes-validations`, as far as it can be judged without reading the expressions.

use serde_json::{Map, Value};

use crate::{
    crd::text,
    error::{FieldError, Path},
};

const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

pub(super) fn check(schema: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let path = path.field("x-kubernetes-validations");
    let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array);
    for (index, rule) in rules.into_iter().flatten().enumerate() {
        if let Some(rule) = rule.as_object() {
            check_rule(rule, &path.index(index), errors);
        }
    }
}

fn check_rule(rule: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let (expression, message) = (text(rule, "rule").trim(), text(rule, "message"));
    let message_path = path.field("message");
    if expression.is_empty() {
        errors.push(FieldError::required(path.field("rule"), "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        errors.push(FieldError::invalid(message_path, message, "must be non-empty if specified"));
    } else if has_line_break(message.trim()) {
        errors.push(FieldError::invalid(message_path, message, "must not contain line breaks"));
    } else if has_line_break(expression) && message.trim().is_empty() {
        let detail = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(message_path, detail));
    }
    let message_expression = text(rule, "messageExpression");
    if !message_expression.is_empty() && message_expression.trim().is_empty() {
        let detail = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(path.field("messageExpression"), detail));
    }
    let reason = text(rule, "reason");
    if !reason.is_empty() && !REASONS.contains(&reason) {
        errors.push(FieldError::not_supported(path.field("reason"), reason, REASONS));
    }
    let field_path = text(rule, "fieldPath");
    if !field_path.is_empty() && field_path.trim().is_empty() {
        let detail = "must be non-empty if specified";
        errors.push(FieldError::invalid(path.field("fieldPath"), field_path, detail));
    } else if has_line_break(field_path) {
        errors.push(FieldError::invalid(path.field("fieldPath"), field_path, "must not contain line breaks"));
    }
}

fn has_line_break(text: &str) -> bool {
    text.contains(['\n', '\r'])
}
