use serde_json::{Value, json};

use super::check_costs;
use crate::{
    error::Path,
    schema::{Schema, compile},
};

/// Where rules of a schema are too dear, and why.
fn refused(document: &Value) -> Vec<String> {
    let schema: Schema = compile(document).unwrap();
    check_costs(&schema, &Path::Text("schema")).iter().map(ToString::to_string).collect()
}

fn list(items: &Value, most: Option<u64>, rule: &str) -> Value {
    let mut list = json!({"type": "array", "items": items});
    if let Some(most) = most {
        list["maxItems"] = most.into();
    }
    json!({"type": "object", "properties": {"l": list}, "x-kubernetes-validations": [{"rule": rule}]})
}

#[test]
fn what_goes_through_without_a_limit_is_dear() {
    let (number, text) = (json!({"type": "integer"}), json!({"type": "string"}));
    let pairs = "self.l.all(x, self.l.exists(y, x != y))";
    let table = [
        (list(&number, None, "self.l.all(x, x > 0)"), false),
        (list(&number, None, pairs), true),
        (list(&number, Some(1000), pairs), false),
        (list(&number, Some(2000), pairs), true),
        (list(&text, None, "self.l.all(x, x.matches('^[a-z]+$'))"), true),
        (list(&text, Some(10), "self.l.all(x, x.matches('^[a-z]+$'))"), false),
        (
            list(&json!({"type": "string", "maxLength": 9}), Some(9), "self.l.map(x, x + 'a').isSorted()"),
            true,
        ),
        (list(&text, Some(20), "self.l.all(i, x, x != '' && self.l[i] != x)"), false),
        (list(&text, None, "self.l.size() > 1 && self.l[0] == 'a'"), false),
    ];
    for (document, dear) in table {
        assert_eq!(!refused(&document).is_empty(), dear, "{document}: {:?}", refused(&document));
    }
}

#[test]
fn a_rule_runs_for_every_value_there_can_be() {
    let item = |most: u64| {
        let rules = json!([{"rule": "self.contains('x')"}]);
        json!({"type": "array", "maxItems": most, "items": {"type": "string", "x-kubernetes-validations": rules}})
    };
    assert_eq!(refused(&item(10)), [""; 0]);
    assert_eq!(
        refused(&item(100)),
        [
            "schema.items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of 3.1x (try \
          simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are \
          declared)"
        ]
    );
}

#[test]
fn rules_that_are_cheap_alone_can_be_dear_together() {
    let rules: Vec<Value> =
        (0..13).map(|least| json!({"rule": format!("self.all(x, x > {least})")})).collect();
    let found =
        refused(&json!({"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": rules}));
    assert_eq!(found.len(), 5, "{found:#?}");
    assert!(
        found[4].starts_with("schema: Forbidden: x-kubernetes-validations estimated rule cost total"),
        "{found:#?}"
    );
}
