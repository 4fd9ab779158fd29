//! The restricted standard: what a careful container does of its own accord.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Control;
use super::baseline::{explicit_seccomp, masked_proc};
use super::subject::{Subject, Violation, listed, name, plural, quoted};
use crate::admission::json::items;

/// The kinds of volumes a Pod may have.
const VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

/// The kinds that have a name of their own in messages.
const OTHER_VOLUMES: [&str; 21] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
];

/// All controls, in the order messages list them.
pub(super) const CONTROLS: [Control; 7] =
    [privilege_escalation, capabilities, proc_mount, volumes, run_as_non_root, run_as_user, seccomp];

/// Whether a stricter control here stands in for one of the baseline.
pub(super) fn replaces(name: &str, minor: u32) -> bool {
    match name {
        "capabilities_baseline" => minor >= 22,
        "seccompProfile_baseline" => minor >= 19,
        "procMount" => minor >= 35,
        "hostPathVolumes" => true,
        _ => false,
    }
}

fn privilege_escalation(subject: &Subject<'_>, minor: u32) -> Option<Violation> {
    if minor < 8 || (minor >= 25 && subject.is_windows()) {
        return None;
    }
    let bad = subject
        .containers_where(|container| container["securityContext"]["allowPrivilegeEscalation"] != false);
    (!bad.is_empty()).then(|| {
        let detail = format!("{} must set securityContext.allowPrivilegeEscalation=false", listed(&bad));
        Violation::new("allowPrivilegeEscalation != false", detail)
    })
}

fn capabilities(subject: &Subject<'_>, minor: u32) -> Option<Violation> {
    if minor < 22 || (minor >= 25 && subject.is_windows()) {
        return None;
    }
    let of = |container: &Value, field: &str| -> Vec<String> {
        let list = items(&container["securityContext"]["capabilities"], field);
        list.filter_map(Value::as_str).map(ToOwned::to_owned).collect()
    };
    let added = |container: &Value| -> Vec<String> {
        of(container, "add").into_iter().filter(|name| name != "NET_BIND_SERVICE").collect()
    };
    let keeping =
        subject.containers_where(|container| !of(container, "drop").iter().any(|name| name == "ALL"));
    let adding = subject.containers_where(|container| !added(container).is_empty());
    let all: BTreeSet<String> = subject.containers().flat_map(added).collect();
    let mut details = Vec::new();
    if !keeping.is_empty() {
        details.push(format!("{} must set securityContext.capabilities.drop=[\"ALL\"]", listed(&keeping)));
    }
    if !adding.is_empty() {
        let all = quoted(&all);
        details
            .push(format!("{} must not include {all} in securityContext.capabilities.add", listed(&adding)));
    }
    (!details.is_empty()).then(|| Violation::new("unrestricted capabilities", details.join("; ")))
}

fn proc_mount(subject: &Subject<'_>, minor: u32) -> Option<Violation> {
    if minor < 35 { None } else { masked_proc(subject) }
}

fn volumes(subject: &Subject<'_>, _: u32) -> Option<Violation> {
    let is_bad = |volume: &&Value| !VOLUMES.iter().any(|kind| volume[kind].is_object());
    let bad: Vec<&Value> = items(subject.spec, "volumes").filter(is_bad).collect();
    let kind = |volume: &&Value| {
        OTHER_VOLUMES.iter().find(|kind| volume[**kind].is_object()).copied().unwrap_or("unknown")
    };
    let kinds: BTreeSet<&str> = bad.iter().map(kind).collect();
    (!bad.is_empty()).then(|| {
        let names: Vec<String> = bad.iter().map(|volume| name(volume)).collect();
        let detail = format!(
            "{} {} {} {} {}",
            plural(names.len(), "volume", "volumes"),
            quoted(&names),
            plural(names.len(), "uses", "use"),
            plural(kinds.len(), "restricted volume type", "restricted volume types"),
            quoted(&kinds)
        );
        Violation::new("restricted volume types", detail)
    })
}

fn run_as_non_root(subject: &Subject<'_>, minor: u32) -> Option<Violation> {
    if minor >= 35 && subject.has_own_users() {
        return None;
    }
    let reason = "runAsNonRoot != true";
    if let Some(setters) = subject.setters(|context| context["runAsNonRoot"] == false) {
        let detail = format!("{setters} must not set securityContext.runAsNonRoot=false");
        return Some(Violation::new(reason, detail));
    }
    let by_pod = subject.spec["securityContext"]["runAsNonRoot"] == true;
    let silent = subject
        .containers_where(|container| !by_pod && container["securityContext"]["runAsNonRoot"].is_null());
    (!silent.is_empty()).then(|| {
        let detail = format!("pod or {} must set securityContext.runAsNonRoot=true", listed(&silent));
        Violation::new(reason, detail)
    })
}

fn run_as_user(subject: &Subject<'_>, minor: u32) -> Option<Violation> {
    if minor < 23 || (minor >= 35 && subject.has_own_users()) {
        return None;
    }
    let setters = subject.setters(|context| context["runAsUser"] == 0)?;
    Some(Violation::new("runAsUser=0", format!("{setters} must not set runAsUser=0")))
}

fn seccomp(subject: &Subject<'_>, minor: u32) -> Option<Violation> {
    if minor < 19 || (minor >= 25 && subject.is_windows()) {
        return None;
    }
    if let Some(violation) = explicit_seccomp(subject) {
        return Some(violation);
    }
    let by_pod = subject.spec["securityContext"]["seccompProfile"].is_object();
    let silent = subject
        .containers_where(|container| !by_pod && !container["securityContext"]["seccompProfile"].is_object());
    (!silent.is_empty()).then(|| {
        let detail = format!(
            "pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
            listed(&silent)
        );
        Violation::new("seccompProfile", detail)
    })
}
