//! `fieldPath`: the field below its place that a rule complains about.

use crate::schema::{Additional, Schema};

/// Reads `.a.b` or `.a['b']` and gives it back as errors print it, or nothing where the schema has no such field.
pub(super) fn normalize(path: &str, schema: &Schema) -> Option<String> {
    let mut schema = schema;
    let mut rest = path.trim();
    let mut normal = String::new();
    while !rest.is_empty() {
        let (name, after) = if let Some(quoted) = rest.strip_prefix("['") {
            let end = quoted.find("']")?;
            (quoted[..end].replace("\\'", "'"), &quoted[end + 2..])
        } else {
            let plain = rest.strip_prefix('.')?;
            let end = plain.find(['.', '[']).unwrap_or(plain.len());
            (plain[..end].to_owned(), &plain[end..])
        };
        if let Some(property) = schema.properties.get(&name) {
            schema = property;
            if !normal.is_empty() {
                normal.push('.');
            }
            normal.push_str(&name);
        } else if let Additional::Schema(entry) = &schema.additional {
            schema = entry;
            normal.extend(["[", &name, "]"]);
        } else {
            return None;
        }
        rest = after;
    }
    (!normal.is_empty()).then_some(normal)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::compile;

    #[test]
    fn paths_follow_the_schema() {
        let schema = compile(&json!({"type": "object", "properties": {
            "a": {"type": "object", "properties": {"b": {"type": "string"}, "c.d": {"type": "string"}}},
            "m": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"type": "string"}}}},
        }}))
        .unwrap();
        let table = [
            (".a.b", Some("a.b")),
            (".a['c.d']", Some("a.c.d")),
            (".m.key.x", Some("m[key].x")),
            (".m['key'].x", Some("m[key].x")),
            (".nope", None),
            ("a.b", None),
            ("", None),
        ];
        for (path, want) in table {
            assert_eq!(normalize(path, &schema).as_deref(), want, "{path}");
        }
    }
}
