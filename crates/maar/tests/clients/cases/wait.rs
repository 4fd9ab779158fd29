//! `kubectl wait`.

use crate::kubectl::Kubectl;

pub(super) async fn for_a_condition(kubectl: Kubectl) {
    kubectl.ok("run web --image=a --annotations=sim.maar.io/ready-after=300ms").await;
    kubectl.is("wait --for=condition=Ready pod/web --timeout=20s", "pod/web condition met").await;
    kubectl.refused("wait --for=condition=Ready=false pod/web --timeout=100ms", "timed out waiting").await;
    kubectl.refused("wait --for=condition=Ready pod/none --timeout=1s", "(NotFound)").await;
}

pub(super) async fn for_a_field(kubectl: Kubectl) {
    kubectl.ok("run web --image=a --restart=Never --annotations=sim.maar.io/run-time=200ms").await;
    kubectl.ok("wait --for=jsonpath={.status.phase}=Succeeded pod/web --timeout=20s").await;
    kubectl.is("get pod web --no-headers -o custom-columns=S:.status.phase", "Succeeded").await;
}

pub(super) async fn for_deletion(kubectl: Kubectl) {
    kubectl.ok("run web --image=a").await;
    kubectl.ok("delete pod web --wait=false").await;
    kubectl.ok("wait --for=delete pod/web --timeout=40s").await;
    kubectl.refused("get pod web", "(NotFound)").await;
}
