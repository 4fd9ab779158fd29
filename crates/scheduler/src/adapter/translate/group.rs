//! Groups: from AIJobs, from others' PodGroups, and of single Pods.

use jiff::Timestamp;
use maar_api::{Payers, names, v1alpha1};

use crate::{
    adapter::wire::{self, Meta},
    model::{Group, Millis, ServiceLevel, TaskMinimum},
};

/// How Volcano names the task of a Pod.
const VOLCANO_TASK: &str = "volcano.sh/task-spec";

/// Which group a Pod starts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Membership {
    /// Its own.
    Alone,
    /// That of the AIJob.
    Job(String),
    /// That of Volcano's PodGroup.
    Volcano(String),
    /// That of the upstream PodGroup.
    Upstream(String),
}

impl Membership {
    /// The name of the group in the core. Objects of different kinds may have one name; a job has the plain one.
    pub(crate) fn group(&self, meta: &Meta) -> String {
        let namespace = &meta.namespace;
        match self {
            Self::Alone => format!("{namespace}/pod:{}", meta.name),
            Self::Job(name) => job_group(namespace, name),
            Self::Volcano(name) => volcano_group(namespace, name),
            Self::Upstream(name) => upstream_group(namespace, name),
        }
    }
}

pub(crate) fn job_group(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

pub(crate) fn volcano_group(namespace: &str, name: &str) -> String {
    format!("{namespace}/volcano:{name}")
}

pub(crate) fn upstream_group(namespace: &str, name: &str) -> String {
    format!("{namespace}/podgroup:{name}")
}

/// The group that a Pod says it belongs to.
pub(crate) fn membership(pod: &wire::Pod) -> Membership {
    let meta = &pod.metadata;
    if let Some(job) = meta.labels.get(names::LABEL_JOB) {
        return Membership::Job(job.clone());
    }
    if let Some(group) = meta.annotations.get(names::ANNOTATION_VOLCANO_GROUP) {
        return Membership::Volcano(group.to_owned());
    }
    match &pod.spec.scheduling_group {
        Some(group) if !group.pod_group_name.is_empty() => Membership::Upstream(group.pod_group_name.clone()),
        _ => Membership::Alone,
    }
}

/// The task of its group that a Pod belongs to.
pub(crate) fn task(pod: &wire::Pod) -> &str {
    let labels = &pod.metadata.labels;
    let task = labels.get(names::LABEL_TASK).or_else(|| labels.get(VOLCANO_TASK));
    task.map_or("", String::as_str)
}

/// Who pays for a Pod, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) account: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) level: Option<ServiceLevel>,
    pub(crate) priority: Option<i32>,
    pub(crate) max_run: Option<Millis>,
    pub(crate) lent_nodes: bool,
}

impl Owner {
    /// What labels and annotations of an object say.
    pub(crate) fn of(meta: &Meta, priority: Option<i32>) -> Self {
        let label = |name| meta.labels.get(name).filter(|text| !text.is_empty()).cloned();
        let level = match meta.labels.get(names::LABEL_SERVICE_LEVEL).map(String::as_str) {
            Some(names::LEVEL_BEST_EFFORT) => Some(ServiceLevel::BestEffort),
            Some(names::LEVEL_GUARANTEED) => Some(ServiceLevel::Guaranteed),
            _ => None,
        };
        let seconds = meta.annotations.get(names::ANNOTATION_MAX_RUN_TIME).and_then(|text| text.parse().ok());
        Self {
            account: label(names::LABEL_ACCOUNT),
            user: label(names::LABEL_USER),
            level,
            priority,
            max_run: seconds.and_then(milliseconds),
            lent_nodes: meta.annotations.get(names::ANNOTATION_LENT_NODES) == Some("true"),
        }
    }

    /// What this leaves open is as the other says.
    pub(crate) fn or(self, other: &Self) -> Self {
        Self {
            account: self.account.or_else(|| other.account.clone()),
            user: self.user.or_else(|| other.user.clone()),
            level: self.level.or(other.level),
            priority: self.priority.or(other.priority),
            max_run: self.max_run.or(other.max_run),
            lent_nodes: self.lent_nodes || other.lent_nodes,
        }
    }
}

/// A whole number of seconds above zero, in milliseconds.
fn milliseconds(seconds: i64) -> Option<Millis> {
    seconds.checked_mul(1000).filter(|millis| *millis > 0)
}

/// The notice that a job wants; none at all is a wish too, unlike one that is not said.
fn notice(stop: &wire::Stop) -> Option<Millis> {
    stop.notice_seconds?.checked_mul(1000).filter(|millis| *millis >= 0)
}

/// As [`v1alpha1::AIJobSpec::minimum_of`] says.
fn minimum_of(spec: &wire::JobSpec, task: &wire::Task) -> u32 {
    let elastic = spec.launch.as_ref().and_then(|launch| launch.elastic.as_ref());
    let number = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
    let others =
        spec.tasks.iter().filter(|other| other.name != task.name).map(|other| number(other.replicas));
    let others = others.fold(0, i32::saturating_add);
    let asked = elastic.and_then(|elastic| elastic.minimum_of(&task.name, number(task.replicas), others));
    task.min.or(asked.and_then(|asked| u32::try_from(asked).ok())).unwrap_or(task.replicas)
}

/// What an object asks of its Pods as a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) owner: Owner,
    pub(crate) minimum: u32,
    pub(crate) task_minimums: Vec<TaskMinimum>,
    pub(crate) created: Millis,
    pub(crate) deadline: Option<Millis>,
    pub(crate) topology_key: Option<String>,
    pub(crate) suspended: bool,
    /// Nobody has asked yet.
    pub(crate) unknown: bool,
    pub(crate) grace: Option<Millis>,
}

impl Asked {
    pub(crate) fn by_job(job: &wire::Job) -> Self {
        let spec = &job.spec;
        let nodes = spec.nodes.clone().unwrap_or_default();
        let minimums = spec.tasks.iter().map(|task| (&task.name, minimum_of(spec, task)));
        let task_minimums: Vec<TaskMinimum> =
            minimums.map(|(task, minimum)| TaskMinimum { task: task.clone(), minimum }).collect();
        let sum = task_minimums.iter().map(|task| task.minimum).fold(0, u32::saturating_add);
        let level = match spec.service_level {
            v1alpha1::ServiceLevel::Guaranteed => ServiceLevel::Guaranteed,
            v1alpha1::ServiceLevel::BestEffort => ServiceLevel::BestEffort,
        };
        Self {
            owner: Owner {
                account: spec.account.clone(),
                user: spec.user.clone(),
                level: Some(level),
                priority: Some(spec.priority),
                max_run: spec.max_run_seconds.and_then(milliseconds),
                lent_nodes: nodes.lent,
            },
            minimum: spec.min_available.unwrap_or(sum).max(1),
            task_minimums,
            created: job.metadata.created(),
            deadline: spec.deadline.map(Timestamp::as_millisecond),
            topology_key: nodes.topology_key,
            suspended: spec.suspend || spec.cancel,
            unknown: false,
            grace: spec.stop.as_ref().and_then(notice),
        }
    }

    pub(crate) fn by_volcano(group: &wire::VolcanoPodGroup) -> Self {
        let spec = &group.spec;
        let minimums = spec.min_task_member.iter();
        let mut owner = Owner::of(&group.metadata, None);
        if owner.account.is_none() && !spec.queue.is_empty() {
            owner.account = Some(spec.queue.clone());
        }
        Self {
            owner,
            minimum: spec.min_member.max(1),
            task_minimums: minimums
                .map(|(task, minimum)| TaskMinimum { task: task.clone(), minimum: *minimum })
                .collect(),
            created: group.metadata.created(),
            ..Self::default()
        }
    }

    pub(crate) fn by_upstream(group: &wire::UpstreamPodGroup) -> Self {
        let spec = &group.spec;
        Self {
            owner: Owner::of(&group.metadata, spec.priority),
            minimum: spec.scheduling_policy.gang.as_ref().map_or(1, |gang| gang.min_count.max(1)),
            created: group.metadata.created(),
            topology_key: spec.scheduling_constraints.topology.first().map(|one| one.key.clone()),
            ..Self::default()
        }
    }

    /// A Pod that starts by itself.
    pub(crate) fn alone(created: Millis) -> Self {
        Self { minimum: 1, created, ..Self::default() }
    }

    /// The group, with what its Pods and its namespace say where the object says nothing.
    pub(crate) fn group(
        &self,
        name: &str,
        pods: &Owner,
        namespace: Option<&str>,
        default_account: &str,
    ) -> Group {
        let (group, pod) = (self.owner.account.as_deref(), pods.account.as_deref());
        let account = Payers { group, pod, namespace }.account(default_account).to_owned();
        let owner = self.owner.clone().or(pods);
        Group {
            name: name.to_owned(),
            account,
            user: owner.user.unwrap_or_default(),
            level: owner.level.unwrap_or_default(),
            priority: owner.priority.unwrap_or(0),
            minimum: self.minimum,
            task_minimums: self.task_minimums.clone(),
            created: self.created,
            max_run: owner.max_run,
            deadline: self.deadline,
            topology_key: self.topology_key.clone(),
            lent_nodes: owner.lent_nodes,
            suspended: self.suspended,
            unknown: self.unknown,
            grace: self.grace,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_says_its_minimums() {
        let job = json!({"metadata": {"name": "j", "namespace": "n"}, "spec": {
            "type": "PyTorch", "serviceLevel": "BestEffort", "account": "vision", "maxRunSeconds": 60,
            "deadline": "1970-01-01T00:02:00Z", "stop": {"noticeSeconds": 120, "graceSeconds": 5}, "nodes": {"lent": true, "topologyKey": "rack"},
            "tasks": [{"name": "master", "replicas": 1, "template": {"spec": {}}}, {"name": "worker", "replicas": 8, "min": 4}],
        }});
        let asked = Asked::by_job(&serde_json::from_value(job).unwrap());
        let group = asked.group("n/j", &Owner::default(), None, "default");
        assert_eq!(group.minimum, 5);
        assert_eq!(group.task_minimums.len(), 2);
        assert_eq!((group.account.as_str(), group.level), ("vision", ServiceLevel::BestEffort));
        assert_eq!((group.max_run, group.grace), (Some(60_000), Some(120_000)));
        assert_eq!(group.deadline, Some(120_000));
        assert!(group.lent_nodes);
    }

    #[test]
    fn an_elastic_job_starts_with_as_many_as_it_goes_on_with() {
        let asked = |tasks: serde_json::Value| {
            let elastic = json!({"minPods": 2, "maxPods": 8});
            let job = json!({"metadata": {"name": "j", "namespace": "n"},
                "spec": {"type": "PyTorch", "launch": {"elastic": elastic}, "tasks": tasks}});
            // What the controller counts and what the scheduler places must be the same.
            let spec: v1alpha1::AIJobSpec = serde_json::from_value(job["spec"].clone()).unwrap();
            let asked = Asked::by_job(&serde_json::from_value(job).unwrap());
            assert_eq!(i32::try_from(asked.minimum).unwrap(), spec.minimum());
            let by_task = spec.tasks.iter().map(|task| u32::try_from(spec.minimum_of(task)).unwrap());
            let minimums: Vec<u32> = asked.task_minimums.iter().map(|task| task.minimum).collect();
            assert_eq!(minimums, by_task.collect::<Vec<_>>());
            minimums
        };
        let task = |name: &str, replicas: u32| json!({"name": name, "replicas": replicas, "template": {}});
        assert_eq!(asked(json!([task("worker", 8)])), [2]);
        assert_eq!(asked(json!([task("master", 1), task("worker", 7)])), [1, 1]);
        assert_eq!(asked(json!([{"name": "worker", "replicas": 8, "min": 4, "template": {}}])), [4]);
    }

    #[test]
    fn no_notice_is_another_wish_than_none_said() {
        let rows = [
            (json!({"noticeSeconds": 0}), Some(0)),
            (json!({"noticeSeconds": 7}), Some(7_000)),
            (json!({"graceSeconds": 5}), None),
            (json!({"noticeSeconds": -1}), None),
        ];
        for (stop, want) in rows {
            let job =
                json!({"metadata": {"name": "j", "namespace": "n"}, "spec": {"stop": stop, "tasks": []}});
            assert_eq!(Asked::by_job(&serde_json::from_value(job).unwrap()).grace, want, "{stop}");
        }
    }

    #[test]
    fn pods_find_their_group_by_the_name_of_their_system() {
        let rows = [
            (json!({"metadata": {"labels": {"maar.io/job": "a"}}}), "n/a"),
            (json!({"metadata": {"annotations": {"scheduling.k8s.io/group-name": "a"}}}), "n/volcano:a"),
            (json!({"metadata": {}, "spec": {"schedulingGroup": {"podGroupName": "a"}}}), "n/podgroup:a"),
            (json!({"metadata": {}}), "n/pod:p"),
        ];
        for (mut pod, want) in rows {
            pod["metadata"]["name"] = json!("p");
            pod["metadata"]["namespace"] = json!("n");
            let pod: wire::Pod = serde_json::from_value(pod).unwrap();
            assert_eq!(membership(&pod).group(&pod.metadata), want);
        }
    }

    #[test]
    fn others_groups_are_read_and_their_pods_fill_in_what_is_open() {
        let volcano = json!({"metadata": {"name": "g", "namespace": "n"}, "spec": {"minMember": 3, "queue": "q",
            "minTaskMember": {"ps": 1}}});
        let asked = Asked::by_volcano(&serde_json::from_value(volcano).unwrap());
        let pods = Owner { user: Some("ada".into()), account: Some("other".into()), ..Owner::default() };
        let group = asked.group("n/volcano:g", &pods, Some("space"), "default");
        assert_eq!((group.account.as_str(), group.user.as_str(), group.minimum), ("q", "ada", 3));
        let upstream = json!({"metadata": {"name": "g", "namespace": "n"}, "spec": {
            "schedulingPolicy": {"gang": {"minCount": 4}}, "schedulingConstraints": {"topology": [{"key": "rack"}]}}});
        let asked = Asked::by_upstream(&serde_json::from_value(upstream).unwrap());
        assert_eq!((asked.minimum, asked.topology_key.as_deref()), (4, Some("rack")));
    }
}
