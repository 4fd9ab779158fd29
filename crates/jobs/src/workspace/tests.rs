use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::Time};
use maar_api::v1alpha1::{Workspace, WorkspacePhase, WorkspaceState, reasons};
use serde_json::json;

use super::{
    plan::{Plan, View, plan},
    render,
};
use crate::cleanup::ANNOTATION_SUSPENDED_BY;

const START: Timestamp = Timestamp::constant(1_767_225_600, 0);

struct World {
    workspace: Workspace,
    pod: Option<Pod>,
    now: Timestamp,
}

fn workspace() -> Workspace {
    serde_json::from_value(json!({
        "metadata": { "name": "desk", "namespace": "lab", "uid": "u", "generation": 1 },
        "spec": {
            "type": "Jupyter", "image": "example.com/jupyter:1", "user": "ada", "account": "vision",
            "resources": { "cpu": "4", "memory": "16Gi" },
            "cards": { "resource": "nvidia.com/gpu", "memory": "8Gi" },
            "volumes": [{ "name": "home", "path": "/home/ada", "size": "10Gi" }],
            "ports": [{ "name": "board", "port": 6006 }],
            "maxRunSeconds": 3600,
        },
    }))
    .unwrap()
}

impl World {
    fn new() -> Self {
        Self { workspace: workspace(), pod: None, now: START }
    }

    fn step(&mut self) -> Plan {
        let plan = plan(&View { workspace: &self.workspace, pod: self.pod.as_ref(), now: self.now });
        self.workspace.status = Some(plan.status.clone());
        if plan.create.is_some() {
            self.pod.clone_from(&plan.create);
        }
        if let Some(pod) = self.pod.as_mut().filter(|_| plan.delete) {
            pod.metadata.deletion_timestamp = Some(Time(self.now));
        }
        plan
    }

    fn become_(&mut self, phase: &str) {
        let pod = self.pod.as_mut().unwrap();
        pod.spec.as_mut().unwrap().node_name = Some("n".to_owned());
        pod.status = serde_json::from_value(json!({ "phase": phase })).unwrap();
    }

    fn pass(&mut self, seconds: i64) {
        self.now = self.now.saturating_add(SignedDuration::from_secs(seconds)).unwrap();
    }

    fn phase(&self) -> WorkspacePhase {
        self.workspace.status.as_ref().unwrap().phase
    }
}

#[test]
fn a_workspace_is_a_pod_with_volumes_and_a_service() {
    let desk = workspace();
    insta::assert_yaml_snapshot!((render::pod(&desk, 0), render::claims(&desk), render::service(&desk)));
}

/// Of every type, what its container runs if nothing else is said.
#[test]
fn the_program_of_a_type_listens_on_the_loopback_and_fetches_nothing() {
    let command = |kind: &str| {
        let mut desk = serde_json::to_value(workspace()).unwrap();
        desk["spec"]["type"] = json!(kind);
        let desk: Workspace = serde_json::from_value(desk).unwrap();
        render::pod(&desk, 0).spec.unwrap().containers.remove(0).command.unwrap()
    };
    insta::assert_yaml_snapshot!(command("CodeServer"), @r#"
    - code-server
    - "--config"
    - /dev/null
    - "--host"
    - 127.0.0.1
    - "--port"
    - "8080"
    - "--auth"
    - none
    - "--disable-telemetry"
    - "--disable-update-check"
    "#);
    // The settings and what puts them there are read elsewhere; these are its options.
    insta::assert_yaml_snapshot!(command("Jupyter")[5..], @r#"
    - "--ServerApp.ip=127.0.0.1"
    - "--ServerApp.port=8888"
    - "--ServerApp.port_retries=0"
    - "--IdentityProvider.token="
    - "--ServerApp.allow_remote_access=True"
    - "--ServerApp.allow_root=True"
    - "--LabApp.news_url="
    - "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"
    - "--no-browser"
    "#);
    assert_eq!(command("Terminal")[..2], ["/bin/sh", "-c"]);
}

#[test]
fn it_runs_is_suspended_and_comes_back() {
    let mut world = World::new();
    assert!(world.step().objects);
    world.step();
    assert_eq!(world.phase(), WorkspacePhase::Pending);
    world.become_("Running");
    world.step();
    assert_eq!(world.phase(), WorkspacePhase::Running);
    world.workspace.spec.state = WorkspaceState::Suspended;
    assert!(world.step().delete);
    assert_eq!(world.phase(), WorkspacePhase::Stopping);
    world.pod = None;
    world.step();
    assert_eq!(world.phase(), WorkspacePhase::Suspended);
    assert!(world.step().create.is_none());
    world.workspace.spec.state = WorkspaceState::Running;
    assert!(world.step().create.is_some());
}

#[test]
fn a_lost_pod_is_made_again_and_counted_once() {
    let mut world = World::new();
    world.step();
    world.become_("Failed");
    for _ in 0..3 {
        let plan = plan(&View { workspace: &world.workspace, pod: world.pod.as_ref(), now: world.now });
        world.workspace.status = Some(plan.status.clone());
        assert!(plan.delete);
    }
    assert_eq!(world.workspace.status.as_ref().unwrap().restarts, 1);
    world.pod = None;
    world.pass(11);
    world.step();
    assert_eq!(world.step().status.restarts, 1);
}

#[test]
fn a_pod_that_ends_at_once_is_not_made_again_at_once() {
    let mut world = World::new();
    world.step();
    world.become_("Failed");
    world.step();
    world.pod = None;
    let plan = world.step();
    assert!(plan.create.is_none() && plan.again.is_some(), "a node that refuses it would refuse it for ever");
    world.pass(11);
    assert!(world.step().create.is_some());
    // One that ran for an hour is not made to wait.
    world.become_("Running");
    world.step();
    world.pass(3000);
    world.become_("Failed");
    world.step();
    world.pod = None;
    assert!(world.step().create.is_some());
}

#[test]
fn long_runs_end_unless_protected() {
    let mut world = World::new();
    world.step();
    world.become_("Running");
    world.step();
    world.pass(3599);
    assert_eq!(world.step().suspend, None);
    world.pass(1);
    assert_eq!(world.step().suspend, Some(reasons::MAX_RUN_TIME));
    let later = world.now.saturating_add(SignedDuration::from_secs(60)).unwrap();
    world.workspace.spec.protected_until = Some(Time(later));
    assert_eq!(world.step().suspend, None);
    world.pass(60);
    assert_eq!(world.step().suspend, Some(reasons::MAX_RUN_TIME));
}

#[test]
fn what_suspended_it_is_said_for_as_long_as_it_is_suspended() {
    let mut world = World::new();
    world.step();
    let annotation = |reason: &str| Some([(ANNOTATION_SUSPENDED_BY.to_owned(), reason.to_owned())].into());
    world.workspace.spec.state = WorkspaceState::Suspended;
    for (reason, want) in [
        (reasons::MAX_RUN_TIME, "it ran longer than maxRunSeconds; "),
        (reasons::CLEANED_UP_NIGHTLY, "the nightly clean-up suspended it; "),
        (reasons::CLEANED_UP_IDLE, "its cards were not used; "),
    ] {
        world.pod = None;
        world.workspace.metadata.annotations = annotation(reason);
        let status = world.step().status;
        assert_eq!((status.phase, status.reason.as_deref()), (WorkspacePhase::Suspended, Some(reason)));
        assert!(status.message.unwrap().starts_with(want));
    }
    world.workspace.metadata.annotations = annotation("whatever somebody wrote");
    assert_eq!(world.step().status.reason.as_deref(), Some(reasons::SUSPENDED));
    world.workspace.metadata.annotations = annotation(reasons::CLEANED_UP_IDLE);
    world.workspace.spec.state = WorkspaceState::Running;
    assert!(world.step().forget_cause, "who lets it go on has not suspended it later");
}

#[test]
fn what_was_granted_is_in_the_pod_and_nothing_without() {
    let mut desk = workspace();
    let ordinary = render::pod(&desk, 0).spec.unwrap();
    assert!(ordinary.host_network.is_none() && ordinary.containers[0].security_context.is_none());
    let grant = json!({ "profile": "fabric", "hostNetwork": true, "capabilities": ["IPC_LOCK"],
        "hostPaths": [{ "root": "/scratch", "subPath": "ada", "path": "/data", "readOnly": true }] });
    let annotate = |desk: &mut Workspace, text: String| {
        let annotations = desk.metadata.annotations.get_or_insert_default();
        annotations.insert(super::ANNOTATION_GRANT.to_owned(), text);
    };
    annotate(&mut desk, grant.to_string());
    let spec = serde_json::to_value(render::pod(&desk, 0).spec.unwrap()).unwrap();
    assert_eq!((&spec["hostNetwork"], &spec["hostPID"]), (&json!(true), &json!(null)));
    let container = &spec["containers"][0];
    assert_eq!(container["securityContext"], json!({ "capabilities": { "add": ["IPC_LOCK"] } }));
    let volume = spec["volumes"].as_array().unwrap().iter().find(|one| one["name"] == "maar-host-0").unwrap();
    assert_eq!(volume["hostPath"], json!({ "path": "/scratch", "type": "Directory" }));
    let mounts = container["volumeMounts"].as_array().unwrap();
    let mount = mounts.iter().find(|one| one["name"] == "maar-host-0").unwrap();
    assert_eq!((&mount["subPath"], &mount["readOnly"]), (&json!("ada"), &json!(true)));
    annotate(&mut desk, "{\"profile\":\"x\",\"everything\":true}".to_owned());
    assert_eq!(render::pod(&desk, 0).spec.unwrap(), ordinary, "what cannot be read is nothing");
}
