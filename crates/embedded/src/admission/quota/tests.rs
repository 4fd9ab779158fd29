use serde_json::json;

use super::*;

fn quota(hard: &Value, used: &Value) -> Value {
    json!({"metadata": {"name": "q"}, "spec": {}, "status": {"hard": hard, "used": used}})
}

fn pod(resources: &Value) -> Value {
    json!({"spec": {"containers": [{"name": "c", "resources": resources}]}})
}

fn charge_one(quota: Value, resource: &str, object: &Value, old: Option<&Value>) -> Result<String, String> {
    let all = charged(&[quota], resource, object, old, Timestamp::UNIX_EPOCH)?;
    Ok(all[0].as_ref().map(ToString::to_string).unwrap_or_default())
}

#[test]
fn a_pod_is_charged_for_what_it_asks() {
    let quota = |used: &str| {
        quota(
            &json!({"pods": "2", "requests.nvidia.com/gpu": "8"}),
            &json!({"pods": "1", "requests.nvidia.com/gpu": used}),
        )
    };
    let pod = pod(&json!({"requests": {"nvidia.com/gpu": "4"}, "limits": {"nvidia.com/gpu": "4"}}));
    assert_eq!(charge_one(quota("4"), "pods", &pod, None).unwrap(), "pods: 2, requests.nvidia.com/gpu: 8");
    assert_eq!(
        charge_one(quota("5"), "pods", &pod, None).unwrap_err(),
        "exceeded quota: q, requested: requests.nvidia.com/gpu=4, used: requests.nvidia.com/gpu=5, \
         limited: requests.nvidia.com/gpu=8"
    );
}

#[test]
fn containers_say_what_is_counted() {
    let quota = || {
        quota(
            &json!({"limits.cpu": "2", "requests.memory": "2"}),
            &json!({"limits.cpu": "0", "requests.memory": "0"}),
        )
    };
    assert_eq!(
        charge_one(quota(), "pods", &pod(&json!({})), None).unwrap_err(),
        "failed quota: q: must specify limits.cpu for: c; requests.memory for: c"
    );
    let whole = json!({"spec": {"containers": [{"name": "c"}], "resources": {"requests": {"cpu": "1"}}}});
    assert!(charge_one(quota(), "pods", &whole, None).is_ok());
}

#[test]
fn a_quota_without_a_status_does_not_count_and_half_a_status_refuses() {
    let without = json!({"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}});
    assert_eq!(charge_one(without, "pods", &pod(&json!({})), None).unwrap(), "");
    assert_eq!(
        charge_one(quota(&json!({"pods": "1"}), &json!({})), "pods", &pod(&json!({})), None).unwrap_err(),
        "status unknown for quota: q, resources: pods"
    );
}

#[test]
fn an_update_is_charged_for_the_difference() {
    let claim = |size: &str| json!({"spec": {"resources": {"requests": {"storage": size}}}});
    let quota = || quota(&json!({"requests.storage": "10Gi"}), &json!({"requests.storage": "6Gi"}));
    let table = "persistentvolumeclaims";
    assert_eq!(
        charge_one(quota(), table, &claim("5Gi"), Some(&claim("1Gi"))).unwrap(),
        "requests.storage: 10Gi"
    );
    assert!(charge_one(quota(), table, &claim("6Gi"), Some(&claim("1Gi"))).is_err());
    assert_eq!(
        charge_one(quota(), table, &claim("1Gi"), Some(&claim("2Gi"))).unwrap(),
        "",
        "nothing is given back here"
    );
    assert!(charge_one(quota(), table, &claim("5Gi"), None).is_err());
}

#[test]
fn a_change_of_scope_is_charged_in_full() {
    let mut scoped = quota(&json!({"pods": "1"}), &json!({"pods": "0"}));
    scoped["spec"]["scopes"] = json!(["Terminating"]);
    let (before, mut after) = (pod(&json!({})), pod(&json!({})));
    after["spec"]["activeDeadlineSeconds"] = json!(5);
    assert_eq!(charge_one(scoped.clone(), "pods", &after, Some(&before)).unwrap(), "pods: 1");
    assert_eq!(charge_one(scoped, "pods", &before, None).unwrap(), "", "out of scope");
}

#[test]
fn other_objects_count_by_number() {
    let quota =
        || quota(&json!({"count/widgets.example.com": "1"}), &json!({"count/widgets.example.com": "1"}));
    assert!(charge_one(quota(), "widgets.example.com", &json!({}), None).is_err());
    assert_eq!(charge_one(quota(), "gadgets.example.com", &json!({}), None).unwrap(), "");
}

proptest::proptest! {
    #[test]
    fn no_sequence_of_pods_exceeds_a_quota(hard in 0i64..5000, asked in proptest::collection::vec(0i64..2000, 0..40)) {
        let mut quota = quota(
            &json!({"requests.cpu": format!("{hard}m"), "pods": "20"}),
            &json!({"requests.cpu": "0", "pods": "0"}),
        );
        let (mut millis, mut pods) = (0, 0);
        for cpu in asked {
            let pod = pod(&json!({"requests": {"cpu": format!("{cpu}m")}}));
            if let Ok(charged) = charged(std::slice::from_ref(&quota), "pods", &pod, None, Timestamp::UNIX_EPOCH) {
                if let Some(used) = &charged[0] {
                    quota["status"]["used"] = json!(used);
                }
                millis += cpu;
                pods += 1;
            }
            let used = ResourceList::deserialize(&quota["status"]["used"]).unwrap();
            proptest::prop_assert!(millis <= hard && pods <= 20);
            proptest::prop_assert_eq!((used.get("requests.cpu").millis(), used.get("pods").value()), (millis, pods));
        }
    }
}
