//! Objects that kubectl applied on the client's side before: their annotation excuses conflicts, and is kept up to date.

use serde_json::Value;

use super::{Conflict, Request};
use crate::fields::{Comparison, Set, Type};

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The manager that stands in for client-side apply; another name opts out.
const KUBECTL: &str = "kubectl";
/// As many bytes as all annotations of an object may have together.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// The conflicts that are left when those are gone that client-side apply had set, unchanged since.
pub(super) fn remaining_conflicts(
    conflicts: Vec<Conflict>,
    live: &Value,
    ty: &Type,
    request: &Request<'_>,
) -> Vec<Conflict> {
    let allowed = (request.manager == KUBECTL).then(|| allowed(live, ty, request)).flatten();
    match allowed {
        None => conflicts,
        Some(allowed) => conflicts.into_iter().filter(|conflict| !allowed.contains(&conflict.path)).collect(),
    }
}

fn allowed(live: &Value, ty: &Type, request: &Request<'_>) -> Option<Set> {
    let last: Value = serde_json::from_str(annotation(live)?).ok()?;
    if last.get("apiVersion")?.as_str()? != request.api_version {
        return None;
    }
    let changed = Comparison::of(&last, live, ty);
    let set = Set::from_value(&last, ty);
    Some(set.difference(&changed.modified).difference(&changed.added).difference(&changed.removed))
}

fn annotation(object: &Value) -> Option<&str> {
    object.get("metadata")?.get("annotations")?.get(ANNOTATION)?.as_str().filter(|text| !text.is_empty())
}

/// Writes the applied configuration into the annotation where there is one.
pub(super) fn sync(object: &mut Value, applied: &Value, request: &Request<'_>) {
    if request.manager != KUBECTL || annotation(object).is_none() {
        return;
    }
    let mut applied = applied.clone();
    if let Some(annotations) = annotations_mut(&mut applied) {
        annotations.remove(ANNOTATION);
    }
    let Some(annotations) = annotations_mut(object) else { return };
    annotations.insert(ANNOTATION.to_owned(), Value::String(format!("{applied}\n")));
    let size: usize =
        annotations.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    if size > MAX_ANNOTATIONS {
        annotations.remove(ANNOTATION);
    }
}

fn annotations_mut(object: &mut Value) -> Option<&mut serde_json::Map<String, Value>> {
    object.get_mut("metadata")?.get_mut("annotations")?.as_object_mut()
}
