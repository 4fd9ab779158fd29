//! LimitRanges: what containers get that ask for nothing, and how much one container, Pod or claim may ask for.

use std::collections::BTreeSet;

use maar_quantities::resources::PodResources;
use maar_quantities::{Quantity, ResourceList};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::json::{items, items_mut};

/// Says which resources of a Pod came from here.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";

const CONTAINERS: [(&str, &str); 2] = [("containers", "container"), ("initContainers", "init container")];

/// Fills the requests and limits that a Pod's containers leave open.
pub(super) fn default_pod(pod: &mut Value, ranges: &[Value]) {
    for range in ranges {
        let (requests, limits) = defaults(range);
        let mut notes = Vec::new();
        for (list, what) in CONTAINERS {
            for container in items_mut(&mut pod["spec"], list) {
                let name = container["name"].as_str().unwrap_or_default().to_owned();
                for (field, defaults, word) in
                    [("requests", &requests, "request"), ("limits", &limits, "limit")]
                {
                    let set = fill(container, field, defaults);
                    if !set.is_empty() {
                        notes.push(format!("{} {word} for {what} {name}", set.join(", ")));
                    }
                }
            }
        }
        if !notes.is_empty() {
            let note = format!("LimitRanger plugin set: {}", notes.join("; "));
            pod["metadata"]["annotations"][ANNOTATION] = note.into();
        }
    }
}

/// The default requests and limits of a container.
fn defaults(range: &Value) -> (Map<String, Value>, Map<String, Value>) {
    let (mut requests, mut limits) = (Map::new(), Map::new());
    for item in rules(range, "Container") {
        let entries = |field: &str| item[field].as_object().cloned().unwrap_or_default();
        requests.extend(entries("defaultRequest"));
        limits.extend(entries("default"));
    }
    (requests, limits)
}

/// Sets what is absent and answers the names of it, in order.
fn fill(container: &mut Value, field: &str, defaults: &Map<String, Value>) -> Vec<String> {
    let given = container.get("resources").and_then(|resources| resources.get(field)?.as_object());
    let missing = |name: &String| !given.is_some_and(|given| given.contains_key(name));
    let set: BTreeSet<String> = defaults.keys().filter(|name| missing(name)).cloned().collect();
    for name in &set {
        container["resources"][field][name] = defaults[name].clone();
    }
    set.into_iter().collect()
}

/// Refuses a Pod that asks for too little or too much.
pub(super) fn check_pod(pod: &Value, ranges: &[Value]) -> Result<(), String> {
    for range in ranges {
        let mut errors = Vec::new();
        for item in rules(range, "Container") {
            for (list, _) in CONTAINERS {
                for container in items(&pod["spec"], list) {
                    let asked = Asked {
                        requests: amounts(&container["resources"]["requests"]),
                        limits: amounts(&container["resources"]["limits"]),
                    };
                    asked.check(item, "Container", &mut errors);
                }
            }
        }
        for item in rules(range, "Pod") {
            Asked::by_pod(pod).check(item, "Pod", &mut errors);
        }
        refuse(&errors)?;
    }
    Ok(())
}

/// Refuses a claim that asks for too little or too much storage.
pub(super) fn check_claim(claim: &Value, ranges: &[Value]) -> Result<(), String> {
    for range in ranges {
        let mut errors = Vec::new();
        for item in rules(range, "PersistentVolumeClaim") {
            let requests = amounts(&claim["spec"]["resources"]["requests"]);
            let asked = Asked { requests, limits: ResourceList::new() };
            for (name, bound) in &amounts(&item["min"]) {
                errors.extend(asked.below("PersistentVolumeClaim", name, *bound));
            }
            for (name, bound) in &amounts(&item["max"]) {
                errors.extend(asked.request_above("PersistentVolumeClaim", name, *bound));
            }
        }
        refuse(&errors)?;
    }
    Ok(())
}

fn rules<'a>(range: &'a Value, of_type: &'static str) -> impl Iterator<Item = &'a Value> {
    items(&range["spec"], "limits").filter(move |item| item["type"] == of_type)
}

fn amounts(list: &Value) -> ResourceList {
    ResourceList::deserialize(list).unwrap_or_default()
}

/// One complaint as it is, several in brackets, each once.
fn refuse(errors: &[String]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    let distinct: Vec<&str> = errors.iter().filter(|error| seen.insert(*error)).map(String::as_str).collect();
    match distinct.as_slice() {
        [] => Ok(()),
        [one] => Err((*one).to_owned()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}

/// What a container, Pod or claim asks for.
struct Asked {
    requests: ResourceList,
    limits: ResourceList,
}

impl Asked {
    fn by_pod(pod: &Value) -> Self {
        // The overhead of the runtime is not the Pod's wish.
        let spec = &pod["spec"];
        let wishes = json!({"spec": {"containers": spec["containers"], "initContainers": spec["initContainers"],
            "resources": spec["resources"]}});
        let read = PodResources::from_json(&wishes).unwrap_or_default();
        Self { requests: read.requests(), limits: read.limits() }
    }

    fn check(&self, item: &Value, what: &str, errors: &mut Vec<String>) {
        for (name, bound) in &amounts(&item["min"]) {
            errors.extend(self.below(what, name, *bound));
        }
        for (name, bound) in &amounts(&item["max"]) {
            errors.extend(self.above(what, name, *bound));
        }
        for (name, bound) in &amounts(&item["maxLimitRequestRatio"]) {
            errors.extend(self.stretched(what, name, *bound));
        }
    }

    fn request(&self, name: &str) -> Option<Quantity> {
        self.requests.contains(name).then(|| self.requests.get(name))
    }

    fn limit(&self, name: &str) -> Option<Quantity> {
        self.limits.contains(name).then(|| self.limits.get(name))
    }

    fn below(&self, what: &str, name: &str, bound: Quantity) -> Option<String> {
        let rule = format!("minimum {name} usage per {what} is {bound}");
        match (self.request(name), self.limit(name)) {
            (None, _) => Some(format!("{rule}.  No request is specified")),
            (Some(request), _) if request < bound => Some(format!("{rule}, but request is {request}")),
            (_, Some(limit)) if limit < bound => Some(format!("{rule}, but limit is {limit}")),
            _ => None,
        }
    }

    fn above(&self, what: &str, name: &str, bound: Quantity) -> Option<String> {
        let rule = format!("maximum {name} usage per {what} is {bound}");
        match (self.request(name), self.limit(name)) {
            (_, None) => Some(format!("{rule}.  No limit is specified")),
            (_, Some(limit)) if limit > bound => Some(format!("{rule}, but limit is {limit}")),
            (Some(request), _) if request > bound => Some(format!("{rule}, but request is {request}")),
            _ => None,
        }
    }

    /// The same where only requests count.
    fn request_above(&self, what: &str, name: &str, bound: Quantity) -> Option<String> {
        let rule = format!("maximum {name} usage per {what} is {bound}");
        match self.request(name) {
            None => Some(format!("{rule}.  No request is specified")),
            Some(request) if request > bound => Some(format!("{rule}, but request is {request}")),
            Some(_) => None,
        }
    }

    fn stretched(&self, what: &str, name: &str, bound: Quantity) -> Option<String> {
        let rule = format!("{name} max limit to request ratio per {what} is {bound}");
        let asked = |amount: Option<Quantity>| amount.filter(|amount| !amount.is_zero());
        let Some(request) = asked(self.request(name)) else {
            return Some(format!("{rule}, but no request is specified or request is 0"));
        };
        let Some(limit) = asked(self.limit(name)) else {
            return Some(format!("{rule}, but no limit is specified or limit is 0"));
        };
        let ratio = limit.approximate() / request.approximate();
        (ratio > bound.approximate()).then(|| format!("{rule}, but provided ratio is {ratio:.6}"))
    }
}

#[cfg(test)]
mod tests;
