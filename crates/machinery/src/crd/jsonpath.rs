//! The JSONPath that printer columns, selectable fields and `kubectl -o jsonpath` use.
//!
//! Understood are `.a.b`, `['a']`, `[0]`, `[-1]`, `[1:3]`, `[*]`, `.*`, `..a`, and filters such as `[?(@.type=="Ready")]`.
//! A path may stand in braces and start with `$` or `@`. What is missing gives no result, not an error.

mod parse;

use serde_json::Value;

/// A parsed path.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

/// Why a path cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the JSON path {path:?}: {reason}")]
pub struct JsonPathError {
    path: String,
    reason: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    Index(i64),
    Slice(Option<i64>, Option<i64>),
    All,
    Descend,
    Filter(Filter),
}

/// `@.path`, alone or compared to something.
#[derive(Clone, Debug, PartialEq)]
struct Filter {
    path: JsonPath,
    condition: Option<(Operator, Operand)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Literal(Value),
    Path(JsonPath),
}

impl JsonPath {
    /// Reads a path.
    pub fn parse(path: &str) -> Result<Self, JsonPathError> {
        parse::parse(path).map_err(|reason| JsonPathError { path: path.to_owned(), reason })
    }

    /// Every value that the path leads to, in order.
    pub fn find<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![value];
        for step in &self.steps {
            found = found.into_iter().flat_map(|value| step.apply(value)).collect();
        }
        found
    }

    /// The first value that the path leads to.
    pub fn first<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.find(value).into_iter().next()
    }
}

impl Step {
    fn apply<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match (self, value) {
            (Self::Field(name), Value::Object(map)) => map.get(name).into_iter().collect(),
            (Self::Index(index), Value::Array(items)) => {
                position(*index, items.len()).and_then(|index| items.get(index)).into_iter().collect()
            }
            (Self::Slice(start, end), Value::Array(items)) => {
                let start = clamp(start.unwrap_or(0), items.len());
                let end = end.map_or(items.len(), |end| clamp(end, items.len()));
                items.get(start..end.max(start)).unwrap_or_default().iter().collect()
            }
            (Self::All, _) => children(value),
            (Self::Descend, _) => descendants(value),
            (Self::Filter(filter), Value::Array(items)) => {
                items.iter().filter(|item| filter.holds(item)).collect()
            }
            (Self::Filter(filter), Value::Object(map)) => {
                map.values().filter(|item| filter.holds(item)).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl Filter {
    fn holds(&self, item: &Value) -> bool {
        let found = self.path.find(item);
        let Some((operator, operand)) = &self.condition else { return !found.is_empty() };
        let right = match operand {
            Operand::Literal(value) => Some(value),
            Operand::Path(path) => path.first(item),
        };
        let (Some(left), Some(right)) = (found.first(), right) else { return false };
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            (Value::Number(left), Value::Number(right)) => {
                left.as_f64().zip(right.as_f64()).and_then(|(left, right)| left.partial_cmp(&right))
            }
            (left, right) => (*left == right).then_some(std::cmp::Ordering::Equal),
        };
        match operator {
            Operator::Equal => order.is_some_and(std::cmp::Ordering::is_eq),
            Operator::NotEqual => !order.is_some_and(std::cmp::Ordering::is_eq),
            Operator::Less => order.is_some_and(std::cmp::Ordering::is_lt),
            Operator::LessOrEqual => order.is_some_and(std::cmp::Ordering::is_le),
            Operator::Greater => order.is_some_and(std::cmp::Ordering::is_gt),
            Operator::GreaterOrEqual => order.is_some_and(std::cmp::Ordering::is_ge),
        }
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(map) => map.values().collect(),
        _ => Vec::new(),
    }
}

fn descendants(value: &Value) -> Vec<&Value> {
    let mut found = vec![value];
    for child in children(value) {
        found.extend(descendants(child));
    }
    found
}

/// An index into a list, which may count from the end.
fn position(index: i64, length: usize) -> Option<usize> {
    match usize::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    }
}

fn clamp(index: i64, length: usize) -> usize {
    position(index, length).unwrap_or(0).min(length)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_where_kubectl_would_go() {
        let value = json!({
            "spec": {"replicas": 3, "list": [1, 2, 3], "a.b": "dotted", "nested": [{"x": 1}, {"x": 2}]},
            "status": {"conditions": [
                {"type": "Ready", "status": "True", "n": 1}, {"type": "Other", "status": "False", "n": 5},
            ]},
        });
        let table = [
            (".spec.replicas", json!([3])),
            ("{.spec.replicas}", json!([3])),
            ("$.spec.replicas", json!([3])),
            (".spec['replicas']", json!([3])),
            (r#".spec["replicas"]"#, json!([3])),
            (r".spec.a\.b", json!(["dotted"])),
            (".spec['a.b']", json!(["dotted"])),
            (".spec.list[0]", json!([1])),
            (".spec.list[-1]", json!([3])),
            (".spec.list[1:]", json!([2, 3])),
            (".spec.list[0:2]", json!([1, 2])),
            (".spec.list[*]", json!([1, 2, 3])),
            (".spec.nested[*].x", json!([1, 2])),
            (".spec.list[9]", json!([])),
            (".spec.list[-9]", json!([])),
            (".missing.deep", json!([])),
            (r#".status.conditions[?(@.type=="Ready")].status"#, json!(["True"])),
            (".status.conditions[?(@.type=='Ready')].status", json!(["True"])),
            (".status.conditions[?( @.n > 2 )].type", json!(["Other"])),
            (".status.conditions[?(@.n<=1)].type", json!(["Ready"])),
            (r#".status.conditions[?(@.type!="Ready")].status"#, json!(["False"])),
            (".status.conditions[?(@.missing)].type", json!([])),
            ("..x", json!([1, 2])),
            (".spec.nested.*.x", json!([1, 2])),
        ];
        for (path, want) in table {
            let parsed = JsonPath::parse(path).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(json!(parsed.find(&value)), want, "{path}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for path in [".a[", ".a[?(@.x", ".a['x]", ".a[x]", "{.a", ".a[?(@.x ~ 1)]", ".a..", "a b"] {
            assert!(JsonPath::parse(path).is_err(), "{path}");
        }
    }
}
