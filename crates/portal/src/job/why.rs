//! Why something waits, in sentences. Pure.

use jiff::Timestamp;
use kube::ResourceExt as _;
use maar_api::v1alpha1::{AIJob, JobPhase, QueueStatus, Workspace, WorkspacePhase};
use schemars::JsonSchema;
use serde::Serialize;

use crate::live::PodFacts;

/// Pods of which the reason is told one by one.
const PODS: usize = 5;

/// Why something waits.
#[derive(Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Why {
    /// It does wait.
    waits: bool,
    /// Where it stands, and why.
    sentences: Vec<String>,
    /// Its place in the queue of its account.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<i32>,
    /// What has to end first.
    waits_for: Vec<String>,
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_start: Option<Timestamp>,
}

impl Why {
    pub(crate) fn of_job(job: &AIJob, pods: &[&PodFacts]) -> Self {
        let status = job.status.clone().unwrap_or_default();
        let waits = matches!(
            status.phase,
            JobPhase::Prequeue | JobPhase::Pending | JobPhase::Preempted | JobPhase::Restarting
        );
        let mut why = Self { waits, ..Self::default() };
        why.say(format!("The job {} is {}.", job.name_any(), status.phase));
        why.sentences.extend(status.message);
        if !waits {
            return why;
        }
        if let Some(queue) = status.queue {
            why.take_queue(queue);
        }
        why.take_pods(pods);
        if why.sentences.len() == 1 {
            why.say("The scheduler has not said anything about it yet.".to_owned());
        }
        why
    }

    pub(crate) fn of_workspace(workspace: &Workspace, pod: Option<&PodFacts>) -> Self {
        let status = workspace.status.clone().unwrap_or_default();
        let mut why = Self { waits: status.phase == WorkspacePhase::Pending, ..Self::default() };
        why.say(format!("The workspace {} is {}.", workspace.name_any(), status.phase));
        why.sentences.extend(status.message);
        if why.waits {
            why.take_pods(&pod.into_iter().collect::<Vec<_>>());
        }
        why
    }

    fn say(&mut self, sentence: String) {
        self.sentences.push(sentence);
    }

    fn take_queue(&mut self, queue: QueueStatus) {
        let said = queue.message.clone().unwrap_or_default();
        self.sentences.extend(queue.message);
        for one in queue.filters {
            // What the sentence of the queue says already is not said twice.
            if !said.contains(&format!("{} {}", one.nodes, one.filter)) {
                let nodes = if one.nodes == 1 { "node" } else { "nodes" };
                self.say(format!("{} {nodes} {}.", one.nodes, one.filter));
            }
        }
        self.position = queue.position;
        self.waits_for = queue.waits_for;
        self.estimated_start = queue.estimated_start.map(|time| time.0);
    }

    fn take_pods(&mut self, pods: &[&PodFacts]) {
        let refused: Vec<String> = pods
            .iter()
            .filter_map(|pod| Some(format!("Pod {}: {}", pod.name, pod.refusal.as_ref()?)))
            .collect();
        let more = refused.len().saturating_sub(PODS);
        self.sentences.extend(refused.into_iter().take(PODS));
        if more > 0 {
            self.say(format!("{more} more Pods wait as well."));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_keeps_nodes_away_is_said_once() {
        let filter = |nodes: i32, filter: &str| json!({ "filter": filter, "nodes": nodes });
        let job: AIJob = serde_json::from_value(json!({
            "metadata": { "name": "train" },
            "spec": { "tasks": [{ "name": "main", "template": {} }] },
            "status": {
                "phase": "Pending", "attempt": 0, "retries": 0, "preemptions": 0,
                "queue": {
                    "message": "no node has room for it: of 3 nodes 2 are not ready",
                    "filters": [filter(2, "are not ready"), filter(1, "has a taint that it does not tolerate")],
                },
            },
        }))
        .unwrap();
        let said = Why::of_job(&job, &[]).sentences;
        let want = [
            "The job train is Pending.",
            "no node has room for it: of 3 nodes 2 are not ready",
            "1 node has a taint that it does not tolerate.",
        ];
        assert_eq!(said, want);
    }

    #[test]
    fn a_waiting_job_in_sentences() {
        let job: AIJob = serde_json::from_value(json!({
            "metadata": { "name": "train" },
            "spec": { "tasks": [{ "name": "main", "template": {} }] },
            "status": {
                "phase": "Pending", "message": "1 of 1 Pods wait for nodes", "attempt": 0, "retries": 0, "preemptions": 0,
                "queue": {
                    "position": 3, "message": "account vision has all it may have of nvidia.com/gpu",
                    "filters": [{ "filter": "have a taint that it does not tolerate", "nodes": 4 }],
                    "waitsFor": ["lab/other"], "estimatedStart": "2026-01-01T00:00:00Z",
                },
            },
        }))
        .unwrap();
        insta::assert_json_snapshot!(Why::of_job(&job, &[]));
    }

    #[test]
    fn what_runs_waits_for_nothing() {
        let job: AIJob = serde_json::from_value(json!({
            "metadata": { "name": "train" }, "spec": { "tasks": [] },
            "status": { "phase": "Running", "attempt": 0, "retries": 0, "preemptions": 0, "queue": { "position": 1 } },
        }))
        .unwrap();
        let why = Why::of_job(&job, &[]);
        assert_eq!((why.waits, why.position, why.sentences.len()), (false, None, 1));
    }
}
