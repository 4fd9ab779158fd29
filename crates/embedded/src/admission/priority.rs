//! A Pod's priority is that of its class; it cannot be chosen freely.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::{Action, Attributes};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::Entry;

pub(super) const TABLE: &str = "priorityclasses.scheduling.k8s.io";

const SYSTEM: [&str; 2] = ["system-node-critical", "system-cluster-critical"];

/// What of a class matters to Pods.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Class {
    #[serde(default)]
    value: i64,
    #[serde(default)]
    global_default: bool,
    preemption_policy: Option<String>,
}

/// The priority that a Pod gets.
#[derive(Debug, PartialEq, Eq)]
struct Priority {
    class: String,
    value: i64,
    policy: Option<String>,
}

impl Server {
    /// Writes the priority of a new Pod's class into it.
    pub(super) fn give_priority(&self, attributes: &Attributes<'_>, pod: &mut Value) -> Result<(), ApiError> {
        let name = pod["spec"]["priorityClassName"].as_str().unwrap_or_default();
        let priority = if name.is_empty() {
            of_default(&self.store.list(TABLE, None).rows)
        } else {
            let class = self.stored(TABLE, "", name).and_then(|entry| entry.view::<Class>());
            let class = class.ok_or_else(|| {
                attributes.forbidden(format_args!("no PriorityClass with name {name} was found"))
            })?;
            Priority { class: name.to_owned(), value: class.value, policy: class.preemption_policy.clone() }
        };
        set(pod, priority).map_err(|why| attributes.forbidden(why))
    }
}

/// The class for Pods that name none, of several the one of the lowest value.
fn default_class(classes: &[Arc<Entry>]) -> Option<(&Entry, Arc<Class>)> {
    let read = classes.iter().filter_map(|entry| Some((&**entry, entry.view::<Class>()?)));
    read.filter(|(_, class)| class.global_default).min_by_key(|(_, class)| class.value)
}

fn of_default(classes: &[Arc<Entry>]) -> Priority {
    match default_class(classes) {
        Some((entry, class)) => Priority {
            class: entry.meta.name.to_string(),
            value: class.value,
            policy: class.preemption_policy.clone(),
        },
        None => Priority { class: String::new(), value: 0, policy: Some("PreemptLowerPriority".to_owned()) },
    }
}

fn set(pod: &mut Value, priority: Priority) -> Result<(), String> {
    let Priority { class, value, policy } = priority;
    if let Some(given) = pod["spec"]["priority"].as_i64().filter(|given| *given != value) {
        return Err(format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission \
             controller computed {value} from the given PriorityClass name"
        ));
    }
    if let Some(policy) = policy {
        if let Some(given) = pod["spec"]["preemptionPolicy"].as_str().filter(|given| *given != policy) {
            return Err(format!(
                "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority \
                 admission controller computed {policy} from the given PriorityClass name"
            ));
        }
        pod["spec"]["preemptionPolicy"] = policy.into();
    }
    if !class.is_empty() {
        pod["spec"]["priorityClassName"] = class.into();
    }
    pod["spec"]["priority"] = value.into();
    Ok(())
}

/// An update that leaves the priority out keeps it.
pub(super) fn keep(pod: &mut Value, old: Option<&Value>) {
    let Some(old) = old else { return };
    for field in ["priority", "preemptionPolicy"] {
        if pod["spec"][field].is_null() && !old["spec"][field].is_null() {
            pod["spec"][field] = old["spec"][field].clone();
        }
    }
}

/// Refuses a second default.
pub(super) fn check_class(class: &Value, action: Action, classes: &[Arc<Entry>]) -> Result<(), String> {
    if class["globalDefault"] != true {
        return Ok(());
    }
    match default_class(classes) {
        Some((entry, _)) if action == Action::Create || class["metadata"]["name"] != *entry.meta.name => {
            let name = &entry.meta.name;
            Err(format!("PriorityClass {name} is already marked as default. Only one default can exist"))
        }
        _ => Ok(()),
    }
}

/// The classes that the cluster brings along stay.
pub(super) fn check_deletion(attributes: &Attributes<'_>) -> Result<(), ApiError> {
    if SYSTEM.contains(&attributes.name) {
        return Err(attributes.forbidden("this is a system priority class and cannot be deleted"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store;

    fn class(name: &str, value: i64, default: bool) -> Arc<Entry> {
        let class = json!({"metadata": {"name": name}, "value": value, "globalDefault": default,
            "preemptionPolicy": "Never"});
        store::decode(&class, 1).into()
    }

    #[test]
    fn the_default_class_of_the_lowest_value_counts() {
        let none = of_default(&[class("a", 5, false)]);
        let policy = Some("PreemptLowerPriority".to_owned());
        assert_eq!(none, Priority { class: String::new(), value: 0, policy });
        let some = of_default(&[class("a", 5, false), class("b", 9, true), class("c", 7, true)]);
        assert_eq!(some, Priority { class: "c".into(), value: 7, policy: Some("Never".into()) });
    }

    #[test]
    fn a_pod_may_repeat_its_priority_but_not_choose_it() {
        let priority = || Priority { class: "c".into(), value: 7, policy: Some("Never".into()) };
        let rows = [
            (json!({}), true),
            (json!({"priority": 7, "preemptionPolicy": "Never"}), true),
            (json!({"priority": 8}), false),
            (json!({"preemptionPolicy": "PreemptLowerPriority"}), false),
        ];
        for (spec, want) in rows {
            let mut pod = json!({"spec": spec});
            assert_eq!(set(&mut pod, priority()).is_ok(), want, "{spec}");
            if want {
                let whole = json!({"priority": 7, "preemptionPolicy": "Never", "priorityClassName": "c"});
                assert_eq!(pod["spec"], whole);
            }
        }
    }

    #[test]
    fn there_is_one_default() {
        let classes = [class("a", 5, true)];
        let wants = |name: &str| json!({"metadata": {"name": name}, "globalDefault": true});
        assert!(check_class(&wants("b"), Action::Create, &classes).is_err());
        assert!(check_class(&wants("a"), Action::Update, &classes).is_ok());
        assert!(check_class(&wants("b"), Action::Update, &classes).is_err());
        assert!(check_class(&wants("b"), Action::Create, &[]).is_ok());
    }
}
