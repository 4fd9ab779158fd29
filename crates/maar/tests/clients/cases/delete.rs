//! `kubectl delete`.

use crate::kubectl::Kubectl;

pub(super) async fn at_once(kubectl: Kubectl) {
    kubectl.ok("run slow --image=a --annotations=sim.maar.io/stop-delay=1h").await;
    kubectl.ok("wait --for=condition=Ready pod/slow").await;
    kubectl.ok("delete pod slow --grace-period=600 --wait=false").await;
    kubectl.is("get pod slow -o jsonpath={.metadata.deletionGracePeriodSeconds}", "600").await;
    kubectl.shows("delete pod slow --grace-period=0 --force", "force deleted").await;
    kubectl.refused("get pod slow", "(NotFound)").await;
}

pub(super) async fn cascade_foreground(kubectl: Kubectl) {
    kubectl.ok("create deployment web --image=a").await;
    kubectl.ok("wait --for=condition=Available deployment/web").await;
    kubectl.ok("delete deployment web --cascade=foreground").await;
    kubectl.is("get replicasets,pods -l app=web -o name", "").await;
}

pub(super) async fn cascade_orphan(kubectl: Kubectl) {
    kubectl.ok("create deployment web --image=a").await;
    kubectl.ok("wait --for=condition=Available deployment/web").await;
    kubectl.ok("delete deployment web --cascade=orphan").await;
    kubectl.shows("get replicasets -l app=web -o name", "replicaset.apps/web-").await;
    kubectl.is("get replicasets -l app=web -o jsonpath={.items[0].metadata.ownerReferences}", "").await;
    kubectl.ok("delete replicasets -l app=web").await;
    kubectl.ok("wait --for=delete pod -l app=web --timeout=40s").await;
}

pub(super) async fn by_label(kubectl: Kubectl) {
    for (name, tier) in [("a", "back"), ("b", "back"), ("c", "front")] {
        kubectl
            .apply(&format!(
                "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, labels: {{tier: {tier}}}}}}}"
            ))
            .await;
    }
    kubectl.ok("delete configmap -l tier=back").await;
    kubectl.is("get configmap -l tier -o name", "configmap/c").await;
    kubectl.ok("delete configmap --all").await;
    kubectl.refused("delete configmap c", "(NotFound)").await;
    kubectl.ok("delete configmap c --ignore-not-found").await;
}

pub(super) async fn by_file(kubectl: Kubectl) {
    kubectl.write("a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}");
    kubectl.ok("apply -f a.yaml").await;
    kubectl.shows("delete -f a.yaml --dry-run=server", "(server dry run)").await;
    kubectl.ok("get configmap a").await;
    kubectl.shows("delete -f a.yaml", "configmap \"a\" deleted").await;
    kubectl.refused("get configmap a", "(NotFound)").await;
}

pub(super) async fn namespace_with_everything(kubectl: Kubectl) {
    let name = format!("{}-full", kubectl.namespace);
    kubectl.ok(&format!("create namespace {name}")).await;
    kubectl.ok(&format!("create deployment web --image=a -n {name}")).await;
    kubectl.ok(&format!("wait --for=condition=Available deployment/web -n {name}")).await;
    kubectl.ok(&format!("delete namespace {name} --timeout=50s")).await;
    kubectl.is(&format!("get deployments,pods -n {name} -o name"), "").await;
}
