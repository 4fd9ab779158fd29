//! Pod Security by the labels of namespaces.

use serde_json::json;

use super::caller::{Caller, pod};

#[tokio::test(start_paused = true)]
async fn a_namespace_says_what_its_pods_may_do() {
    let caller = Caller::bare().await;
    let labels = json!({"pod-security.kubernetes.io/enforce": "baseline"});
    let namespace = json!({"metadata": {"name": "safe", "labels": labels}});
    caller.post("/api/v1/namespaces", &namespace).await.object();
    let mut rude = pod("rude");
    rude["spec"]["hostNetwork"] = json!(true);
    assert_eq!(
        caller.post("/api/v1/namespaces/safe/pods", &rude).await.refused(403),
        "pods \"rude\" is forbidden: violates PodSecurity \"baseline:latest\": host namespaces (hostNetwork=true)"
    );
    caller.post("/api/v1/namespaces/safe/pods", &pod("polite")).await.object();
    let set = json!({"metadata": {"name": "set"}, "spec": {"selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": rude["spec"]}}});
    let written = caller.post("/apis/apps/v1/namespaces/safe/deployments", &set).await;
    assert_eq!(written.code, 201);
    assert_eq!(
        written.warnings,
        ["299 - \"would violate PodSecurity \\\"baseline:latest\\\": host namespaces (hostNetwork=true)\""]
    );
}

#[tokio::test(start_paused = true)]
async fn a_stricter_label_warns_about_pods_that_are_there() {
    let caller = Caller::bare().await;
    caller.post("/api/v1/namespaces", &json!({"metadata": {"name": "team"}})).await.object();
    caller.post("/api/v1/namespaces/team/pods", &pod("a")).await.object();
    let strict = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
    let changed = caller.merge("/api/v1/namespaces/team", &strict).await;
    assert_eq!(changed.code, 200);
    assert_eq!(changed.warnings.len(), 2, "{:?}", changed.warnings);
    assert!(changed.warnings[1].contains("a: allowPrivilegeEscalation != false"), "{:?}", changed.warnings);
    let wrong = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "stern"}}});
    let refused = caller.merge("/api/v1/namespaces/team", &wrong).await;
    assert_eq!((refused.code, &refused.body["reason"]), (422, &json!("Invalid")));
}
