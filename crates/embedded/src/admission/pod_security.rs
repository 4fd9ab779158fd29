//! Pod Security: namespaces say by labels which of the three standards their Pods keep.
//!
//! `enforce` refuses Pods; `warn` tells whoever writes a Pod or something with a Pod template; `audit` would note it
//! in an audit log, which this server does not have. `policy` reads the labels, `baseline` and `restricted` hold the
//! controls, `subject` what they look at.

mod baseline;
mod policy;
mod restricted;
mod subject;

use std::collections::BTreeMap;
use std::sync::Arc;

use maar_machinery::error::FieldError;
use serde_json::Value;

use self::policy::{Level, LevelVersion, Policy};
use self::subject::{Subject, Violation};
use super::json::items;
use super::{Action, Attributes, Warnings};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::Entry;

/// How many Pods are looked at when a namespace gets a stricter level.
const MOST_PODS: usize = 3000;

/// One control of a standard: what a Pod of some version of the standard does that it should not.
type Control = fn(&Subject<'_>, u32) -> Option<Violation>;

impl Server {
    /// Checks a Pod, something with a template of Pods, or a namespace whose labels say what holds.
    pub(super) fn check_pod_security(
        &self,
        attributes: &Attributes<'_>,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<Warnings, ApiError> {
        let table = &*attributes.resource.table;
        if table == "namespaces" {
            return self.check_namespace_labels(attributes, object, old);
        }
        let Some(subject) = Subject::of(table, object) else { return Ok(Warnings::new()) };
        let Some(namespace) = self.stored("namespaces", "", attributes.namespace) else {
            return Ok(Warnings::new());
        };
        let (policy, _) = Policy::read(&namespace.meta);
        let enforce = table == "pods";
        if enforce && old.is_some_and(|old| !is_significant(object, old)) {
            return Ok(Warnings::new());
        }
        if enforce && let Some(detail) = detail(&violations(policy.enforce, &subject)) {
            return Err(
                attributes.forbidden(format_args!("violates PodSecurity \"{}\": {detail}", policy.enforce))
            );
        }
        let warning = detail(&violations(policy.warn, &subject))
            .map(|detail| format!("would violate PodSecurity \"{}\": {detail}", policy.warn));
        Ok(warning.into_iter().collect())
    }

    fn check_namespace_labels(
        &self,
        attributes: &Attributes<'_>,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<Warnings, ApiError> {
        let (new_policy, errors) = Policy::read(&object["metadata"]["labels"]);
        let invalid =
            |errors: &[FieldError]| Err(ApiError::invalid(attributes.resource, attributes.name, errors));
        let Some(old) = old.filter(|_| attributes.action == Action::Update) else {
            return if errors.is_empty() { Ok(Warnings::new()) } else { invalid(&errors) };
        };
        let (old_policy, old_errors) = Policy::read(&old["metadata"]["labels"]);
        if !errors.is_empty() && errors != old_errors {
            return invalid(&errors);
        }
        let (new, old) = (new_policy.enforce, old_policy.enforce);
        let relaxed = new.version == old.version && new.level <= old.level;
        if new == old || new.level == Level::Privileged || relaxed {
            return Ok(Warnings::new());
        }
        let pods = self.store.list("pods", Some(attributes.name)).rows;
        Ok(warn_about_existing(attributes.name, new, &pods))
    }
}

/// Whether a change of a Pod could bring something in that was not there.
fn is_significant(pod: &Value, old: &Value) -> bool {
    let images = |pod: &Value, list: &str| -> Vec<(Value, Value)> {
        items(&pod["spec"], list).map(|one| (one["name"].clone(), one["image"].clone())).collect()
    };
    ["containers", "initContainers", "ephemeralContainers"]
        .iter()
        .any(|list| images(pod, list) != images(old, list))
}

/// What a Pod does against a standard, baseline first.
fn violations(standard: LevelVersion, subject: &Subject<'_>) -> Vec<Violation> {
    let minor = standard.version.minor();
    let controls: Vec<Control> = match standard.level {
        Level::Privileged => Vec::new(),
        Level::Baseline => baseline::controls(|_| false),
        Level::Restricted => {
            let mut controls = baseline::controls(|name| restricted::replaces(name, minor));
            controls.extend(restricted::CONTROLS);
            controls
        }
    };
    controls.iter().filter_map(|control| control(subject, minor)).collect()
}

/// What is wrong, with what exactly in parentheses.
fn detail(violations: &[Violation]) -> Option<String> {
    if violations.is_empty() {
        return None;
    }
    let each = violations.iter().map(|one| format!("{} ({})", one.reason, one.detail));
    Some(each.collect::<Vec<_>>().join(", "))
}

/// Pods that a stricter level would refuse stay; whoever sets the level should know of them.
fn warn_about_existing(namespace: &str, standard: LevelVersion, pods: &[Arc<Entry>]) -> Warnings {
    // By what is wrong: the first Pod, and how many in all.
    let mut found: BTreeMap<String, (String, usize)> = BTreeMap::new();
    for entry in pods.iter().take(MOST_PODS) {
        let pod = entry.value();
        let Some(subject) = Subject::of("pods", &pod) else { continue };
        let wrong = violations(standard, &subject);
        if !wrong.is_empty() {
            let reasons = wrong.iter().map(|one| one.reason.as_str()).collect::<Vec<_>>().join(", ");
            found.entry(reasons).or_insert_with(|| (entry.meta.name.to_string(), 0)).1 += 1;
        }
    }
    let mut warnings = Warnings::new();
    if pods.len() > MOST_PODS {
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {MOST_PODS} of {} existing pods",
            pods.len()
        ));
    }
    if !found.is_empty() {
        warnings.push(format!(
            "existing pods in namespace {namespace:?} violate the new PodSecurity enforce level \"{standard}\""
        ));
    }
    let mut each: Vec<String> = found
        .into_iter()
        .map(|(reasons, (first, count))| match count {
            1 => format!("{first}: {reasons}"),
            2 => format!("{first} (and 1 other pod): {reasons}"),
            more => format!("{first} (and {} other pods): {reasons}", more - 1),
        })
        .collect();
    each.sort();
    warnings.extend(each);
    warnings
}

#[cfg(test)]
mod tests;
