//! What is wrong with a job, as far as its spec alone can tell.

use maar_api::v1alpha1::{AIJob, AIJobSpec, Backend, JobType, TaskSpec};

use crate::{cron::Schedule, family::indices, kind, name};

/// Names of jobs are no longer, as their definition says.
const LONGEST_NAME: usize = 40;
/// Names of hosts are no longer, as DNS says.
const LONGEST_HOST: usize = 63;

/// Everything that is wrong, in words for people.
pub(crate) fn problems(job: &AIJob) -> Vec<String> {
    let spec = &job.spec;
    let mut problems = Vec::new();
    let kind = kind::of(spec.job_type);
    let job_type = kind::name(spec.job_type);
    for name in kind.required().iter().filter(|name| kind::find(spec, name).is_none()) {
        problems.push(format!("tasks: {name} is missing, which a job of type {job_type} needs"));
    }
    for task in kind.single().iter().filter_map(|name| kind::find(spec, name)) {
        let TaskSpec { name, replicas, .. } = task;
        if *replicas != 1 {
            problems
                .push(format!("tasks: {name} has {replicas} replicas, and a job of type {job_type} has one"));
        }
    }
    if spec.launch.as_ref().is_some_and(|launch| launch.elastic.is_some())
        && spec.job_type != JobType::PyTorch
    {
        problems.push(format!("launch.elastic is for type PyTorch, and this is of type {job_type}"));
    }
    problems.extend(kind.problems(spec));
    problems.extend(port_problems(spec));
    let nodes = spec.nodes.clone().unwrap_or_default();
    if !nodes.include.is_empty() && nodes.include.iter().all(|name| nodes.exclude.contains(name)) {
        problems.push("nodes: all that are included are excluded, too".to_owned());
    }
    for name in spec.success_tasks.iter().filter(|name| kind::find(spec, name).is_none()) {
        problems.push(format!("successTasks names {name}, which is not a task"));
    }
    if let Some(minimum) = spec.min_available.filter(|minimum| *minimum > spec.replicas()) {
        problems.push(format!("minAvailable is {minimum}, but there are {} Pods", spec.replicas()));
    }
    problems.extend(spec.tasks.iter().flat_map(task_problems));
    if let Some(schedule) = &spec.schedule
        && let Err(problem) = Schedule::parse(schedule)
    {
        problems.push(problem);
    }
    if let Some(array) = &spec.array
        && let Err(problem) = indices(&array.indices)
    {
        problems.push(problem);
    }
    if spec.backend == Backend::Volcano && spec.schedule.is_none() && spec.array.is_none() {
        let shared = |task: &&TaskSpec| task.cards.as_ref().is_some_and(|cards| cards.count.is_none());
        problems.extend(
            spec.tasks
                .iter()
                .filter(shared)
                .map(|task| format!("task {}: Volcano cannot give parts of cards chosen by Maar", task.name)),
        );
    }
    problems.extend(name_problems(job));
    problems
}

/// Names that would be too long, of the jobs it makes and of its hosts: nobody could make them later.
fn name_problems(job: &AIJob) -> Vec<String> {
    let spec = &job.spec;
    let mut longest = name::of(job).to_owned();
    if spec.schedule.is_some() {
        // Minutes since 1970 have eight digits until the year 2160.
        longest.push_str("-10000000");
    }
    let indices = spec.array.as_ref().and_then(|array| indices(&array.indices).ok());
    if let Some(last) = indices.and_then(|all| all.last().copied()) {
        longest = format!("{longest}-{last}");
    }
    let mut problems = Vec::new();
    if longest.len() > LONGEST_NAME && longest != name::of(job) {
        problems.push(format!(
            "it makes jobs called such as {longest}, and a name has at most {LONGEST_NAME} letters"
        ));
    }
    let hosts = spec.tasks.iter().map(|task| name::pod(&longest, &task.name, (task.replicas - 1).max(0)));
    let host = hosts.max_by_key(String::len).filter(|host| host.len() > LONGEST_HOST);
    problems.extend(host.map(|host| {
        format!(
            "it has Pods called such as {host}, and the name of a host has at most {LONGEST_HOST} letters"
        )
    }));
    problems
}

/// Ports that nobody would have, or that one name stands for twice.
fn port_problems(spec: &AIJobSpec) -> Vec<String> {
    let mut problems = Vec::new();
    for (at, port) in spec.ports.iter().enumerate() {
        let name = &port.name;
        if let Some(task) = port.task.as_deref().filter(|task| kind::find(spec, task).is_none()) {
            problems.push(format!("ports: {name} is for task {task}, which is not a task"));
        }
        if spec.ports[..at].iter().any(|other| other.name == *name && other.task == port.task) {
            problems.push(format!("ports: {name} is there twice"));
        }
    }
    problems
}

fn task_problems(task: &TaskSpec) -> Vec<String> {
    let mut problems = Vec::new();
    let containers = task.template.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default();
    if containers.is_empty() {
        problems.push(format!("task {}: the template has no container", task.name));
    }
    let policy = task.template.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref());
    if policy == Some("Always") {
        problems.push(format!("task {}: a Pod that always restarts never ends", task.name));
    }
    if let Some(share) = task.cards.as_ref().and_then(|cards| cards.share)
        && !(1..1000).contains(&share.millis())
    {
        problems.push(format!("task {}: a share of {share} is not between 0 and 1", task.name));
    }
    problems
}
