//! `kubectl describe`: it reads much of the API, and tells at once what is missing.

use crate::kubectl::Kubectl;

pub(super) async fn pod(kubectl: Kubectl) {
    kubectl.ok("run web --image=busybox --env=A=B --labels=app=web").await;
    kubectl.ok("wait --for=condition=Ready pod/web").await;
    let out = kubectl.ok("describe pod web").await;
    for wanted in [
        "Name:",
        "Node:",
        "State:          Running",
        "Environment:\n      A:",
        "QoS Class:",
        "Events:",
        "Scheduled",
    ] {
        assert!(out.contains(wanted), "{wanted} is missing:\n{out}");
    }
}

pub(super) async fn node(kubectl: Kubectl) {
    let out = kubectl.ok("describe node gpu-0").await;
    for wanted in ["Conditions:", "nvidia.com/gpu:", "Allocated resources:", "Lease:", "KubeletReady"] {
        assert!(out.contains(wanted), "{wanted} is missing:\n{out}");
    }
}

pub(super) async fn workloads(kubectl: Kubectl) {
    kubectl.ok("create deployment web --image=a --replicas=2").await;
    kubectl.ok("wait --for=condition=Available deployment/web").await;
    let out = kubectl.shows("describe deployment web", "NewReplicaSet:   web-").await;
    assert!(
        out.contains("2 desired | 2 updated | 2 total | 2 available") && out.contains("ScalingReplicaSet"),
        "{out}"
    );
    kubectl.shows("describe replicaset -l app=web", "Controlled By:  Deployment/web").await;
    kubectl.ok("create job once --image=a -- true").await;
    kubectl.shows("describe job once", "Pods Statuses:").await;
    kubectl.ok("create cronjob tick --image=a --schedule='0 0 * * *' -- date").await;
    kubectl.shows("describe cronjob tick", "Schedule:").await;
    kubectl
        .apply(
            "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {serviceName: db, selector: \
             {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: a, image: b}]}}}}",
        )
        .await;
    kubectl.shows("describe statefulset db", "Update Strategy:").await;
}

pub(super) async fn network(kubectl: Kubectl) {
    kubectl.ok("run web --image=a --labels=app=web --port=80").await;
    kubectl.ok("wait --for=condition=Ready pod/web").await;
    kubectl.ok("expose pod web --port=80").await;
    let ip = kubectl.ok("get pod web -o jsonpath={.status.podIP}").await;
    kubectl.serves("web", &ip).await;
    let out = kubectl.shows("describe service web", "Selector:").await;
    assert!(out.contains(&format!("{ip}:80")), "{out}");
    kubectl.ok("create ingress web --rule=example.org/=web:80").await;
    kubectl.shows("describe ingress web", "example.org").await;
    kubectl
        .apply("{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: closed}, spec: {podSelector: {}, policyTypes: [Ingress]}}")
        .await;
    kubectl.shows("describe networkpolicy closed", "Policy Types: Ingress").await;
}

pub(super) async fn storage(kubectl: Kubectl) {
    kubectl
        .apply("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {storageClassName: none, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}")
        .await;
    kubectl.shows("describe pvc data", "Status:        Pending").await;
    kubectl.shows("get pvc data", "Pending").await;
}

pub(super) async fn policy(kubectl: Kubectl) {
    kubectl.ok("create quota small --hard=pods=5").await;
    kubectl.shows("describe quota", "pods").await;
    kubectl.ok("create pdb web --selector=app=web --min-available=1").await;
    kubectl.shows("describe pdb web", "Min available:").await;
    kubectl.shows(&format!("describe namespace {}", kubectl.namespace), "Resource Quotas").await;
}

pub(super) async fn identity(kubectl: Kubectl) {
    kubectl.ok("create serviceaccount robot").await;
    kubectl.shows("describe serviceaccount robot", "Name:").await;
    kubectl.ok("create configmap a --from-literal=k=v").await;
    kubectl.shows("describe configmap a", "BinaryData").await;
    kubectl.shows("describe clusterrole view", "PolicyRule:").await;
}
