//! What is made for the workloads, as requests that are ready to be sent.

use serde_json::{Value, json};

use super::contender::Contender;
use super::stage::{CARDS, NAMESPACE, Stage};
use crate::pods;
use crate::scenario::Ready;

pub(crate) fn pods_path() -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/pods")
}

/// Pods that wait; in gangs of that size if one is given.
pub(crate) fn waiting(count: usize, contender: Contender, gang: Option<usize>) -> Vec<Ready> {
    let pod = |number: usize| {
        let mut pod = pods::pod(&format!("pod-{number}"));
        pod["spec"]["schedulerName"] = json!(contender.scheduler_name());
        pod["metadata"]["labels"] = match gang {
            None => json!({"app": "train", "team": "vision"}),
            Some(size) => {
                json!({"app": "train", "maar.io/job": job_name(number / size), "maar.io/task": "worker"})
            }
        };
        (pods_path(), pods::body(&pod))
    };
    (0..gang.map_or(count, |size| count / size * size)).map(pod).collect()
}

fn job_name(number: usize) -> String {
    format!("job-{number}")
}

/// The jobs whose Pods [`waiting`] makes.
pub(crate) fn jobs(count: usize, size: usize) -> Vec<Ready> {
    let job = |number: usize| -> Value {
        let template = json!({"spec": {"containers": [{"name": "worker", "image": "registry.example.com/train/worker:1"}]}});
        json!({"apiVersion": "maar.io/v1alpha1", "kind": "AIJob", "metadata": {"name": job_name(number)},
            "spec": {"type": "Single", "tasks": [{"name": "worker", "replicas": size, "template": template}]}})
    };
    let path = format!("/apis/maar.io/v1alpha1/namespaces/{NAMESPACE}/aijobs");
    (0..count).map(|number| (path.clone(), pods::body(&job(number)))).collect()
}

/// Where the holder of a number sits; neighbours sit on different nodes.
fn seat(stage: &Stage, number: usize) -> (String, usize) {
    (Stage::node(number % stage.nodes), number / stage.nodes % CARDS)
}

pub(crate) fn holder_name(number: usize) -> String {
    format!("holder-{number}")
}

/// Pods that fill every card and may be asked to go. There are no kubelets: they go at once.
pub(crate) fn holders(stage: &Stage, contender: Contender) -> Vec<Ready> {
    let pod = |number: usize| {
        let mut pod = pods::pod(&holder_name(number));
        pod["spec"]["schedulerName"] = json!(contender.scheduler_name());
        pod["spec"]["terminationGracePeriodSeconds"] = json!(0);
        pod["metadata"]["labels"] = json!({"app": "sweep", "maar.io/service-level": "best-effort"});
        (pods_path(), pods::body(&pod))
    };
    (0..stage.nodes * CARDS).map(pod).collect()
}

/// Puts every holder in its seat.
pub(crate) fn seat_holders(stage: &Stage) -> Vec<Ready> {
    (0..stage.nodes * CARDS).map(|number| bind(stage, &holder_name(number), number)).collect()
}

/// The bind of every Pod that waits, to one node after the other.
pub(crate) fn binds(stage: &Stage, count: usize) -> Vec<Ready> {
    (0..count).map(|number| bind(stage, &format!("pod-{number}"), number)).collect()
}

fn bind(stage: &Stage, pod: &str, number: usize) -> Ready {
    let (node, card) = seat(stage, number);
    let mut binding = pods::binding(pod, &node);
    // As much as a scheduler writes.
    binding["metadata"]["annotations"] =
        json!({"maar.io/cards": format!("nvidia.com/gpu={card}"), "maar.io/visible-cards": card.to_string()});
    (format!("{}/{pod}/binding", pods_path()), pods::body(&binding))
}
