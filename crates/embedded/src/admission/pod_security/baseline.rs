//! The baseline standard: nothing that is known to lead out of a container.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Control;
use super::subject::{Subject, Violation, listed, name, plural, quoted};
use crate::admission::json::items;

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

/// Kernel settings that concern only the Pod, and since which version that is known.
const SYSCTLS: [(&str, u32); 12] = [
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
];

const SELINUX_TYPES: [&str; 4] = ["", "container_t", "container_init_t", "container_kvm_t"];

const APPARMOR_PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";

/// All controls by name, in the order messages list them.
const CONTROLS: [(&str, Control); 12] = [
    ("appArmorProfile", app_armor),
    ("capabilities_baseline", capabilities),
    ("hostNamespaces", host_namespaces),
    ("hostPathVolumes", host_paths),
    ("hostPorts", host_ports),
    ("hostProbesAndHostLifecycle", host_probes),
    ("privileged", privileged),
    ("procMount", proc_mount),
    ("seLinuxOptions", selinux),
    ("seccompProfile_baseline", seccomp),
    ("sysctls", sysctls),
    ("windowsHostProcess", host_process),
];

/// The controls that are not left out.
pub(super) fn controls(left_out: impl Fn(&str) -> bool) -> Vec<Control> {
    CONTROLS.iter().filter(|(name, _)| !left_out(name)).map(|(_, control)| *control).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn app_armor(subject: &Subject<'_>, _: u32) -> Option<Violation> {
    let kind = |context: &Value| {
        let profile = &context["appArmorProfile"];
        profile.is_object().then(|| text(&profile["type"]).to_owned())
    };
    let is_bad = |context: &Value| {
        kind(context).is_some_and(|kind| !matches!(kind.as_str(), "RuntimeDefault" | "Localhost"))
    };
    let mut setters: Vec<String> = subject.setters(is_bad).into_iter().collect();
    let contexts = subject.containers().map(|container| &container["securityContext"]);
    let contexts = contexts.chain([&subject.spec["securityContext"]]);
    let values: BTreeSet<String> = contexts.filter(|context| is_bad(context)).filter_map(kind).collect();
    let mut values: Vec<String> = values.into_iter().collect();
    let annotations = subject.metadata["annotations"].as_object().into_iter().flatten();
    let mut forbidden: Vec<String> = annotations
        .filter(|(key, value)| {
            let value = text(value);
            let fine = value.is_empty() || value == "runtime/default" || value.starts_with("localhost/");
            key.starts_with(APPARMOR_PREFIX) && !fine
        })
        .map(|(key, value)| format!("{key}={:?}", text(value)))
        .collect();
    if !forbidden.is_empty() {
        forbidden.sort();
        setters.push(plural(forbidden.len(), "annotation", "annotations").to_owned());
        values.extend(forbidden);
    }
    if setters.is_empty() {
        return None;
    }
    let reason = plural(values.len(), "forbidden AppArmor profile", "forbidden AppArmor profiles");
    let detail =
        format!("{} must not set AppArmor profile type to {}", setters.join(" and "), quoted(&values));
    Some(Violation::new(reason, detail))
}

fn capabilities(subject: &Subject<'_>, _: u32) -> Option<Violation> {
    let added = |container: &Value| -> Vec<String> {
        let added = items(&container["securityContext"]["capabilities"], "add").map(text);
        added.filter(|name| !CAPABILITIES.contains(name)).map(ToOwned::to_owned).collect()
    };
    let bad = subject.containers_where(|container| !added(container).is_empty());
    let all: BTreeSet<String> = subject.containers().flat_map(added).collect();
    (!bad.is_empty()).then(|| {
        let detail =
            format!("{} must not include {} in securityContext.capabilities.add", listed(&bad), quoted(&all));
        Violation::new("non-default capabilities", detail)
    })
}

fn host_namespaces(subject: &Subject<'_>, _: u32) -> Option<Violation> {
    let used: Vec<String> = ["hostNetwork", "hostPID", "hostIPC"]
        .iter()
        .filter(|field| subject.spec[*field] == true)
        .map(|field| format!("{field}=true"))
        .collect();
    (!used.is_empty()).then(|| Violation::new("host namespaces", used.join(", ")))
}

fn host_paths(subject: &Subject<'_>, _: u32) -> Option<Violation> {
    let volumes: Vec<String> =
        items(subject.spec, "volumes").filter(|volume| volume["hostPath"].is_object()).map(name).collect();
    (!volumes.is_empty()).then(|| {
        let detail = format!("{} {}", plural(volumes.len(), "volume", "volumes"), quoted(&volumes));
        Violation::new("hostPath volumes", detail)
    })
}

fn host_ports(subject: &Subject<'_>, _: u32) -> Option<Violation> {
    let ports = |container: &Value| -> Vec<String> {
        let numbers = items(container, "ports").filter_map(|port| port["hostPort"].as_i64());
        numbers.filter(|number| *number != 0).map(|number| number.to_string()).collect()
    };
    let bad = subject.containers_where(|container| !ports(container).is_empty());
    let all: BTreeSet<String> = subject.containers().flat_map(ports).collect();
    (!bad.is_empty()).then(|| {
        let uses = plural(bad.len(), "uses", "use");
        let what = plural(all.len(), "hostPort", "hostPorts");
        let numbers = all.into_iter().collect::<Vec<_>>().join(", ");
        Violation::new("hostPort", format!("{} {uses} {what} {numbers}", listed(&bad)))
    })
}

fn host_probes(subject: &Subject<'_>, minor: u32) -> Option<Violation> {
    if minor < 34 {
        return None;
    }
    let hosts = |container: &Value| -> Vec<String> {
        let lifecycle = &container["lifecycle"];
        let handlers = ["livenessProbe", "readinessProbe", "startupProbe"].map(|field| &container[field]);
        let handlers = handlers.into_iter().chain([&lifecycle["postStart"], &lifecycle["preStop"]]);
        let hosts = handlers.flat_map(|handler| [&handler["httpGet"]["host"], &handler["tcpSocket"]["host"]]);
        hosts.map(text).filter(|host| !host.is_empty()).map(ToOwned::to_owned).collect()
    };
    let bad: BTreeSet<String> =
        subject.containers_where(|container| !hosts(container).is_empty()).into_iter().collect();
    let all: BTreeSet<String> = subject.containers().flat_map(hosts).collect();
    (!bad.is_empty()).then(|| {
        let bad: Vec<String> = bad.into_iter().collect();
        let uses = plural(bad.len(), "uses", "use");
        let what = plural(all.len(), "probe or lifecycle host", "probe or lifecycle hosts");
        Violation::new("probe or lifecycle host", format!("{} {uses} {what} {}", listed(&bad), quoted(&all)))
    })
}

fn privileged(subject: &Subject<'_>, _: u32) -> Option<Violation> {
    let bad = subject.containers_where(|container| container["securityContext"]["privileged"] == true);
    (!bad.is_empty()).then(|| {
        Violation::new("privileged", format!("{} must not set securityContext.privileged=true", listed(&bad)))
    })
}

fn proc_mount(subject: &Subject<'_>, minor: u32) -> Option<Violation> {
    if minor >= 35 && subject.has_own_users() {
        return None;
    }
    masked_proc(subject)
}

/// The same without exception, as the restricted standard has it.
pub(super) fn masked_proc(subject: &Subject<'_>) -> Option<Violation> {
    let kind = |container: &Value| container["securityContext"]["procMount"].as_str().map(ToOwned::to_owned);
    let is_bad = |container: &Value| kind(container).is_some_and(|kind| kind != "Default");
    let bad = subject.containers_where(is_bad);
    let kinds: BTreeSet<String> =
        subject.containers().filter(|container| is_bad(container)).filter_map(kind).collect();
    (!bad.is_empty()).then(|| {
        let detail = format!("{} must not set securityContext.procMount to {}", listed(&bad), quoted(&kinds));
        Violation::new("procMount", detail)
    })
}

fn selinux(subject: &Subject<'_>, minor: u32) -> Option<Violation> {
    let fine = |kind: &str| SELINUX_TYPES.contains(&kind) || (minor >= 31 && kind == "container_engine_t");
    let part = |context: &Value, field: &str| text(&context["seLinuxOptions"][field]).to_owned();
    let is_bad = |context: &Value| {
        !fine(&part(context, "type"))
            || !part(context, "user").is_empty()
            || !part(context, "role").is_empty()
    };
    let setters = subject.setters(is_bad)?;
    let contexts = || {
        let contexts = subject.containers().map(|container| &container["securityContext"]);
        contexts.chain([&subject.spec["securityContext"]])
    };
    let types: BTreeSet<String> =
        contexts().map(|context| part(context, "type")).filter(|kind| !fine(kind)).collect();
    let mut what = Vec::new();
    if !types.is_empty() {
        what.push(format!("{} {}", plural(types.len(), "type", "types"), quoted(&types)));
    }
    for field in ["user", "role"] {
        if contexts().any(|context| !part(context, field).is_empty()) {
            what.push(format!("{field} may not be set"));
        }
    }
    let detail = format!("{setters} set forbidden securityContext.seLinuxOptions: {}", what.join("; "));
    Some(Violation::new("seLinuxOptions", detail))
}

/// Whether a security context names a seccomp profile that nothing confines.
pub(super) fn unconfined(context: &Value) -> bool {
    let profile = &context["seccompProfile"];
    profile.is_object() && !matches!(text(&profile["type"]), "RuntimeDefault" | "Localhost")
}

fn seccomp(subject: &Subject<'_>, minor: u32) -> Option<Violation> {
    if minor < 19 { seccomp_annotations(subject) } else { explicit_seccomp(subject) }
}

pub(super) fn explicit_seccomp(subject: &Subject<'_>) -> Option<Violation> {
    let setters = subject.setters(unconfined)?;
    let contexts = subject.containers().map(|container| &container["securityContext"]);
    let bad = contexts.chain([&subject.spec["securityContext"]]).filter(|context| unconfined(context));
    let kinds: BTreeSet<&str> = bad.map(|context| text(&context["seccompProfile"]["type"])).collect();
    let detail = format!("{setters} must not set securityContext.seccompProfile.type to {}", quoted(&kinds));
    Some(Violation::new("seccompProfile", detail))
}

/// Before there was a field, annotations said it.
fn seccomp_annotations(subject: &Subject<'_>) -> Option<Violation> {
    let keys = subject.containers().map(|container| format!("{SECCOMP_CONTAINER}{}", name(container)));
    let keys = keys.chain([SECCOMP_POD.to_owned()]);
    let forbidden: BTreeSet<String> = keys
        .filter_map(|key| {
            let value = subject.metadata["annotations"][&key].as_str()?;
            let fine =
                matches!(value, "runtime/default" | "docker/default") || value.starts_with("localhost/");
            (!fine).then(|| format!("{key}={value:?}"))
        })
        .collect();
    (!forbidden.is_empty()).then(|| {
        let what = plural(forbidden.len(), "annotation", "annotations");
        let all = forbidden.into_iter().collect::<Vec<_>>().join(", ");
        Violation::new("seccompProfile", format!("forbidden {what} {all}"))
    })
}

fn sysctls(subject: &Subject<'_>, minor: u32) -> Option<Violation> {
    let fine = |name: &str| SYSCTLS.iter().any(|(known, since)| *known == name && *since <= minor);
    let names = items(&subject.spec["securityContext"], "sysctls").map(name);
    let bad: Vec<String> = names.filter(|name| !fine(name)).collect();
    (!bad.is_empty()).then(|| Violation::new("forbidden sysctls", bad.join(", ")))
}

fn host_process(subject: &Subject<'_>, _: u32) -> Option<Violation> {
    let setters = subject.setters(|context| context["windowsOptions"]["hostProcess"] == true)?;
    let detail = format!("{setters} must not set securityContext.windowsOptions.hostProcess=true");
    Some(Violation::new("hostProcess", detail))
}
