//! `kubectl get` in its forms.

use crate::kubectl::Kubectl;

const THREE: &str = "
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {tier: front}}, data: {size: '1'}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {tier: back}}, data: {size: '3'}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {tier: back}}, data: {size: '2'}}
";

pub(super) async fn wide(kubectl: Kubectl) {
    kubectl.ok("run web --image=busybox --labels=app=web").await;
    kubectl.ok("wait --for=condition=Ready pod/web").await;
    let out = kubectl.ok("get pods -o wide").await;
    let heading = out.lines().next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(heading, "NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES");
    assert!(out.contains("1/1") && out.contains("Running") && out.contains("gpu-"), "{out}");
    kubectl.shows("get nodes -o wide", "CONTAINER-RUNTIME").await;
}

pub(super) async fn forms(kubectl: Kubectl) {
    kubectl.apply(THREE).await;
    kubectl.shows("get configmap a -o yaml", "kind: ConfigMap").await;
    let json: serde_json::Value = serde_json::from_str(&kubectl.ok("get cm a -o json").await).unwrap();
    assert_eq!(json["data"]["size"], "3");
    kubectl.is("get cm a -o name", "configmap/a").await;
    kubectl.is("get cm a -o jsonpath={.data.size}", "3").await;
    kubectl
        .is(
            "get cm -l tier -o 'jsonpath={range .items[*]}{.metadata.name}={.data.size} {end}'",
            "a=3 b=2 c=1",
        )
        .await;
    kubectl.is("get cm a -o go-template='{{.data.size}}'", "3").await;
    kubectl.shows("get cm -o yaml", "kind: List").await;
}

pub(super) async fn columns(kubectl: Kubectl) {
    kubectl.apply(THREE).await;
    let out = kubectl
        .ok("get cm -l tier -o custom-columns=NAME:.metadata.name,SIZE:.data.size --sort-by=.data.size")
        .await;
    let rows: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows, [["NAME", "SIZE"], ["c", "1"], ["b", "2"], ["a", "3"]]);
    let out = kubectl.ok("get cm -l tier -L tier --no-headers --sort-by=.metadata.name").await;
    let names: Vec<&str> = out.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert!(out.contains("back") && out.contains("front"), "{out}");
}

pub(super) async fn selectors(kubectl: Kubectl) {
    kubectl.apply(THREE).await;
    let out = kubectl.ok("get cm -l tier=back --show-labels --no-headers").await;
    assert_eq!(out.lines().count(), 2);
    assert!(out.contains("tier=back"), "{out}");
    kubectl.is("get cm -l 'tier in (front)' -o name", "configmap/c").await;
    kubectl.is("get cm --field-selector=metadata.name=b -o name", "configmap/b").await;
    kubectl.ok("run here --image=busybox").await;
    kubectl.ok("wait --for=condition=Ready pod/here").await;
    kubectl.is("get pods --field-selector=status.phase=Running -o name", "pod/here").await;
    kubectl.is("get pods --field-selector=status.phase!=Running -o name", "").await;
}

pub(super) async fn across_namespaces(kubectl: Kubectl) {
    kubectl.ok("create deployment web --image=busybox").await;
    let out = kubectl.shows("get deployments -A", "NAMESPACE").await;
    assert!(out.contains(&kubectl.namespace), "{out}");
    kubectl.shows("get all", "deployment.apps/web").await;
    let out = kubectl.shows("get nodes,namespaces", "node/gpu-").await;
    assert!(out.contains("namespace/kube-system"), "{out}");
}

pub(super) async fn watch(kubectl: Kubectl) {
    let mut watching = kubectl.start("get configmaps --watch");
    watching.until("kube-root-ca.crt").await;
    kubectl.ok("create configmap late").await;
    watching.until("late").await;
    let mut events = kubectl.start("get configmap late --watch --output-watch-events");
    events.until("ADDED").await;
    kubectl.ok("label configmap late a=b").await;
    events.until("MODIFIED").await;
    kubectl.ok("delete configmap late").await;
    events.until("DELETED").await;
}

pub(super) async fn pages(kubectl: Kubectl) {
    kubectl.apply(THREE).await;
    let out = kubectl.ok("get cm -l tier --chunk-size=2 --no-headers").await;
    assert_eq!(out.lines().count(), 3, "{out}");
}

pub(super) async fn what_is_not_there(kubectl: Kubectl) {
    kubectl
        .refused("get configmap nothing", "Error from server (NotFound): configmaps \"nothing\" not found")
        .await;
    kubectl.is("get configmap nothing --ignore-not-found", "").await;
    kubectl.refused("get nonsense", "the server doesn't have a resource type \"nonsense\"").await;
    let said = kubectl.run("get pods").await;
    assert!(said.success && said.err.contains("No resources found"), "{said:?}");
}

pub(super) async fn raw(kubectl: Kubectl) {
    kubectl.is("get --raw /healthz", "ok").await;
    kubectl.shows("get --raw /version", "\"minor\":\"36\"").await;
    kubectl.refused("get --raw /nowhere", "the server could not find the requested resource").await;
}

pub(super) async fn scale_of_a_deployment(kubectl: Kubectl) {
    kubectl.ok("create deployment web --image=busybox --replicas=2").await;
    kubectl
        .is("get deployment web --subresource=scale -o jsonpath={.kind}/{.spec.replicas}", "Scale/2")
        .await;
    kubectl.shows("get deployment web --subresource=status", "web").await;
}
