//! Security contexts of Pods and containers.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::super::check::{self, Errors};
use super::super::value::{flag, items, text};

/// The highest user and group number.
const HIGHEST_ID: i64 = i32::MAX as i64;

pub(super) fn validate_pod(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let context = &spec["securityContext"];
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        check::between(errors, &path.field(field), &context[field], 0, HIGHEST_ID);
    }
    let groups = path.field("supplementalGroups");
    for (index, group) in items(&context["supplementalGroups"]).iter().enumerate() {
        check::between(errors, &groups.index(index), group, 0, HIGHEST_ID);
    }
    let changes = ["Always", "OnRootMismatch"];
    check::one_of(errors, &path.field("fsGroupChangePolicy"), &context["fsGroupChangePolicy"], &changes);
    let policies = ["Merge", "Strict"];
    check::one_of(
        errors,
        &path.field("supplementalGroupsPolicy"),
        &context["supplementalGroupsPolicy"],
        &policies,
    );
    let labels = ["MountOption", "Recursive"];
    check::one_of(errors, &path.field("seLinuxChangePolicy"), &context["seLinuxChangePolicy"], &labels);
    profiles(errors, path, context);
    sysctls(errors, &path.field("sysctls"), items(&context["sysctls"]), spec);
}

pub(super) fn validate_container(errors: &mut Errors, path: &Path<'_>, context: &Value, own_users: bool) {
    if context.is_null() {
        return;
    }
    for field in ["runAsUser", "runAsGroup"] {
        check::between(errors, &path.field(field), &context[field], 0, HIGHEST_ID);
    }
    let mount = &context["procMount"];
    check::one_of(errors, &path.field("procMount"), mount, &["Default", "Unmasked"]);
    if mount == "Unmasked" && !own_users {
        let detail = "`hostUsers` must be false to use `Unmasked`";
        errors.push(FieldError::invalid(path.field("procMount"), mount.clone(), detail));
    }
    profiles(errors, path, context);
    if context["allowPrivilegeEscalation"] != Value::Bool(false) {
        return;
    }
    if flag(&context["privileged"]) {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        errors.push(FieldError::invalid(path, context.clone(), detail));
    }
    if items(&context["capabilities"]["add"]).iter().any(|capability| capability == "CAP_SYS_ADMIN") {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
        errors.push(FieldError::invalid(path, context.clone(), detail));
    }
}

/// The profiles that confine a process: both kinds are either built in or a file of the node.
fn profiles(errors: &mut Errors, path: &Path<'_>, context: &Value) {
    for (field, what) in [("seccompProfile", "seccomp"), ("appArmorProfile", "AppArmor")] {
        let profile = &context[field];
        if profile.is_null() {
            continue;
        }
        let path = path.field(field);
        let kinds = ["Localhost", "RuntimeDefault", "Unconfined"];
        check::required_one_of(errors, &path.field("type"), &profile["type"], &kinds);
        let file = &profile["localhostProfile"];
        let file_path = path.field("localhostProfile");
        match (profile["type"] == "Localhost", text(file).is_empty()) {
            (true, true) => {
                errors.push(FieldError::required(
                    file_path,
                    format!("must be set when {what} type is Localhost"),
                ));
            }
            (true, false) if what == "seccomp" => check::descending_path(errors, &file_path, text(file)),
            (false, false) => {
                let detail = format!("can only be set when {what} type is Localhost");
                errors.push(FieldError::invalid(file_path, file.clone(), detail));
            }
            _ => {}
        }
    }
}

fn sysctls(errors: &mut Errors, path: &Path<'_>, sysctls: &[Value], spec: &Value) {
    for (index, sysctl) in sysctls.iter().enumerate() {
        let item = path.index(index);
        let path = item.field("name");
        let name = text(&sysctl["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(path, ""));
        } else if !is_sysctl(name) {
            let detail = "must have at most 253 characters and be dotted or slashed lower case words";
            errors.push(FieldError::invalid(path, name, detail));
        } else if sysctls[..index].iter().any(|other| other["name"] == name) {
            errors.push(FieldError::duplicate(path, name));
        }
        let dotted = name.replace('/', ".");
        if flag(&spec["hostNetwork"]) && dotted.starts_with("net.") {
            errors.push(FieldError::invalid(
                path,
                name,
                "may not be specified when 'hostNetwork' is set to true",
            ));
        }
        let is_messaging =
            ["kernel.shm", "kernel.msg", "fs.mqueue."].iter().any(|prefix| dotted.starts_with(prefix));
        if flag(&spec["hostIPC"]) && (is_messaging || dotted == "kernel.sem") {
            errors.push(FieldError::invalid(
                path,
                name,
                "may not be specified when 'hostIPC' is set to true",
            ));
        }
    }
}

fn is_sysctl(name: &str) -> bool {
    let edges = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_word = |word: &str| {
        let bytes = word.as_bytes();
        bytes.first().is_some_and(|&byte| edges(byte))
            && bytes.last().is_some_and(|&byte| edges(byte))
            && bytes.iter().all(|&byte| edges(byte) || byte == b'-' || byte == b'_')
    };
    name.len() <= 253 && name.split(['.', '/']).all(is_word)
}
