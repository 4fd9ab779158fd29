//! What is allowed and yet hardly meant: told to whoever writes it, as kubectl shows it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::metadata::names_domain;
use super::value::{integer, is_set, items, text};
use crate::resource::Resource;

/// Labels of nodes that have other names today.
const OLD_LABELS: [(&str, &str); 5] = [
    ("beta.kubernetes.io/arch", r#"deprecated since v1.14; use "kubernetes.io/arch" instead"#),
    ("beta.kubernetes.io/os", r#"deprecated since v1.14; use "kubernetes.io/os" instead"#),
    (
        "failure-domain.beta.kubernetes.io/region",
        r#"deprecated since v1.17; use "topology.kubernetes.io/region" instead"#,
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        r#"deprecated since v1.17; use "topology.kubernetes.io/zone" instead"#,
    ),
    (
        "beta.kubernetes.io/instance-type",
        r#"deprecated since v1.17; use "node.kubernetes.io/instance-type" instead"#,
    ),
];

const NO_SELECTOR: &str = "a null labelSelector results in matching no pod";

/// What to say about an object that is written; `old` is the stored one on updates.
pub(crate) fn warnings(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<String> {
    if resource.is_custom() {
        return finalizers(object, old);
    }
    let (path, template) = match &*resource.table {
        "services" => return service(object),
        "pods" => ("", object),
        "podtemplates" => ("template.", &object["template"]),
        "cronjobs.batch" => {
            ("spec.jobTemplate.spec.template.", &object["spec"]["jobTemplate"]["spec"]["template"])
        }
        "deployments.apps" | "replicasets.apps" | "statefulsets.apps" | "daemonsets.apps" | "jobs.batch" => {
            ("spec.template.", &object["spec"]["template"])
        }
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    match old {
        None => found.extend(name(resource, text(&object["metadata"]["name"]))),
        // A Pod is rarely changed by people, and often by others.
        Some(_) if resource.is("pods") => return found,
        Some(old) if old["metadata"]["generation"] == object["metadata"]["generation"] => return found,
        Some(_) => {}
    }
    pod(&mut found, path, &template["spec"]);
    found
}

/// Finalizers that are new and might be anybody's.
fn finalizers(object: &Value, old: Option<&Value>) -> Vec<String> {
    let had = old.map_or(&[][..], |old| items(&old["metadata"]["finalizers"]));
    let new = items(&object["metadata"]["finalizers"]).iter().filter(|finalizer| !had.contains(finalizer));
    let unclear = new.map(text).filter(|finalizer| !names_domain(finalizer));
    let warning = |finalizer: &str| {
        let path = if finalizer.contains('.') { " including a path (/)" } else { "" };
        format!(
            "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name{path} to avoid accidental \
             conflicts with other finalizer writers"
        )
    };
    unclear.map(warning).collect()
}

/// Names of Pods become names of hosts.
fn name(resource: &Resource, name: &str) -> Option<String> {
    let what = match &*resource.table {
        "pods" => "the Pod's hostname",
        "deployments.apps" | "replicasets.apps" | "jobs.batch" | "cronjobs.batch" => {
            "Pod names and hostnames"
        }
        _ => return None,
    };
    let mut why = Vec::new();
    if name.contains('.') {
        why.push("must not contain dots");
    }
    if name.len() > 63 {
        why.push("must be no more than 63 characters");
    }
    (!why.is_empty()).then(|| {
        let why = why.join(" ");
        format!("metadata.name: this is used in {what}, which can result in surprising behavior; a DNS label is recommended: [{why}]")
    })
}

fn old_label(label: &str) -> Option<&'static str> {
    OLD_LABELS.iter().find(|(old, _)| *old == label).map(|(_, advice)| *advice)
}

fn pod(found: &mut Vec<String>, path: &str, spec: &Value) {
    let path = format!("{path}spec");
    if let Some(labels) = spec["nodeSelector"].as_object() {
        for label in labels.keys() {
            found.extend(old_label(label).map(|advice| format!("{path}.nodeSelector[{label}]: {advice}")));
        }
    }
    for (index, constraint) in items(&spec["topologySpreadConstraints"]).iter().enumerate() {
        let path = format!("{path}.topologySpreadConstraints[{index}]");
        let key = text(&constraint["topologyKey"]);
        found.extend(old_label(key).map(|advice| format!("{path}.topologyKey: {key} is {advice}")));
        if constraint["labelSelector"].is_null() {
            found.push(format!("{path}.labelSelector: {NO_SELECTOR}"));
        }
    }
    twice(found, &path, spec, "hostAliases", "ip");
    twice(found, &path, spec, "imagePullSecrets", "name");
    for (index, secret) in items(&spec["imagePullSecrets"]).iter().enumerate() {
        if text(&secret["name"]).is_empty() {
            found.push(format!("{path}.imagePullSecrets[{index}].name: invalid empty name \"\""));
        }
    }
    for (place, container) in containers(&path, spec) {
        fractions(found, &place, container);
        hidden_variables(found, &place, container);
    }
    ports(found, &path, spec);
    affinities(found, &path, &spec["affinity"]);
}

/// The containers of a Pod with their paths, those that start first first.
fn containers<'a>(path: &str, spec: &'a Value) -> Vec<(String, &'a Value)> {
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let numbered = lists.into_iter().flat_map(|list| {
        items(&spec[list]).iter().enumerate().map(move |(index, container)| (list, index, container))
    });
    numbered.map(|(list, index, container)| (format!("{path}.{list}[{index}]"), container)).collect()
}

fn twice(found: &mut Vec<String>, path: &str, spec: &Value, list: &str, field: &str) {
    let mut seen = BTreeSet::new();
    for (index, item) in items(&spec[list]).iter().enumerate() {
        if !seen.insert(text(&item[field])) {
            found.push(format!("{path}.{list}[{index}].{field}: duplicate {field} {:?}", text(&item[field])));
        }
    }
}

/// Parts of bytes cannot be had. Quantities are in their shortest form, in which whole ones have no such suffix.
fn fractions(found: &mut Vec<String>, path: &str, container: &Value) {
    for (resource, list) in [
        ("memory", "limits"),
        ("memory", "requests"),
        ("ephemeral-storage", "limits"),
        ("ephemeral-storage", "requests"),
    ] {
        let amount = text(&container["resources"][list][resource]);
        if amount.ends_with(['m', 'u', 'n']) {
            found.push(format!(
                "{path}.resources.{list}[{resource}]: fractional byte value {amount:?} is invalid, must be an integer"
            ));
        }
    }
}

fn hidden_variables(found: &mut Vec<String>, path: &str, container: &Value) {
    let mut seen = BTreeSet::new();
    for (index, variable) in items(&container["env"]).iter().enumerate() {
        let (name, value) = (text(&variable["name"]), text(&variable["value"]));
        let before = format!("$({name})");
        let extends = value.contains(&before) && value != before && variable["valueFrom"].is_null();
        if !seen.insert(name) && !extends {
            found.push(format!(
                "{path}.env[{index}]: hides previous definition of {name:?}, which may be dropped when using apply"
            ));
        }
    }
}

fn ports(found: &mut Vec<String>, path: &str, spec: &Value) {
    let mut seen: Vec<(String, &Value)> = Vec::new();
    let mut names: Vec<(String, &str)> = Vec::new();
    let mut repeated = Vec::new();
    for (place, container) in containers(path, spec) {
        for (index, port) in items(&container["ports"]).iter().enumerate() {
            let place = format!("{place}.ports[{index}]");
            let host =
                |port: &Value| (text(&port["hostIP"]).to_owned(), integer(&port["hostPort"]).unwrap_or(0));
            for (other_place, other) in &seen {
                if other["containerPort"] != port["containerPort"] || other["protocol"] != port["protocol"] {
                    continue;
                }
                let ((address, number), (other_address, other_number)) = (host(port), host(other));
                let what = if (&address, number) == (&other_address, other_number) {
                    "duplicate"
                } else if number == 0 || other_number == 0 {
                    "overlapping"
                } else if number == other_number && address.is_empty() != other_address.is_empty() {
                    "dangerously ambiguous"
                } else {
                    continue;
                };
                found.push(format!("{place}: {what} port definition with {other_place}"));
            }
            let name = text(&port["name"]);
            match names.iter().find(|(_, other)| *other == name && !name.is_empty()) {
                Some((first, _)) => repeated.push(format!(
                    "{place}: duplicate port name {name:?} with {first}, services and probes that select ports by name will use {first}"
                )),
                None => names.push((place.clone(), name)),
            }
            seen.push((place, port));
        }
    }
    found.append(&mut repeated);
}

fn affinities(found: &mut Vec<String>, path: &str, affinity: &Value) {
    for kind in ["podAffinity", "podAntiAffinity"] {
        let path = format!("{path}.affinity.{kind}");
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        for (index, term) in items(&affinity[kind][required]).iter().enumerate() {
            if term["labelSelector"].is_null() {
                found.push(format!("{path}.{required}[{index}].labelSelector: {NO_SELECTOR}"));
            }
        }
        let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
        for (index, term) in items(&affinity[kind][preferred]).iter().enumerate() {
            if term["podAffinityTerm"]["labelSelector"].is_null() {
                found.push(format!(
                    "{path}.{preferred}[{index}].podAffinityTerm.labelSelector: {NO_SELECTOR}"
                ));
            }
        }
    }
}

fn service(object: &Value) -> Vec<String> {
    let spec = &object["spec"];
    let mut found = Vec::new();
    let mut say = |when: bool, what: &str| {
        if when {
            found.push(what.to_owned());
        }
    };
    let headless = spec["type"] == "ClusterIP" && spec["clusterIP"] == "None";
    let outside = !items(&spec["externalIPs"]).is_empty();
    let named = spec["type"] == "ExternalName";
    say(headless && is_set(&spec["loadBalancerIP"]), "spec.loadBalancerIP is ignored for headless services");
    say(headless && outside, "spec.externalIPs is ignored for headless services");
    say(
        headless && spec["sessionAffinity"] != "None",
        "spec.SessionAffinity is ignored for headless services",
    );
    say(
        outside && !headless && !named,
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
    );
    say(named && outside, r#"spec.externalIPs is ignored when spec.type is "ExternalName""#);
    say(
        !named && is_set(&spec["externalName"]),
        r#"spec.externalName is ignored when spec.type is not "ExternalName""#,
    );
    say(
        spec["trafficDistribution"] == "PreferClose",
        r#"spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone""#,
    );
    found
}
