//! The kinds of `maar.io/v1alpha1`: [`Account`], [`AIJob`] and [`Workspace`].
//!
//! Doc comments here become the descriptions in the definitions (deploy/crds), so they speak to those who write
//! manifests. Durations are whole seconds and say so in their names.
#![expect(unreachable_pub, reason = "KubeSchema repeats the public structs inside a function")]

mod account;
mod cleanup;
mod condition;
mod duty;
mod job;
mod job_status;
mod schema;
mod shared;
mod task;
mod workspace;

pub use account::{Account, AccountSpec, AccountStatus, MemberRole, MemberSpec, MemberStatus};
pub use cleanup::{
    CleanupRule, CleanupSpec, CleanupStatus, IdleRule, LongRunningRule, NightlyRule, WaitingRule,
};
pub use condition::{condition_types, reasons};
pub use duty::{ArraySpec, Concurrency, ElasticSpec, LaunchSpec, ScheduleSpec, StopSpec};
pub use job::{AIJob, AIJobSpec, Backend, JobType, RestartPolicy, ServiceLevel};
pub use job_status::{
    AIJobStatus, ArrayStatus, CardUse, FilterCount, JobPhase, QueueStatus, ScheduleStatus, StopStatus,
    TaskStatus,
};
pub use shared::{CardsSpec, MountSpec, NodesSpec, PortSpec, RdmaSpec};
pub use task::TaskSpec;
pub use workspace::{
    Workspace, WorkspacePhase, WorkspaceSpec, WorkspaceState, WorkspaceStatus, WorkspaceType, WorkspaceVolume,
};

use std::sync::LazyLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;

/// The definitions of all kinds, in the order in which they are installed.
pub fn definitions() -> &'static [CustomResourceDefinition] {
    // Made once: every cluster of a test is given them.
    static MADE: LazyLock<[CustomResourceDefinition; 3]> =
        LazyLock::new(|| [Account::crd(), AIJob::crd(), Workspace::crd()]);
    &*MADE
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn schema(definition: &CustomResourceDefinition) -> Value {
        let mut value = serde_json::to_value(definition).unwrap();
        value["spec"]["versions"][0]["schema"]["openAPIV3Schema"].take()
    }

    /// Paths of the fields below `schema` for which `wrong` holds.
    fn fields(path: &str, schema: &Value, wrong: &dyn Fn(&Value) -> bool, found: &mut Vec<String>) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            if wrong(field) {
                found.push(path.clone());
            }
            fields(&path, field, wrong, found);
            fields(&path, &field["items"], wrong, found);
        }
    }

    #[test]
    fn every_field_is_described_and_of_a_kind_that_api_servers_know() {
        for definition in definitions() {
            let mut found = Vec::new();
            let schema = schema(definition);
            let undescribed = |field: &Value| field["description"].as_str().is_none_or(str::is_empty);
            for part in ["spec", "status"] {
                fields(part, &schema["properties"][part], &undescribed, &mut found);
            }
            // Conditions are Kubernetes' own.
            found.retain(|path| !path.starts_with("status.conditions"));
            assert!(found.is_empty(), "{found:?} of {:?} say nothing", definition.metadata.name);
            let unsigned =
                |field: &Value| field["format"].as_str().is_some_and(|name| name.starts_with("uint"));
            fields("", &schema, &unsigned, &mut found);
            assert!(found.is_empty(), "{found:?} of {:?} have a strange format", definition.metadata.name);
        }
    }

    #[test]
    fn a_short_job_means_what_people_expect() {
        let job: AIJob = serde_json::from_value(json!({
            "metadata": { "name": "train" },
            "spec": { "tasks": [
                { "name": "master", "template": {} },
                { "name": "worker", "replicas": 7, "min": 3, "template": {} },
            ] },
        }))
        .unwrap();
        assert_eq!((job.spec.job_type, job.spec.account()), (JobType::Single, "default"));
        assert_eq!((job.spec.minimum(), job.spec.replicas()), (4, 8));
        assert_eq!(job.spec.stop().grace_seconds, 30);
        assert_eq!((job.spec.restart_policy, job.spec.backoff_seconds), (RestartPolicy::Job, 10));
    }

    #[test]
    fn a_clean_up_rule_without_a_threshold_is_an_error() {
        let rule = json!({ "longRunning": { "batchHours": 96, "warnHours": 24 } });
        let error = serde_json::from_value::<CleanupSpec>(rule).unwrap_err();
        assert!(error.to_string().contains("interactiveHours"), "{error}");
    }
}
