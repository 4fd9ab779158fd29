//! Templates of Pods that people bring.

use k8s_openapi::api::core::v1::{
    Container, PodSecurityContext, PodSpec, PodTemplateSpec, SecurityContext, Volume,
};
use maar_api::names;

use super::{
    field::{check_annotation, check_container_fields, check_pod_fields},
    text::{Wrong, check_env, check_image},
};
use crate::profile::{Allowance, Granted};

/// Capabilities that the Pod Security standard `baseline` lets containers add.
const CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// Kernel settings that the same standard lets Pods change.
const SYSCTLS: [&str; 9] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
];

/// Labels and annotations by which accounts, queues and cards are decided.
const RESERVED: [&str; 4] = ["maar.io/", "scheduling.k8s.io/", "scheduling.volcano.sh/", "volcano.sh/"];

/// Whether a template asks for nothing that leads out of its containers or past the scheduler, but what is granted.
pub(crate) fn check_template(
    field: &str,
    template: &PodTemplateSpec,
    granted: &Granted,
) -> Result<(), Wrong> {
    if let Some(metadata) = &template.metadata {
        let words = metadata.labels.iter().flatten().chain(metadata.annotations.iter().flatten());
        for (name, _) in words {
            check_word(&format!("{field}.metadata"), name)?;
        }
        for name in metadata.annotations.iter().flatten().map(|(name, _)| name) {
            check_annotation(&format!("{field}.metadata"), name)?;
        }
    }
    let Some(spec) = &template.spec else { return Ok(()) };
    let field = format!("{field}.spec");
    check_spec(&field, spec, granted)?;
    check_pod_fields(&field, spec, granted)?;
    check_pod_security(&field, spec.security_context.as_ref())?;
    for (index, volume) in spec.volumes.iter().flatten().enumerate() {
        check_volume(&format!("{field}.volumes[{index}]"), volume)?;
    }
    let lists = [("containers", Some(&spec.containers)), ("initContainers", spec.init_containers.as_ref())];
    for (name, list) in lists {
        for (index, container) in list.into_iter().flatten().enumerate() {
            check_container(&format!("{field}.{name}[{index}]"), container, granted)?;
        }
    }
    Ok(())
}

/// Refuses labels and annotations by which Maar and Volcano decide.
pub(crate) fn check_word(field: &str, name: &str) -> Result<(), Wrong> {
    if RESERVED.iter().any(|prefix| name.starts_with(prefix)) {
        return Err(Wrong::new(field, format!("{name} is for Maar to set")));
    }
    Ok(())
}

fn check_spec(field: &str, spec: &PodSpec, granted: &Granted) -> Result<(), Wrong> {
    let host = |asked: Option<bool>, what| asked == Some(true) && !granted.allows(what);
    let account =
        |name: &Option<String>| name.as_deref().is_some_and(|name| !name.is_empty() && name != "default");
    let said = |name: &Option<String>| name.as_deref().is_some_and(|name| !name.is_empty());
    let refused = [
        (
            "hostNetwork",
            host(spec.host_network, Allowance::HostNetwork),
            "the network of the node is not for Pods of users",
        ),
        (
            "hostPID",
            host(spec.host_pid, Allowance::HostPid),
            "processes of the node are not for Pods of users",
        ),
        ("hostIPC", host(spec.host_ipc, Allowance::HostIpc), "memory of the node is not for Pods of users"),
        ("serviceAccountName", account(&spec.service_account_name), "only default, which may do nothing"),
        ("serviceAccount", account(&spec.service_account), "only default, which may do nothing"),
        (
            "automountServiceAccountToken",
            spec.automount_service_account_token == Some(true),
            "programs of users get no token",
        ),
        ("nodeName", said(&spec.node_name), "the scheduler says where a Pod goes: use nodes.include"),
        ("priorityClassName", said(&spec.priority_class_name), "use priority and serviceLevel of the job"),
        (
            "ephemeralContainers",
            spec.ephemeral_containers.as_ref().is_some_and(|list| !list.is_empty()),
            "are not for templates",
        ),
        (
            "schedulerName",
            spec.scheduler_name
                .as_deref()
                .is_some_and(|name| !name.is_empty() && name != names::SCHEDULER_NAME),
            "another scheduler knows nothing of accounts and cards",
        ),
    ];
    match refused.into_iter().find(|(_, wrong, _)| *wrong) {
        Some((name, _, why)) => Err(Wrong::new(format!("{field}.{name}"), why)),
        None => Ok(()),
    }
}

fn check_pod_security(field: &str, context: Option<&PodSecurityContext>) -> Result<(), Wrong> {
    let Some(context) = context else { return Ok(()) };
    let field = format!("{field}.securityContext");
    if context.seccomp_profile.as_ref().is_some_and(|profile| profile.type_ == "Unconfined") {
        return Err(Wrong::new(field, "seccomp stays on"));
    }
    if context.app_armor_profile.as_ref().is_some_and(|profile| profile.type_ == "Unconfined") {
        return Err(Wrong::new(field, "AppArmor stays on"));
    }
    if context.windows_options.is_some() || context.se_linux_options.is_some() {
        return Err(Wrong::new(field, "options of Windows and SELinux are for administrators"));
    }
    match context.sysctls.iter().flatten().find(|one| !SYSCTLS.contains(&one.name.as_str())) {
        Some(one) => Err(Wrong::new(field, format!("{} is a setting of the whole node", one.name))),
        None => Ok(()),
    }
}

fn check_volume(field: &str, volume: &Volume) -> Result<(), Wrong> {
    if volume.host_path.is_some() {
        return Err(Wrong::new(format!("{field}.hostPath"), "files of the node are not for Pods of users"));
    }
    if let Some(image) = volume.image.as_ref().and_then(|image| image.reference.as_deref()) {
        check_image(&format!("{field}.image.reference"), image)?;
    }
    let mut projected = volume.projected.iter().flat_map(|projected| projected.sources.iter().flatten());
    if projected.any(|source| source.service_account_token.is_some()) {
        return Err(Wrong::new(format!("{field}.projected"), "programs of users get no token"));
    }
    // Network file systems named in a Pod are reached with the rights of the node, past every claim and quota.
    let known = volume.config_map.is_some()
        || volume.secret.is_some()
        || volume.empty_dir.is_some()
        || volume.downward_api.is_some()
        || volume.projected.is_some()
        || volume.persistent_volume_claim.is_some()
        || volume.ephemeral.is_some()
        || volume.image.is_some();
    if known {
        return Ok(());
    }
    let why =
        "is a claim, a config map, a secret, an image, or an empty, ephemeral, projected or downward volume";
    Err(Wrong::new(field, why))
}

fn check_container(field: &str, container: &Container, granted: &Granted) -> Result<(), Wrong> {
    check_container_fields(field, container)?;
    if let Some(image) = container.image.as_deref() {
        check_image(&format!("{field}.image"), image)?;
    }
    for variable in container.env.iter().flatten() {
        check_env(&format!("{field}.env"), &variable.name)?;
    }
    if container.env_from.as_ref().is_some_and(|list| !list.is_empty()) && maar_jobs::has_slices(container) {
        let why = "could decide which slices of cards are seen: take variables by their names, in env";
        return Err(Wrong::new(format!("{field}.envFrom"), why));
    }
    let host_port = container.ports.iter().flatten().any(|port| port.host_port.is_some_and(|port| port != 0));
    if host_port && !granted.allows(Allowance::HostPorts) {
        return Err(Wrong::new(format!("{field}.ports"), "ports of the node are not for Pods of users"));
    }
    match &container.security_context {
        Some(context) => check_security(&format!("{field}.securityContext"), context, granted),
        None => Ok(()),
    }
}

fn check_security(field: &str, context: &SecurityContext, granted: &Granted) -> Result<(), Wrong> {
    let added = context.capabilities.iter().flat_map(|capabilities| capabilities.add.iter().flatten());
    if let Some(one) =
        added.into_iter().find(|one| !CAPABILITIES.contains(&one.as_str()) && !granted.adds(one))
    {
        return Err(Wrong::new(format!("{field}.capabilities"), format!("{one} is not for Pods of users")));
    }
    let refused = [
        (
            "privileged",
            context.privileged == Some(true) && !granted.allows(Allowance::Privileged),
            "a privileged container is root on the node and sees all cards",
        ),
        ("procMount", context.proc_mount.as_deref().is_some_and(|kind| kind != "Default"), "stays as it is"),
        (
            "seccompProfile",
            context.seccomp_profile.as_ref().is_some_and(|one| one.type_ == "Unconfined"),
            "stays on",
        ),
        (
            "appArmorProfile",
            context.app_armor_profile.as_ref().is_some_and(|one| one.type_ == "Unconfined"),
            "stays on",
        ),
        ("windowsOptions", context.windows_options.is_some(), "is for administrators"),
        ("seLinuxOptions", context.se_linux_options.is_some(), "is for administrators"),
    ];
    match refused.into_iter().find(|(_, wrong, _)| *wrong) {
        Some((name, _, why)) => Err(Wrong::new(format!("{field}.{name}"), why)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn field_of(spec: &Value) -> Option<String> {
        let template = serde_json::from_value(json!({ "spec": spec })).unwrap();
        check_template("t", &template, &Granted::default()).err().map(|wrong| wrong.field)
    }

    fn with_container(part: &Value) -> Value {
        let mut container = json!({ "name": "main", "image": "busybox" });
        container.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
        json!({ "containers": [container] })
    }

    #[test]
    fn an_ordinary_template_passes() {
        let spec = json!({
            "containers": [{ "name": "main", "image": "busybox", "securityContext": { "capabilities": { "add": ["CHOWN"], "drop": ["ALL"] } } }],
            "volumes": [{ "name": "a", "emptyDir": {} }, { "name": "b", "persistentVolumeClaim": { "claimName": "c" } }],
            "schedulerName": "maar-scheduler", "serviceAccountName": "default",
        });
        assert_eq!(field_of(&spec), None);
    }

    #[test]
    fn each_way_out_of_a_container_is_refused_with_its_field() {
        let ways = [
            (json!({ "containers": [], "hostNetwork": true }), "t.spec.hostNetwork"),
            (json!({ "containers": [], "hostPID": true }), "t.spec.hostPID"),
            (json!({ "containers": [], "hostIPC": true }), "t.spec.hostIPC"),
            (json!({ "containers": [], "nodeName": "gpu-1" }), "t.spec.nodeName"),
            (json!({ "containers": [], "schedulerName": "default-scheduler" }), "t.spec.schedulerName"),
            (json!({ "containers": [], "serviceAccountName": "maar" }), "t.spec.serviceAccountName"),
            (
                json!({ "containers": [], "priorityClassName": "system-node-critical" }),
                "t.spec.priorityClassName",
            ),
            (
                json!({ "containers": [], "volumes": [{ "name": "a", "hostPath": { "path": "/" } }] }),
                "t.spec.volumes[0].hostPath",
            ),
            (
                json!({ "containers": [], "volumes": [{ "name": "a", "nfs": { "server": "s", "path": "/" } }] }),
                "t.spec.volumes[0]",
            ),
            (
                json!({ "containers": [], "securityContext": { "sysctls": [{ "name": "kernel.panic", "value": "1" }] } }),
                "t.spec.securityContext",
            ),
            (
                with_container(&json!({ "securityContext": { "privileged": true } })),
                "t.spec.containers[0].securityContext.privileged",
            ),
            (
                with_container(&json!({ "securityContext": { "capabilities": { "add": ["SYS_ADMIN"] } } })),
                "t.spec.containers[0].securityContext.capabilities",
            ),
            (
                with_container(&json!({ "ports": [{ "containerPort": 1, "hostPort": 1 }] })),
                "t.spec.containers[0].ports",
            ),
            (
                with_container(&json!({ "env": [{ "name": "NVIDIA_VISIBLE_DEVICES", "value": "all" }] })),
                "t.spec.containers[0].env",
            ),
            (with_container(&json!({ "image": "a;b" })), "t.spec.containers[0].image"),
            (
                with_container(&json!({
                    "envFrom": [{ "configMapRef": { "name": "all" } }],
                    "resources": { "limits": { "nvidia.com/mig-1g.5gb": "1" } },
                })),
                "t.spec.containers[0].envFrom",
            ),
        ];
        for (spec, want) in ways {
            assert_eq!(field_of(&spec).as_deref(), Some(want), "{spec}");
        }
        let init = json!({ "containers": [], "initContainers": [{ "name": "a", "securityContext": { "privileged": true } }] });
        assert_eq!(field_of(&init).as_deref(), Some("t.spec.initContainers[0].securityContext.privileged"));
    }

    #[test]
    fn labels_of_maar_are_not_for_people() {
        let template =
            serde_json::from_value(json!({ "metadata": { "labels": { "maar.io/account": "rich" } } }))
                .unwrap();
        let check = |template| check_template("t", template, &Granted::default()).unwrap_err().field;
        assert_eq!(check(&template), "t.metadata");
        let queue = json!({ "metadata": { "annotations": { "scheduling.volcano.sh/queue-name": "rich" } } });
        let template = serde_json::from_value(queue).unwrap();
        assert_eq!(check(&template), "t.metadata");
    }
}
