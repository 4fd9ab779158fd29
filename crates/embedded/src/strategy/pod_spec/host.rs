//! How a Pod appears on the network: host names, resolvers, the node's own namespaces.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::super::check::{self, Errors};
use super::super::name;
use super::super::value::{flag, integer, is_set, items, text};
use super::validate::Owner;

const NAME_SERVERS: usize = 3;
const SEARCH_PATHS: usize = 32;
const SEARCH_LENGTH: usize = 2048;

pub(super) fn validate(errors: &mut Errors, path: &Path<'_>, spec: &Value, owner: Owner<'_>) {
    check::follows(errors, &path.field("hostname"), &spec["hostname"], name::label);
    check::follows(errors, &path.field("subdomain"), &spec["subdomain"], name::label);
    host_name_override(errors, &path.field("hostnameOverride"), spec);
    if flag(&spec["hostNetwork"]) {
        host_ports(errors, &path.field("containers"), items(&spec["containers"]), owner);
    }
    host_users(errors, path, spec);
    resolver(errors, &path.field("dnsConfig"), spec);
    aliases(errors, &path.field("hostAliases"), items(&spec["hostAliases"]));
    if flag(&spec["shareProcessNamespace"]) && flag(&spec["hostPID"]) {
        errors.push(FieldError::invalid(
            path.field("securityContext").field("shareProcessNamespace"),
            true,
            "ShareProcessNamespace and HostPID cannot both be enabled",
        ));
    }
}

fn host_name_override(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let given = &spec["hostnameOverride"];
    if given.is_null() {
        return;
    }
    if flag(&spec["setHostnameAsFQDN"]) {
        errors.push(FieldError::forbidden(path, "may not be specified when setHostnameAsFQDN is true"));
    }
    if flag(&spec["hostNetwork"]) {
        errors.push(FieldError::forbidden(path, "may not be specified when hostNetwork is true"));
    }
    if text(given).len() > 64 {
        errors.push(FieldError::too_long(path, 64));
    }
    check::text_follows(errors, path, text(given), name::subdomain);
}

fn host_ports(errors: &mut Errors, path: &Path<'_>, containers: &[Value], owner: Owner<'_>) {
    for (index, container) in containers.iter().enumerate() {
        let item = path.index(index);
        let list = item.field("ports");
        for (index, port) in items(&container["ports"]).iter().enumerate() {
            let host = integer(&port["hostPort"]).unwrap_or_default();
            let inner = integer(&port["containerPort"]).unwrap_or_default();
            if (owner.is_pod() || host != 0) && host != inner {
                let path = list.index(index);
                let detail = "must match `containerPort` when `hostNetwork` is true";
                errors.push(FieldError::invalid(path.field("hostPort"), host, detail));
            }
        }
    }
}

/// A Pod with its own users does not share the node's other namespaces.
fn host_users(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    if spec["hostUsers"] != Value::Bool(false) {
        return;
    }
    for (field, shown) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if flag(&spec[field]) {
            errors.push(FieldError::forbidden(path.field(shown), "when `hostUsers` is false"));
        }
    }
    for list in ["initContainers", "containers"] {
        for (index, container) in items(&spec[list]).iter().enumerate() {
            if is_set(&container["volumeDevices"]) {
                let path = path.field(list);
                let path = path.index(index);
                errors.push(FieldError::forbidden(path.field("volumeDevices"), "when `hostUsers` is false"));
            }
        }
    }
}

fn resolver(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let config = &spec["dnsConfig"];
    let servers = items(&config["nameservers"]);
    if spec["dnsPolicy"] == "None" {
        if config.is_null() {
            errors.push(FieldError::required(path, "must provide `dnsConfig` when `dnsPolicy` is None"));
            return;
        }
        if servers.is_empty() {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            errors.push(FieldError::required(path.field("nameservers"), detail));
            return;
        }
    }
    let list = path.field("nameservers");
    if servers.len() > NAME_SERVERS {
        let detail = format!("must not have more than {NAME_SERVERS} nameservers");
        errors.push(FieldError::invalid(list, config["nameservers"].clone(), detail));
    }
    for (index, server) in servers.iter().enumerate() {
        check::text_follows(errors, &list.index(index), text(server), name::address);
    }
    searches(errors, &path.field("searches"), &config["searches"]);
    for (index, option) in items(&config["options"]).iter().enumerate() {
        if text(&option["name"]).is_empty() {
            errors.push(FieldError::required(path.field("options").index(index), "must not be empty"));
        }
    }
}

fn searches(errors: &mut Errors, path: &Path<'_>, searches: &Value) {
    let paths = items(searches);
    if paths.len() > SEARCH_PATHS {
        let detail = format!("must not have more than {SEARCH_PATHS} search paths");
        errors.push(FieldError::invalid(path, searches.clone(), detail));
    }
    let length: usize = paths.iter().map(|search| text(search).len() + 1).sum();
    if length > SEARCH_LENGTH + 1 {
        let detail = format!(
            "must not have more than {SEARCH_LENGTH} characters (including spaces) in the search list"
        );
        errors.push(FieldError::invalid(path, searches.clone(), detail));
    }
    for (index, search) in paths.iter().map(text).enumerate() {
        if search != "." {
            let bare = search.strip_suffix('.').unwrap_or(search);
            check::text_follows(errors, &path.index(index), bare, name::loose_subdomain);
        }
    }
}

fn aliases(errors: &mut Errors, path: &Path<'_>, aliases: &[Value]) {
    for (index, alias) in aliases.iter().enumerate() {
        let path = path.index(index);
        check::text_follows(errors, &path.field("ip"), text(&alias["ip"]), name::address);
        let list = path.field("hostnames");
        for (index, host) in items(&alias["hostnames"]).iter().enumerate() {
            check::text_follows(errors, &list.index(index), text(host), name::subdomain);
        }
    }
}
