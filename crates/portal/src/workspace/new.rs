//! A request for a workspace, and the Workspace it becomes. Pure.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::EnvVar;
use kube::api::ObjectMeta;
use maar_api::{
    Quantity, ResourceList, names,
    resources::{CPU, MEMORY, is_extended},
    v1alpha1::{
        CardsSpec, MountSpec, NodesSpec, PortSpec, ServiceLevel, Workspace, WorkspaceSpec, WorkspaceState,
        WorkspaceType, WorkspaceVolume,
    },
};
use maar_jobs::{ANNOTATION_GRANT, WorkspaceGrant};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    access::Person,
    profile::{Allowance, Profiles},
    rules::{NewHostPath, Wrong, check_env, check_image, check_mounts, check_name, check_path, host_path},
};

/// Variables of the environment, and all they hold together.
const VARIABLES: usize = 256;
const ENVIRONMENT: usize = 128 * 1024;

/// A workspace to be made.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewWorkspace {
    /// Its name: a letter, then letters, digits and dashes, at most 50.
    pub(crate) name: String,
    /// Its image; may be left to the template.
    #[serde(default)]
    pub(crate) image: String,
    /// Begin from this template, by its identifier: what else is said here wins.
    #[serde(default)]
    #[expect(dead_code, reason = "taken out of the request before it is read; here for the document")]
    template: Option<String>,
    /// What runs in it.
    #[serde(rename = "type", default)]
    pub(crate) workspace_type: WorkspaceType,
    /// What to run instead of what the image says.
    #[serde(default)]
    pub(crate) command: Vec<String>,
    /// Arguments of it.
    #[serde(default)]
    pub(crate) args: Vec<String>,
    /// Its environment.
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// Who pays; the account of everyone if it is not said.
    #[serde(default)]
    pub(crate) account: Option<String>,
    /// Whether it may be stopped for others.
    #[serde(default)]
    pub(crate) service_level: ServiceLevel,
    /// Processor time; one core if it is not said.
    #[serde(default)]
    pub(crate) cpu: Option<Quantity>,
    /// Memory; 4Gi if it is not said.
    #[serde(default)]
    pub(crate) memory: Option<Quantity>,
    /// Cards.
    #[serde(default)]
    pub(crate) cards: Option<CardsSpec>,
    /// Only these nodes, by name.
    #[serde(default)]
    pub(crate) nodes: Vec<String>,
    /// Only nodes of these pools.
    #[serde(default)]
    pub(crate) pools: Vec<String>,
    /// Volumes of its own, which go with it.
    #[serde(default)]
    pub(crate) volumes: Vec<WorkspaceVolume>,
    /// Claims, config maps and secrets of the own namespace.
    #[serde(default)]
    pub(crate) mounts: Vec<MountSpec>,
    /// More ports.
    #[serde(default)]
    pub(crate) ports: Vec<PortSpec>,
    /// It is suspended after it has run this many seconds at a stretch.
    #[serde(default)]
    pub(crate) max_run_seconds: Option<i64>,
    /// A profile that an administrator has granted the asker or the account: the workspace has what it grants.
    #[serde(default)]
    pub(crate) profile: Option<String>,
    /// Folders of the node that the profile names, or below one of them.
    #[serde(default)]
    pub(crate) host_paths: Vec<NewHostPath>,
}

/// The Workspace that `person` asks for: in his namespace and his name, whatever the request says.
pub(crate) fn plan(asked: &NewWorkspace, person: &Person, profiles: &Profiles) -> Result<Workspace, Wrong> {
    check(asked)?;
    let mut resources = ResourceList::default();
    resources.insert(CPU, asked.cpu.unwrap_or(Quantity::from_units(1)));
    resources.insert(MEMORY, asked.memory.unwrap_or(Quantity::from_bytes(4 << 30)));
    let placed = !asked.nodes.is_empty() || !asked.pools.is_empty();
    let nodes =
        NodesSpec { include: asked.nodes.clone(), pools: asked.pools.clone(), ..NodesSpec::default() };
    let variable = |(name, value): (&String, &String)| EnvVar {
        name: name.clone(),
        value: Some(value.clone()),
        value_from: None,
    };
    let spec = WorkspaceSpec {
        workspace_type: asked.workspace_type,
        state: WorkspaceState::Running,
        image: asked.image.clone(),
        command: asked.command.clone(),
        args: asked.args.clone(),
        env: asked.env.iter().map(variable).collect(),
        account: asked.account.clone(),
        user: Some(person.name.clone()),
        service_level: asked.service_level,
        resources,
        cards: asked.cards.clone(),
        rdma: None,
        volumes: asked.volumes.clone(),
        mounts: asked.mounts.clone(),
        ports: asked.ports.clone(),
        nodes: placed.then_some(nodes),
        stop: None,
        protected_until: None,
        max_run_seconds: asked.max_run_seconds,
    };
    let labels = BTreeMap::from([
        (names::LABEL_MANAGED_BY.to_owned(), names::MANAGED_BY.to_owned()),
        (names::LABEL_ACCOUNT.to_owned(), spec.account().to_owned()),
    ]);
    let metadata = ObjectMeta {
        name: Some(asked.name.clone()),
        namespace: Some(person.namespace.clone()),
        labels: Some(labels),
        annotations: grant(asked, person, spec.account(), profiles)?,
        ..ObjectMeta::default()
    };
    Ok(Workspace { metadata, spec, status: None })
}

/// What an administrator grants it beside the ordinary, if a profile is named.
fn grant(
    asked: &NewWorkspace,
    person: &Person,
    account: &str,
    profiles: &Profiles,
) -> Result<Option<BTreeMap<String, String>>, Wrong> {
    let Some(name) = &asked.profile else {
        if asked.host_paths.is_empty() {
            return Ok(None);
        }
        return Err(Wrong::new("hostPaths", "files of the node need a profile that names them"));
    };
    let profile = profiles.named(name, person, account);
    let profile =
        profile.ok_or_else(|| Wrong::new("profile", "you have no profile of this name for this account"))?;
    let paths = asked.host_paths.iter().enumerate();
    let paths = paths.map(|(index, one)| host_path(&format!("hostPaths[{index}]"), one, &profile.host_paths));
    let allows = |what| profile.allows.contains(&what);
    let grant = WorkspaceGrant {
        profile: name.clone(),
        privileged: allows(Allowance::Privileged),
        host_network: allows(Allowance::HostNetwork),
        host_pid: allows(Allowance::HostPid),
        host_ipc: allows(Allowance::HostIpc),
        capabilities: profile.capabilities.clone(),
        host_paths: paths.collect::<Result<_, _>>()?,
    };
    let text = serde_json::to_string(&grant).map_err(|error| Wrong::new("profile", error.to_string()))?;
    Ok(Some(BTreeMap::from([(ANNOTATION_GRANT.to_owned(), text)])))
}

fn check(asked: &NewWorkspace) -> Result<(), Wrong> {
    check_name("name", &asked.name, 50)?;
    check_image("image", &asked.image)?;
    check_environment(&asked.env)?;
    for (field, amount) in [("cpu", asked.cpu), ("memory", asked.memory)] {
        if amount.is_some_and(|amount| amount <= Quantity::default()) {
            return Err(Wrong::new(field, "is more than nothing"));
        }
    }
    if let Some(cards) = &asked.cards {
        check_cards(cards)?;
    }
    check_volumes(&asked.volumes)?;
    check_mounts("mounts", &asked.mounts)?;
    let places: Vec<&str> = asked
        .volumes
        .iter()
        .map(|volume| volume.path.as_str())
        .chain(asked.mounts.iter().map(|mount| mount.path.as_str()))
        .chain(asked.host_paths.iter().map(|mount| mount.path.as_str()))
        .map(|path| path.trim_end_matches('/'))
        .collect();
    if places.iter().collect::<BTreeSet<_>>().len() < places.len() {
        return Err(Wrong::new("mounts", "two of them are at the same place"));
    }
    Ok(())
}

fn check_environment(env: &BTreeMap<String, String>) -> Result<(), Wrong> {
    if env.len() > VARIABLES
        || env.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() > ENVIRONMENT
    {
        return Err(Wrong::new("env", format!("has at most {VARIABLES} variables and {ENVIRONMENT} bytes")));
    }
    for (name, value) in env {
        check_env("env", name)?;
        if value.contains('\0') {
            return Err(Wrong::new("env", format!("{name} holds a zero byte")));
        }
    }
    Ok(())
}

fn check_cards(cards: &CardsSpec) -> Result<(), Wrong> {
    if !is_extended(&cards.resource) {
        return Err(Wrong::new("cards.resource", "is no kind of card, such as nvidia.com/gpu"));
    }
    let said = [cards.count.is_some(), cards.share.is_some(), cards.memory.is_some()];
    if said.into_iter().filter(|said| *said).count() != 1 {
        return Err(Wrong::new("cards", "say one of count, share and memory"));
    }
    if cards.count.is_some_and(|count| !(1..=1024).contains(&count)) {
        return Err(Wrong::new("cards.count", "is between 1 and 1024"));
    }
    if cards.share.is_some_and(|share| share <= Quantity::default() || share >= Quantity::from_units(1)) {
        return Err(Wrong::new("cards.share", "is between 0 and 1"));
    }
    check_indices(cards)
}

fn check_indices(cards: &CardsSpec) -> Result<(), Wrong> {
    if cards.index.is_some() && cards.count.is_some() {
        return Err(Wrong::new("cards.index", "is for a part of a card: whole ones are named by indices"));
    }
    if cards.indices.is_empty() {
        return Ok(());
    }
    let distinct: BTreeSet<i32> = cards.indices.iter().copied().collect();
    let right =
        distinct.len() == cards.indices.len() && distinct.iter().all(|index| (0..128).contains(index));
    if !right || cards.count.and_then(|count| usize::try_from(count).ok()) != Some(distinct.len()) {
        return Err(Wrong::new(
            "cards.indices",
            "are numbers from 0 to 127, each once, as many as cards.count",
        ));
    }
    Ok(())
}

fn check_volumes(volumes: &[WorkspaceVolume]) -> Result<(), Wrong> {
    for (index, volume) in volumes.iter().enumerate() {
        check_name(&format!("volumes[{index}].name"), &volume.name, 12)?;
        check_path(&format!("volumes[{index}].path"), &volume.path)?;
        if volume.size <= Quantity::default() {
            return Err(Wrong::new(format!("volumes[{index}].size"), "is more than nothing"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::person;

    fn asked(more: &Value) -> NewWorkspace {
        let mut body = json!({ "name": "desk", "image": "busybox:1.36" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(body).unwrap()
    }

    fn made(more: &Value) -> Result<Workspace, Wrong> {
        plan(&asked(more), &person("ada"), &Profiles::default())
    }

    #[test]
    fn a_profile_gives_a_workspace_what_it_grants_and_no_more() {
        let profiles = "
profiles:
  - { name: fabric, accounts: [hpc], allows: [hostNetwork], capabilities: [IPC_LOCK], hostPaths: [{ path: /scratch }] }
  - { name: bob, users: [bob], allows: [privileged] }
";
        let profiles = Profiles::parse(profiles).unwrap();
        let made = |more: Value| plan(&asked(&more), &person("ada"), &profiles);
        let path = json!([{ "hostPath": "/scratch/ada", "path": "/data" }]);
        let desk = made(json!({ "account": "hpc", "profile": "fabric", "hostPaths": path })).unwrap();
        let grant: Value =
            serde_json::from_str(&desk.metadata.annotations.unwrap()[ANNOTATION_GRANT]).unwrap();
        assert_eq!(
            grant,
            json!({ "profile": "fabric", "hostNetwork": true, "capabilities": ["IPC_LOCK"],
                "hostPaths": [{ "root": "/scratch", "subPath": "ada", "path": "/data" }] })
        );
        for (more, field) in [
            (json!({ "profile": "fabric" }), "profile"),
            (json!({ "account": "hpc", "profile": "bob" }), "profile"),
            (json!({ "account": "hpc", "profile": "none" }), "profile"),
            (json!({ "account": "hpc", "hostPaths": path }), "hostPaths"),
            (
                json!({ "account": "hpc", "profile": "fabric", "hostPaths": [{ "hostPath": "/scratchy", "path": "/d" }] }),
                "hostPaths[0].hostPath",
            ),
        ] {
            assert_eq!(made(more.clone()).unwrap_err().field, field, "{more}");
        }
    }

    #[test]
    fn a_request_becomes_a_workspace_of_its_owner() {
        let full = json!({
            "type": "Jupyter", "env": { "HF_HOME": "/work/hf" }, "account": "lab", "cpu": "8", "memory": "64Gi",
            "cards": { "count": 2 }, "nodes": ["gpu-1"], "volumes": [{ "name": "work", "path": "/work", "size": "10Gi" }],
            "mounts": [{ "path": "/data", "claim": "data", "subPath": "sets/one", "readOnly": true }],
        });
        insta::assert_yaml_snapshot!(
            [made(&json!({})), made(&full)].map(|made| serde_json::to_value(made.unwrap()).unwrap())
        );
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let table = [
            (json!({ "name": "Desk" }), "name"),
            (json!({ "image": "a;reboot" }), "image"),
            (json!({ "env": { "NVIDIA_VISIBLE_DEVICES": "all" } }), "env"),
            (json!({ "cpu": "0" }), "cpu"),
            (json!({ "memory": "-1Gi" }), "memory"),
            (json!({ "cards": {} }), "cards"),
            (json!({ "cards": { "count": 1, "share": "0.5" } }), "cards"),
            (json!({ "cards": { "resource": "cpu", "count": 1 } }), "cards.resource"),
            (json!({ "cards": { "share": "1.5" } }), "cards.share"),
            (json!({ "cards": { "count": 1, "index": 0 } }), "cards.index"),
            (json!({ "cards": { "count": 1, "indices": [0, 1] } }), "cards.indices"),
            (json!({ "cards": { "count": 2, "indices": [1, 1] } }), "cards.indices"),
            (json!({ "cards": { "share": "0.5", "indices": [1] } }), "cards.indices"),
            (json!({ "cards": { "count": 1, "indices": [128] } }), "cards.indices"),
            (json!({ "volumes": [{ "name": "a", "path": "/../etc", "size": "1Gi" }] }), "volumes[0].path"),
            (json!({ "mounts": [{ "path": "/a", "claim": "c", "subPath": "../b" }] }), "mounts[0].subPath"),
            (
                json!({ "mounts": [{ "path": "/a", "claim": "c" }, { "path": "/a/", "claim": "d" }] }),
                "mounts",
            ),
        ];
        for (more, want) in table {
            assert_eq!(made(&more).unwrap_err().field, want, "{more}");
        }
    }

    #[test]
    fn no_request_names_another_owner_or_the_host() {
        for field in ["user", "namespace", "hostNetwork", "privileged", "hostPath", "securityContext"] {
            let body = json!({ "name": "desk", "image": "busybox", field: true });
            assert!(serde_json::from_value::<NewWorkspace>(body).is_err(), "{field}");
        }
    }
}
