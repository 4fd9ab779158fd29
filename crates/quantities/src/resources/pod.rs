//! What a Pod asks for, as the scheduler and quota count it.
//!
//! Ordinary init containers run one after another before the main containers, so only the largest counts; a
//! restartable one (a sidecar) keeps running beside everything that starts after it. Resources set for the Pod as a
//! whole replace the sum, and the overhead of the runtime class comes on top. Only the spec counts: what a running
//! container has been allocated while its resize is pending is not looked at.

use k8s_openapi::api::core::v1::{Container, Pod, ResourceRequirements};
use serde::Deserialize;
use serde_json::Value;

use super::{ResourceList, is_pod_level};
use crate::quantity::ParseQuantityError;

/// A Pod's resource fields could not be read.
#[derive(Debug, thiserror::Error)]
pub enum PodResourcesError {
    /// A quantity of the typed Pod is malformed.
    #[error("quantity of {resource} in {place}")]
    Quantity {
        /// Where in the Pod.
        place: String,
        /// Which resource.
        resource: String,
        /// What is wrong with it.
        source: ParseQuantityError,
    },
    /// The JSON of the Pod has another shape than a Pod has.
    #[error("resource fields of the pod")]
    Json(#[source] serde_json::Error),
}

/// The fields of a Pod that decide how much it takes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodResources {
    #[serde(deserialize_with = "null_as_default")]
    containers: Vec<ContainerResources>,
    #[serde(deserialize_with = "null_as_default")]
    init_containers: Vec<ContainerResources>,
    #[serde(deserialize_with = "null_as_default")]
    resources: Requirements,
    #[serde(deserialize_with = "null_as_default")]
    overhead: ResourceList,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ContainerResources {
    restart_policy: Option<String>,
    #[serde(deserialize_with = "null_as_default")]
    resources: Requirements,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Requirements {
    #[serde(deserialize_with = "null_as_default")]
    requests: ResourceList,
    #[serde(deserialize_with = "null_as_default")]
    limits: ResourceList,
}

#[derive(Deserialize)]
struct PodDocument {
    #[serde(default, deserialize_with = "null_as_default")]
    spec: PodResources,
}

impl PodResources {
    /// Reads a Pod given as JSON.
    pub fn from_json(pod: &Value) -> Result<Self, PodResourcesError> {
        PodDocument::deserialize(pod).map(|document| document.spec).map_err(PodResourcesError::Json)
    }

    /// Reads a typed Pod.
    pub fn from_pod(pod: &Pod) -> Result<Self, PodResourcesError> {
        let Some(spec) = &pod.spec else { return Ok(Self::default()) };
        let overhead = spec.overhead.as_ref().map(|overhead| read_list("overhead", overhead));
        Ok(Self {
            containers: read_containers(&spec.containers)?,
            init_containers: read_containers(spec.init_containers.as_deref().unwrap_or_default())?,
            resources: read_requirements("the pod", spec.resources.as_ref())?,
            overhead: overhead.transpose()?.unwrap_or_default(),
        })
    }

    /// What has to be free on a node for this Pod, and what a quota counts as its requests.
    pub fn requests(&self) -> ResourceList {
        let mut total = self.combined(|requirements| &requirements.requests);
        total += &self.overhead;
        total
    }

    /// The most this Pod may use. The overhead counts only for resources that are limited at all.
    pub fn limits(&self) -> ResourceList {
        let mut total = self.combined(|requirements| &requirements.limits);
        total += &self.overhead.filtered(|resource| total.contains(resource));
        total
    }

    fn combined(&self, pick: impl Fn(&Requirements) -> &ResourceList) -> ResourceList {
        let mut running = ResourceList::new();
        for container in &self.containers {
            running += pick(&container.resources);
        }
        let (sidecars, starting) = self.init_phase(&pick);
        running += &sidecars;
        running.raise_to(&starting);
        for (resource, amount) in pick(&self.resources).filtered(is_pod_level) {
            running.insert(resource, amount);
        }
        running
    }

    /// The sum of all sidecars, and the most that is needed at any step of starting.
    fn init_phase(&self, pick: impl Fn(&Requirements) -> &ResourceList) -> (ResourceList, ResourceList) {
        let mut sidecars = ResourceList::new();
        let mut most = ResourceList::new();
        for container in &self.init_containers {
            let mut step = sidecars.clone();
            step += pick(&container.resources);
            if container.restart_policy.as_deref() == Some("Always") {
                sidecars = step.clone();
            }
            most.raise_to(&step);
        }
        (sidecars, most)
    }
}

fn read_containers(containers: &[Container]) -> Result<Vec<ContainerResources>, PodResourcesError> {
    containers
        .iter()
        .map(|container| {
            let place = format!("container {}", container.name);
            Ok(ContainerResources {
                restart_policy: container.restart_policy.clone(),
                resources: read_requirements(&place, container.resources.as_ref())?,
            })
        })
        .collect()
}

fn read_requirements(
    place: &str,
    requirements: Option<&ResourceRequirements>,
) -> Result<Requirements, PodResourcesError> {
    let Some(requirements) = requirements else { return Ok(Requirements::default()) };
    let read =
        |field: &Option<_>| field.as_ref().map_or(Ok(ResourceList::new()), |map| read_list(place, map));
    Ok(Requirements { requests: read(&requirements.requests)?, limits: read(&requirements.limits)? })
}

fn read_list(
    place: &str,
    map: &std::collections::BTreeMap<String, k8s_openapi::apimachinery::pkg::api::resource::Quantity>,
) -> Result<ResourceList, PodResourcesError> {
    ResourceList::from_text(map).map_err(|(resource, source)| PodResourcesError::Quantity {
        place: place.to_owned(),
        resource,
        source,
    })
}

/// Clients write `null` for fields they leave out.
fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    fn container(requests: &Value) -> Value {
        json!({ "name": "c", "resources": { "requests": requests, "limits": requests } })
    }

    fn sidecar(requests: &Value) -> Value {
        let mut container = container(requests);
        container["restartPolicy"] = json!("Always");
        container
    }

    struct Row {
        name: &'static str,
        spec: Value,
        want: &'static str,
    }

    fn rows() -> Vec<Row> {
        let one = container(&json!({ "cpu": "1", "memory": "1Gi" }));
        vec![
            Row { name: "no resources", spec: json!({ "containers": [{ "name": "c" }] }), want: "" },
            Row {
                name: "containers add up",
                spec: json!({ "containers": [one, one, { "name": "c" }] }),
                want: "cpu: 2, memory: 2Gi",
            },
            Row {
                name: "the largest init container counts where it is larger",
                spec: json!({
                    "containers": [one, one],
                    "initContainers": [container(&json!({ "cpu": "3" })), container(&json!({ "memory": "1Mi" }))],
                }),
                want: "cpu: 3, memory: 2Gi",
            },
            Row {
                name: "a sidecar runs beside the main containers and later init containers only",
                spec: json!({
                    "containers": [container(&json!({ "cpu": "1" }))],
                    "initContainers": [
                        container(&json!({ "cpu": "5" })),
                        sidecar(&json!({ "cpu": "2" })),
                        container(&json!({ "cpu": "4" })),
                    ],
                }),
                want: "cpu: 6",
            },
            Row {
                name: "sidecars add to the sum of the containers",
                spec: json!({
                    "containers": [container(&json!({ "cpu": "4" }))],
                    "initContainers": [sidecar(&json!({ "cpu": "2" })), sidecar(&json!({ "cpu": "1" }))],
                }),
                want: "cpu: 7",
            },
            Row {
                name: "pod-level resources replace the sum, but not for extended resources",
                spec: json!({
                    "containers": [container(&json!({ "cpu": "4", "nvidia.com/gpu": 2 }))],
                    "resources": {
                        "requests": { "cpu": "2", "memory": "8Gi", "nvidia.com/gpu": "9" },
                        "limits": { "cpu": "2", "memory": "8Gi", "nvidia.com/gpu": "9" },
                    },
                }),
                want: "cpu: 2, memory: 8Gi, nvidia.com/gpu: 2",
            },
        ]
    }

    #[test]
    fn effective_requests_and_limits() {
        for Row { name, spec, want } in rows() {
            let pod = json!({ "metadata": { "name": "p" }, "spec": spec });
            let resources = PodResources::from_json(&pod).unwrap();
            assert_eq!(resources.requests().to_string(), want, "{name}");
            assert_eq!(resources.limits().to_string(), want, "{name}");
        }
    }

    #[test]
    fn typed_pods_read_like_json_ones() {
        for Row { name, mut spec, .. } in rows() {
            spec["overhead"] = json!({ "memory": "100Mi" });
            let pod = json!({ "metadata": { "name": "p" }, "spec": spec });
            let typed: Pod = from_value(pod.clone()).unwrap();
            assert_eq!(
                PodResources::from_pod(&typed).unwrap(),
                PodResources::from_json(&pod).unwrap(),
                "{name}"
            );
        }
    }

    #[test]
    fn overhead_adds_to_requests_always_and_to_limits_where_limited() {
        let pod = json!({ "spec": {
            "containers": [{ "name": "c", "resources": {
                "requests": { "cpu": "1" }, "limits": { "memory": "1Gi" },
            } }],
            "overhead": { "cpu": "250m", "memory": "1Gi" },
        } });
        let resources = PodResources::from_json(&pod).unwrap();
        assert_eq!(resources.requests().to_string(), "cpu: 1250m, memory: 1Gi");
        assert_eq!(resources.limits().to_string(), "memory: 2Gi");
    }

    #[test]
    fn nulls_and_missing_parts_count_as_nothing() {
        for pod in [
            json!({}),
            json!({ "spec": null }),
            json!({ "spec": { "containers": [{ "resources": null }], "initContainers": null, "overhead": null } }),
            json!({ "spec": { "containers": [{ "resources": { "requests": null, "limits": { "cpu": null } } }] } }),
        ] {
            assert!(PodResources::from_json(&pod).unwrap().requests().is_empty(), "{pod}");
        }
    }

    #[test]
    fn malformed_quantities_name_the_place() {
        let pod = json!({ "spec": { "containers": [container(&json!({ "cpu": "lots" }))] } });
        let error = PodResources::from_json(&pod).unwrap_err();
        assert!(std::error::Error::source(&error).unwrap().to_string().contains("lots"));
        let typed: Pod = from_value(pod).unwrap();
        let error = PodResources::from_pod(&typed).unwrap_err();
        assert_eq!(error.to_string(), "quantity of cpu in container c");
    }
}
