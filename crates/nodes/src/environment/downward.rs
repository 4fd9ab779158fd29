//! The downward API: what a container may know about its own Pod.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod, ResourceFieldSelector};
use maar_quantities::{Quantity, ResourceList};

use super::{Facts, SourceError};

/// The value of a `fieldRef`.
pub(crate) fn field(pod: &Pod, path: &str, facts: &Facts) -> Result<String, SourceError> {
    let metadata = &pod.metadata;
    let spec = pod.spec.as_ref();
    let text = |value: Option<&String>| value.cloned().unwrap_or_default();
    if let Some(key) = subscript(path, "metadata.labels") {
        return Ok(metadata.labels.as_ref().and_then(|map| map.get(key)).cloned().unwrap_or_default());
    }
    if let Some(key) = subscript(path, "metadata.annotations") {
        return Ok(metadata.annotations.as_ref().and_then(|map| map.get(key)).cloned().unwrap_or_default());
    }
    match path {
        "metadata.name" => Ok(text(metadata.name.as_ref())),
        "metadata.namespace" => Ok(text(metadata.namespace.as_ref())),
        "metadata.uid" => Ok(text(metadata.uid.as_ref())),
        "metadata.labels" => Ok(listing(metadata.labels.as_ref())),
        "metadata.annotations" => Ok(listing(metadata.annotations.as_ref())),
        "spec.nodeName" => Ok(text(spec.and_then(|spec| spec.node_name.as_ref()))),
        "spec.serviceAccountName" => Ok(text(spec.and_then(|spec| spec.service_account_name.as_ref()))),
        "status.hostIP" | "status.hostIPs" => Ok(facts.host_ip.to_string()),
        "status.podIP" | "status.podIPs" => Ok(facts.pod_ip.map(|ip| ip.to_string()).unwrap_or_default()),
        _ => Err(SourceError::new(&format!("fieldRef {path:?} is not supported"))),
    }
}

/// `key` of `metadata.labels['key']`.
fn subscript<'a>(path: &'a str, map: &str) -> Option<&'a str> {
    path.strip_prefix(map)?.strip_prefix("['")?.strip_suffix("']")
}

/// Labels or annotations as a file shows them: one `key="value"` per line.
fn listing(map: Option<&BTreeMap<String, String>>) -> String {
    let lines = map.into_iter().flatten().map(|(key, value)| format!("{key}={value:?}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The value of a `resourceFieldRef`, in units of its divisor, rounded up.
pub(crate) fn resource(
    pod: &Pod,
    container: &Container,
    reference: &ResourceFieldSelector,
    facts: &Facts,
) -> Result<String, SourceError> {
    let wanted = reference.container_name.as_deref().unwrap_or(&container.name);
    let container = pod.spec.as_ref().and_then(|spec| super::container(spec, wanted)).ok_or_else(|| {
        SourceError::new(&format!("resourceFieldRef names an unknown container {wanted:?}"))
    })?;
    let unsupported =
        || SourceError::new(&format!("resourceFieldRef {:?} is not supported", reference.resource));
    let (kind, name) = reference.resource.split_once('.').ok_or_else(unsupported)?;
    let resources = container.resources.as_ref();
    let list = match kind {
        "limits" => resources.and_then(|resources| resources.limits.as_ref()),
        "requests" => resources.and_then(|resources| resources.requests.as_ref()),
        _ => return Err(unsupported()),
    };
    let list = list.map(ResourceList::from_text).transpose().map_err(|_| unsupported())?.unwrap_or_default();
    let amount = match kind {
        "limits" if !list.contains(name) => facts.allocatable.get(name),
        _ => list.get(name),
    };
    let divisor = reference.divisor.as_ref().and_then(|divisor| Quantity::parse(&divisor.0).ok());
    let divisor = divisor.filter(|divisor| !divisor.is_zero()).unwrap_or(Quantity::from_units(1));
    let (amount, unit) = (amount.nanos(), divisor.nanos());
    Ok((amount.div_euclid(unit) + i128::from(amount.rem_euclid(unit) != 0)).to_string())
}
