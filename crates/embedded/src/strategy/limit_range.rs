//! LimitRanges.

use maar_machinery::error::{FieldError, Path};
use maar_quantities::Quantity;
use serde_json::Value;

use super::check::{self, Errors};
use super::resources::Purpose;
use super::value::{Object, entries, is_set, items, items_mut, make_child, make_root_child, text};
use super::{Strategy, name, resources};

const LISTS: [&str; 5] = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];

/// What limits are about without saying whose notion it is.
const STANDARD: [&str; 3] = ["Container", "PersistentVolumeClaim", "Pod"];

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

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let list = Path::Text("spec.limits");
        let limits = items(&object["spec"]["limits"]);
        for (index, limit) in limits.iter().enumerate() {
            let path = list.index(index);
            let kind = text(&limit["type"]);
            check::text_follows(&mut errors, &path.field("type"), kind, name::qualified);
            if name::qualified(kind).is_empty() && !kind.contains('/') && !STANDARD.contains(&kind) {
                let detail = "must be a standard limit type or fully qualified";
                errors.push(FieldError::invalid(path.field("type"), kind, detail));
            }
            if limits[..index].iter().any(|other| other["type"] == limit["type"]) {
                errors.push(FieldError::duplicate(path.field("type"), limit["type"].clone()));
            }
            validate_limit(&mut errors, &path, limit);
        }
        errors
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

fn validate_limit(errors: &mut Errors, path: &Path<'_>, limit: &Value) {
    let kind = text(&limit["type"]);
    let is_computed = kind == "Container" || kind == "Pod";
    for list in LISTS {
        if is_computed {
            resources::validate_list(errors, &path.field(list), &limit[list], Purpose::Container);
        }
    }
    for list in ["default", "defaultRequest"] {
        if kind == "Pod" && is_set(&limit[list]) {
            errors.push(FieldError::forbidden(path.field(list), "may not be specified when `type` is 'Pod'"));
        }
    }
    let has_storage = |list: &str| limit[list].get("storage").is_some();
    if kind == "PersistentVolumeClaim" && !has_storage("min") && !has_storage("max") {
        let detail = "either minimum or maximum storage value is required, but neither was provided";
        errors.push(FieldError::required(path.field("limits"), detail));
    }
    for (lower, upper) in [
        ("min", "max"),
        ("min", "defaultRequest"),
        ("defaultRequest", "max"),
        ("defaultRequest", "default"),
        ("min", "default"),
        ("default", "max"),
    ] {
        ordered(errors, path, limit, lower, upper);
    }
    ratios(errors, &path.field("maxLimitRequestRatio"), limit);
}

fn ordered(errors: &mut Errors, path: &Path<'_>, limit: &Value, lower: &str, upper: &str) {
    for (resource, least) in entries(&limit[lower]) {
        let Some(most) = limit[upper].get(resource) else { continue };
        let parsed = (Quantity::parse(text(least)), Quantity::parse(text(most)));
        if let (Ok(least_amount), Ok(most_amount)) = parsed
            && least_amount > most_amount
        {
            // What the client chose least freely is what is wrong.
            let blamed = if lower == "min" && upper != "max" { upper } else { lower };
            let detail =
                format!("{lower} value {} is greater than {upper} value {}", text(least), text(most));
            let list = path.field(blamed);
            errors.push(FieldError::invalid(list.key(resource), limit[blamed][resource].clone(), detail));
        }
    }
}

fn ratios(errors: &mut Errors, path: &Path<'_>, limit: &Value) {
    for (resource, ratio) in entries(&limit["maxLimitRequestRatio"]) {
        let Ok(amount) = Quantity::parse(text(ratio)) else { continue };
        if amount < Quantity::from_units(1) {
            let detail = format!("ratio {} is less than 1", text(ratio));
            errors.push(FieldError::invalid(path.key(resource), ratio.clone(), detail));
        }
        let bound = |list: &str| Quantity::parse(text(&limit[list][resource])).ok();
        if let (Some(least), Some(most)) = (bound("min"), bound("max")) {
            let highest = most.approximate() / least.approximate();
            if amount.approximate() > highest {
                let detail = format!("ratio {} is greater than max/min = {highest:.6}", text(ratio));
                errors.push(FieldError::invalid(path.key(resource), ratio.clone(), detail));
            }
        }
    }
}
