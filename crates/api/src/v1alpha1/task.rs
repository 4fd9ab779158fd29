//! A task: Pods that are alike.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::{CardsSpec, RestartPolicy, schema};

/// Pods that are alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.min) || self.min <= self.replicas").message("min is larger than replicas")
)]
pub struct TaskSpec {
    /// Its name, distinct within the job. Types of jobs know some: `master` and `worker`, `ps`, `chief` and
    /// `evaluator`, `launcher`, `head`.
    #[schemars(length(min = 1, max = 20), regex(pattern = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// How many Pods.
    #[serde(default = "schema::one")]
    #[schemars(range(min = 1, max = 10000))]
    pub replicas: i32,
    /// How many of them must be able to start, and be left, for the job to go on. If it is not said, all of them; of the workers
    /// of an elastic job as many as `launch.elastic.minPods` asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10000))]
    pub min: Option<i32>,
    /// Cards for each Pod, given to its first container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cards: Option<CardsSpec>,
    /// What is made again when one of its Pods fails; as the job says if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_policy: Option<RestartPolicy>,
    /// The Pods. A change of it is for Pods made later; those that exist stay as they are.
    #[schemars(schema_with = "schema::pod_template")]
    pub template: PodTemplateSpec,
}
