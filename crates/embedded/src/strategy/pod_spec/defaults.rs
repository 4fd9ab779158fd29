//! What a Pod specification is filled with.

use serde_json::Value;

use super::super::resources;
use super::super::value::{Object, child, fill, fill_number, fill_text, items_mut, make_child};

const CONTAINER_LISTS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// Fills a template of Pods: its metadata and specification are never absent.
pub(in super::super) fn default_template(owner: &mut Object, field: &str) {
    let Some(template) = make_child(owner, field) else { return };
    make_child(template, "metadata");
    if let Some(spec) = make_child(template, "spec") {
        default_pod_spec(spec);
    }
}

/// Fills what Pods and templates have in common.
pub(in super::super) fn default_pod_spec(spec: &mut Object) {
    fill_text(spec, "dnsPolicy", "ClusterFirst");
    fill_text(spec, "restartPolicy", "Always");
    fill(spec, "securityContext", Object::new());
    fill(spec, "terminationGracePeriodSeconds", 30);
    // Less than no time is a second.
    if spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|seconds| seconds < 0) {
        spec.insert("terminationGracePeriodSeconds".to_owned(), 1.into());
    }
    fill_text(spec, "schedulerName", "default-scheduler");
    mirror_service_account(spec);
    for list in CONTAINER_LISTS {
        for container in items_mut(spec, list) {
            default_container(container);
        }
    }
    for volume in items_mut(spec, "volumes") {
        default_volume(volume);
    }
    resources::normalize_requirements(spec);
    resources::normalize(spec.get_mut("overhead"));
}

/// The account has an old and a new field; both are always shown.
fn mirror_service_account(spec: &mut Object) {
    let current = spec.get("serviceAccountName").filter(|name| name.is_string() && *name != "");
    let former = spec.get("serviceAccount").filter(|name| name.is_string() && *name != "");
    match (current.cloned(), former.cloned()) {
        (Some(name), former) if former.as_ref() != Some(&name) => {
            spec.insert("serviceAccount".to_owned(), name);
        }
        (None, Some(name)) => {
            spec.insert("serviceAccountName".to_owned(), name);
        }
        _ => {}
    }
}

fn default_container(container: &mut Object) {
    if container.get("imagePullPolicy").is_none_or(|policy| policy.is_null() || policy == "") {
        let policy = pull_policy(container.get("image").and_then(Value::as_str).unwrap_or_default());
        container.insert("imagePullPolicy".to_owned(), policy.into());
    }
    fill_text(container, "terminationMessagePath", "/dev/termination-log");
    fill_text(container, "terminationMessagePolicy", "File");
    fill(container, "resources", Object::new());
    resources::normalize_requirements(container);
    for port in items_mut(container, "ports") {
        fill_text(port, "protocol", "TCP");
    }
    for variable in items_mut(container, "env") {
        default_variable(variable);
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = child(container, probe) {
            default_probe(probe);
        }
    }
    if let Some(lifecycle) = child(container, "lifecycle") {
        for hook in ["postStart", "preStop"] {
            if let Some(hook) = child(lifecycle, hook) {
                default_http_get(hook);
            }
        }
    }
}

/// `Always` for images that move: those tagged `latest` and those without a tag or digest.
pub(super) fn pull_policy(image: &str) -> &'static str {
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    let tag = name.rsplit('/').next().and_then(|last| last.split_once(':')).map(|(_, tag)| tag);
    match (tag, digest) {
        (Some("latest"), _) => "Always",
        (None, None) if !image.is_empty() => "Always",
        _ => "IfNotPresent",
    }
}

fn default_variable(variable: &mut Object) {
    let Some(source) = child(variable, "valueFrom") else { return };
    default_field_reference(source);
    if let Some(selector) = child(source, "fileKeyRef") {
        fill(selector, "optional", false);
    }
}

/// The `fieldRef` and `resourceFieldRef` of a variable or a file.
fn default_field_reference(holder: &mut Object) {
    if let Some(field) = child(holder, "fieldRef") {
        fill_text(field, "apiVersion", "v1");
    }
    if let Some(resource) = child(holder, "resourceFieldRef") {
        fill(resource, "divisor", "0");
        if let Some(divisor) = resource.get_mut("divisor") {
            resources::normalize_amount(divisor);
        }
    }
}

fn default_probe(probe: &mut Object) {
    fill_number(probe, "timeoutSeconds", 1);
    fill_number(probe, "periodSeconds", 10);
    fill_number(probe, "successThreshold", 1);
    fill_number(probe, "failureThreshold", 3);
    default_http_get(probe);
    if let Some(grpc) = child(probe, "grpc") {
        fill(grpc, "service", "");
    }
}

fn default_http_get(handler: &mut Object) {
    if let Some(get) = child(handler, "httpGet") {
        fill_text(get, "path", "/");
        fill_text(get, "scheme", "HTTP");
    }
}

fn default_volume(volume: &mut Object) {
    if !volume.iter().any(|(field, source)| field != "name" && !source.is_null()) {
        volume.insert("emptyDir".to_owned(), Object::new().into());
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = child(volume, source) {
            fill(source, "defaultMode", 0o644);
            default_downward_files(source);
            default_projections(source);
        }
    }
    if let Some(host_path) = child(volume, "hostPath") {
        fill(host_path, "type", "");
    }
    if let Some(empty_dir) = child(volume, "emptyDir")
        && let Some(limit) = empty_dir.get_mut("sizeLimit")
    {
        resources::normalize_amount(limit);
    }
    if let Some(image) = child(volume, "image") {
        let policy = pull_policy(image.get("reference").and_then(Value::as_str).unwrap_or_default());
        fill_text(image, "pullPolicy", policy);
    }
    if let Some(iscsi) = child(volume, "iscsi") {
        fill_text(iscsi, "iscsiInterface", "default");
    }
    if let Some(rbd) = child(volume, "rbd") {
        fill_text(rbd, "pool", "rbd");
        fill_text(rbd, "user", "admin");
        fill_text(rbd, "keyring", "/etc/ceph/keyring");
    }
    if let Some(ephemeral) = child(volume, "ephemeral")
        && let Some(template) = child(ephemeral, "volumeClaimTemplate")
    {
        make_child(template, "metadata");
        if let Some(spec) = make_child(template, "spec") {
            default_claim_spec(spec);
        }
    }
}

/// Fills the specification of a volume claim, whether it is a claim's own or a template's.
pub(in super::super) fn default_claim_spec(spec: &mut Object) {
    fill(spec, "volumeMode", "Filesystem");
    fill(spec, "resources", Object::new());
    resources::normalize_requirements(spec);
}

fn default_downward_files(source: &mut Object) {
    for item in items_mut(source, "items") {
        default_field_reference(item);
    }
}

fn default_projections(projected: &mut Object) {
    for source in items_mut(projected, "sources") {
        if let Some(token) = child(source, "serviceAccountToken") {
            fill(token, "expirationSeconds", 3600);
        }
        if let Some(downward) = child(source, "downwardAPI") {
            default_downward_files(downward);
        }
    }
}
