//! The part of a Pod that Pods of one controller have in common.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use maar_quantities::{Quantity, resources::PodResources};
use serde::Deserialize;

use super::{
    Behaviour, PodObject,
    behaviour::Annotations,
    load::Load,
    restart::{self, RestartRule},
    sleep,
};

/// When a container that ended is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
pub(crate) enum RestartPolicy {
    #[default]
    Always,
    OnFailure,
    Never,
}

/// What a container is in its Pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// Runs to completion before the next one starts.
    Init,
    /// An init container that keeps running.
    Sidecar,
    Main,
}

/// Equal templates are kept once, see [`Templates`].
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Template {
    /// Init containers and sidecars in their order, then the main containers.
    pub(crate) containers: Box<[Container]>,
    pub(crate) restart_policy: RestartPolicy,
    pub(crate) active_deadline: Option<Duration>,
    /// `terminationGracePeriodSeconds`.
    pub(crate) grace: Duration,
    pub(crate) host_network: bool,
    pub(crate) readiness_gates: Box<[Box<str>]>,
    /// What the Pod as a whole asks for.
    pub(crate) requests: Box<[(Box<str>, Quantity)]>,
    /// What running containers do to the cards they hold.
    pub(crate) load: Load,
    /// An annotation that cannot be read: no container starts, and this is why.
    pub(crate) trouble: Option<Box<str>>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Container {
    pub(crate) name: Box<str>,
    pub(crate) image: Box<str>,
    pub(crate) role: Role,
    /// The container's own policy, where it has one and is not a sidecar.
    pub(crate) restart_policy: Option<RestartPolicy>,
    pub(crate) restart_rules: Box<[RestartRule]>,
    pub(crate) requests: Amounts,
    pub(crate) limits: Amounts,
    /// `initialDelaySeconds` of the readiness probe, if there is one.
    pub(crate) readiness_delay: Option<Duration>,
    /// `initialDelaySeconds` of the startup probe, if there is one.
    pub(crate) startup_delay: Option<Duration>,
    pub(crate) behaviour: Behaviour,
}

/// Resource names and amounts as text, the way the status repeats them.
pub(crate) type Amounts = Box<[(Box<str>, Box<str>)]>;

impl Template {
    /// Reads the template out of a Pod; the error says what is not as a Pod has it.
    pub(crate) fn read(pod: &PodObject) -> Result<Self, String> {
        let spec = Spec::deserialize(&pod.spec).map_err(|error| error.to_string())?;
        let resources = PodResources::deserialize(&pod.spec).map_err(|error| error.to_string())?;
        let annotations = Annotations(pod.metadata.annotations.as_ref());
        let mut trouble = None;
        let mut read = |wire: ContainerSpec<'_>, is_main: bool| {
            let role = match (is_main, wire.restart_policy) {
                (true, _) => Role::Main,
                (false, Some(RestartPolicy::Always)) => Role::Sidecar,
                (false, _) => Role::Init,
            };
            let behaviour = annotations.behaviour(&wire.name, role, wire.sleep()).unwrap_or_else(|error| {
                trouble.get_or_insert(error.into_boxed_str());
                Behaviour::default()
            });
            wire.into_container(role, behaviour)
        };
        let mut containers: Vec<Container> = Vec::with_capacity(spec.containers.len());
        containers.extend(spec.init_containers.unwrap_or_default().into_iter().map(|wire| read(wire, false)));
        containers.extend(spec.containers.into_iter().map(|wire| read(wire, true)));
        let (utilization, memory) =
            (pod.annotation("sim.maar.io/gpu-utilization"), pod.annotation("sim.maar.io/gpu-memory"));
        let load = Load::parse(utilization, memory).unwrap_or_else(|error| {
            trouble.get_or_insert(error.into_boxed_str());
            Load::default()
        });
        let requests =
            resources.requests().iter().map(|(name, amount)| (name.as_str().into(), *amount)).collect();
        Ok(Self {
            containers: containers.into(),
            restart_policy: spec.restart_policy.unwrap_or_default(),
            active_deadline: spec.active_deadline_seconds.map(Duration::from_secs),
            grace: Duration::from_secs(spec.termination_grace_period_seconds.unwrap_or(30)),
            host_network: spec.host_network.unwrap_or_default(),
            readiness_gates: spec
                .readiness_gates
                .unwrap_or_default()
                .into_iter()
                .map(|gate| gate.condition_type.into())
                .collect(),
            requests,
            load,
            trouble,
        })
    }

    /// Position of the first main container.
    pub(crate) fn first_main(&self) -> usize {
        self.containers
            .iter()
            .position(|container| container.role == Role::Main)
            .unwrap_or(self.containers.len())
    }

    pub(crate) fn position(&self, container: &str) -> Option<usize> {
        self.containers.iter().position(|candidate| &*candidate.name == container)
    }

    /// Whether `container` is started again after it ended with `exit_code`, the Pod being alive.
    pub(crate) fn restarts(&self, container: &Container, exit_code: i32) -> bool {
        if restart::restarts(&container.restart_rules, exit_code) {
            return true;
        }
        let policy = container.restart_policy.unwrap_or(self.restart_policy);
        match (container.role, policy) {
            (Role::Sidecar, _) | (Role::Main, RestartPolicy::Always) => true,
            (_, RestartPolicy::Never) => false,
            (_, RestartPolicy::OnFailure) | (Role::Init, RestartPolicy::Always) => exit_code != 0,
        }
    }

    /// How much of `resource` the container at `position` holds.
    pub(crate) fn requested(&self, position: usize, resource: &str) -> i64 {
        let container = &self.containers[position];
        let amount =
            |list: &Amounts| list.iter().find(|(name, _)| &**name == resource).map(|(_, text)| text.clone());
        amount(&container.requests)
            .or_else(|| amount(&container.limits))
            .and_then(|text| Quantity::parse(&text).ok())
            .map_or(0, Quantity::value)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'a> {
    #[serde(borrow)]
    containers: Vec<ContainerSpec<'a>>,
    #[serde(borrow)]
    init_containers: Option<Vec<ContainerSpec<'a>>>,
    restart_policy: Option<RestartPolicy>,
    active_deadline_seconds: Option<u64>,
    termination_grace_period_seconds: Option<u64>,
    host_network: Option<bool>,
    readiness_gates: Option<Vec<ReadinessGate>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadinessGate {
    condition_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContainerSpec<'a> {
    name: String,
    image: Option<String>,
    #[serde(borrow)]
    command: Option<Vec<&'a str>>,
    #[serde(borrow)]
    args: Option<Vec<&'a str>>,
    #[serde(borrow)]
    env: Option<Vec<sleep::Variable<'a>>>,
    restart_policy: Option<RestartPolicy>,
    restart_policy_rules: Option<Box<[RestartRule]>>,
    resources: Option<Resources>,
    readiness_probe: Option<Probe>,
    startup_probe: Option<Probe>,
}

#[derive(Deserialize, Default)]
struct Resources {
    requests: Option<BTreeMap<String, Quantity>>,
    limits: Option<BTreeMap<String, Quantity>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Probe {
    initial_delay_seconds: Option<u64>,
}

impl Probe {
    fn delay(&self) -> Duration {
        Duration::from_secs(self.initial_delay_seconds.unwrap_or(0))
    }
}

impl ContainerSpec<'_> {
    /// How long it runs by its command, where that is a sleep. Arguments without a command are one to images without an
    /// entry point, and those are what people sleep in.
    fn sleep(&self) -> Option<sleep::Sleep> {
        let (command, arguments) = (self.command.as_deref(), self.args.as_deref());
        let environment = self.env.as_deref().unwrap_or_default();
        sleep::of_command(command.unwrap_or_default(), arguments.unwrap_or_default(), environment)
    }

    fn into_container(self, role: Role, behaviour: Behaviour) -> Container {
        let resources = self.resources.unwrap_or_default();
        let amounts = |map: Option<BTreeMap<String, Quantity>>| -> Amounts {
            map.unwrap_or_default()
                .into_iter()
                .map(|(name, amount)| (name.into(), amount.to_string().into()))
                .collect()
        };
        Container {
            name: self.name.into(),
            image: self.image.unwrap_or_default().into(),
            role,
            restart_policy: self.restart_policy.filter(|_| role != Role::Sidecar),
            restart_rules: self.restart_policy_rules.unwrap_or_default(),
            requests: amounts(resources.requests),
            limits: amounts(resources.limits),
            readiness_delay: self.readiness_probe.map(|probe| probe.delay()),
            startup_delay: self.startup_probe.map(|probe| probe.delay()),
            behaviour,
        }
    }
}

/// Keeps one copy of equal templates.
#[derive(Debug, Default)]
pub(crate) struct Templates {
    known: HashSet<Arc<Template>>,
    /// Size at which templates that nobody uses any more are dropped.
    sweep_at: usize,
}

impl Templates {
    /// The shared copy of `template`.
    pub(crate) fn share(&mut self, template: Template) -> Arc<Template> {
        if let Some(known) = self.known.get(&template) {
            return known.clone();
        }
        if self.known.len() >= self.sweep_at.max(1024) {
            self.known.retain(|template| Arc::strong_count(template) > 1);
            self.sweep_at = self.known.len() * 2;
        }
        let template = Arc::new(template);
        self.known.insert(template.clone());
        template
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(annotations: &[(&str, &str)]) -> PodObject {
        let mut pod = PodObject {
            spec: json!({
                "containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "1500m"},
                    "limits": {"nvidia.com/gpu": 2}}, "readinessProbe": {"initialDelaySeconds": 5}}],
                "initContainers": [{"name": "prepare"}, {"name": "side", "restartPolicy": "Always"}],
                "restartPolicy": "OnFailure",
                "readinessGates": [{"conditionType": "a/b"}],
            }),
            ..PodObject::default()
        };
        let pairs = annotations.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        pod.metadata.annotations = Some(pairs.collect());
        pod
    }

    #[test]
    fn init_containers_come_first_and_sidecars_are_told_apart() {
        let template = Template::read(&pod(&[])).unwrap();
        let roles: Vec<_> =
            template.containers.iter().map(|container| (&*container.name, container.role)).collect();
        assert_eq!(roles, [("prepare", Role::Init), ("side", Role::Sidecar), ("main", Role::Main)]);
        assert_eq!(template.first_main(), 2);
        assert_eq!(template.requested(2, "nvidia.com/gpu"), 2);
        assert_eq!(template.grace, Duration::from_secs(30));
    }

    #[test]
    fn who_is_restarted_depends_on_role_policy_and_exit_code() {
        use RestartPolicy::{Always, Never, OnFailure};
        let container = |role, restart_policy| Container {
            name: "c".into(),
            image: "".into(),
            role,
            restart_policy,
            restart_rules: [].into(),
            requests: [].into(),
            limits: [].into(),
            readiness_delay: None,
            startup_delay: None,
            behaviour: Behaviour::default(),
        };
        let rows = [
            (Role::Main, Always, None, 0, true),
            (Role::Main, OnFailure, None, 0, false),
            (Role::Main, OnFailure, None, 1, true),
            (Role::Main, Never, None, 1, false),
            (Role::Main, Always, Some(Never), 1, false),
            (Role::Init, Always, None, 0, false),
            (Role::Init, Always, None, 1, true),
            (Role::Init, Never, None, 1, false),
            (Role::Sidecar, Never, None, 0, true),
        ];
        for (role, pod_policy, own, exit_code, want) in rows {
            let mut template = Template::read(&pod(&[])).unwrap();
            template.restart_policy = pod_policy;
            let got = template.restarts(&container(role, own), exit_code);
            assert_eq!(got, want, "{role:?} {pod_policy:?} {own:?} {exit_code}");
        }
    }

    #[test]
    fn equal_templates_are_kept_once() {
        let mut templates = Templates::default();
        let one = templates.share(Template::read(&pod(&[])).unwrap());
        let two = templates.share(Template::read(&pod(&[])).unwrap());
        let other = templates.share(Template::read(&pod(&[("sim.maar.io/run-time", "1s")])).unwrap());
        assert!(Arc::ptr_eq(&one, &two) && !Arc::ptr_eq(&one, &other));
    }

    #[test]
    fn an_unreadable_annotation_is_kept_as_the_reason_not_to_start() {
        let template = Template::read(&pod(&[("sim.maar.io/run-time", "soon")])).unwrap();
        assert!(template.trouble.unwrap().contains("sim.maar.io/run-time"));
    }
}
