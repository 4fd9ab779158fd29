//! Defaults must themselves be valid: known fields only, and everything the schema asks for.

use crate::{
    error::{FieldError, Path},
    schema::{Schema, prune, validate, validate_rules_at},
};

/// Complaints about the defaults of a whole schema.
pub(super) fn check(schema: &Schema, path: &Path<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    node(schema, path, &mut errors);
    errors
}

fn node(schema: &Schema, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if !schema.has_defaults {
        return;
    }
    if let Some(default) = &schema.default {
        let path = path.field("default");
        if !prune(&mut default.clone(), schema).is_empty() {
            errors.push(FieldError::invalid(path, default.clone(), "must not have unknown fields"));
        }
        let before = errors.len();
        errors.extend(validate(default, schema).into_iter().map(|error| below(error, &path)));
        if errors.len() == before {
            errors.extend(validate_rules_at(default, Some(default), schema, &path));
        }
        if errors.len() == before {
            // Rules with an optional old value also run where there is none.
            errors.extend(validate_rules_at(default, None, schema, &path));
        }
    }
    if let Some(items) = schema.items.as_deref() {
        node(items, &path.field("items"), errors);
    }
    let path = path.field("properties");
    for (name, property) in schema.properties.iter() {
        node(property, &path.key(name), errors);
    }
}

/// An error about a part of a default. Its text speaks of the default alone, its path of the definition.
fn below(mut error: FieldError, path: &Path<'_>) -> FieldError {
    error.path = match error.path.as_str() {
        "" => path.to_string(),
        inner if inner.starts_with('[') => format!("{path}{inner}"),
        inner => format!("{path}.{inner}"),
    };
    error
}
