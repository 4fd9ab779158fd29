use serde_json::json;

use super::*;
use crate::pod::PodObject;

fn template_of(pod: &PodObject) -> Template {
    Template::read(pod).expect("a pod")
}

fn list(amounts: &[(&str, &str)]) -> ResourceList {
    amounts.iter().map(|(name, text)| (*name, Quantity::parse(text).unwrap())).collect()
}

fn verdict_of(
    mut spec: Value,
    used: &ResourceList,
    pods: i64,
    taints: &[Taint],
) -> Result<(), (String, String)> {
    spec["containers"][0]["name"] = json!("c");
    let pod = PodObject { spec, ..PodObject::default() };
    let labels =
        BTreeMap::from([("kind".to_owned(), "a100".to_owned()), ("size".to_owned(), "8".to_owned())]);
    let allocatable = list(&[("cpu", "4"), ("memory", "8Gi"), ("pods", "10"), ("nvidia.com/gpu", "8")]);
    let place = Place { name: "n1", labels: &labels, taints, allocatable: &allocatable, used, pods };
    check(&pod.spec, &template_of(&pod), &place)
        .map_err(|verdict| (verdict.reason.into(), verdict.message.into()))
}

fn requesting(requests: &Value) -> Value {
    json!({ "containers": [{ "resources": { "requests": requests } }] })
}

fn with_affinity(expression: &Value) -> Value {
    json!({ "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{ "matchExpressions": [expression] }],
    } } }, "containers": [{}] })
}

#[test]
fn what_does_not_fit_is_refused_with_the_reason_of_the_kubelet() {
    let rows = [
        (requesting(&json!({"cpu": "2"})), None),
        (requesting(&json!({"cpu": "2001m"})), Some("OutOfcpu")),
        (requesting(&json!({"memory": "7Gi"})), Some("OutOfmemory")),
        (requesting(&json!({"nvidia.com/gpu": 1})), Some("OutOfnvidia.com/gpu")),
        (requesting(&json!({"example.com/unknown": 1})), None),
        (requesting(&json!({})), None),
    ];
    let used = list(&[("cpu", "2"), ("memory", "2Gi"), ("nvidia.com/gpu", "8")]);
    for (spec, want) in rows {
        let got = verdict_of(spec.clone(), &used, 1, &[]).err().map(|(reason, _)| reason);
        assert_eq!(got.as_deref(), want, "{spec}");
    }
    let (_, message) = verdict_of(requesting(&json!({"cpu": "3"})), &used, 1, &[]).unwrap_err();
    let want = "Pod was rejected: Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000";
    assert_eq!(message, want);
}

#[test]
fn the_number_of_pods_is_limited() {
    let nothing = ResourceList::new();
    assert!(verdict_of(requesting(&json!({})), &nothing, 9, &[]).is_ok());
    assert_eq!(verdict_of(requesting(&json!({})), &nothing, 10, &[]).unwrap_err().0, "OutOfpods");
}

#[test]
fn selectors_and_affinity_are_honoured() {
    let expression = |key: &str, operator: &str, values: &[&str]| {
        with_affinity(&json!({ "key": key, "operator": operator, "values": values }))
    };
    let rows = [
        (json!({"nodeSelector": {"kind": "a100"}, "containers": [{}]}), true),
        (json!({"nodeSelector": {"kind": "h100"}, "containers": [{}]}), false),
        (expression("kind", "In", &["h100", "a100"]), true),
        (expression("kind", "NotIn", &["a100"]), false),
        (expression("other", "NotIn", &["a100"]), true),
        (expression("size", "Gt", &["7"]), true),
        (expression("size", "Lt", &["8"]), false),
        (expression("kind", "Gt", &["7"]), false),
        (with_affinity(&json!({"key": "kind", "operator": "Exists"})), true),
        (with_affinity(&json!({"key": "kind", "operator": "DoesNotExist"})), false),
        (
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}}},
            "containers": [{}]}),
            true,
        ),
        (
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": [{}]}}}, "containers": [{}]}),
            false,
        ),
    ];
    for (spec, want) in rows {
        let got = verdict_of(spec.clone(), &ResourceList::new(), 0, &[]);
        assert_eq!(got.is_ok(), want, "{spec}");
        assert!(got.is_ok() || got.unwrap_err().0 == "NodeAffinity");
    }
}

#[test]
fn only_evicting_taints_matter_and_tolerations_help() {
    let taint = |effect: &str| Taint {
        key: "k".into(),
        value: Some("v".into()),
        effect: effect.into(),
        time_added: None,
    };
    let tolerating = |toleration: Value| json!({ "tolerations": [toleration], "containers": [{}] });
    let rows = [
        (json!({"containers": [{}]}), "NoSchedule", true),
        (json!({"containers": [{}]}), "NoExecute", false),
        (tolerating(json!({"operator": "Exists"})), "NoExecute", true),
        (tolerating(json!({"key": "k", "operator": "Exists"})), "NoExecute", true),
        (tolerating(json!({"key": "k", "value": "v", "effect": "NoExecute"})), "NoExecute", true),
        (tolerating(json!({"key": "k", "value": "w"})), "NoExecute", false),
        (tolerating(json!({"key": "k", "value": "v", "effect": "NoSchedule"})), "NoExecute", false),
    ];
    for (spec, effect, want) in rows {
        let got = verdict_of(spec.clone(), &ResourceList::new(), 0, &[taint(effect)]);
        assert_eq!(got.is_ok(), want, "{spec} {effect}");
    }
}
