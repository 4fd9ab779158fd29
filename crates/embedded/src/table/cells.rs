//! What stands in the cells, kind by kind.

pub(super) mod cluster;
pub(super) mod event;
pub(super) mod network;
pub(super) mod pod;
pub(super) mod storage;
pub(super) mod workload;

use maar_machinery::selector::LabelSelector;
use serde_json::Value;

const NONE: &str = "<none>";
const UNSET: &str = "<unset>";

/// How many items of a list are shown before the rest is only counted.
const SHOWN: usize = 3;

fn name(object: &Value) -> Value {
    object["metadata"]["name"].clone()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A text, or what stands for none.
fn text_or(value: &Value, otherwise: &str) -> Value {
    match text(value) {
        "" => otherwise.into(),
        text => text.into(),
    }
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn flag(value: &Value) -> bool {
    value.as_bool().unwrap_or_default()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn length(value: &Value) -> usize {
    value.as_array().map(Vec::len).or_else(|| value.as_object().map(serde_json::Map::len)).unwrap_or_default()
}

/// The texts of a field of each item, with commas.
fn joined(list: &Value, field: &str) -> Value {
    items(list).iter().map(|item| text(&item[field])).collect::<Vec<_>>().join(",").into()
}

/// The names and the images of the containers of a template.
fn containers(template: &Value) -> [Value; 2] {
    let list = &template["spec"]["containers"];
    [joined(list, "name"), joined(list, "image")]
}

/// A selector as people write it.
fn selector(selector: &Value, when_wrong: &str, when_empty: &str) -> Value {
    match LabelSelector::from_object(selector) {
        Err(_) => when_wrong.into(),
        // No selector at all selects nothing and has no text.
        Ok(_) if selector.is_null() => when_empty.into(),
        Ok(selector) => text_or(&selector.to_string().into(), when_empty),
    }
}

/// A map of labels as people write it.
fn labels(labels: &Value) -> Value {
    let pairs = labels.as_object().into_iter().flatten().map(|(key, value)| format!("{key}={}", text(value)));
    text_or(&pairs.collect::<Vec<_>>().join(",").into(), NONE)
}

/// The first few of a list, and how many more there are.
fn first_few(all: &[String]) -> Value {
    if all.is_empty() {
        return NONE.into();
    }
    let shown = all[..all.len().min(SHOWN)].join(",");
    if all.len() > SHOWN { format!("{shown} + {} more...", all.len() - SHOWN).into() } else { shown.into() }
}

/// Whether a condition holds.
fn is_true(object: &Value, condition: &str) -> bool {
    items(&object["status"]["conditions"])
        .iter()
        .any(|other| other["type"] == condition && other["status"] == "True")
}

/// An object on its way out says so instead of its phase.
fn phase(object: &Value) -> Value {
    if object["metadata"]["deletionTimestamp"].is_null() {
        object["status"]["phase"].clone()
    } else {
        "Terminating".into()
    }
}
