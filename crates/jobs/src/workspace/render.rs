//! What a workspace is made of.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{
        Container, PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumeClaimVolumeSource, Pod,
        PodSpec, Service, ServicePort, ServiceSpec, Volume, VolumeMount, VolumeResourceRequirements,
    },
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::OwnerReference, util::intstr::IntOrString},
};
use kube::{Resource as _, ResourceExt as _, api::ObjectMeta};
use maar_api::{
    names,
    v1alpha1::{Workspace, WorkspaceType},
};

use super::grant::WorkspaceGrant;
use crate::{
    kind::{CODE_SERVER, JUPYTER, code_server, has_command, jupyter, variable},
    pod::{
        Mounts, add_ports, add_resource, give_cards, give_environment, give_stop, hide_cards, mount,
        restrict, tolerate_local_node,
    },
};

/// Does nothing until it is told to end.
const WAIT: &str = "trap 'exit 0' TERM INT; sleep infinity & wait";

/// The port of the program of a type.
fn own_port(kind: WorkspaceType) -> Option<i32> {
    match kind {
        WorkspaceType::Terminal => None,
        WorkspaceType::Jupyter => Some(JUPYTER),
        WorkspaceType::CodeServer => Some(CODE_SERVER),
    }
}

fn ports(workspace: &Workspace) -> Vec<(String, i32)> {
    let own = own_port(workspace.spec.workspace_type).map(|port| ("http".to_owned(), port));
    let said = workspace.spec.ports.iter().map(|port| (port.name.clone(), port.port));
    own.into_iter().chain(said).collect()
}

fn labels(workspace: &Workspace) -> BTreeMap<String, String> {
    let spec = &workspace.spec;
    let mut labels = BTreeMap::from([
        (names::LABEL_MANAGED_BY.to_owned(), names::MANAGED_BY.to_owned()),
        (names::LABEL_WORKSPACE.to_owned(), workspace.name_any()),
        (names::LABEL_ACCOUNT.to_owned(), spec.account().to_owned()),
        (names::LABEL_SERVICE_LEVEL.to_owned(), spec.service_level.label().to_owned()),
    ]);
    labels.extend(spec.user.clone().map(|user| (names::LABEL_USER.to_owned(), user)));
    labels
}

fn belonging(workspace: &Workspace, name: String) -> ObjectMeta {
    let owner: OwnerReference = workspace.controller_owner_ref(&()).unwrap_or_default();
    ObjectMeta {
        name: Some(name),
        namespace: workspace.namespace(),
        labels: Some(labels(workspace)),
        owner_references: Some(vec![owner]),
        ..ObjectMeta::default()
    }
}

fn claim_name(workspace: &Workspace, volume: &str) -> String {
    format!("{}-{volume}", workspace.name_any())
}

/// The Pod, made for the `attempt`th time.
pub(crate) fn pod(workspace: &Workspace, attempt: i32) -> Pod {
    let spec = &workspace.spec;
    let mut metadata = belonging(workspace, workspace.name_any());
    metadata.labels.get_or_insert_default().insert(names::LABEL_ATTEMPT.to_owned(), attempt.to_string());
    let mut made = PodSpec {
        containers: vec![container(workspace)],
        hostname: Some(workspace.name_any()),
        scheduler_name: Some(names::SCHEDULER_NAME.to_owned()),
        enable_service_links: Some(false),
        // A program that ends is started again in the same place: people's files under / stay.
        restart_policy: Some("Always".to_owned()),
        ..PodSpec::default()
    };
    for (resource, amount) in &spec.resources {
        add_resource(&mut made, resource, &amount.to_string());
    }
    restrict(&mut made, spec.nodes.as_ref(), spec.account());
    if spec.workspace_type == WorkspaceType::Terminal && spec.cards.is_none() {
        tolerate_local_node(&mut made);
    }
    give_environment(&mut made, &environment(workspace));
    add_ports(&mut made, ports(workspace));
    mount(&mut made, &mounts(workspace));
    if let Some(cards) = &spec.cards {
        give_cards(cards, &mut made, &mut metadata);
    }
    if let Some(rdma) = &spec.rdma {
        add_resource(&mut made, &rdma.resource, &rdma.count.to_string());
    }
    hide_cards(&mut made);
    if let Some(stop) = &spec.stop {
        give_stop(stop, &mut made);
    }
    if let Some(grant) = WorkspaceGrant::of(workspace.annotations()) {
        grant.give(&mut made);
    }
    if let Some(seconds) = spec.max_run_seconds {
        let annotations = metadata.annotations.get_or_insert_default();
        annotations.insert(names::ANNOTATION_MAX_RUN_TIME.to_owned(), seconds.to_string());
    }
    if spec.nodes.as_ref().is_some_and(|nodes| nodes.lent) {
        let annotations = metadata.annotations.get_or_insert_default();
        annotations.insert(names::ANNOTATION_LENT_NODES.to_owned(), "true".to_owned());
    }
    Pod { metadata, spec: Some(made), status: None }
}

fn container(workspace: &Workspace) -> Container {
    let spec = &workspace.spec;
    let given = |words: &Vec<String>| (!words.is_empty()).then(|| words.clone());
    let mut made = Container {
        name: "workspace".to_owned(),
        image: Some(spec.image.clone()),
        command: given(&spec.command),
        args: given(&spec.args),
        env: Some(spec.env.clone()),
        ..Container::default()
    };
    if !has_command(&made) {
        made.command = match spec.workspace_type {
            // People come in by a shell of their own; what many images start ends at once without a terminal.
            // The first process of a container hears only signals that it listens for: a bare `sleep` would have to be
            // killed after the whole time of grace.
            WorkspaceType::Terminal => Some(["/bin/sh", "-c", WAIT].map(str::to_owned).to_vec()),
            WorkspaceType::Jupyter => Some(jupyter(JUPYTER)),
            WorkspaceType::CodeServer => Some(code_server(CODE_SERVER)),
        };
    }
    made
}

fn environment(workspace: &Workspace) -> Vec<k8s_openapi::api::core::v1::EnvVar> {
    vec![variable("MAAR_WORKSPACE", workspace.name_any())]
}

fn mounts(workspace: &Workspace) -> Mounts {
    let mut all = Mounts::default();
    for volume in &workspace.spec.volumes {
        let claim_name = claim_name(workspace, &volume.name);
        let source = PersistentVolumeClaimVolumeSource { claim_name, read_only: None };
        let made = Volume {
            name: format!("volume-{}", volume.name),
            persistent_volume_claim: Some(source),
            ..Volume::default()
        };
        all.add(made, VolumeMount { mount_path: volume.path.clone(), ..VolumeMount::default() });
    }
    all.asked(&workspace.spec.mounts);
    if let Some(grant) = WorkspaceGrant::of(workspace.annotations()) {
        grant.mount(&mut all);
    }
    all
}

/// The claims of its volumes. They go with the workspace, not with its Pod.
pub(crate) fn claims(workspace: &Workspace) -> Vec<PersistentVolumeClaim> {
    let volumes = workspace.spec.volumes.iter();
    volumes
        .map(|volume| {
            let mode = if volume.shared { "ReadWriteMany" } else { "ReadWriteOnce" };
            let size = BTreeMap::from([("storage".to_owned(), Quantity(volume.size.to_string()))]);
            let spec = PersistentVolumeClaimSpec {
                access_modes: Some(vec![mode.to_owned()]),
                resources: Some(VolumeResourceRequirements { requests: Some(size), limits: None }),
                storage_class_name: volume.storage_class.clone(),
                ..PersistentVolumeClaimSpec::default()
            };
            PersistentVolumeClaim {
                metadata: belonging(workspace, claim_name(workspace, &volume.name)),
                spec: Some(spec),
                status: None,
            }
        })
        .collect()
}

/// The Service that reaches the ports it names; none without. The program of its type listens on the loopback.
pub(crate) fn service(workspace: &Workspace) -> Option<Service> {
    let named = workspace.spec.ports.iter();
    let ports: Vec<ServicePort> = named
        .map(|named| ServicePort {
            name: Some(named.name.clone()),
            port: named.port,
            target_port: Some(IntOrString::Int(named.port)),
            ..ServicePort::default()
        })
        .collect();
    let selector = BTreeMap::from([(names::LABEL_WORKSPACE.to_owned(), workspace.name_any())]);
    let spec = ServiceSpec { selector: Some(selector), ports: Some(ports), ..ServiceSpec::default() };
    let some = spec.ports.as_ref().is_some_and(|ports| !ports.is_empty());
    some.then(|| Service {
        metadata: belonging(workspace, workspace.name_any()),
        spec: Some(spec),
        ..Service::default()
    })
}
