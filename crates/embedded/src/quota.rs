//! What an object counts for in ResourceQuotas: names and amounts, and which quotas it concerns. Pure.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maar_quantities::Quantity;
use maar_quantities::resources::{self, CPU, EPHEMERAL_STORAGE, HUGEPAGES_PREFIX, MEMORY, PodResources};
use serde_json::Value;

/// Amounts by the name a quota limits them by.
pub(crate) type Usage = BTreeMap<String, Quantity>;

/// The resources that have a short name of their own besides `count/…`.
const SHORT_NAMES: [&str; 5] =
    ["configmaps", "secrets", "resourcequotas", "replicationcontrollers", "services"];

const ONE: Quantity = Quantity::from_units(1);

/// What an object of a resource (`pods`, `deployments.apps`) counts for.
pub(crate) fn usage(resource: &str, object: &Value, now: Timestamp) -> Usage {
    let mut usage = Usage::from([(format!("count/{resource}"), ONE)]);
    match resource {
        "pods" => add_pod(&mut usage, object, now),
        "persistentvolumeclaims" => add_claim(&mut usage, object),
        "services" => add_service(&mut usage, object),
        _ => {}
    }
    if SHORT_NAMES.contains(&resource) {
        usage.insert(resource.to_owned(), ONE);
    }
    usage
}

/// Whether a quota's limit of that name is about objects of a resource.
pub(crate) fn tracks(resource: &str, name: &str) -> bool {
    const CLASS: &str = ".storageclass.storage.k8s.io/";
    if let Some(counted) = name.strip_prefix("count/") {
        return counted == resource;
    }
    match resource {
        "pods" => {
            let (of_requests, of_limits) = (name.strip_prefix("requests."), name.strip_prefix("limits."));
            let compute = |name: &str| matches!(name, CPU | MEMORY | EPHEMERAL_STORAGE);
            let huge = |name: &str| name.starts_with(HUGEPAGES_PREFIX);
            name == "pods"
                || compute(name)
                || huge(name)
                || of_limits.is_some_and(compute)
                || of_requests.is_some_and(|name| compute(name) || huge(name) || resources::is_extended(name))
        }
        "services" => matches!(name, "services" | "services.nodeports" | "services.loadbalancers"),
        "persistentvolumeclaims" => {
            let name = name.split_once(CLASS).map_or(name, |(_, name)| name);
            matches!(name, "persistentvolumeclaims" | "requests.storage")
        }
        _ => SHORT_NAMES.contains(&resource) && name == resource,
    }
}

/// A Pod that has ended takes nothing but its place in the store.
fn has_ended(pod: &Value) -> bool {
    matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}

/// When a Pod that is being deleted counts no longer, whether or not its end is told by then: a lost node shall not
/// keep others from starting.
pub(crate) fn given_up_at(pod: &Value) -> Option<Timestamp> {
    if has_ended(pod) {
        return None;
    }
    let deleted: Timestamp = pod["metadata"]["deletionTimestamp"].as_str()?.parse().ok()?;
    let grace = SignedDuration::from_secs(pod["metadata"]["deletionGracePeriodSeconds"].as_i64()?);
    Some(deleted.saturating_add(grace).unwrap_or(Timestamp::MAX))
}

fn add_pod(usage: &mut Usage, pod: &Value, now: Timestamp) {
    if has_ended(pod) || given_up_at(pod).is_some_and(|end| end <= now) {
        return;
    }
    usage.insert("pods".into(), ONE);
    let Ok(read) = PodResources::from_json(pod) else { return };
    for (name, amount) in &read.requests() {
        if matches!(name.as_str(), CPU | MEMORY | EPHEMERAL_STORAGE) || name.starts_with(HUGEPAGES_PREFIX) {
            usage.insert(name.clone(), *amount);
        }
        if resources::is_extended(name) || !name.contains('/') {
            usage.insert(format!("requests.{name}"), *amount);
        }
    }
    for (name, amount) in &read.limits() {
        if matches!(name.as_str(), CPU | MEMORY | EPHEMERAL_STORAGE) {
            usage.insert(format!("limits.{name}"), *amount);
        }
    }
}

fn add_claim(usage: &mut Usage, claim: &Value) {
    usage.insert("persistentvolumeclaims".into(), ONE);
    let asked = claim["spec"]["resources"]["requests"]["storage"].as_str();
    let storage = asked.and_then(|text| Quantity::parse(text).ok()).unwrap_or(Quantity::ZERO);
    usage.insert("requests.storage".into(), storage);
    let annotated = claim["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"].as_str();
    if let Some(class) =
        annotated.or(claim["spec"]["storageClassName"].as_str()).filter(|class| !class.is_empty())
    {
        let prefix = format!("{class}.storageclass.storage.k8s.io");
        usage.insert(format!("{prefix}/persistentvolumeclaims"), ONE);
        usage.insert(format!("{prefix}/requests.storage"), storage);
    }
}

fn add_service(usage: &mut Usage, service: &Value) {
    let ports = service["spec"]["ports"].as_array().map_or(0, Vec::len);
    let all = Quantity::from_units(i64::try_from(ports).unwrap_or(i64::MAX));
    let taken = service["spec"]["ports"].as_array().into_iter().flatten();
    let taken = taken.filter(|port| port["nodePort"].as_i64().is_some_and(|number| number > 0)).count();
    match service["spec"]["type"].as_str() {
        Some("NodePort") => {
            usage.insert("services.nodeports".into(), all);
        }
        Some("LoadBalancer") => {
            let allocates = service["spec"]["allocateLoadBalancerNodePorts"].as_bool() != Some(false);
            let count = Quantity::from_units(i64::try_from(taken).unwrap_or(i64::MAX));
            usage.insert("services.nodeports".into(), if allocates { all } else { count });
            usage.insert("services.loadbalancers".into(), ONE);
        }
        _ => {}
    }
}

/// Whether a quota concerns an object: all its scopes must. Scopes are about Pods; a quota with scopes concerns
/// nothing else.
pub(crate) fn matches_scopes(quota: &Value, resource: &str, object: &Value) -> bool {
    let scopes = quota["spec"]["scopes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let selectors = quota["spec"]["scopeSelector"]["matchExpressions"].as_array().into_iter().flatten();
    let mut scopes = scopes.map(|scope| scope_holds(scope, "Exists", &Value::Null, resource, object)).chain(
        selectors.map(|selector| {
            let text = |field: &str| selector[field].as_str().unwrap_or_default();
            scope_holds(text("scopeName"), text("operator"), &selector["values"], resource, object)
        }),
    );
    scopes.all(|holds| holds)
}

fn scope_holds(scope: &str, operator: &str, values: &Value, resource: &str, object: &Value) -> bool {
    if scope == "VolumeAttributesClass" {
        let class = object["spec"]["volumeAttributesClassName"].as_str().unwrap_or_default();
        return resource == "persistentvolumeclaims" && named(class, operator, values);
    }
    if resource != "pods" {
        return false;
    }
    let terminating = object["spec"]["activeDeadlineSeconds"].as_i64().is_some_and(|seconds| seconds >= 0);
    match scope {
        "Terminating" => terminating,
        "NotTerminating" => !terminating,
        "BestEffort" => is_best_effort(object),
        "NotBestEffort" => !is_best_effort(object),
        "PriorityClass" => {
            named(object["spec"]["priorityClassName"].as_str().unwrap_or_default(), operator, values)
        }
        "CrossNamespacePodAffinity" => crosses_namespaces(object),
        _ => false,
    }
}

fn named(value: &str, operator: &str, values: &Value) -> bool {
    let listed = values.as_array().into_iter().flatten().any(|one| one == value);
    match operator {
        "In" => listed,
        "NotIn" => !listed,
        "Exists" => !value.is_empty(),
        "DoesNotExist" => value.is_empty(),
        _ => false,
    }
}

fn is_best_effort(pod: &Value) -> bool {
    let Ok(read) = PodResources::from_json(pod) else { return false };
    let asks = |list: maar_quantities::ResourceList| {
        list.iter().any(|(name, amount)| matches!(name.as_str(), CPU | MEMORY) && !amount.is_zero())
    };
    !asks(read.requests()) && !asks(read.limits())
}

fn crosses_namespaces(pod: &Value) -> bool {
    let affinity = &pod["spec"]["affinity"];
    let crosses = |term: &Value| {
        term["namespaces"].as_array().is_some_and(|list| !list.is_empty())
            || term["namespaceSelector"].is_object()
    };
    ["podAffinity", "podAntiAffinity"].iter().any(|kind| {
        let required = affinity[kind]["requiredDuringSchedulingIgnoredDuringExecution"].as_array();
        let preferred = affinity[kind]["preferredDuringSchedulingIgnoredDuringExecution"].as_array();
        required.into_iter().flatten().any(crosses)
            || preferred.into_iter().flatten().any(|wish| crosses(&wish["podAffinityTerm"]))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn noon() -> Timestamp {
        "2026-01-01T12:00:00Z".parse().unwrap()
    }

    fn text(usage: &Usage) -> String {
        usage.iter().map(|(name, amount)| format!("{name}={amount}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn objects_count_for_what_they_take() {
        let pod = json!({"spec": {"containers": [{"name": "c", "resources": {
            "requests": {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "2"}, "limits": {"cpu": "1", "nvidia.com/gpu": "2"}}}]}});
        assert_eq!(
            text(&usage("pods", &pod, noon())),
            "count/pods=1 cpu=500m limits.cpu=1 memory=1Gi pods=1 requests.cpu=500m requests.memory=1Gi requests.nvidia.com/gpu=2"
        );
        let mut ended = pod;
        ended["status"] = json!({"phase": "Succeeded"});
        assert_eq!(text(&usage("pods", &ended, noon())), "count/pods=1");
        let claim =
            json!({"spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "5Gi"}}}});
        assert_eq!(
            text(&usage("persistentvolumeclaims", &claim, noon())),
            "count/persistentvolumeclaims=1 fast.storageclass.storage.k8s.io/persistentvolumeclaims=1 \
             fast.storageclass.storage.k8s.io/requests.storage=5Gi persistentvolumeclaims=1 requests.storage=5Gi"
        );
        let service = json!({"spec": {"type": "LoadBalancer", "ports": [{"port": 80}, {"port": 81}]}});
        assert_eq!(
            text(&usage("services", &service, noon())),
            "count/services=1 services=1 services.loadbalancers=1 services.nodeports=2"
        );
        assert_eq!(text(&usage("deployments.apps", &json!({}), noon())), "count/deployments.apps=1");
        assert_eq!(text(&usage("secrets", &json!({}), noon())), "count/secrets=1 secrets=1");
    }

    #[test]
    fn a_pod_counts_until_its_time_to_end_is_over_twice() {
        let pod = |deleted: &str| {
            json!({"metadata": {"deletionTimestamp": deleted, "deletionGracePeriodSeconds": 30},
                "spec": {"containers": [{"name": "c"}]}})
        };
        let rows =
            [("2026-01-01T11:59:31Z", "count/pods=1 pods=1"), ("2026-01-01T11:59:30Z", "count/pods=1")];
        for (deleted, want) in rows {
            assert_eq!(text(&usage("pods", &pod(deleted), noon())), want, "{deleted}");
        }
    }

    #[test]
    fn limits_are_about_one_resource() {
        let rows = [
            ("pods", "pods requests.cpu limits.memory cpu hugepages-2Mi requests.nvidia.com/gpu count/pods"),
            ("services", "services services.nodeports services.loadbalancers count/services"),
            (
                "persistentvolumeclaims",
                "persistentvolumeclaims requests.storage fast.storageclass.storage.k8s.io/requests.storage",
            ),
            ("secrets", "secrets count/secrets"),
            ("jobs.batch", "count/jobs.batch"),
        ];
        for (resource, names) in rows {
            for name in names.split(' ') {
                for (other, _) in rows {
                    assert_eq!(tracks(other, name), other == resource, "{name} for {other}");
                }
            }
        }
    }

    #[test]
    fn scopes_choose_pods() {
        let plain = json!({"spec": {"containers": [{"name": "c"}]}});
        let busy = json!({"spec": {"priorityClassName": "high", "activeDeadlineSeconds": 5,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}});
        let scoped = |scope: &str| json!({"spec": {"scopes": [scope]}});
        for (scope, plain_matches) in
            [("BestEffort", true), ("NotBestEffort", false), ("Terminating", false), ("NotTerminating", true)]
        {
            assert_eq!(matches_scopes(&scoped(scope), "pods", &plain), plain_matches, "{scope}");
            assert_eq!(matches_scopes(&scoped(scope), "pods", &busy), !plain_matches, "{scope}");
        }
        let selector = |operator: &str| {
            json!({"spec": {"scopeSelector": {"matchExpressions": [
            {"scopeName": "PriorityClass", "operator": operator, "values": ["high"]}]}}})
        };
        assert!(matches_scopes(&selector("In"), "pods", &busy));
        assert!(!matches_scopes(&selector("In"), "pods", &plain));
        assert!(matches_scopes(&selector("NotIn"), "pods", &plain));
        assert!(!matches_scopes(&scoped("BestEffort"), "services", &json!({})));
        assert!(matches_scopes(&json!({"spec": {}}), "services", &json!({})));
    }
}
