//! Comparing what the API shows with what it should show.

use serde_json::Value;

/// Whether everything in `want` is in `have`; conditions are found by their type, and an absent field is as good as
/// one that is null.
pub(super) fn covers(have: &Value, want: &Value) -> bool {
    match (have, want) {
        (_, Value::Null) => have.is_null(),
        (Value::Object(have), Value::Object(want)) => {
            want.iter().all(|(name, value)| covers(have.get(name).unwrap_or(&Value::Null), value))
        }
        (Value::Null, Value::Object(want)) => want.is_empty(),
        (Value::Array(have), Value::Array(want)) => covers_list(have, want),
        _ => have == want,
    }
}

/// Whether a status says that its Pod is ready.
pub(super) fn is_ready(status: &Value) -> bool {
    let conditions = status["conditions"].as_array();
    conditions.into_iter().flatten().any(|one| one["type"] == "Ready" && one["status"] == "True")
}

fn covers_list(have: &[Value], want: &[Value]) -> bool {
    let by_type = want.iter().all(|element| element.get("type").is_some_and(Value::is_string));
    if by_type && !want.is_empty() {
        return want.iter().all(|element| {
            have.iter().any(|candidate| candidate["type"] == element["type"] && covers(candidate, element))
        });
    }
    have.len() == want.len() && have.iter().zip(want).all(|(have, want)| covers(have, want))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn covering_ignores_what_others_wrote() {
        let rows = [
            (json!({"a": 1, "b": 2}), json!({"a": 1}), true),
            (json!({"a": 1}), json!({"a": 1, "b": 2}), false),
            (json!({"a": 1}), json!({"a": 1, "b": null}), true),
            (json!({"a": 1, "b": 2}), json!({"b": null}), false),
            (json!({}), json!({"a": {}}), true),
            (
                json!({"c": [{"type": "X"}, {"type": "A", "s": 1, "t": 2}]}),
                json!({"c": [{"type": "A", "s": 1}]}),
                true,
            ),
            (json!({"c": [{"type": "A", "s": 2}]}), json!({"c": [{"type": "A", "s": 1}]}), false),
            (json!({"c": [1, 2]}), json!({"c": [1]}), false),
        ];
        for (have, want, expected) in rows {
            assert_eq!(covers(&have, &want), expected, "{have} covers {want}");
        }
    }
}
