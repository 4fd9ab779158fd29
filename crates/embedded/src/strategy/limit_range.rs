//! LimitRanges.

use serde_json::Value;

use super::value::{Object, items_mut, make_child, make_root_child};
use super::{Strategy, resources};

const LISTS: [&str; 5] = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];

/// The strategy of LimitRanges.
#[derive(Debug)]
pub(crate) struct LimitRange;

impl Strategy for LimitRange {
    fn default(&self, object: &mut Value) {
        let Some(spec) = make_root_child(object, "spec") else { return };
        for limit in items_mut(spec, "limits") {
            for list in LISTS {
                resources::normalize(limit.get_mut(list));
            }
            if limit.get("type").is_some_and(|kind| kind == "Container") {
                default_container_limit(limit);
            }
        }
    }
}

/// The most allowed is the default limit, which is the default request; failing both, the least allowed is.
fn default_container_limit(limit: &mut Object) {
    for (target, source) in [("default", "max"), ("defaultRequest", "default"), ("defaultRequest", "min")] {
        let amounts = limit.get(source).and_then(Value::as_object).cloned().unwrap_or_default();
        if amounts.is_empty() {
            continue;
        }
        let Some(target) = make_child(limit, target) else { continue };
        for (name, amount) in amounts {
            target.entry(name).or_insert(amount);
        }
    }
}
