use serde_json::{Value, json};

use super::*;

fn facts() -> Facts {
    let list = [("cpu", "8"), ("memory", "16Gi")];
    Facts {
        host_ip: "172.16.0.1".parse().unwrap(),
        pod_ip: Some("10.0.0.7".parse().unwrap()),
        allocatable: list
            .iter()
            .map(|(name, text)| (*name, maar_quantities::Quantity::parse(text).unwrap()))
            .collect(),
    }
}

fn pod(container: &Value) -> Pod {
    serde_json::from_value(json!({
        "metadata": { "name": "p", "namespace": "ns", "uid": "u", "labels": { "app": "x", "b": "1" } },
        "spec": { "nodeName": "n", "serviceAccountName": "sa", "containers": [container] },
    }))
    .unwrap()
}

fn variables_of(env: &Value) -> Result<Variables, SourceError> {
    let pod = pod(&json!({ "name": "c", "env": env, "resources": {
        "limits": { "cpu": "1500m" }, "requests": { "memory": "1000Mi" } } }));
    let sources = Sources::of(&[("cm", &[("a", "1"), ("b", "2")])], &[("s", &[("password", "hush")])]);
    variables(&pod, &pod.spec.as_ref().unwrap().containers[0], &facts(), &sources)
}

fn value_of(source: &Value) -> Result<String, String> {
    variables_of(&json!([{ "name": "X", "valueFrom": source }]))
        .map(|variables| variables.first().map_or("none".to_owned(), |(_, value)| value.clone()))
        .map_err(|error| error.to_string())
}

#[test]
fn references_are_expanded_with_what_came_before() {
    let list = vec![("A".to_owned(), "1".to_owned()), ("B".to_owned(), "$(A)".to_owned())];
    let rows = [
        ("$(A)", "1"),
        ("x$(A)y$(A)", "x1y1"),
        ("$(B)", "$(A)"),
        ("$(C)", "$(C)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A", "$A"),
        ("$(A", "$(A"),
        ("$", "$"),
        ("", ""),
    ];
    for (text, want) in rows {
        assert_eq!(expand(text, &list), want, "{text}");
    }
}

#[test]
fn the_downward_api_is_answered() {
    let rows = [
        (json!({"fieldRef": {"fieldPath": "metadata.name"}}), "p"),
        (json!({"fieldRef": {"fieldPath": "metadata.labels['app']"}}), "x"),
        (json!({"fieldRef": {"fieldPath": "metadata.labels['none']"}}), ""),
        (json!({"fieldRef": {"fieldPath": "spec.nodeName"}}), "n"),
        (json!({"fieldRef": {"fieldPath": "status.podIP"}}), "10.0.0.7"),
        (json!({"fieldRef": {"fieldPath": "status.hostIP"}}), "172.16.0.1"),
        (json!({"resourceFieldRef": {"resource": "limits.cpu"}}), "2"),
        (json!({"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}), "1500"),
        (json!({"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Gi"}}), "16"),
        (json!({"resourceFieldRef": {"resource": "requests.memory"}}), "1048576000"),
        (json!({"configMapKeyRef": {"name": "cm", "key": "a"}}), "1"),
        (json!({"secretKeyRef": {"name": "s", "key": "password"}}), "hush"),
        (json!({"secretKeyRef": {"name": "s", "key": "other", "optional": true}}), "none"),
    ];
    for (source, want) in rows {
        assert_eq!(value_of(&source).as_deref(), Ok(want), "{source}");
    }
}

#[test]
fn what_is_missing_is_named() {
    let rows = [
        (json!({"configMapKeyRef": {"name": "cm", "key": "z"}}), "couldn't find key z in configmap \"cm\""),
        (json!({"secretKeyRef": {"name": "t", "key": "z"}}), "secret \"t\" not found"),
        (json!({"fieldRef": {"fieldPath": "spec.secret"}}), "spec.secret"),
        (json!({"resourceFieldRef": {"resource": "cpu"}}), "cpu"),
    ];
    for (source, want) in rows {
        let error = value_of(&source).unwrap_err();
        assert!(error.contains(want) && error.contains("variable X"), "{error}");
    }
}

#[test]
fn later_definitions_win_and_whole_maps_can_be_taken() {
    let pod = pod(&json!({ "name": "c",
        "envFrom": [{ "prefix": "P_", "configMapRef": { "name": "cm" } }, { "secretRef": { "name": "no", "optional": true } }],
        "env": [{ "name": "P_a", "value": "own" }, { "name": "Z", "value": "$(P_a)-$(P_b)" }] }));
    let sources = Sources::of(&[("cm", &[("a", "1"), ("b", "2")])], &[]);
    let got = variables(&pod, &pod.spec.as_ref().unwrap().containers[0], &facts(), &sources).unwrap();
    let want = [("P_a", "own"), ("P_b", "2"), ("Z", "own-2")];
    assert_eq!(got, want.map(|(name, value)| (name.to_owned(), value.to_owned())));
}
