//! The environment of a container: `env`, `envFrom`, the downward API and `$(NAME)` references.
//!
//! Pure but for [`Sources::fetch`], which reads the ConfigMaps and Secrets that are referred to.

mod downward;
mod expand;
mod sources;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Container, EnvVar, EnvVarSource, Pod, PodSpec};
use maar_quantities::ResourceList;

pub(crate) use downward::{field, resource};
pub(crate) use expand::expand;
pub(crate) use sources::{SourceError, Sources};

/// What a Pod's environment may refer to besides the Pod.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) host_ip: IpAddr,
    pub(crate) pod_ip: Option<IpAddr>,
    /// Stands in for limits that are not set.
    pub(crate) allocatable: ResourceList,
}

/// The container of that name, of whatever kind.
pub(crate) fn container<'a>(spec: &'a PodSpec, name: &str) -> Option<&'a Container> {
    let all = spec.containers.iter().chain(spec.init_containers.iter().flatten());
    all.into_iter().find(|container| container.name == name)
}

/// Names and values in the order in which they were defined; the last definition of a name counts.
pub(crate) type Variables = Vec<(String, String)>;

/// The environment of `container`; the error says which variable cannot be had.
pub(crate) fn variables(
    pod: &Pod,
    container: &Container,
    facts: &Facts,
    sources: &Sources,
) -> Result<Variables, SourceError> {
    let mut variables = Variables::new();
    for source in container.env_from.as_deref().unwrap_or_default() {
        let prefix = source.prefix.as_deref().unwrap_or_default();
        for (name, value) in sources.all_of(source)? {
            set(&mut variables, format!("{prefix}{name}"), value);
        }
    }
    for variable in container.env.as_deref().unwrap_or_default() {
        if let Some(value) = value(pod, container, variable, facts, sources, &variables)? {
            set(&mut variables, variable.name.clone(), value);
        }
    }
    Ok(variables)
}

fn set(variables: &mut Variables, name: String, value: String) {
    match variables.iter_mut().find(|(known, _)| *known == name) {
        Some((_, known)) => *known = value,
        None => variables.push((name, value)),
    }
}

fn value(
    pod: &Pod,
    container: &Container,
    variable: &EnvVar,
    facts: &Facts,
    sources: &Sources,
    before: &Variables,
) -> Result<Option<String>, SourceError> {
    if let Some(source) = &variable.value_from {
        return from_source(pod, container, source, facts, sources)
            .map_err(|error| error.of_variable(&variable.name));
    }
    Ok(Some(expand(variable.value.as_deref().unwrap_or_default(), before)))
}

fn from_source(
    pod: &Pod,
    container: &Container,
    source: &EnvVarSource,
    facts: &Facts,
    sources: &Sources,
) -> Result<Option<String>, SourceError> {
    if let Some(reference) = &source.field_ref {
        return field(pod, &reference.field_path, facts).map(Some);
    }
    if let Some(reference) = &source.resource_field_ref {
        return resource(pod, container, reference, facts).map(Some);
    }
    if let Some(reference) = &source.config_map_key_ref {
        return sources.config_map_key(&reference.name, &reference.key, reference.optional == Some(true));
    }
    if let Some(reference) = &source.secret_key_ref {
        return sources.secret_key(&reference.name, &reference.key, reference.optional == Some(true));
    }
    Err(SourceError::new("this kind of valueFrom is not supported by this node"))
}
