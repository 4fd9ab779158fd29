//! The built-in plugins.

use serde_json::{Value, json};

use super::caller::{Caller, PODS, pod};

#[tokio::test(start_paused = true)]
async fn a_pod_is_completed_by_what_the_cluster_knows() {
    let caller = Caller::whole().await;
    let pod = caller.post(PODS, &pod("a")).await.object();
    let spec = &pod["spec"];
    assert_eq!(spec["serviceAccountName"], "default");
    assert_eq!(spec["serviceAccount"], "default");
    assert_eq!(spec["priority"], 0);
    assert_eq!(spec["preemptionPolicy"], "PreemptLowerPriority");
    assert!(spec.get("priorityClassName").is_none());
    assert_eq!(spec["tolerations"].as_array().unwrap().len(), 2);
    let mount = &spec["containers"][0]["volumeMounts"][0];
    assert_eq!(mount["name"], spec["volumes"][0]["name"]);
    assert!(mount["name"].as_str().unwrap().starts_with("kube-api-access-"));
    let owned = pod["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"].as_object().unwrap();
    for added in ["f:volumes", "f:tolerations", "f:priority", "f:serviceAccountName"] {
        assert!(!owned.contains_key(added), "{added} is the cluster's, not the client's");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_needs_its_account_and_waits_for_the_default_one() {
    let caller = Caller::whole().await;
    let mut other = pod("a");
    other["spec"]["serviceAccountName"] = json!("robot");
    assert_eq!(
        caller.post(PODS, &other).await.refused(403),
        "pods \"a\" is forbidden: error looking up service account default/robot: serviceaccount \"robot\" not found"
    );
    caller.post("/api/v1/namespaces", &json!({"metadata": {"name": "new"}})).await.object();
    caller.post("/api/v1/namespaces/new/pods", &pod("b")).await.object();
    let mut unnamed = other;
    unnamed["metadata"] = json!({"generateName": "many-"});
    assert!(caller.post(PODS, &unnamed).await.refused(403).starts_with("pods \"many-\" is forbidden"));
}

#[tokio::test(start_paused = true)]
async fn priorities_come_from_classes() {
    let caller = Caller::whole().await;
    let classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
    let listed = caller.get(classes).await;
    let names: Vec<&str> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["metadata"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["system-cluster-critical", "system-node-critical"]);
    assert_eq!(
        caller.call("DELETE", &format!("{classes}/system-node-critical"), &Value::Null).await.refused(403),
        "priorityclasses.scheduling.k8s.io \"system-node-critical\" is forbidden: this is a system priority class and \
         cannot be deleted"
    );
    let mut critical = pod("critical");
    critical["spec"]["priorityClassName"] = json!("system-node-critical");
    assert_eq!(caller.post(PODS, &critical).await.object()["spec"]["priority"], 2_000_001_000);
    let mut unknown = pod("unknown");
    unknown["spec"]["priorityClassName"] = json!("nope");
    assert_eq!(
        caller.post(PODS, &unknown).await.refused(403),
        "pods \"unknown\" is forbidden: no PriorityClass with name nope was found"
    );
    let normal = json!({"metadata": {"name": "normal"}, "value": 10, "globalDefault": true});
    caller.post(classes, &normal).await.object();
    let second = json!({"metadata": {"name": "second"}, "value": 10, "globalDefault": true});
    assert_eq!(
        caller.post(classes, &second).await.refused(403),
        "priorityclasses.scheduling.k8s.io \"second\" is forbidden: PriorityClass normal is already marked as default. \
         Only one default can exist"
    );
    let plain = caller.post(PODS, &pod("plain")).await.object();
    assert_eq!(
        (&plain["spec"]["priorityClassName"], &plain["spec"]["priority"]),
        (&json!("normal"), &json!(10))
    );
    let mut greedy = pod("greedy");
    greedy["spec"]["priority"] = json!(11);
    assert!(caller.post(PODS, &greedy).await.refused(403).contains("(11) must not be provided in pod spec"));
}

#[tokio::test(start_paused = true)]
async fn a_range_fills_and_bounds_what_pods_ask_for() {
    let caller = Caller::bare().await;
    let range = json!({"metadata": {"name": "r"}, "spec": {"limits": [
        {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "1"}, "max": {"cpu": "2"}}]}});
    caller.post("/api/v1/namespaces/default/limitranges", &range).await.object();
    let filled = caller.post(PODS, &pod("a")).await.object();
    assert_eq!(
        filled["spec"]["containers"][0]["resources"],
        json!({"limits": {"cpu": "1"}, "requests": {"cpu": "1"}})
    );
    assert_eq!(filled["status"]["qosClass"], "Burstable", "quality is judged by what the Pod ends up with");
    let mut large = pod("b");
    large["spec"]["containers"][0]["resources"] = json!({"limits": {"cpu": "3"}});
    assert_eq!(
        caller.post(PODS, &large).await.refused(403),
        "pods \"b\" is forbidden: maximum cpu usage per Container is 2, but limit is 3"
    );
}

#[tokio::test(start_paused = true)]
async fn nodes_volumes_and_claims_start_out_guarded() {
    let caller = Caller::bare().await;
    let node = caller.post("/api/v1/nodes", &json!({"metadata": {"name": "n"}})).await.object();
    assert_eq!(
        node["spec"]["taints"],
        json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}])
    );
    let class = json!({"metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "p"});
    caller.post("/apis/storage.k8s.io/v1/storageclasses", &class).await.object();
    let claim = json!({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}}});
    let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    let claim = caller.post(claims, &claim).await.object();
    assert_eq!(claim["spec"]["storageClassName"], "fast");
    assert_eq!(claim["metadata"]["finalizers"], json!(["kubernetes.io/pvc-protection"]));
    caller.merge(&format!("{claims}/c/status"), &json!({"status": {"phase": "Bound"}})).await.object();
    let grown = json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}});
    assert_eq!(
        caller.merge(&format!("{claims}/c"), &grown).await.refused(403),
        "persistentvolumeclaims \"c\" is forbidden: only dynamically provisioned pvc can be resized and the \
         storageclass that provisions the pvc must support resize"
    );
}

#[tokio::test(start_paused = true)]
async fn namespaces_are_where_objects_can_be() {
    let caller = Caller::bare().await;
    let missing = caller.post("/api/v1/namespaces/nowhere/pods", &pod("a")).await;
    assert_eq!(missing.refused(404), "namespaces \"nowhere\" not found");
    let kept = caller.call("DELETE", "/api/v1/namespaces/kube-system", &Value::Null).await;
    assert_eq!(
        kept.refused(403),
        "namespaces \"kube-system\" is forbidden: this namespace may not be deleted"
    );
    let held = json!({"metadata": {"name": "going"}, "spec": {"finalizers": ["kubernetes"]}});
    caller.post("/api/v1/namespaces", &held).await.object();
    caller.call("DELETE", "/api/v1/namespaces/going", &Value::Null).await.object();
    let late = caller.post("/api/v1/namespaces/going/pods", &pod("a")).await;
    assert_eq!(late.body["details"]["causes"][0]["reason"], "NamespaceTerminating");
    assert_eq!(late.code, 403);
}

#[tokio::test(start_paused = true)]
async fn a_pod_on_a_node_says_where_that_is() {
    let caller = Caller::bare().await;
    let labels =
        json!({"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r", "other": "o"});
    caller.post("/api/v1/nodes", &json!({"metadata": {"name": "n", "labels": labels}})).await.object();
    caller.post(PODS, &pod("p")).await.object();
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
    caller.post(&format!("{PODS}/p/binding"), &binding).await.object();
    let want = json!({"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"});
    assert_eq!(caller.get(&format!("{PODS}/p")).await["metadata"]["labels"], want);
}
