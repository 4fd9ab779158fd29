//! The object form of label selectors: `matchLabels` and `matchExpressions`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector as ObjectSelector;
use serde_json::Value;

use super::{LabelSelector, Operator, Requirement, SelectorError};

impl LabelSelector {
    /// Reads a selector object as it stands in JSON. No selector at all (`null`) matches nothing,
    /// an empty one everything.
    pub fn from_object(object: &Value) -> Result<Self, SelectorError> {
        if object.is_null() {
            return Ok(Self::nothing());
        }
        let mut requirements = Vec::new();
        for (key, value) in object.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
            let value = value.as_str().unwrap_or_default().to_owned();
            requirements.push(Requirement::new(key, Operator::Equals, [value])?);
        }
        for expression in object.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
            let text = |name: &str| expression.get(name).and_then(Value::as_str).unwrap_or_default();
            let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
            let values = values.filter_map(Value::as_str).map(str::to_owned);
            requirements.push(Requirement::new(text("key"), operator(text("operator"))?, values)?);
        }
        Ok(Self::new(requirements))
    }
}

impl TryFrom<&ObjectSelector> for LabelSelector {
    type Error = SelectorError;

    fn try_from(object: &ObjectSelector) -> Result<Self, SelectorError> {
        let mut requirements = Vec::new();
        for (key, value) in object.match_labels.iter().flatten() {
            requirements.push(Requirement::new(key, Operator::Equals, [value.clone()])?);
        }
        for expression in object.match_expressions.iter().flatten() {
            let values = expression.values.iter().flatten().cloned();
            requirements.push(Requirement::new(&expression.key, operator(&expression.operator)?, values)?);
        }
        Ok(Self::new(requirements))
    }
}

fn operator(name: &str) -> Result<Operator, SelectorError> {
    Ok(match name {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        other => {
            return Err(SelectorError::Invalid(format!("{other:?} is not a valid label selector operator")));
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sample() -> Value {
        json!({
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["b", "a"]},
                {"key": "old", "operator": "DoesNotExist"},
            ],
        })
    }

    #[test]
    fn both_forms_of_the_object_say_the_same() {
        let from_json = LabelSelector::from_object(&sample()).unwrap();
        let typed: ObjectSelector = serde_json::from_value(sample()).unwrap();
        assert_eq!(LabelSelector::try_from(&typed).unwrap(), from_json);
        assert_eq!(from_json.to_string(), "app=web,!old,tier in (a,b)");
        assert!(from_json.matches(&json!({"app": "web", "tier": "a"})));
        assert!(!from_json.matches(&json!({"app": "web", "tier": "a", "old": ""})));
    }

    #[test]
    fn absent_matches_nothing_and_empty_matches_everything() {
        assert!(!LabelSelector::from_object(&Value::Null).unwrap().matches(&json!({})));
        assert!(LabelSelector::from_object(&json!({})).unwrap().matches(&json!({})));
    }

    #[test]
    fn unknown_operators_are_named() {
        let fault =
            LabelSelector::from_object(&json!({"matchExpressions": [{"key": "a", "operator": "Gt"}]}));
        assert_eq!(fault.unwrap_err().to_string(), "\"Gt\" is not a valid label selector operator");
    }
}
