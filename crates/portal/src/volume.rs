//! Volumes of user scope: claims of the own namespace that outlive workspaces.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, Preconditions},
};
use maar_api::{
    Quantity, names,
    v1alpha1::{AIJob, MountSpec},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    access::{Kind, Verb},
    error::{ApiError, Code},
    live::{ClaimFacts, Live},
    page::{Page, PageQuery, page},
    route::{
        Answer, Call,
        Method::{Delete, Get, Post},
        Route, Target,
    },
    rules::{Wrong, check_name},
};

pub(crate) fn routes() -> Vec<Route> {
    let own = Target::Asker(Kind::Volume);
    vec![
        Route::at_once(Get, "/volumes", "listVolumes", (Verb::See, own), list)
            .says("Volumes of the own namespace, and who uses them")
            .query::<PageQuery>()
            .answers::<Page<VolumeView>>(),
        Route::new(Post, "/volumes", "createVolume", (Verb::Start, own), create)
            .says("Make a volume that outlives workspaces")
            .takes::<NewVolume>()
            .answers::<VolumeView>(),
        Route::new(Delete, "/volumes/{name}", "deleteVolume", (Verb::Delete, own), delete)
            .says("Delete a volume of the own namespace that nothing uses, with all that is in it"),
    ]
}

/// A volume to be made.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewVolume {
    /// Its name: a letter, then letters, digits and dashes, at most 50.
    name: String,
    /// How large it is, such as `100Gi`.
    size: Quantity,
    /// Its storage class; the cluster's default if it is not said.
    #[serde(default)]
    storage_class: Option<String>,
    /// Pods on several nodes may use it at once.
    #[serde(default)]
    shared: bool,
}

/// A volume.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VolumeView {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    storage_class: Option<String>,
    shared: bool,
    phase: String,
    /// The workspace that it goes with; such a volume is deleted with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    /// Workspaces, also suspended ones, jobs that are not over, and Pods that mount it.
    used_by: Vec<String>,
    #[schemars(with = "Option<String>")]
    created: Option<Timestamp>,
}

/// The claim that is made of it.
fn plan(asked: &NewVolume, namespace: &str) -> Result<PersistentVolumeClaim, Wrong> {
    check_name("name", &asked.name, 50)?;
    if asked.size <= Quantity::default() {
        return Err(Wrong::new("size", "is more than nothing"));
    }
    if let Some(class) = &asked.storage_class {
        let inside = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || "-.".contains(one);
        if class.is_empty() || class.len() > 253 || !class.chars().all(inside) {
            return Err(Wrong::new("storageClass", "is a name of letters a-z, digits, dots and dashes"));
        }
    }
    Ok(claim(asked, namespace))
}

fn claim(asked: &NewVolume, namespace: &str) -> PersistentVolumeClaim {
    let mode = if asked.shared { "ReadWriteMany" } else { "ReadWriteOnce" };
    serde_json::from_value(json!({
        "metadata": {
            "name": asked.name, "namespace": namespace,
            "labels": { names::LABEL_MANAGED_BY: names::MANAGED_BY },
        },
        "spec": {
            "accessModes": [mode], "storageClassName": asked.storage_class,
            "resources": { "requests": { "storage": asked.size.to_string() } },
        },
    }))
    .expect("the literal above has the shape of a claim")
}

/// Whether one of the mounts is of a claim.
fn mounts(mounts: &[MountSpec], claim: &str) -> bool {
    mounts.iter().any(|mount| mount.claim.as_deref() == Some(claim))
}

/// Whether a job will want a claim, now or later: also one that waits, rests, or makes others by the clock.
fn wants(job: &AIJob, claim: &str) -> bool {
    if job.status.as_ref().is_some_and(|status| status.phase.is_final()) {
        return false;
    }
    let specs = job.spec.tasks.iter().filter_map(|task| task.template.spec.as_ref());
    let mut volumes = specs.flat_map(|spec| spec.volumes.iter().flatten());
    mounts(&job.spec.mounts, claim)
        || volumes.any(|one| one.persistent_volume_claim.as_ref().is_some_and(|one| one.claim_name == claim))
}

/// Who mounts a claim, or will.
fn users_of(live: &Live, namespace: &str, claim: &str) -> Vec<String> {
    let workspaces = live.workspaces.list(Some(namespace));
    let of_workspaces = workspaces.iter().filter(|one| mounts(&one.spec.mounts, claim));
    let mut all: Vec<String> = of_workspaces.map(|one| format!("workspace {}", one.name_any())).collect();
    let jobs = live.jobs.list(Some(namespace));
    all.extend(jobs.iter().filter(|one| wants(one, claim)).map(|one| format!("job {}", one.name_any())));
    let pods = live.pods.list(Some(namespace));
    let holds = pods.iter().filter(|pod| pod.lives() && pod.claims.iter().any(|one| one == claim));
    all.extend(holds.map(|pod| pod.work.words(&pod.name)));
    all.sort();
    all.dedup();
    all
}

fn view(live: &Live, namespace: &str, facts: &ClaimFacts) -> VolumeView {
    VolumeView {
        name: facts.name.clone(),
        size: facts.size.clone(),
        storage_class: facts.storage_class.clone(),
        shared: facts.shared,
        phase: facts.phase.clone(),
        workspace: facts.workspace.clone(),
        used_by: users_of(live, namespace, &facts.name),
        created: facts.created,
    }
}

fn list(call: &Call) -> Result<Answer, ApiError> {
    let (namespace, live) = (&call.person()?.namespace, &call.portal.live);
    let found =
        page(live.claims.list(Some(namespace)), &call.query::<PageQuery>()?, |claim| claim.name.clone())?;
    Answer::json(&found.map(|claim| view(live, namespace, &claim)))
}

async fn create(call: Call) -> Result<Answer, ApiError> {
    let asked: NewVolume = call.body()?;
    let (portal, person) = (&call.portal, call.person()?);
    let (namespace, what) = (&person.namespace, format!("volume {}", asked.name));
    let claim = plan(&asked, namespace)?;
    let made = portal.namespaces.create(person, &what, &claim).await?;
    portal.live.claims.seen(namespace, &asked.name).await;
    let after = json!({ "size": asked.size, "storageClass": asked.storage_class });
    let made = view(&portal.live, namespace, &ClaimFacts::of(&made));
    Ok(Answer::created(&made)?.about(format!("{namespace}/{}", asked.name)).change(None, Some(after)))
}

async fn delete(call: Call) -> Result<Answer, ApiError> {
    let (portal, namespace) = (&call.portal, &call.person()?.namespace);
    let name = call.path_part("name");
    let claim = portal.live.claims.get(namespace, name).ok_or_else(|| ApiError::not_found("this volume"))?;
    let refuse = |why: String| Err(ApiError::new(Code::Conflict, why));
    if let Some(workspace) = &claim.workspace {
        return refuse(format!("it goes with the workspace {workspace}: delete that"));
    }
    let users = users_of(&portal.live, namespace, name);
    if !users.is_empty() {
        return refuse(format!("it is used by {}", users.join(", ")));
    }
    let api: Api<PersistentVolumeClaim> = Api::namespaced(portal.client.clone(), namespace);
    let only = Preconditions { uid: claim.uid.clone(), resource_version: None };
    let result = api.delete(name, &DeleteParams::default().preconditions(only)).await;
    result.map_err(|error| ApiError::of_cluster("this volume", error))?;
    Ok(Answer::done().change(Some(json!({ "size": claim.size })), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_wants_its_claims_until_it_is_over() {
        let job = |mounts: serde_json::Value, volumes: serde_json::Value, phase: &str| {
            let template = json!({ "spec": { "containers": [], "volumes": volumes } });
            serde_json::from_value::<AIJob>(json!({
                "metadata": { "name": "train" },
                "spec": { "mounts": mounts, "tasks": [{ "name": "main", "template": template }] },
                "status": { "phase": phase },
            }))
            .unwrap()
        };
        let mount = json!([{ "path": "/data", "claim": "data" }]);
        let volume = json!([{ "name": "data", "persistentVolumeClaim": { "claimName": "data" } }]);
        for phase in ["Pending", "Suspended", "Scheduled", "Running", "Restarting"] {
            assert!(wants(&job(mount.clone(), json!([]), phase), "data"), "{phase}");
            assert!(wants(&job(json!([]), volume.clone(), phase), "data"), "{phase}");
            assert!(!wants(&job(mount.clone(), volume.clone(), phase), "other"), "{phase}");
        }
        for phase in ["Completed", "Failed", "Aborted"] {
            assert!(!wants(&job(mount.clone(), volume.clone(), phase), "data"), "{phase}");
        }
        let mut new = job(mount, volume, "Pending");
        new.status = None;
        assert!(wants(&new, "data"), "one that nobody has looked at yet");
    }

    #[test]
    fn a_request_becomes_a_claim() {
        let asked = |value| serde_json::from_value::<NewVolume>(value).unwrap();
        let made = plan(&asked(json!({ "name": "data", "size": "10Gi", "shared": true })), "user-a").unwrap();
        insta::assert_yaml_snapshot!(serde_json::to_value(made).unwrap());
        let field = |value| plan(&asked(value), "user-a").unwrap_err().field;
        assert_eq!(field(json!({ "name": "../x", "size": "1Gi" })), "name");
        assert_eq!(field(json!({ "name": "x", "size": "0" })), "size");
        assert_eq!(field(json!({ "name": "x", "size": "1", "storageClass": "A b" })), "storageClass");
        assert!(
            serde_json::from_value::<NewVolume>(json!({ "name": "x", "size": "1", "hostPath": "/" }))
                .is_err()
        );
    }
}
