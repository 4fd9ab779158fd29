//! Whole lives on the simulated runtime, told as tables of times and what the status shows.

use std::{net::IpAddr, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    Action, ContainerLife, Happening, Life, Probe, Report, State, What,
    resume::{Survival, resume},
    status::{Host, render},
};
use crate::{
    pod::{Deletion, FailNow, Failing, Pod, PodObject, Template},
    runtime::advance,
    simulated::runtime::Simulation,
};

const HOST: Host = Host { scheme: "sim", address: IpAddr::V4(std::net::Ipv4Addr::new(172, 16, 0, 1)) };

fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_767_225_600 + seconds)
}

struct Story {
    pod: Pod,
    life: Life,
    runtime: Simulation,
    now: Timestamp,
    removed: bool,
    news: Vec<Happening>,
}

impl Story {
    fn new(spec: Value, annotations: &[(&str, &str)]) -> Self {
        let mut object = PodObject { spec, ..PodObject::default() };
        let pairs =
            annotations.iter().map(|(name, value)| (format!("sim.maar.io/{name}"), (*value).to_owned()));
        object.metadata.annotations = Some(pairs.collect());
        let template = Arc::new(Template::read(&object).unwrap());
        let pod = Pod {
            uid: "0a".into(),
            namespace: "ns".into(),
            name: "p".into(),
            node: "n".into(),
            generation: Some(1),
            gates: vec![None; template.readiness_gates.len()].into(),
            template,
            deletion: None,
            fail: None,
        };
        let life = Life::new(pod.template.containers.len(), at(0));
        let runtime = Simulation { start_delay: std::time::Duration::from_secs(1) };
        Self { pod, life, runtime, now: at(0), removed: false, news: Vec::new() }
    }

    /// Lives until `seconds`, waking up whenever the machine asks for it.
    fn until(&mut self, seconds: i64) -> &mut Self {
        let end = at(seconds);
        loop {
            let step = advance(&self.runtime, &self.pod, &mut self.life, self.now);
            self.removed |= step.remove;
            self.news.extend(step.news);
            match step.wake {
                Some(wake) if wake <= end => {
                    assert!(wake > self.now, "a wake-up in the past would spin");
                    self.now = wake;
                }
                _ => break,
            }
        }
        self.now = end;
        let step = advance(&self.runtime, &self.pod, &mut self.life, self.now);
        self.removed |= step.remove;
        self.news.extend(step.news);
        self
    }

    /// What people have heard since the last time, container by name.
    fn heard(&mut self) -> Vec<String> {
        let news = std::mem::take(&mut self.news);
        let name = |position: usize| &self.pod.template.containers[position].name;
        news.iter()
            .map(|happening| {
                let whom = happening.container.map_or("pod", |position| name(position));
                match &happening.what {
                    What::Started => format!("{whom} started"),
                    What::Refused { reason, .. } => format!("{whom} refused {reason}"),
                    What::BackOff => format!("{whom} backs off"),
                    What::Killing(_) => format!("{whom} is killed"),
                    What::Ended { reason, .. } => format!("{whom} {reason}"),
                    What::Noted { reason, .. } => format!("{whom} noted {reason}"),
                }
            })
            .collect()
    }

    fn status(&self) -> Value {
        render(&self.pod, &self.life, HOST, self.now)
    }

    /// `phase | container=state/restarts …`, ready ones with a `*`.
    fn line(&self) -> String {
        let status = self.status();
        let fields = ["initContainerStatuses", "containerStatuses"];
        let containers =
            fields.iter().flat_map(|field| status[*field].as_array().cloned().unwrap_or_default());
        let words: Vec<String> = containers.map(|container| container_word(&container)).collect();
        format!("{} | {}", status["phase"].as_str().unwrap(), words.join(" "))
    }

    fn condition(&self, kind: &str) -> (bool, String) {
        let status = self.status();
        let conditions = status["conditions"].as_array().unwrap().clone();
        let condition = conditions.into_iter().find(|condition| condition["type"] == kind).unwrap();
        (condition["status"] == "True", condition["reason"].as_str().unwrap_or_default().to_owned())
    }
}

fn container_word(container: &Value) -> String {
    let state = &container["state"];
    let shown = if let Some(reason) = state["waiting"]["reason"].as_str() {
        reason.to_owned()
    } else if state["running"].is_object() {
        "running".to_owned()
    } else {
        let exit = &state["terminated"];
        format!("{}:{}", exit["reason"].as_str().unwrap(), exit["exitCode"])
    };
    let ready = if container["ready"] == true { "*" } else { "" };
    format!("{}={shown}/{}{ready}", container["name"].as_str().unwrap(), container["restartCount"])
}

fn one(restart_policy: &str) -> Value {
    json!({ "restartPolicy": restart_policy, "containers": [{ "name": "c", "image": "i" }] })
}

/// Spec, annotations, and what is shown at which second.
type Row<'a> = (&'a str, Value, &'a [(&'a str, &'a str)], &'a [(i64, &'a str)]);

fn check(rows: &[Row<'_>]) {
    for (name, spec, annotations, moments) in rows {
        let mut story = Story::new(spec.clone(), annotations);
        for (second, want) in *moments {
            assert_eq!(story.until(*second).line(), *want, "{name}, second {second}");
        }
    }
}

fn init_and_sidecar(policy: &str) -> Value {
    json!({ "restartPolicy": policy, "containers": [{ "name": "c" }], "initContainers": [
        { "name": "i" }, { "name": "s", "restartPolicy": "Always" },
    ] })
}

#[test]
fn plain_lives() {
    check(&[
        (
            "runs until deleted",
            one("Always"),
            &[],
            &[
                (0, "Pending | c=ContainerCreating/0"),
                (1, "Running | c=running/0*"),
                (1_000_000, "Running | c=running/0*"),
            ],
        ),
        (
            "a job succeeds",
            one("Never"),
            &[("run-time", "10s")],
            &[
                (1, "Running | c=running/0*"),
                (10, "Running | c=running/0*"),
                (11, "Succeeded | c=Completed:0/0"),
                (1000, "Succeeded | c=Completed:0/0"),
            ],
        ),
        (
            "a job fails",
            one("Never"),
            &[("run-time", "10s"), ("exit-code", "3")],
            &[(11, "Failed | c=Error:3/0")],
        ),
        (
            "a start can take long",
            one("Never"),
            &[("start-delay", "1m")],
            &[(59, "Pending | c=ContainerCreating/0"), (60, "Running | c=running/0*")],
        ),
        (
            "readiness can come late",
            one("Always"),
            &[("ready-after", "5s")],
            &[(5, "Running | c=running/0"), (6, "Running | c=running/0*")],
        ),
        (
            "an unreadable annotation is said where people look",
            one("Always"),
            &[("run-time", "soon")],
            &[(0, "Pending | c=CreateContainerConfigError/0")],
        ),
    ]);
}

fn one_with_rule() -> Value {
    let rule = json!({ "action": "Restart", "exitCodes": { "operator": "In", "values": [3] } });
    json!({ "restartPolicy": "Never", "containers": [
        { "name": "c", "restartPolicy": "Never", "restartPolicyRules": [rule] },
    ] })
}

#[test]
fn restarts_and_back_off() {
    check(&[
        (
            "a rule of the container restarts it",
            one_with_rule(),
            &[("run-time", "10s"), ("exit-code", "3")],
            &[(10, "Running | c=running/0*"), (11, "Running | c=running/1*")],
        ),
        (
            "no rule is about that exit code",
            one_with_rule(),
            &[("run-time", "10s"), ("exit-code", "4")],
            &[(11, "Failed | c=Error:4/0")],
        ),
        (
            "back-off doubles to five minutes",
            one("Always"),
            &[("crash-after", "1s")],
            &[
                // 1 start, 2 exit and at once start, 3 exit, wait 10
                (2, "Running | c=running/1*"),
                (3, "Running | c=CrashLoopBackOff/1"),
                (12, "Running | c=CrashLoopBackOff/1"),
                (13, "Running | c=running/2*"),
                (14, "Running | c=CrashLoopBackOff/2"),
                (33, "Running | c=CrashLoopBackOff/2"),
                (34, "Running | c=running/3*"),
                (75, "Running | c=running/4*"),
                (156, "Running | c=running/5*"),
                (317, "Running | c=running/6*"),
                (617, "Running | c=CrashLoopBackOff/6"),
                (618, "Running | c=running/7*"),
                (919, "Running | c=running/8*"),
            ],
        ),
        (
            "a long run is forgiven",
            one("Always"),
            &[("crash-after", "11m")],
            &[(661, "Running | c=running/1*"), (1321, "Running | c=running/2*")],
        ),
        (
            "on-failure restarts failures",
            one("OnFailure"),
            &[("crash-after", "1s")],
            &[(3, "Running | c=CrashLoopBackOff/1")],
        ),
        (
            "on-failure lets success be",
            one("OnFailure"),
            &[("run-time", "1s")],
            &[(2, "Succeeded | c=Completed:0/0")],
        ),
    ]);
}

#[test]
fn init_containers_and_sidecars() {
    check(&[
        (
            "init first, then sidecar, then main",
            init_and_sidecar("Always"),
            &[],
            &[
                (0, "Pending | i=ContainerCreating/0 s=PodInitializing/0 c=PodInitializing/0"),
                (1, "Pending | i=running/0 s=PodInitializing/0 c=PodInitializing/0"),
                (2, "Pending | i=Completed:0/0* s=ContainerCreating/0 c=PodInitializing/0"),
                (3, "Running | i=Completed:0/0* s=running/0* c=running/0*"),
            ],
        ),
        (
            "the sidecar ends after the main container",
            init_and_sidecar("Never"),
            &[("run-time", "5s"), ("s.stop-delay", "2s")],
            &[
                (3, "Running | i=Completed:0/0* s=running/0* c=running/0*"),
                (8, "Running | i=Completed:0/0* s=running/0 c=Completed:0/0"),
                (10, "Succeeded | i=Completed:0/0* s=Error:143/0 c=Completed:0/0"),
            ],
        ),
        (
            "a failed init container fails a pod that never restarts",
            init_and_sidecar("Never"),
            &[("i.exit-code", "2")],
            &[(2, "Failed | i=Error:2/0 s=PodInitializing/0 c=PodInitializing/0")],
        ),
        (
            "a failed init container is tried again",
            init_and_sidecar("Always"),
            &[("i.exit-code", "2")],
            &[
                (3, "Pending | i=CrashLoopBackOff/1 s=PodInitializing/0 c=PodInitializing/0"),
                (13, "Pending | i=running/2 s=PodInitializing/0 c=PodInitializing/0"),
            ],
        ),
        (
            "a crashing sidecar does not disturb the main container",
            init_and_sidecar("Always"),
            &[("s.crash-after", "1s")],
            &[(5, "Running | i=Completed:0/0* s=CrashLoopBackOff/1 c=running/0*")],
        ),
    ]);
}

/// Name, annotations, grace, the second of the end, and what is shown then.
type DeletionRow<'a> = (&'a str, &'a [(&'a str, &'a str)], u64, i64, &'a str);

#[test]
fn deletion_stops_and_then_removes() {
    let grace = |seconds| Some(Deletion { grace: std::time::Duration::from_secs(seconds) });
    let rows: [DeletionRow<'_>; 4] = [
        ("ends when asked", &[], 30, 10, "Failed | c=Error:143/0"),
        ("takes its time", &[("stop-delay", "5s")], 30, 15, "Failed | c=Error:143/0"),
        ("is killed at the deadline", &[("stop-delay", "1h")], 30, 40, "Failed | c=Error:137/0"),
        (
            "succeeds if it ends well in time",
            &[("run-time", "12s"), ("stop-delay", "1h")],
            30,
            13,
            "Succeeded | c=Completed:0/0",
        ),
    ];
    for (name, annotations, seconds, end, want) in rows {
        let mut story = Story::new(one("Always"), annotations);
        story.until(10);
        story.pod.deletion = grace(seconds);
        if end > 10 {
            story.until(end - 1);
            assert!(
                !story.removed && story.line().starts_with("Running | c=running/0"),
                "{name}: {}",
                story.line()
            );
        }
        assert_eq!(story.until(end).line(), want, "{name}");
        assert!(story.removed, "{name}");
    }
}

#[test]
fn a_second_deletion_can_only_shorten_the_grace() {
    let mut story = Story::new(one("Always"), &[("stop-delay", "1h")]);
    story.until(10).pod.deletion = Some(Deletion { grace: std::time::Duration::from_mins(10) });
    story.until(20).pod.deletion = Some(Deletion { grace: std::time::Duration::from_secs(5) });
    story.until(24);
    assert!(!story.removed);
    assert!(story.until(25).removed);
}

#[test]
fn a_pod_deleted_before_it_started_is_removed_at_once() {
    let mut story = Story::new(one("Always"), &[]);
    story.until(0).pod.deletion = Some(Deletion { grace: std::time::Duration::from_secs(30) });
    assert_eq!(story.until(0).line(), "Failed | c=ContainerCreating/0");
    assert!(story.removed);
}

#[test]
fn a_deadline_ends_the_pod_and_says_so() {
    let mut spec = one("Always");
    spec["activeDeadlineSeconds"] = json!(20);
    let mut story = Story::new(spec, &[]);
    assert_eq!(story.until(19).line(), "Running | c=running/0*");
    assert_eq!(story.until(20).line(), "Failed | c=Error:143/0");
    assert_eq!(story.status()["reason"], "DeadlineExceeded");
    assert!(!story.removed);
}

#[test]
fn failing_on_command_hits_running_containers_once() {
    let mut story = Story::new(one("Always"), &[]);
    story.until(10).pod.fail = Some(Failing { what: FailNow::OutOfMemory, at: at(10), runs: [0].into() });
    story.until(10);
    assert_eq!(story.line(), "Running | c=running/1*");
    assert_eq!(story.status()["containerStatuses"][0]["lastState"]["terminated"]["reason"], "OOMKilled");
    assert_eq!(story.until(1000).line(), "Running | c=running/1*");
}

#[test]
fn evicting_on_command_ends_the_pod() {
    let mut story = Story::new(one("Always"), &[]);
    story.until(10).pod.fail =
        Some(Failing { what: FailNow::Evict("Evicted".into()), at: at(10), runs: [0].into() });
    assert_eq!(story.until(11).line(), "Failed | c=Error:143/0");
    assert_eq!(story.status()["reason"], "Evicted");
}

#[test]
fn conditions_tell_why() {
    let mut spec = one("Always");
    spec["readinessGates"] = json!([{ "conditionType": "maar.io/granted" }]);
    let mut story = Story::new(spec, &[]);
    story.until(0);
    assert_eq!(story.condition("PodScheduled"), (true, String::new()));
    assert_eq!(story.condition("Initialized"), (true, String::new()));
    assert_eq!(story.condition("ContainersReady"), (false, "ContainersNotReady".into()));
    assert_eq!(story.condition("PodReadyToStartContainers"), (false, String::new()));
    story.until(1);
    assert_eq!(story.condition("PodReadyToStartContainers"), (true, String::new()));
    assert_eq!(story.condition("ContainersReady"), (true, String::new()));
    assert_eq!(story.condition("Ready"), (false, "ReadinessGatesNotReady".into()));
    story.until(5).pod.gates = [Some("True".into())].into();
    story.until(5);
    assert_eq!(story.condition("Ready"), (true, String::new()));
    assert_eq!(story.status()["conditions"][2]["lastTransitionTime"], "2026-01-01T00:00:05Z");
    assert_eq!(story.status()["conditions"][3]["lastTransitionTime"], "2026-01-01T00:00:01Z");
}

#[test]
fn a_status_is_as_complete_as_a_kubelets() {
    let spec = json!({ "restartPolicy": "Always", "containers": [{ "name": "c", "image": "i:1",
        "resources": { "requests": { "cpu": "1" }, "limits": { "nvidia.com/gpu": "2" } } }] });
    let mut story = Story::new(spec, &[("crash-after", "5s")]);
    story.life.ip = Some("10.0.0.7".parse().unwrap());
    insta::assert_json_snapshot!(story.until(7).status());
}

#[test]
fn a_life_is_taken_up_from_the_status_at_any_second() {
    let spec = json!({ "restartPolicy": "OnFailure", "containers": [{ "name": "c" }, { "name": "d" }],
        "initContainers": [{ "name": "i" }, { "name": "s", "restartPolicy": "Always" }] });
    let annotations = [("c.run-time", "100s"), ("d.crash-after", "3s"), ("s.ready-after", "4s")];
    for second in 0..60 {
        let mut story = Story::new(spec.clone(), &annotations);
        story.until(second);
        let status = story.status();
        let resumed = resume(&story.pod, &status, Survival::Survives, story.now).expect("it was taken on");
        let mut other = Story::new(spec.clone(), &annotations);
        (other.life, other.now) = (resumed, story.now);
        assert_eq!(other.until(second).status(), status, "second {second}");
        assert_eq!(other.until(200).line(), story.until(200).line(), "from second {second}");
    }
}

#[test]
fn processes_that_died_with_the_kubelet_are_started_again() {
    let mut story = Story::new(one("Always"), &[]);
    let status = story.until(5).status();
    story.life = resume(&story.pod, &status, Survival::Dies, at(5)).unwrap();
    story.until(5);
    assert_eq!(story.line(), "Running | c=running/1*");
    let last = &story.status()["containerStatuses"][0]["lastState"]["terminated"];
    assert_eq!(
        (last["exitCode"].as_i64(), last["reason"].as_str()),
        (Some(137), Some("ContainerStatusUnknown"))
    );
}

#[test]
fn people_hear_of_every_turn_once() {
    let mut story = Story::new(one("Always"), &[("crash-after", "1s")]);
    assert_eq!(story.until(2).heard(), ["c started", "c started"], "the first restart does not wait");
    assert_eq!(story.until(12).heard(), ["c backs off"]);
    assert_eq!(story.until(14).heard(), ["c started", "c backs off"]);
    let mut story = Story::new(init_and_sidecar("Always"), &[]);
    assert_eq!(story.until(10).heard(), ["i started", "s started", "c started"]);
    story.pod.deletion = Some(Deletion { grace: std::time::Duration::from_secs(30) });
    assert_eq!(story.until(20).heard(), ["c is killed", "s is killed"]);
    let mut story = Story::new(one("Always"), &[("run-time", "soon")]);
    assert_eq!(story.until(0).heard(), ["c refused CreateContainerConfigError"]);
    let mut spec = one("Always");
    spec["activeDeadlineSeconds"] = json!(5);
    let mut story = Story::new(spec, &[]);
    assert_eq!(story.until(9).heard(), ["c started", "pod DeadlineExceeded", "c is killed"]);
}

#[test]
fn a_container_on_its_way_out_does_not_become_ready() {
    let since = at(0);
    let stop = Some(super::Stop { since, deadline: at(30) });
    let mut container =
        ContainerLife { state: State::Running { since, stop }, up: true, ..ContainerLife::default() };
    assert_eq!(container.report(Report::Ready(true)), None);
    assert!(!container.ready);
    container.state = State::Running { since, stop: None };
    container.report(Report::Ready(true));
    assert!(container.ready);
    container.report(Report::Unhealthy { probe: Probe::Liveness, grace: None });
    assert_eq!(container.unhealthy, Some((Probe::Liveness, None)));
}

#[test]
fn an_unhealthy_container_has_the_grace_of_its_probe_or_that_of_its_pod() {
    for (grace, want) in [(None, 30), (Some(3), 3), (Some(300), 300)] {
        let mut story = Story::new(one("Always"), &[]);
        story.until(2);
        let grace = grace.map(std::time::Duration::from_secs);
        story.life.report(0, Report::Unhealthy { probe: Probe::Liveness, grace });
        let step = super::step::step(&story.pod, &mut story.life, at(2));
        assert_eq!(step.actions, [Action::Stop { container: 0, deadline: at(2 + want) }], "{grace:?}");
    }
}

#[test]
fn an_untouched_pod_is_not_resumed() {
    let story = Story::new(one("Always"), &[]);
    let status = json!({ "phase": "Pending", "conditions": [{ "type": "PodScheduled", "status": "True" }] });
    assert!(resume(&story.pod, &status, Survival::Survives, at(0)).is_none());
}
