//! `kubectl explain`, which lives from OpenAPI alone.

use crate::kubectl::Kubectl;

pub(super) async fn fields(kubectl: Kubectl) {
    let out = kubectl.shows("explain pods", "KIND:       Pod").await;
    assert!(out.contains("VERSION:    v1") && out.contains("spec\t<PodSpec>"), "{out}");
    kubectl.shows("explain deployments", "GROUP:      apps").await;
    kubectl.shows("explain ns", "KIND:       Namespace").await;
}

pub(super) async fn deep_paths(kubectl: Kubectl) {
    let out = kubectl.shows("explain pod.spec.containers.resources.limits", "FIELD: limits").await;
    assert!(out.contains("DESCRIPTION:"), "{out}");
    kubectl
        .shows("explain deployment.spec.template.spec.affinity.nodeAffinity", "preferredDuringScheduling")
        .await;
    kubectl
        .shows(
            "explain cronjob.spec.jobTemplate.spec.template.spec.volumes.configMap.items.path",
            "FIELD: path",
        )
        .await;
}

pub(super) async fn recursive(kubectl: Kubectl) {
    let out = kubectl.shows("explain pod.spec --recursive", "imagePullPolicy").await;
    assert!(out.contains("containers\t<[]Container> -required-"), "{out}");
    assert!(out.lines().count() > 500, "{}", out.lines().count());
}

pub(super) async fn custom_resources(kubectl: Kubectl) {
    let group = format!("{}.example.com", kubectl.namespace);
    kubectl.apply(&super::apply::definition(&group)).await;
    kubectl.ok(&format!("wait --for=condition=Established crd/widgets.{group}")).await;
    let out = kubectl.shows(&format!("explain widgets.{group}"), "A widget as people know them.").await;
    assert!(out.contains(&format!("GROUP:      {group}")) && out.contains("metadata\t<ObjectMeta>"), "{out}");
    kubectl
        .shows(&format!("explain widgets.spec.size --api-version={group}/v1beta1"), "How wide it is.")
        .await;
    kubectl.ok(&format!("delete crd widgets.{group}")).await;
}

/// The old document comes as protobuf, and only this way of asking makes kubectl read it.
pub(super) async fn by_version_and_old_form(kubectl: Kubectl) {
    kubectl.shows("explain events --api-version=events.k8s.io/v1", "GROUP:      events.k8s.io").await;
    kubectl.shows("explain events --api-version=v1", "VERSION:    v1").await;
    let out = kubectl
        .shows("explain pod.spec --output=plaintext-openapiv2", "containers\t<[]Object> -required-")
        .await;
    assert!(out.contains("VERSION:  v1"), "{out}");
}

pub(super) async fn unknown_fields(kubectl: Kubectl) {
    kubectl.refused("explain pod.spec.nonsense", "field \"nonsense\" does not exist").await;
    kubectl.refused("explain nonsense", "the server doesn't have a resource type \"nonsense\"").await;
}
