//! Conditions on requests, as webhooks have them: expressions over named values that have no schema.

use kube_cel::cel::{self, IdedExpr};
use serde_json::Value;

use super::{check, engine, expand, value::untyped};

/// An expression that is true or false of some named values.
#[derive(Debug)]
pub struct Condition(IdedExpr);

impl Condition {
    /// Reads an expression that may use these names.
    pub fn parse(source: &str, names: &[&str]) -> Result<Self, String> {
        let expression = engine::parse(source).and_then(expand::expand);
        let expression = expression.map_err(|why| format!("compilation failed: {why}"))?;
        check::condition(&expression, names).map_err(|problem| problem.to_string())?;
        Ok(Self(expression))
    }

    /// Whether it holds; an error where that cannot be said.
    pub fn holds(&self, values: &[(&str, &Value)]) -> Result<bool, String> {
        let values: Vec<_> = values.iter().map(|(name, value)| (*name, untyped(value))).collect();
        match engine::run_with(&self.0, &values, None)? {
            cel::Value::Bool(truth) => Ok(truth),
            other => Err(format!("expected a bool, got {}", other.type_of())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_look_at_what_they_are_given() {
        let object = json!({"metadata": {"labels": {"team": "a"}}, "spec": {"replicas": 3}});
        let request = json!({"operation": "CREATE", "userInfo": {"groups": ["x", "y"]}});
        let values = [("object", &object), ("oldObject", &Value::Null), ("request", &request)];
        let rows = [
            ("object.spec.replicas > 2", Ok(true)),
            ("object.metadata.labels.team == 'b'", Ok(false)),
            ("oldObject == null && request.operation == 'CREATE'", Ok(true)),
            ("has(object.spec.paused)", Ok(false)),
            ("request.userInfo.groups.exists(g, g.startsWith('y'))", Ok(true)),
        ];
        for (source, want) in rows {
            let condition = Condition::parse(source, &["object", "oldObject", "request"]).unwrap();
            assert_eq!(condition.holds(&values), want, "{source}");
        }
        let failing = Condition::parse("object.spec.paused", &["object"]).unwrap();
        assert!(failing.holds(&values).unwrap_err().contains("no such key"));
    }

    #[test]
    fn other_names_and_other_answers_are_refused() {
        for source in ["self.x", "object +", "'text'", "1 + 1"] {
            assert!(Condition::parse(source, &["object"]).is_err(), "{source}");
        }
    }
}
