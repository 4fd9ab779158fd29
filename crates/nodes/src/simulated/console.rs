//! Logs, exec, attach and ports of simulated containers.

use std::{collections::BTreeMap, io, sync::Arc};

use bytes::Bytes;
use futures::{FutureExt, future::BoxFuture, stream};
use jiff::Timestamp;
use k8s_openapi::api::core::v1;
use kube::Client;
use maar_quantities::Quantity;
use maar_streams::{ExitStatus, LogOptions, dial::BoxedIo};

use super::{
    interact,
    log::{self, Reader, Script},
    runtime::Simulation,
    shell::Shell,
};
use crate::{
    card::{Card, Reading, tool},
    clock::Clock,
    console::{Console, ConsoleError, LogText, Run, Target, Terminal, Usage},
    environment::{self, Facts, Sources},
    ids,
    lifecycle::{ContainerLife, State},
    pod::Pod,
    pods::SharedTable,
};

/// See the module.
#[derive(Clone)]
pub(crate) struct SimulatedConsole {
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    pub(crate) table: SharedTable<Simulation>,
    pub(crate) seed: u64,
}

impl Console for SimulatedConsole {
    fn logs(&self, target: Target, options: LogOptions) -> BoxFuture<'static, Result<LogText, ConsoleError>> {
        let this = self.clone();
        async move {
            let run = target.run(options.previous).ok_or_else(|| target.no_log(options.previous))?;
            let reader = Reader::new(this.script(&target).await?, &options, run, this.clock.now());
            let follow = options.follow && run.until.is_none();
            Ok(this.stream(target, run, reader, follow))
        }
        .boxed()
    }

    fn exec(&self, target: Target, command: Vec<String>, terminal: Terminal) -> BoxFuture<'static, ()> {
        let this = self.clone();
        async move {
            match this.shell(&target).await {
                Ok(shell) => interact::exec(&shell, &command, terminal).await,
                Err(error) => drop(terminal.session.finish(ExitStatus::Error(error.to_string())).await),
            }
        }
        .boxed()
    }

    fn attach(&self, target: Target, terminal: Terminal) -> BoxFuture<'static, ()> {
        let this = self.clone();
        async move {
            let script = this.script(&target).await;
            let (Ok(script), Some(run)) = (script, target.run(false)) else {
                let message = "the container has no output to attach to".to_owned();
                return drop(terminal.session.finish(ExitStatus::Error(message)).await);
            };
            // Only what is written from now on, as attaching to a process gives.
            let options = LogOptions { tail_lines: Some(0), ..LogOptions::default() };
            let reader = Reader::new(script, &options, run, this.clock.now());
            interact::attach(this.stream(target, run, reader, true), terminal).await;
        }
        .boxed()
    }

    fn connect(&self, pod: Arc<Pod>, port: u16) -> BoxFuture<'static, io::Result<BoxedIo>> {
        let this = self.clone();
        async move {
            let object = this.object(&pod).await.map_err(|error| io::Error::other(error.to_string()))?;
            let containers = object.spec.iter().flat_map(|spec| &spec.containers);
            let listener = containers.into_iter().find(|container| {
                container.ports.iter().flatten().any(|open| open.container_port == i32::from(port))
            });
            match listener {
                Some(container) => Ok(interact::listen(&pod.key(), &container.name, port)),
                None => Err(io::Error::new(
                    io::ErrorKind::ConnectionRefused,
                    format!("no container of the simulated pod {} lists port {port}", pod.key()),
                )),
            }
        }
        .boxed()
    }

    fn usage(&self, target: &Target, now: Timestamp) -> Usage {
        usage(self.seed, target, now)
    }
}

impl SimulatedConsole {
    async fn object(&self, pod: &Pod) -> Result<v1::Pod, ConsoleError> {
        let object = pod.read(&self.client).await;
        let object = object.map_err(|error| ConsoleError::Internal(error.to_string()))?;
        object.ok_or_else(|| ConsoleError::NotFound(format!("pod {} is gone", pod.key())))
    }

    async fn script(&self, target: &Target) -> Result<Script, ConsoleError> {
        let object = self.object(&target.pod).await?;
        let annotations = object.metadata.annotations.unwrap_or_default();
        let get = |name: &str| {
            let own = annotations.get(&format!("sim.maar.io/{}.{name}", target.container()));
            own.or_else(|| annotations.get(&format!("sim.maar.io/{name}"))).map(String::as_str)
        };
        let (pod, container) = (target.pod.key(), target.container());
        let fallback = format!("simulated container {container} of pod {pod} on node {}", target.pod.node);
        Ok(Script::new(get("log"), get("log-interval"), fallback))
    }

    /// The log from where `reader` stands; to the end of the container if `follow`.
    fn stream(&self, target: Target, run: Run, reader: Reader, follow: bool) -> LogText {
        let state = Some((self.clone(), target, run, reader, follow, true));
        Box::pin(stream::unfold(state, |state| async move {
            let (this, target, mut run, mut reader, follow, first) = state?;
            if !first && !reader.is_exhausted() {
                let wake = reader
                    .wake(run)
                    .filter(|_| run.until.is_none())
                    .unwrap_or(log::patience(this.clock.now()));
                this.clock.sleep_until(Some(wake.min(log::patience(this.clock.now())))).await;
                run.until = this.end(&target, run);
            }
            let text = reader.read(run, this.clock.now());
            let more = follow && run.until.is_none() && !reader.is_exhausted();
            let next = more.then_some((this, target, run, reader, follow, false));
            Some((Ok(Bytes::from(text)), next))
        }))
    }

    /// When the run ended, if it did.
    fn end(&self, target: &Target, run: Run) -> Option<Timestamp> {
        let table = self.table.lock();
        let Some(entry) = table.pod(&target.pod.uid) else { return Some(self.clock.now()) };
        let own: &ContainerLife = &entry.life.containers[target.position];
        match &own.state {
            State::Running { .. } if own.restarts == run.number => None,
            _ => own
                .latest_exit()
                .filter(|exit| exit.run == run.number)
                .map_or(Some(self.clock.now()), |exit| Some(exit.finished)),
        }
    }

    async fn shell(&self, target: &Target) -> Result<Shell, ConsoleError> {
        let object = self.object(&target.pod).await?;
        let spec = object.spec.clone().unwrap_or_default();
        let container = environment::container(&spec, target.container())
            .ok_or_else(|| ConsoleError::NotFound(format!("container {} is gone", target.container())))?;
        let failed = |error: environment::SourceError| ConsoleError::Internal(error.to_string());
        let sources =
            Sources::fetch(&self.client, &target.pod.namespace, [container].into_iter(), Default::default());
        let sources = sources.await.map_err(failed)?;
        let mut variables = vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())];
        let hostname = spec.hostname.clone().unwrap_or_else(|| target.pod.name.to_string());
        variables.push(("HOSTNAME".into(), hostname.clone()));
        let (facts, cards) = self.facts(target);
        variables.extend(environment::variables(&object, container, &facts, &sources).map_err(failed)?);
        let tools: BTreeMap<_, _> = cards.into_iter().collect();
        let files = files(&hostname, &target.pod);
        Ok(Shell { hostname, variables, files, tools })
    }

    /// What the node knows: addresses, what it offers, and what the vendor's tool prints.
    fn facts(&self, target: &Target) -> (Facts, Option<(&'static str, String)>) {
        let now = self.clock.now();
        let table = self.table.lock();
        let node = table.nodes.get(&target.pod.node);
        let address = node.map_or(std::net::Ipv4Addr::UNSPECIFIED.into(), |node| node.address);
        let facts = Facts {
            host_ip: address,
            pod_ip: table.pod(&target.pod.uid).and_then(|entry| entry.life.ip),
            allocatable: node.map(|node| (*node.allocatable).clone()).unwrap_or_default(),
        };
        let tool = node.and_then(|node| {
            let board = node.cards.as_ref()?;
            let held = board.held(&target.pod.uid, target.position);
            let cards: Vec<(Card<'_>, Reading)> = held
                .into_iter()
                .map(|index| node.card(&board.kind, index, self.seed))
                .map(|card| (card.clone(), card.reading(&[target.pod.template.load], now)))
                .collect();
            Some((tool::name(board.kind.vendor)?, tool::table(&cards)))
        });
        (facts, tool)
    }
}

fn files(hostname: &str, pod: &Pod) -> BTreeMap<String, String> {
    let os = "NAME=\"Maar simulated container\"\nID=maar-simulated\n".to_owned();
    BTreeMap::from([
        ("/etc/hostname".to_owned(), format!("{hostname}\n")),
        ("/etc/os-release".to_owned(), os),
        ("/var/run/secrets/kubernetes.io/serviceaccount/namespace".to_owned(), pod.namespace.to_string()),
    ])
}

/// About half of what was asked for, a little different for each container.
fn usage(seed: u64, target: &Target, now: Timestamp) -> Usage {
    let State::Running { since, .. } = target.life.state else { return Usage::default() };
    let container = &target.pod.template.containers[target.position];
    let asked = |name: &str, least: f64| {
        let amount = container.requests.iter().chain(&container.limits).find(|(known, _)| &**known == name);
        amount.and_then(|(_, text)| Quantity::parse(text).ok()).map_or(least, Quantity::approximate)
    };
    let spread = ids::hash(&["usage", &seed.to_string(), &target.pod.uid, &container.name]) % 400;
    #[expect(clippy::cast_precision_loss, reason = "a number below 400")]
    let share = 0.4 + spread as f64 / 1000.0;
    let cpu_cores = asked("cpu", 0.01) * share;
    let cpu_seconds = now.duration_since(since).as_secs_f64().max(0.0) * cpu_cores;
    Usage { cpu_seconds, cpu_cores, memory_bytes: (asked("memory", 10_485_760.0) * share).floor() }
}
