use serde_json::json;

use super::*;

fn range(items: &Value) -> Vec<Value> {
    vec![json!({"spec": {"limits": items}})]
}

fn pod(resources: &Value) -> Value {
    json!({"metadata": {}, "spec": {"containers": [{"name": "c", "resources": resources}]}})
}

#[test]
fn absent_amounts_are_filled_and_the_pod_says_so() {
    let ranges = range(&json!([{"type": "Container", "default": {"cpu": "1", "memory": "2Gi"},
        "defaultRequest": {"cpu": "500m"}}]));
    let mut pod = json!({"metadata": {}, "spec": {
        "containers": [{"name": "a"}, {"name": "b", "resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}}],
        "initContainers": [{"name": "i", "resources": {"limits": {"memory": "1Gi"}}}]}});
    default_pod(&mut pod, &ranges);
    let spec = &pod["spec"];
    let (first, second) = (&spec["containers"][0]["resources"], &spec["containers"][1]["resources"]);
    assert_eq!(*first, json!({"limits": {"cpu": "1", "memory": "2Gi"}, "requests": {"cpu": "500m"}}));
    assert_eq!(*second, json!({"limits": {"cpu": "2", "memory": "2Gi"}, "requests": {"cpu": "2"}}));
    assert_eq!(spec["initContainers"][0]["resources"]["limits"], json!({"cpu": "1", "memory": "1Gi"}));
    assert_eq!(
        pod["metadata"]["annotations"][ANNOTATION],
        "LimitRanger plugin set: cpu request for container a; cpu, memory limit for container a; \
         memory limit for container b; cpu request for init container i; cpu limit for init container i"
    );
    let before = pod.clone();
    default_pod(&mut pod, &ranges);
    assert_eq!(pod, before, "a second time changes nothing");
}

#[test]
fn containers_keep_to_their_bounds() {
    let bounds = json!([{"type": "Container", "min": {"cpu": "100m"}, "max": {"memory": "1Gi"},
        "maxLimitRequestRatio": {"cpu": "2"}}]);
    let asked = |cpu: (&str, &str), memory: &str| {
        pod(&json!({"requests": {"cpu": cpu.0}, "limits": {"cpu": cpu.1, "memory": memory}}))
    };
    let rows = [
        (asked(("100m", "200m"), "1Gi"), None),
        (asked(("50m", "100m"), "1Gi"), Some("minimum cpu usage per Container is 100m, but request is 50m")),
        (asked(("1", "2"), "2Gi"), Some("maximum memory usage per Container is 1Gi, but limit is 2Gi")),
        (
            asked(("1", "3"), "1Gi"),
            Some("cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000"),
        ),
        (
            pod(&json!({})),
            Some(
                "[minimum cpu usage per Container is 100m.  No request is specified, \
                 maximum memory usage per Container is 1Gi.  No limit is specified, \
                 cpu max limit to request ratio per Container is 2, but no request is specified or request is 0]",
            ),
        ),
    ];
    for (pod, want) in rows {
        assert_eq!(check_pod(&pod, &range(&bounds)).err().as_deref(), want, "{pod}");
    }
}

#[test]
fn a_pod_counts_as_a_whole() {
    let bounds = range(&json!([{"type": "Pod", "max": {"cpu": "3"}}]));
    let two = |cpu: &str| {
        let one = json!({"name": "c", "resources": {"limits": {"cpu": cpu}, "requests": {"cpu": cpu}}});
        json!({"spec": {"containers": [one, one]}})
    };
    assert_eq!(check_pod(&two("1500m"), &bounds), Ok(()));
    assert_eq!(check_pod(&two("2"), &bounds).unwrap_err(), "maximum cpu usage per Pod is 3, but limit is 4");
}

#[test]
fn claims_keep_to_their_bounds() {
    let bounds = range(
        &json!([{"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "10Gi"}}]),
    );
    let claim = |size: &str| json!({"spec": {"resources": {"requests": {"storage": size}}}});
    assert_eq!(check_claim(&claim("5Gi"), &bounds), Ok(()));
    assert_eq!(
        check_claim(&claim("20Gi"), &bounds).unwrap_err(),
        "maximum storage usage per PersistentVolumeClaim is 10Gi, but request is 20Gi"
    );
    assert_eq!(
        check_claim(&claim("1Mi"), &bounds).unwrap_err(),
        "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi"
    );
}
