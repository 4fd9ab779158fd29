//! Which fields of a Pod people may say. What is not named here is refused: also what Kubernetes adds some day.

use k8s_openapi::api::core::v1::{Affinity, PodAffinityTerm, PodSpec, Toleration};
use maar_api::cards;
use serde::Serialize;
use serde_json::Value;

use super::text::Wrong;
use crate::profile::Granted;

/// Of a Pod. The values of some are looked at besides, in `template` and below.
const OF_PODS: &[&str] = &[
    "activeDeadlineSeconds",
    "affinity",
    "automountServiceAccountToken",
    "containers",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "ephemeralContainers",
    "hostAliases",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostUsers",
    "hostname",
    "imagePullSecrets",
    "initContainers",
    "nodeName",
    "nodeSelector",
    "priorityClassName",
    "resources",
    "restartPolicy",
    "runtimeClassName",
    "schedulerName",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "setHostnameAsFQDN",
    "shareProcessNamespace",
    "subdomain",
    "terminationGracePeriodSeconds",
    "tolerations",
    "topologySpreadConstraints",
    "volumes",
];

const OF_CONTAINERS: &[&str] = &[
    "args",
    "command",
    "env",
    "envFrom",
    "image",
    "imagePullPolicy",
    "lifecycle",
    "livenessProbe",
    "name",
    "ports",
    "readinessProbe",
    "resizePolicy",
    "resources",
    "restartPolicy",
    "restartPolicyRules",
    "securityContext",
    "startupProbe",
    "stdin",
    "stdinOnce",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "tty",
    "volumeDevices",
    "volumeMounts",
    "workingDir",
];

/// Why some of the fields that are not there are not there.
const WHY: &[(&str, &str)] = &[
    ("priority", "use priority and serviceLevel of the job"),
    ("preemptionPolicy", "who has to go for whom, accounts decide"),
    ("resourceClaims", "cards are asked for by cards: claims are counted by no account"),
    ("schedulingGates", "use suspend of the job"),
];

/// Domains whose annotations are obeyed by what runs Pods: devices, networks, other runtimes, walls that fall.
const OBEYED: &[&str] = &["k8s.io", "kubernetes.io", "cncf.io", "katacontainers.io", "multus-cni.io"];
/// Annotations of theirs that are only words.
const WORDS: &[&str] = &["app.kubernetes.io", "kubectl.kubernetes.io"];
/// Beginnings of such annotations that have no domain, or others.
const OBEYED_BEGINNINGS: &[&str] =
    &["io.kubernetes.", "io.katacontainers.", "cni.projectcalico.org/", "hami.io/"];

/// Refuses fields that are not for people.
pub(super) fn check_pod_fields(field: &str, spec: &PodSpec, granted: &Granted) -> Result<(), Wrong> {
    only(field, &json(spec), OF_PODS)?;
    if let Some(name) = spec.runtime_class_name.as_deref().filter(|name| !name.is_empty())
        && !granted.runs_by(name)
    {
        let why = "another runtime may have lower walls, or show all cards: only with a profile";
        return Err(Wrong::new(format!("{field}.runtimeClassName"), why));
    }
    check_stop(
        &format!("{field}.terminationGracePeriodSeconds"),
        spec.termination_grace_period_seconds,
        granted,
    )?;
    for (index, one) in spec.tolerations.iter().flatten().enumerate() {
        check_toleration(&format!("{field}.tolerations[{index}]"), one, granted)?;
    }
    match &spec.affinity {
        Some(affinity) => check_affinity(&format!("{field}.affinity"), affinity),
        None => Ok(()),
    }
}

/// Refuses a stop that takes so long that it keeps the place from those whose turn it is.
pub(crate) fn check_stop(field: &str, seconds: Option<i64>, granted: &Granted) -> Result<(), Wrong> {
    let longest = granted.longest_stop();
    if seconds.is_none_or(|seconds| (0..=longest).contains(&seconds)) {
        return Ok(());
    }
    let why = format!(
        "is between 0 and {longest} seconds, since others wait for what it holds: an administrator grants more by a profile"
    );
    Err(Wrong::new(field, why))
}

/// Refuses fields of a container that are not for people, and probes that the node would send elsewhere.
pub(super) fn check_container_fields(field: &str, container: &impl Serialize) -> Result<(), Wrong> {
    let said = json(container);
    only(field, &said, OF_CONTAINERS)?;
    let places =
        ["livenessProbe", "readinessProbe", "startupProbe", "lifecycle/postStart", "lifecycle/preStop"];
    for (place, kind) in places.iter().flat_map(|place| ["httpGet", "tcpSocket"].map(|kind| (place, kind))) {
        let host = said.pointer(&format!("/{place}/{kind}/host")).and_then(Value::as_str);
        if host.is_some_and(|host| !host.is_empty()) {
            let field = format!("{field}.{}.{kind}.host", place.replace('/', "."));
            return Err(Wrong::new(
                field,
                "is the Pod itself: the node would ask others from its own network",
            ));
        }
    }
    Ok(())
}

/// Refuses annotations that something obeys.
pub(super) fn check_annotation(field: &str, name: &str) -> Result<(), Wrong> {
    let domain = name.split_once('/').map_or("", |(domain, _)| domain);
    let is = |one: &str| domain == one || domain.strip_suffix(one).is_some_and(|rest| rest.ends_with('.'));
    let obeyed = OBEYED.iter().any(|one| is(one)) && !WORDS.contains(&domain)
        || OBEYED_BEGINNINGS.iter().any(|begin| name.starts_with(begin))
        || cards::MAKERS.iter().any(|maker| name.starts_with(maker.domain));
    if obeyed {
        let why = format!("{name} tells the cluster what to do, which is not for Pods of users");
        return Err(Wrong::new(field, why));
    }
    Ok(())
}

/// Taints keep Pods off nodes that are another account's, being emptied, or not for users at all. A Pod may stay where it is
/// when its node is away, and may say that it wants cards; everything else a profile grants.
fn check_toleration(field: &str, toleration: &Toleration, granted: &Granted) -> Result<(), Wrong> {
    let key = toleration.key.as_deref().unwrap_or_default();
    let away = matches!(key, "node.kubernetes.io/not-ready" | "node.kubernetes.io/unreachable")
        && toleration.effect.as_deref() == Some("NoExecute");
    let of_cards = cards::cards().any(|card| card.resource == key);
    if away || of_cards || granted.tolerates(key) {
        return Ok(());
    }
    let why = if key.is_empty() {
        "names a taint: not all of them are for Pods of users".to_owned()
    } else {
        format!("{key} keeps Pods of users away: only with a profile")
    };
    Err(Wrong::new(field, why))
}

/// Terms about Pods of others: who wants to be alone would keep all others off his node.
fn check_affinity(field: &str, affinity: &Affinity) -> Result<(), Wrong> {
    let near = affinity.pod_affinity.as_ref();
    let far = affinity.pod_anti_affinity.as_ref();
    let required = [
        near.and_then(|one| one.required_during_scheduling_ignored_during_execution.as_ref()),
        far.and_then(|one| one.required_during_scheduling_ignored_during_execution.as_ref()),
    ];
    let preferred = [
        near.and_then(|one| one.preferred_during_scheduling_ignored_during_execution.as_ref()),
        far.and_then(|one| one.preferred_during_scheduling_ignored_during_execution.as_ref()),
    ];
    let preferred = preferred.into_iter().flatten().flatten().map(|one| &one.pod_affinity_term);
    let mut terms = required.into_iter().flatten().flatten().chain(preferred);
    let of_others = |term: &PodAffinityTerm| {
        term.namespace_selector.is_some() || term.namespaces.as_ref().is_some_and(|all| !all.is_empty())
    };
    if terms.any(of_others) {
        return Err(Wrong::new(field, "is about the own Pods: without namespaces and namespaceSelector"));
    }
    Ok(())
}

fn json(value: &impl Serialize) -> Value {
    // What was read from JSON can be written as such.
    serde_json::to_value(value).unwrap_or_default()
}

fn only(field: &str, said: &Value, allowed: &[&str]) -> Result<(), Wrong> {
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    let fields = said.as_object().into_iter().flatten();
    match fields.filter(|(_, value)| !empty(value)).find(|(name, _)| !allowed.contains(&name.as_str())) {
        None => Ok(()),
        Some((name, _)) => {
            let why =
                WHY.iter().find(|(one, _)| one == name).map_or("is not for Pods of users", |(_, why)| why);
            Err(Wrong::new(format!("{field}.{name}"), why))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{profile::Profiles, rules::check_template, testing::person};

    /// The field that is refused; empty if none is.
    fn refused(spec: &Value, granted: &Granted) -> String {
        let mut whole = json!({ "containers": [{ "name": "main", "image": "busybox" }] });
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let template = serde_json::from_value(json!({ "spec": whole })).unwrap();
        check_template("t", &template, granted)
            .err()
            .map_or_else(String::new, |wrong| wrong.field.replace("t.spec.", ""))
    }

    fn field_of(spec: &Value) -> String {
        refused(spec, &Granted::default())
    }

    #[test]
    fn fields_that_are_not_named_are_refused() {
        for (field, value) in [
            ("priority", json!(1_000_000)),
            ("preemptionPolicy", json!("Never")),
            ("overhead", json!({ "cpu": "1" })),
            ("resourceClaims", json!([{ "name": "gpu", "resourceClaimName": "all" }])),
            ("schedulingGates", json!([{ "name": "mine" }])),
            ("readinessGates", json!([{ "conditionType": "mine" }])),
            ("runtimeClassName", json!("nvidia")),
            ("os", json!({ "name": "windows" })),
        ] {
            assert_eq!(field_of(&json!({ field: value })), field);
        }
        assert_eq!(
            field_of(&json!({ "terminationGracePeriodSeconds": 901 })),
            "terminationGracePeriodSeconds"
        );
    }

    #[test]
    fn what_ordinary_pods_say_passes() {
        let spec = json!({
            "restartPolicy": "OnFailure", "terminationGracePeriodSeconds": 600, "nodeSelector": { "zone": "a" },
            "hostNetwork": false, "hostname": "a", "shareProcessNamespace": true, "dnsPolicy": "ClusterFirst",
            "imagePullSecrets": [{ "name": "a" }], "priorityClassName": "", "schedulingGates": [],
            "tolerations": [
                { "key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule" },
                { "key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5 },
            ],
            "affinity": { "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [
                { "topologyKey": "kubernetes.io/hostname", "labelSelector": { "matchLabels": { "app": "mine" } } }] } },
            "containers": [{ "name": "main", "image": "busybox",
                "readinessProbe": { "httpGet": { "path": "/", "port": 80 } } }],
        });
        assert_eq!(field_of(&spec), "");
    }

    #[test]
    fn nodes_that_are_set_aside_or_emptied_stay_so() {
        let taints = [
            json!({ "operator": "Exists" }),
            json!({ "key": "maar.io/account", "operator": "Exists" }),
            json!({ "key": "maar.io/account", "value": "rich" }),
            json!({ "key": "maar.io/local", "operator": "Exists" }),
            json!({ "key": "node.kubernetes.io/unschedulable", "operator": "Exists" }),
            json!({ "key": "node.kubernetes.io/not-ready", "operator": "Exists" }),
            json!({ "key": "node-role.kubernetes.io/control-plane", "operator": "Exists" }),
            json!({ "key": "vendor.example/virtual-node", "operator": "Exists" }),
        ];
        for taint in taints {
            assert_eq!(field_of(&json!({ "tolerations": [taint] })), "tolerations[0]", "{taint}");
        }
    }

    #[test]
    fn nobody_keeps_the_pods_of_others_off_a_node() {
        for term in [
            json!({ "topologyKey": "kubernetes.io/hostname", "labelSelector": {}, "namespaceSelector": {} }),
            json!({ "topologyKey": "kubernetes.io/hostname", "labelSelector": {}, "namespaces": ["user-ada"] }),
        ] {
            for kind in ["podAffinity", "podAntiAffinity"] {
                let hard = json!({ "requiredDuringSchedulingIgnoredDuringExecution": [term] });
                let soft = json!({ "preferredDuringSchedulingIgnoredDuringExecution": [
                    { "weight": 100, "podAffinityTerm": term }] });
                for way in [hard, soft] {
                    assert_eq!(field_of(&json!({ "affinity": { kind: way } })), "affinity", "{kind} {term}");
                }
            }
        }
    }

    #[test]
    fn the_node_asks_nobody_else_in_the_name_of_a_probe() {
        let cloud = "169.254.169.254";
        let http = json!({ "httpGet": { "host": cloud, "port": 80, "path": "/latest" } });
        let plain = json!({ "tcpSocket": { "host": cloud, "port": 80 } });
        for (more, field) in [
            (json!({ "livenessProbe": http }), "livenessProbe.httpGet"),
            (json!({ "readinessProbe": plain }), "readinessProbe.tcpSocket"),
            (json!({ "startupProbe": http }), "startupProbe.httpGet"),
            (json!({ "lifecycle": { "postStart": http } }), "lifecycle.postStart.httpGet"),
            (json!({ "lifecycle": { "preStop": plain } }), "lifecycle.preStop.tcpSocket"),
        ] {
            let mut container = json!({ "name": "main", "image": "busybox" });
            container.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert_eq!(
                field_of(&json!({ "containers": [container] })),
                format!("containers[0].{field}.host")
            );
        }
    }

    #[test]
    fn annotations_that_something_obeys_are_not_for_people() {
        let of = |name: &str| check_annotation("annotations", name).is_err();
        for name in [
            "cdi.k8s.io/all",
            "k8s.v1.cni.cncf.io/networks",
            "container.apparmor.security.beta.kubernetes.io/main",
            "io.kubernetes.cri-o.userns-mode",
            "io.katacontainers.config.hypervisor.path",
            "nvidia.com/vgpu",
            "hami.io/node-handshake",
        ] {
            assert!(of(name), "{name}");
        }
        for name in
            ["note", "example.com/team", "app.kubernetes.io/name", "prometheus.io/scrape", "myk8s.io/a"]
        {
            assert!(!of(name), "{name}");
        }
    }

    #[test]
    fn a_profile_grants_runtimes_and_taints_by_name() {
        let file = "profiles: [{ name: kata, users: [ada], runtimeClasses: [kata], tolerations: [vendor.example/lent] }]";
        let profiles = Profiles::parse(file).unwrap();
        let granted = profiles.granted(&person("ada"), "default");
        let ways = [
            (json!({ "runtimeClassName": "kata" }), ""),
            (json!({ "runtimeClassName": "nvidia" }), "runtimeClassName"),
            (json!({ "tolerations": [{ "key": "vendor.example/lent", "operator": "Exists" }] }), ""),
            (
                json!({ "tolerations": [{ "key": "maar.io/account", "operator": "Exists" }] }),
                "tolerations[0]",
            ),
        ];
        for (spec, want) in ways {
            assert_eq!(refused(&spec, &granted), want, "{spec}");
        }
        assert_eq!(field_of(&json!({ "runtimeClassName": "kata" })), "runtimeClassName");
        // Neither leads out of a container: the namespace stays as it is.
        assert!(!profiles.any_for(&person("ada")));
    }
}
