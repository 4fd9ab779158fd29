//! `kubectl rollout`.

use crate::kubectl::Kubectl;

const IMAGE: &str = "get deployment web -o jsonpath={.spec.template.spec.containers[0].image}";

async fn web(kubectl: &Kubectl) {
    kubectl.ok("create deployment web --image=web:1 --replicas=2").await;
    kubectl.shows("rollout status deployment/web --timeout=30s", "successfully rolled out").await;
}

pub(super) async fn status_and_history(kubectl: Kubectl) {
    web(&kubectl).await;
    kubectl.ok("set image deployment/web web=web:2").await;
    kubectl.shows("rollout status deployment/web --timeout=30s", "successfully rolled out").await;
    let out = kubectl.ok("rollout history deployment/web").await;
    let revisions: Vec<&str> = out
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| word.parse::<u8>().is_ok())
        .collect();
    assert_eq!(revisions, ["1", "2"]);
    kubectl.shows("rollout history deployment/web --revision=1", "web:1").await;
}

pub(super) async fn undo(kubectl: Kubectl) {
    web(&kubectl).await;
    kubectl.ok("set image deployment/web web=web:2").await;
    kubectl.ok("rollout status deployment/web --timeout=30s").await;
    kubectl.is("rollout undo deployment/web", "deployment.apps/web rolled back").await;
    kubectl.ok("rollout status deployment/web --timeout=30s").await;
    kubectl.is(IMAGE, "web:1").await;
    kubectl.ok("rollout undo deployment/web --to-revision=2").await;
    kubectl.is(IMAGE, "web:2").await;
}

pub(super) async fn restart(kubectl: Kubectl) {
    web(&kubectl).await;
    let names = "get pods -l app=web -o name --sort-by=.metadata.name";
    let before = kubectl.ok(names).await;
    kubectl.is("rollout restart deployment/web", "deployment.apps/web restarted").await;
    kubectl.ok("rollout status deployment/web --timeout=30s").await;
    assert_ne!(kubectl.ok(names).await, before);
}

pub(super) async fn pause_and_resume(kubectl: Kubectl) {
    web(&kubectl).await;
    kubectl.ok("rollout pause deployment/web").await;
    kubectl.ok("set image deployment/web web=web:2").await;
    let complaint = kubectl.fails("rollout restart deployment/web").await;
    assert!(complaint.contains("paused"), "{complaint}");
    kubectl.ok("rollout resume deployment/web").await;
    kubectl.shows("rollout status deployment/web --timeout=30s", "successfully rolled out").await;
}

pub(super) async fn stateful_and_daemon_sets(kubectl: Kubectl) {
    kubectl
        .apply(
            "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {serviceName: db, replicas: 2, \
             selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: \
             [{name: a, image: 'db:1'}]}}}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: {selector: {matchLabels: {app: agent}}, \
             template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: a, image: 'agent:1'}]}}}}",
        )
        .await;
    kubectl.shows("rollout status statefulset/db --timeout=30s", "complete").await;
    kubectl.shows("rollout status daemonset/agent --timeout=30s", "successfully rolled out").await;
    kubectl.is("get pods -l app=db -o name --sort-by=.metadata.name", "pod/db-0\npod/db-1").await;
    kubectl.ok("set image statefulset/db a=db:2").await;
    kubectl.ok("set image daemonset/agent a=agent:2").await;
    kubectl.ok("rollout status statefulset/db --timeout=30s").await;
    kubectl.ok("rollout status daemonset/agent --timeout=30s").await;
    kubectl.ok("rollout undo daemonset/agent").await;
    kubectl.is("get daemonset agent -o jsonpath={.spec.template.spec.containers[0].image}", "agent:1").await;
    kubectl.ok("rollout undo statefulset/db").await;
    kubectl.is("get statefulset db -o jsonpath={.spec.template.spec.containers[0].image}", "db:1").await;
}
