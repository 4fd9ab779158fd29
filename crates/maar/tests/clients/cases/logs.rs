//! `kubectl logs` and `exec` on simulated nodes.

use crate::kubectl::Kubectl;

pub(super) async fn of_a_pod(kubectl: Kubectl) {
    kubectl
        .apply(
            "{apiVersion: v1, kind: Pod, metadata: {name: talk, annotations: {sim.maar.io/log: \"one\\ntwo\\nthree\", \
             sim.maar.io/side.log: aside}}, spec: {containers: [{name: main, image: a}, {name: side, image: b}]}}",
        )
        .await;
    kubectl.ok("wait --for=condition=Ready pod/talk").await;
    kubectl.is("logs talk -c main", "one\ntwo\nthree").await;
    kubectl.is("logs talk -c main --tail=1", "three").await;
    kubectl.is("logs talk -c side", "aside").await;
    let out = kubectl.ok("logs talk --all-containers --prefix").await;
    assert!(out.contains("[pod/talk/main] one") && out.contains("[pod/talk/side] aside"), "{out}");
    let stamped = kubectl.ok("logs talk -c main --timestamps --tail=1").await;
    assert!(stamped.starts_with("20") && stamped.contains("Z three"), "{stamped}");
    kubectl.refused("logs talk -c none", "container none is not valid for pod talk").await;
}

pub(super) async fn followed(kubectl: Kubectl) {
    kubectl
        .ok("run count --image=a --restart=Never \
             --annotations=sim.maar.io/log={{n}} --annotations=sim.maar.io/log-interval=100ms \
             --annotations=sim.maar.io/run-time=1s")
        .await;
    kubectl.ok("wait --for=jsonpath={.status.containerStatuses[0].started}=true pod/count").await;
    let mut following = kubectl.start("logs -f count");
    following.until("3").await;
    let rest = following.rest().await;
    assert!(rest.lines().count() >= 4, "{rest}");
}

pub(super) async fn of_a_run_before(kubectl: Kubectl) {
    kubectl.ok("run crash --image=a --annotations=sim.maar.io/log=dying --annotations=sim.maar.io/crash-after=200ms").await;
    kubectl
        .ok("wait --for=jsonpath={.status.containerStatuses[0].restartCount}=1 pod/crash --timeout=30s")
        .await;
    kubectl.is("logs crash --previous", "dying").await;
    kubectl.ok("run calm --image=a").await;
    kubectl.ok("wait --for=condition=Ready pod/calm").await;
    kubectl.refused("logs calm --previous", "previous terminated container").await;
}

pub(super) async fn of_a_job(kubectl: Kubectl) {
    kubectl
        .apply(
            "{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {template: {metadata: {annotations: \
             {sim.maar.io/run-time: 100ms, sim.maar.io/log: done}}, spec: {restartPolicy: Never, containers: \
             [{name: a, image: b}]}}}}",
        )
        .await;
    kubectl.ok("wait --for=condition=Complete job/once").await;
    kubectl.is("logs job/once", "done").await;
    kubectl.ok("create deployment web --image=a").await;
    kubectl.ok("wait --for=condition=Available deployment/web").await;
    kubectl.ok("logs deployment/web").await;
}

pub(super) async fn exec_on_a_simulated_node(kubectl: Kubectl) {
    kubectl.ok("run web --image=a --env=COLOR=red").await;
    kubectl.ok("wait --for=condition=Ready pod/web").await;
    kubectl.is("exec web -- printenv COLOR", "red").await;
    kubectl.refused("exec web -- python train.py", "a simulated container has only").await;
    assert_eq!(kubectl.feed("exec -i web -- cat", "through").await, "through");
}
