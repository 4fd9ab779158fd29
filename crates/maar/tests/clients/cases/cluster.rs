//! Questions about the cluster itself.

use crate::kubectl::Kubectl;

pub(super) async fn resources_and_versions(kubectl: Kubectl) {
    let out = kubectl.shows("api-resources", "deployments").await;
    assert!(
        out.lines()
            .any(|line| line.split_whitespace().collect::<Vec<_>>() == ["pods", "po", "v1", "true", "Pod"]),
        "{out}"
    );
    kubectl.is("api-resources --api-group=apps --verbs=list --namespaced -o name",
        "controllerrevisions.apps\ndaemonsets.apps\ndeployments.apps\nreplicasets.apps\nstatefulsets.apps").await;
    kubectl.shows("api-resources --categories=all -o wide", "VERBS").await;
    kubectl.shows("api-versions", "apps/v1").await;
}

pub(super) async fn info_and_version(kubectl: Kubectl) {
    kubectl.shows("cluster-info", "Kubernetes control plane").await;
    kubectl.shows("version", "Server Version: v1.36").await;
    kubectl.shows("get --raw /readyz", "ok").await;
}

pub(super) async fn top(kubectl: Kubectl) {
    kubectl
        .apply(
            "{apiVersion: v1, kind: Pod, metadata: {name: busy}, spec: {containers: [{name: a, image: b, resources: \
             {requests: {cpu: '2', memory: 1Gi}}}]}}",
        )
        .await;
    kubectl.ok("wait --for=condition=Ready pod/busy").await;
    let out = kubectl.shows("top nodes", "gpu-0").await;
    assert!(out.starts_with("NAME") && out.contains('%'), "{out}");
    let out = kubectl.ok("top pods --no-headers").await;
    let row: Vec<&str> = out.split_whitespace().collect();
    assert!(row.len() == 3 && row[0] == "busy" && row[1].ends_with('m') && row[2].ends_with("Mi"), "{out}");
    kubectl.shows("top pods --containers", "a ").await;
    kubectl.refused("top pod none", "not found").await;
}

pub(super) async fn events(kubectl: Kubectl) {
    kubectl.ok("run web --image=a").await;
    kubectl.ok("wait --for=condition=Ready pod/web").await;
    kubectl.shows("events --for=pod/web", "Scheduled").await;
    kubectl.shows("get events --field-selector=involvedObject.name=web,reason=Scheduled", "pod/web").await;
}

pub(super) async fn config(kubectl: Kubectl) {
    let context = kubectl.ok("config current-context").await;
    kubectl.shows("config get-contexts", context.trim()).await;
    kubectl.shows("config view --minify", "certificate-authority-data: DATA+OMITTED").await;
}
