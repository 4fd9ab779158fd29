//! Types for tests: parts of a Pod, a Deployment and a ConfigMap, with the facts of [`crate::merge_keys`].

use super::{Field, ListKind, Object, Type};
use crate::merge_keys;

const CORE: &str = "io.k8s.api.core.v1";
const APPS: &str = "io.k8s.api.apps.v1";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

fn list(element: Type) -> Type {
    Type::atomic_list(element)
}

fn object(group: &str, kind: &str, fields: impl IntoIterator<Item = (&'static str, Type)>) -> Type {
    let definition = format!("{group}.{kind}");
    let fields = fields.into_iter().map(|(name, ty)| {
        let Some(fact) = merge_keys::of(&definition, name) else { return Field::new(name, ty) };
        let ty = match ty {
            Type::List(list) => {
                Type::list(list.element.clone(), fact.list.clone().unwrap_or(ListKind::Atomic))
            }
            Type::Object(object) => {
                let atomic = fact.atomic.unwrap_or(object.is_atomic());
                Type::from_object((*object).clone().atomic(atomic))
            }
            other => other,
        };
        Field::new(name, ty).with_patch(fact.patch.clone()).always(fact.always)
    });
    let object = Object::new(fields).atomic(merge_keys::is_atomic(&definition));
    Type::from_object(object)
}

fn scalars(names: &[&'static str]) -> Vec<(&'static str, Type)> {
    names.iter().map(|name| (*name, Type::Scalar)).collect()
}

fn with(
    names: &[&'static str],
    others: impl IntoIterator<Item = (&'static str, Type)>,
) -> Vec<(&'static str, Type)> {
    scalars(names).into_iter().chain(others).collect()
}

pub(crate) fn object_meta() -> Type {
    let owner = object(
        META,
        "OwnerReference",
        scalars(&["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"]),
    );
    let names = [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "generateName",
        "deletionTimestamp",
    ];
    object(
        META,
        "ObjectMeta",
        with(
            &names,
            [
                ("labels", Type::map(Type::Scalar)),
                ("annotations", Type::map(Type::Scalar)),
                ("finalizers", list(Type::Scalar)),
                ("ownerReferences", list(owner)),
                ("managedFields", list(Type::Untyped)),
            ],
        ),
    )
}

fn resource(group: &str, kind: &str, parts: impl IntoIterator<Item = (&'static str, Type)>) -> Type {
    let parts = parts.into_iter().chain([("metadata", object_meta())]);
    object(group, kind, with(&["apiVersion", "kind"], parts))
}

fn container() -> Type {
    let port = object(CORE, "ContainerPort", scalars(&["containerPort", "protocol", "name", "hostPort"]));
    let key = object(CORE, "ConfigMapKeySelector", scalars(&["name", "key"]));
    let source = object(CORE, "EnvVarSource", [("configMapKeyRef", key)]);
    let variable = object(CORE, "EnvVar", with(&["name", "value"], [("valueFrom", source)]));
    let mount = object(CORE, "VolumeMount", scalars(&["name", "mountPath", "readOnly"]));
    let resources = object(
        CORE,
        "ResourceRequirements",
        [("limits", Type::map(Type::Scalar)), ("requests", Type::map(Type::Scalar))],
    );
    let names = ["name", "image", "imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy"];
    object(
        CORE,
        "Container",
        with(
            &names,
            [
                ("args", list(Type::Scalar)),
                ("command", list(Type::Scalar)),
                ("ports", list(port)),
                ("env", list(variable)),
                ("volumeMounts", list(mount)),
                ("resources", resources),
            ],
        ),
    )
}

fn pod_spec() -> Type {
    let toleration =
        object(CORE, "Toleration", scalars(&["key", "operator", "value", "effect", "tolerationSeconds"]));
    let empty_dir = object(CORE, "EmptyDirVolumeSource", scalars(&["medium", "sizeLimit"]));
    let config_map = object(CORE, "ConfigMapVolumeSource", scalars(&["name", "optional"]));
    let volume =
        object(CORE, "Volume", with(&["name"], [("emptyDir", empty_dir), ("configMap", config_map)]));
    let names = [
        "nodeName",
        "restartPolicy",
        "serviceAccountName",
        "serviceAccount",
        "schedulerName",
        "dnsPolicy",
        "terminationGracePeriodSeconds",
        "hostNetwork",
        "enableServiceLinks",
        "preemptionPolicy",
        "priority",
    ];
    object(
        CORE,
        "PodSpec",
        with(
            &names,
            [
                ("containers", list(container())),
                ("initContainers", list(container())),
                ("nodeSelector", Type::map(Type::Scalar)),
                ("securityContext", object(CORE, "PodSecurityContext", scalars(&["runAsUser", "fsGroup"]))),
                ("tolerations", list(toleration)),
                ("volumes", list(volume)),
                ("imagePullSecrets", list(object(CORE, "LocalObjectReference", scalars(&["name"])))),
            ],
        ),
    )
}

fn conditions() -> Type {
    list(object(
        CORE,
        "PodCondition",
        scalars(&["type", "status", "reason", "message", "lastTransitionTime"]),
    ))
}

pub(crate) fn pod() -> Type {
    let address = object(CORE, "PodIP", scalars(&["ip"]));
    let status = object(
        CORE,
        "PodStatus",
        with(&["phase", "podIP", "startTime"], [("conditions", conditions()), ("podIPs", list(address))]),
    );
    resource(CORE, "Pod", [("spec", pod_spec()), ("status", status)])
}

pub(crate) fn deployment() -> Type {
    let rolling = object(APPS, "RollingUpdateDeployment", scalars(&["maxSurge", "maxUnavailable"]));
    let strategy = object(APPS, "DeploymentStrategy", with(&["type"], [("rollingUpdate", rolling)]));
    let selector = object(
        META,
        "LabelSelector",
        [("matchLabels", Type::map(Type::Scalar)), ("matchExpressions", list(Type::Untyped))],
    );
    let template = object(CORE, "PodTemplateSpec", [("metadata", object_meta()), ("spec", pod_spec())]);
    let spec = object(
        APPS,
        "DeploymentSpec",
        with(
            &["replicas", "paused"],
            [("strategy", strategy), ("selector", selector), ("template", template)],
        ),
    );
    let status = object(
        APPS,
        "DeploymentStatus",
        with(&["replicas", "readyReplicas"], [("conditions", conditions())]),
    );
    resource(APPS, "Deployment", [("spec", spec), ("status", status)])
}
pub(crate) fn config_map() -> Type {
    resource(CORE, "ConfigMap", with(&["immutable"], [("data", Type::map(Type::Scalar))]))
}
