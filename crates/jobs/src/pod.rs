//! One Pod of a job, made from the template of its task.
//!
//! What people wrote in the template wins over what is added here, save for what makes the Pod a part of its job:
//! labels, host name, and the restart policy, because the controller is who restarts.

mod card;
mod hide;
mod mount;
mod node;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{
        Container, ContainerPort, EnvVar, EnvVarSource, ExecAction, Lifecycle, LifecycleHandler,
        ObjectFieldSelector, Pod, PodSpec,
    },
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::OwnerReference},
};
use kube::{Resource as _, api::ObjectMeta};
use maar_api::{
    names,
    v1alpha1::{AIJob, Backend, PortSpec, StopSpec},
};

use crate::{
    kind::{self, INDEX, Kind, Place, Secrecy, has_command, variable},
    name,
};

pub(crate) use card::give as give_cards;
pub use hide::{has_slices, hide_cards};
pub(crate) use mount::{Mounts, mount};
pub(crate) use node::{restrict, tolerate_local_node};

/// What the scheduler and the controllers say of a Pod; a template that said so would be taken at its word.
const SPOKEN_BY_OTHERS: [&str; 4] = [
    names::ANNOTATION_STOP_AT,
    names::ANNOTATION_STOP_REASON,
    names::ANNOTATION_CARDS,
    names::ANNOTATION_VISIBLE_CARDS,
];

/// The variable with the number of Pods of the task.
pub(crate) const REPLICAS: &str = "MAAR_REPLICAS";
/// The variable with the number of the attempt.
const ATTEMPT: &str = "MAAR_ATTEMPT";
/// Annotations by which Volcano tells its Pods the number within the task, and that of the attempt.
const VOLCANO_INDEX: &str = "volcano.sh/task-index";
const VOLCANO_ATTEMPT: &str = "volcano.sh/job-retry-count";

/// The Pod of a place, for one attempt.
pub(crate) fn render(place: &Place<'_>, attempt: i32) -> Pod {
    let job = place.job;
    let kind = kind::of(job.spec.job_type);
    let template = place.task.template.clone();
    let mut spec = template.spec.unwrap_or_default();
    let mut metadata = template.metadata.unwrap_or_default();
    let name = (!place.is_shared()).then(|| name::pod(place.job_name(), &place.task.name, place.index));
    metadata.name.clone_from(&name);
    metadata.namespace.clone_from(&job.metadata.namespace);
    metadata.owner_references = Some(vec![owner(job)]);
    metadata.labels.get_or_insert_default().extend(labels(place, attempt));
    metadata.annotations.get_or_insert_default().retain(|name, _| !SPOKEN_BY_OTHERS.contains(&name.as_str()));
    annotate(job, &mut metadata);
    // Volcano gives Pods the same names and says them itself.
    spec.subdomain = name.is_some().then(|| place.job_name().to_owned());
    spec.hostname = name;
    spec.restart_policy.get_or_insert_with(|| "Never".to_owned());
    spec.enable_service_links.get_or_insert(false);
    if job.spec.backend == Backend::Maar {
        spec.scheduler_name.get_or_insert_with(|| names::SCHEDULER_NAME.to_owned());
    }
    restrict(&mut spec, job.spec.nodes.as_ref(), job.spec.account());
    give_command(kind, place, &mut spec);
    give_environment(&mut spec, &environment(kind, place, attempt));
    give_ports(kind, place, &mut spec);
    mount(&mut spec, &mounts(kind, job));
    if let Some(cards) = &place.task.cards {
        give_cards(cards, &mut spec, &mut metadata);
    }
    give_rdma(place, &mut spec);
    hide_cards(&mut spec);
    if let Some(stop) = &job.spec.stop {
        give_stop(stop, &mut spec);
    }
    Pod { metadata, spec: Some(spec), status: None }
}

/// The job as the owner of what is made for it.
pub(crate) fn owner(job: &AIJob) -> OwnerReference {
    job.controller_owner_ref(&()).unwrap_or_default()
}

fn labels(place: &Place<'_>, attempt: i32) -> BTreeMap<String, String> {
    let spec = place.spec();
    let mut labels = BTreeMap::from([
        (names::LABEL_MANAGED_BY.to_owned(), names::MANAGED_BY.to_owned()),
        (names::LABEL_TASK.to_owned(), place.task.name.clone()),
        (names::LABEL_ACCOUNT.to_owned(), spec.account().to_owned()),
        (names::LABEL_SERVICE_LEVEL.to_owned(), spec.service_level.label().to_owned()),
    ]);
    if !place.is_shared() {
        // Pods with these are made, counted and placed by Maar.
        labels.insert(names::LABEL_JOB.to_owned(), place.job_name().to_owned());
        labels.insert(names::LABEL_INDEX.to_owned(), place.index.to_string());
        labels.insert(names::LABEL_ATTEMPT.to_owned(), attempt.to_string());
    }
    labels.extend(spec.user.clone().map(|user| (names::LABEL_USER.to_owned(), user)));
    labels
}

fn annotate(job: &AIJob, metadata: &mut ObjectMeta) {
    let annotations = metadata.annotations.get_or_insert_default();
    if let Some(seconds) = job.spec.max_run_seconds {
        annotations.insert(names::ANNOTATION_MAX_RUN_TIME.to_owned(), seconds.to_string());
    }
    if job.spec.nodes.as_ref().is_some_and(|nodes| nodes.lent) {
        annotations.insert(names::ANNOTATION_LENT_NODES.to_owned(), "true".to_owned());
    }
    if annotations.is_empty() {
        metadata.annotations = None;
    }
}

fn give_command(kind: &dyn Kind, place: &Place<'_>, spec: &mut PodSpec) {
    if let Some(first) = spec.containers.first_mut()
        && !has_command(first)
        && let Some(command) = kind.default_command(place)
    {
        first.command = Some(command);
    }
}

/// What every Pod of a job is told, and what its type adds.
fn environment(kind: &dyn Kind, place: &Place<'_>, attempt: i32) -> Vec<EnvVar> {
    let (index, attempt) = if place.is_shared() {
        (from_annotation(INDEX, VOLCANO_INDEX), from_annotation(ATTEMPT, VOLCANO_ATTEMPT))
    } else {
        (variable(INDEX, place.index.to_string()), variable(ATTEMPT, attempt.to_string()))
    };
    let mut all = vec![
        variable("MAAR_JOB", place.job_name()),
        variable("MAAR_TASK", &place.task.name),
        index,
        variable(REPLICAS, place.task.replicas.to_string()),
        attempt,
    ];
    let labels = place.job.metadata.labels.as_ref();
    if let Some(index) = labels.and_then(|labels| labels.get(names::LABEL_ARRAY_INDEX)) {
        all.push(variable("MAAR_ARRAY_INDEX", index));
    }
    all.extend(kind.environment(place));
    all
}

/// Adds variables to all containers; those of the template win.
pub(crate) fn give_environment(spec: &mut PodSpec, variables: &[EnvVar]) {
    for container in containers(spec) {
        let mine = container.env.get_or_insert_default();
        for variable in variables {
            if mine.iter().all(|one| one.name != variable.name) {
                mine.push(variable.clone());
            }
        }
    }
}

/// A variable with the value of an annotation of the Pod.
pub(crate) fn from_annotation(variable: &str, annotation: &str) -> EnvVar {
    let path = format!("metadata.annotations['{annotation}']");
    let field = ObjectFieldSelector { api_version: None, field_path: path };
    let source = EnvVarSource { field_ref: Some(field), ..EnvVarSource::default() };
    EnvVar { name: variable.to_owned(), value: None, value_from: Some(source) }
}

pub(crate) fn containers(spec: &mut PodSpec) -> impl Iterator<Item = &mut Container> {
    spec.init_containers.iter_mut().flatten().chain(&mut spec.containers)
}

fn give_ports(kind: &dyn Kind, place: &Place<'_>, spec: &mut PodSpec) {
    let task = place.task.name.as_str();
    let own = kind.ports(place.spec()).into_iter().map(|(name, port)| (name.to_owned(), port));
    let said = place.spec().ports.iter().filter(|port| port.task.as_deref().is_none_or(|name| name == task));
    add_ports(spec, own.chain(said.map(|PortSpec { name, port, .. }| (name.clone(), *port))));
}

/// Adds ports to the first container, unless it has them.
pub(crate) fn add_ports(spec: &mut PodSpec, ports: impl IntoIterator<Item = (String, i32)>) {
    let Some(first) = spec.containers.first_mut() else { return };
    let mine = first.ports.get_or_insert_default();
    for (name, port) in ports {
        if mine.iter().all(|one| one.container_port != port && one.name.as_deref() != Some(&name)) {
            mine.push(ContainerPort { container_port: port, name: Some(name), ..ContainerPort::default() });
        }
    }
    if mine.is_empty() {
        first.ports = None;
    }
}

fn mounts(kind: &dyn Kind, job: &AIJob) -> Mounts {
    let mut all = Mounts::default();
    if !kind.files(job).is_empty() {
        all.files(name::files(name::of(job)), kind.files_at());
    }
    if kind.secrecy() == Secrecy::Keys {
        all.keys(name::secret(name::of(job)));
    }
    all.asked(&job.spec.mounts);
    all
}

fn give_rdma(place: &Place<'_>, spec: &mut PodSpec) {
    let Some(rdma) = &place.spec().rdma else { return };
    let anyone = place.spec().tasks.iter().any(|task| task.cards.is_some());
    if place.task.cards.is_some() || !anyone {
        add_resource(spec, &rdma.resource, &rdma.count.to_string());
    }
}

/// Asks for a resource that cannot be over-committed, for the first container, unless it asks already.
pub(crate) fn add_resource(spec: &mut PodSpec, resource: &str, amount: &str) {
    let Some(first) = spec.containers.first_mut() else { return };
    let asked = first.resources.get_or_insert_default();
    for list in [&mut asked.requests, &mut asked.limits] {
        list.get_or_insert_default()
            .entry(resource.to_owned())
            .or_insert_with(|| Quantity(amount.to_owned()));
    }
}

/// Grace, and a signal before SIGTERM for programs that save their work on it.
pub(crate) fn give_stop(stop: &StopSpec, spec: &mut PodSpec) {
    spec.termination_grace_period_seconds = Some(stop.grace_seconds);
    let Some(signal) = &stop.signal else { return };
    for container in &mut spec.containers {
        let lifecycle = container.lifecycle.get_or_insert_with(Lifecycle::default);
        if lifecycle.pre_stop.is_none() {
            let command = Some(kind::words(["/bin/sh", "-c", &format!("kill -s {signal} 1")]));
            let exec = Some(ExecAction { command });
            lifecycle.pre_stop = Some(LifecycleHandler { exec, ..LifecycleHandler::default() });
        }
    }
}
