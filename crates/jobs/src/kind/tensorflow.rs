//! TensorFlow with parameter servers: every Pod learns of all others from `TF_CONFIG`.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::EnvVar;
use maar_api::v1alpha1::AIJobSpec;
use serde_json::json;

use super::{Kind, Place, find, port, variable};
use crate::name;

pub(crate) struct TensorFlow;

/// Tasks that are part of the cluster. An `evaluator` reads checkpoints and is not.
const CLUSTER: [&str; 3] = ["chief", "worker", "ps"];
const PORT: i32 = 2222;

impl Kind for TensorFlow {
    fn single(&self) -> &'static [&'static str] {
        &["chief"]
    }

    fn problems(&self, spec: &AIJobSpec) -> Vec<String> {
        let some = find(spec, "worker").is_some() || find(spec, "chief").is_some();
        let missing = "tasks: a job of type TensorFlow needs worker, chief, or both".to_owned();
        if some { Vec::new() } else { vec![missing] }
    }

    fn deciding<'a>(&self, spec: &'a AIJobSpec) -> Vec<&'a str> {
        ["chief", "worker"]
            .iter()
            .filter_map(|name| find(spec, name))
            .map(|task| task.name.as_str())
            .collect()
    }

    fn is_rigid(&self, _spec: &AIJobSpec) -> bool {
        true
    }

    fn environment(&self, place: &Place<'_>) -> Vec<EnvVar> {
        let (spec, job) = (place.spec(), place.job_name());
        let port = port(spec, PORT);
        let cluster: BTreeMap<&str, Vec<String>> = CLUSTER
            .iter()
            .filter_map(|name| find(spec, name))
            .map(|task| {
                let hosts =
                    (0..task.replicas).map(|index| format!("{}:{port}", name::host(job, &task.name, index)));
                (task.name.as_str(), hosts.collect())
            })
            .collect();
        // Written by hand: the number may be one that Kubernetes puts in. Names of tasks need no escaping.
        let (cluster, task, index) = (json!(cluster), &place.task.name, place.index_text());
        let task = format!(r#"{{"index":{index},"type":"{task}"}}"#);
        let config = format!(r#"{{"cluster":{cluster},"environment":"cloud","task":{task}}}"#);
        vec![variable("TF_CONFIG", config), variable("PYTHONUNBUFFERED", "1")]
    }

    fn ports(&self, spec: &AIJobSpec) -> Vec<(&'static str, i32)> {
        vec![("grpc", port(spec, PORT))]
    }
}
