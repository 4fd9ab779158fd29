//! Types of jobs: what each brings to its Pods, and when it has succeeded.
//!
//! A type is a [`Kind`] in the table of [`of`]. It says which tasks it knows, the environment of each Pod, ports,
//! files, default commands and the tasks whose success is the job's. Everything else is the same for all.

mod interactive;
mod mpi;
mod pytorch;
mod ray;
mod single;
mod tensorflow;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, EnvVar};
use maar_api::v1alpha1::{AIJob, AIJobSpec, Backend, JobType, TaskSpec};

use crate::name;

pub(crate) use interactive::{CODE_SERVER, JUPYTER, TOKEN, code_server, jupyter};

/// The variable with the number of a Pod within its task.
pub(crate) const INDEX: &str = "MAAR_INDEX";

/// One Pod of a job, before it is made; or, for Volcano, what all Pods of a task are made from.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) job: &'a AIJob,
    pub(crate) task: &'a TaskSpec,
    pub(crate) index: i32,
}

impl Place<'_> {
    pub(crate) fn job_name(&self) -> &str {
        name::of(self.job)
    }

    pub(crate) fn spec(&self) -> &AIJobSpec {
        &self.job.spec
    }

    /// Whether it stands for all Pods of the task, whose numbers are known when Volcano makes them.
    pub(crate) fn is_shared(&self) -> bool {
        self.spec().backend == Backend::Volcano
    }

    /// Its number as the value of a variable. Kubernetes puts the value of one variable into another.
    pub(crate) fn index_text(&self) -> String {
        if self.is_shared() { format!("$({INDEX})") } else { self.index.to_string() }
    }

    /// Its number among the Pods of the tasks called `order`, in that order; none if its task is not among them.
    pub(crate) fn rank(&self, order: &[&str]) -> Option<i32> {
        let mut before = 0;
        for task in order.iter().filter_map(|name| find(self.spec(), name)) {
            if task.name == self.task.name {
                return Some(before + self.index);
            }
            before += task.replicas;
        }
        None
    }
}

/// What a job keeps in its Secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secrecy {
    /// Nothing.
    None,
    /// A key pair for ssh between its Pods.
    Keys,
    /// A word that lets a browser in, under this key.
    Token,
}

/// A type of jobs.
pub(crate) trait Kind: Sync {
    /// Tasks that it must have.
    fn required(&self) -> &'static [&'static str] {
        &[]
    }

    /// Tasks that have one Pod, if they are there.
    fn single(&self) -> &'static [&'static str] {
        &[]
    }

    /// What is wrong with the job, beyond required tasks.
    fn problems(&self, _spec: &AIJobSpec) -> Vec<String> {
        Vec::new()
    }

    /// The tasks whose success is the job's; all if none is named.
    fn deciding<'a>(&self, _spec: &'a AIJobSpec) -> Vec<&'a str> {
        Vec::new()
    }

    /// The task at whose first Pod programs meet that go on without some of the others, and come and go as they like.
    fn meeting(&self, _spec: &AIJobSpec) -> Option<&'static str> {
        None
    }

    /// Whether its programs learn when they start how many they are, and cannot learn it anew.
    fn is_rigid(&self, _spec: &AIJobSpec) -> bool {
        false
    }

    /// Variables of every container of a Pod, beside those that all jobs have.
    fn environment(&self, _place: &Place<'_>) -> Vec<EnvVar> {
        Vec::new()
    }

    /// Ports by which its Pods find each other or are used, by name.
    fn ports(&self, _spec: &AIJobSpec) -> Vec<(&'static str, i32)> {
        Vec::new()
    }

    /// Files by name, found in [`Kind::files_at`].
    fn files(&self, _job: &AIJob) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// The folder of the files.
    fn files_at(&self) -> &'static str {
        "/etc/maar"
    }

    /// What is kept secret.
    fn secrecy(&self) -> Secrecy {
        Secrecy::None
    }

    /// What the first container runs if neither command nor arguments are given.
    fn default_command(&self, _place: &Place<'_>) -> Option<Vec<String>> {
        None
    }

    /// Plug-ins of Volcano that say what a template for all Pods of a task cannot, with their arguments.
    fn volcano_plugins(&self, _spec: &AIJobSpec) -> BTreeMap<&'static str, Vec<String>> {
        BTreeMap::new()
    }
}

/// The type of a job.
pub(crate) fn of(job_type: JobType) -> &'static dyn Kind {
    match job_type {
        JobType::Single => &single::Single,
        JobType::Jupyter => &interactive::Jupyter,
        JobType::CodeServer => &interactive::CodeServer,
        JobType::PyTorch => &pytorch::PyTorch,
        JobType::TensorFlow => &tensorflow::TensorFlow,
        JobType::Mpi => &mpi::Mpi,
        JobType::DeepSpeed => &mpi::DeepSpeed,
        JobType::Ray => &ray::Ray,
    }
}

/// What a type is called where people write it.
pub(crate) fn name(job_type: JobType) -> String {
    serde_json::to_value(job_type).ok().and_then(|name| Some(name.as_str()?.to_owned())).unwrap_or_default()
}

/// The task of a name.
pub(crate) fn find<'a>(spec: &'a AIJobSpec, name: &str) -> Option<&'a TaskSpec> {
    spec.tasks.iter().find(|task| task.name == name)
}

/// The tasks whose success is the job's.
pub(crate) fn deciding(spec: &AIJobSpec) -> Vec<&str> {
    let named: Vec<&str> = if spec.success_tasks.is_empty() {
        of(spec.job_type).deciding(spec)
    } else {
        spec.success_tasks.iter().map(String::as_str).collect()
    };
    if named.is_empty() { spec.tasks.iter().map(|task| task.name.as_str()).collect() } else { named }
}

/// Where Pods find the key pair of their job.
pub(crate) const fn keys_at() -> &'static str {
    mpi::KEYS_AT
}

/// Processes in each Pod of a task: as said, or one per whole card, or one.
pub(crate) fn processes(spec: &AIJobSpec, task: &TaskSpec) -> i32 {
    let said = spec.launch.as_ref().and_then(|launch| launch.processes_per_pod);
    said.or_else(|| task.cards.as_ref()?.count).or_else(|| template_cards(task)).unwrap_or(1)
}

/// Whole cards that the template itself asks for.
fn template_cards(task: &TaskSpec) -> Option<i32> {
    let containers = &task.template.spec.as_ref()?.containers;
    let limits = containers.iter().filter_map(|container| container.resources.as_ref()?.limits.as_ref());
    let cards = limits.flatten().filter(|(name, _)| !maar_api::cards::variables(name).is_empty());
    let counts = cards.filter_map(|(_, amount)| maar_api::Quantity::parse(&amount.0).ok());
    let total: i64 = counts.map(maar_api::Quantity::value).sum();
    i32::try_from(total).ok().filter(|total| *total > 0)
}

/// The port at which programs meet.
pub(crate) fn port(spec: &AIJobSpec, usual: i32) -> i32 {
    spec.launch.as_ref().and_then(|launch| launch.port).unwrap_or(usual)
}

/// A variable with a value.
pub(crate) fn variable(name: &str, value: impl Into<String>) -> EnvVar {
    EnvVar { name: name.to_owned(), value: Some(value.into()), value_from: None }
}

/// Whether a container says what it runs.
pub(crate) fn has_command(container: &Container) -> bool {
    let given = |words: &Option<Vec<String>>| words.as_ref().is_some_and(|words| !words.is_empty());
    given(&container.command) || given(&container.args)
}

/// A command from words.
pub(crate) fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}
