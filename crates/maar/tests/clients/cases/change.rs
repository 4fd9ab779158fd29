//! Commands that change what is there.

use crate::kubectl::Kubectl;

pub(super) async fn patch_in_three_ways(kubectl: Kubectl) {
    kubectl.ok("create deployment web --image=a").await;
    let strategic = r#"{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"b"}]}}}}"#;
    kubectl.ok(&format!("patch deployment web -p '{strategic}'")).await;
    let names = "get deployment web -o jsonpath={.spec.template.spec.containers[*].name}";
    assert_eq!(kubectl.ok(names).await.split(' ').count(), 2, "lists are merged by name");
    let merge = r#"{"spec":{"template":{"spec":{"containers":[{"name":"only","image":"c"}]}}}}"#;
    kubectl.ok(&format!("patch deployment web --type=merge -p '{merge}'")).await;
    kubectl.is(names, "only").await;
    let json = r#"[{"op":"replace","path":"/spec/replicas","value":3},{"op":"test","path":"/kind","value":"Deployment"}]"#;
    kubectl.ok(&format!("patch deployment web --type=json -p '{json}'")).await;
    kubectl.is("get deployment web -o jsonpath={.spec.replicas}", "3").await;
    kubectl
        .refused(
            r#"patch deployment web -p '{"spec":{"replicas":-1}}'"#,
            "must be greater than or equal to 0",
        )
        .await;
}

pub(super) async fn patch_of_a_subresource(kubectl: Kubectl) {
    kubectl.ok("create deployment web --image=a").await;
    kubectl.ok(r#"patch deployment web --subresource=scale --type=merge -p '{"spec":{"replicas":2}}'"#).await;
    kubectl.is("get deployment web -o jsonpath={.spec.replicas}", "2").await;
}

pub(super) async fn label_and_annotate(kubectl: Kubectl) {
    kubectl.ok("create configmap a").await;
    kubectl.is("label configmap a tier=front", "configmap/a labeled").await;
    kubectl.refused("label configmap a tier=back", "--overwrite is false").await;
    kubectl.ok("label configmap a tier=back --overwrite").await;
    kubectl.is("get configmap -l tier=back -o name", "configmap/a").await;
    kubectl.is("label configmap a tier-", "configmap/a unlabeled").await;
    kubectl.ok("annotate configmap a note='some text'").await;
    kubectl.is("get configmap a -o jsonpath={.metadata.annotations.note}", "some text").await;
    kubectl.ok("annotate configmap a note-").await;
    kubectl.refused("label configmap a 'bad key=x'", "bad key").await;
}

pub(super) async fn taint(kubectl: Kubectl) {
    kubectl.ok("taint node drain-0 trial=yes:NoSchedule").await;
    kubectl.shows("describe node drain-0", "trial=yes:NoSchedule").await;
    kubectl.ok("taint node drain-0 trial-").await;
}

pub(super) async fn cordon_drain_uncordon(kubectl: Kubectl) {
    let pod = r#"{"spec":{"nodeName":"drain-0"}}"#;
    kubectl
        .apply(
            "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}, \
             template: {metadata: {labels: {app: web}}, spec: {nodeSelector: {kubernetes.io/hostname: drain-0}, \
             tolerations: [{operator: Exists}], containers: [{name: a, image: b}]}}}}",
        )
        .await;
    kubectl.ok("wait --for=condition=Available deployment/web").await;
    kubectl.ok(&format!("run alone --image=busybox --overrides='{pod}'")).await;
    kubectl.ok("wait --for=condition=Ready pod/alone").await;
    kubectl.refused("drain drain-0", "declare no controller").await;
    kubectl.shows("drain drain-0 --force --grace-period=1", "evicted").await;
    kubectl.shows("get node drain-0", "SchedulingDisabled").await;
    kubectl.refused("get pod alone", "(NotFound)").await;
    kubectl.is("uncordon drain-0", "node/drain-0 uncordoned").await;
    kubectl.is("cordon drain-0", "node/drain-0 cordoned").await;
    kubectl.ok("uncordon drain-0").await;
}

pub(super) async fn scale(kubectl: Kubectl) {
    kubectl.ok("create deployment web --image=a --replicas=1").await;
    kubectl.is("scale deployment web --replicas=3 --current-replicas=1", "deployment.apps/web scaled").await;
    kubectl.ok("rollout status deployment web").await;
    kubectl.is("get deployment web -o jsonpath={.status.readyReplicas}", "3").await;
    kubectl
        .refused("scale deployment web --replicas=5 --current-replicas=1", "Expected replicas to be 1, was 3")
        .await;
    kubectl.ok("scale deployment web --replicas=0").await;
    kubectl.ok("wait --for=delete pod -l app=web").await;
}

/// There is no autoscaler in this cluster, and it says so instead of taking an object that nothing follows.
pub(super) async fn autoscale_is_refused(kubectl: Kubectl) {
    kubectl.ok("create deployment web --image=a").await;
    kubectl.fails("autoscale deployment web --max=3").await;
    kubectl.refused("get hpa", "the server doesn't have a resource type \"hpa\"").await;
}

pub(super) async fn set_image_env_and_resources(kubectl: Kubectl) {
    kubectl.ok("create deployment web --image=a:1").await;
    kubectl.is("set image deployment/web a=a:2", "deployment.apps/web image updated").await;
    kubectl.ok("set env deployment/web COLOR=red").await;
    kubectl.ok("set resources deployment/web --limits=cpu=200m,memory=64Mi").await;
    let facts = "{.image} {.env[0].value} {.resources.limits.cpu}";
    let query = format!("{{range .spec.template.spec.containers[*]}}{facts}{{end}}");
    kubectl.is(&format!("get deployment web -o jsonpath='{query}'"), "a:2 red 200m").await;
    kubectl.shows("set env deployment/web --list", "COLOR=red").await;
    kubectl.ok("create serviceaccount robot").await;
    kubectl.ok("set serviceaccount deployment/web robot").await;
    kubectl.is("get deployment web -o jsonpath={.spec.template.spec.serviceAccountName}", "robot").await;
}
