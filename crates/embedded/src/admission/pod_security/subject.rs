//! What the controls look at: the metadata and specification of a Pod or of a template.

use serde_json::Value;

use crate::admission::json::items;

/// A Pod, or what Pods will be made from.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) metadata: &'a Value,
    pub(super) spec: &'a Value,
}

/// Something a standard forbids.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) reason: String,
    pub(super) detail: String,
}

impl Violation {
    pub(super) fn new(reason: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { reason: reason.into(), detail: detail.into() }
    }
}

impl<'a> Subject<'a> {
    /// What of an object of a table is about Pods.
    pub(super) fn of(table: &str, object: &'a Value) -> Option<Self> {
        let part = match table {
            "pods" => object,
            "podtemplates" => &object["template"],
            "deployments.apps" | "replicasets.apps" | "statefulsets.apps" | "daemonsets.apps"
            | "jobs.batch" => &object["spec"]["template"],
            "cronjobs.batch" => &object["spec"]["jobTemplate"]["spec"]["template"],
            _ => return None,
        };
        Some(Self { metadata: &part["metadata"], spec: &part["spec"] })
    }

    /// All containers, in the order they would start.
    pub(super) fn containers(self) -> impl Iterator<Item = &'a Value> {
        ["initContainers", "containers", "ephemeralContainers"]
            .into_iter()
            .flat_map(move |list| items(self.spec, list))
    }

    /// The names of the containers that something holds of.
    pub(super) fn containers_where(self, holds: impl Fn(&Value) -> bool) -> Vec<String> {
        self.containers().filter(|container| holds(container)).map(name).collect()
    }

    /// The Pod itself and its containers, where something holds of their security context.
    pub(super) fn setters(self, holds: impl Fn(&Value) -> bool) -> Option<String> {
        let mut setters = Vec::new();
        if holds(&self.spec["securityContext"]) {
            setters.push("pod".to_owned());
        }
        let containers = self.containers_where(|container| holds(&container["securityContext"]));
        if !containers.is_empty() {
            setters.push(listed(&containers));
        }
        if setters.is_empty() { None } else { Some(setters.join(" and ")) }
    }

    /// Pods for Windows have no such settings.
    pub(super) fn is_windows(self) -> bool {
        self.spec["os"]["name"] == "windows"
    }

    /// Root in such a Pod is nobody outside of it.
    pub(super) fn has_own_users(self) -> bool {
        self.spec["hostUsers"] == false
    }
}

pub(super) fn name(object: &Value) -> String {
    object["name"].as_str().unwrap_or_default().to_owned()
}

/// `container "a"` or `containers "a", "b"`.
pub(super) fn listed(containers: &[String]) -> String {
    format!("{} {}", plural(containers.len(), "container", "containers"), quoted(containers))
}

pub(super) fn quoted<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| format!("\"{}\"", text.as_ref())).collect();
    texts.join(", ")
}

pub(super) fn plural(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}
