//! Ingresses.

use maar_machinery::error::{FieldError, Path};
use serde_json::{Value, json};

use super::check::{self, Errors};
use super::value::{integer, is_set, items, make_child, make_root_child, restore, set_status, text};
use super::{Strategy, name};
use crate::resource::Subresource;
use crate::world::World;

const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

/// The strategy of Ingresses.
#[derive(Debug)]
pub(crate) struct Ingress;

impl Strategy for Ingress {
    fn default(&self, object: &mut Value) {
        make_root_child(object, "spec");
        if let Some(status) = make_root_child(object, "status") {
            make_child(status, "loadBalancer");
        }
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        set_status(object, json!({"loadBalancer": {}}));
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec");
        let spec = &object["spec"];
        let rules = items(&spec["rules"]);
        if rules.is_empty() && spec["defaultBackend"].is_null() {
            let detail = "either `defaultBackend` or `rules` must be specified";
            errors.push(FieldError::invalid(path, spec["rules"].clone(), detail));
        }
        if !spec["defaultBackend"].is_null() {
            backend(&mut errors, &path.field("defaultBackend"), &spec["defaultBackend"]);
        }
        let list = path.field("rules");
        for (index, rule) in rules.iter().enumerate() {
            validate_rule(&mut errors, &list.index(index), rule);
        }
        let list = path.field("tls");
        for (index, tls) in items(&spec["tls"]).iter().enumerate() {
            let path = list.index(index);
            let hosts = path.field("hosts");
            for (index, host) in items(&tls["hosts"]).iter().enumerate() {
                host_name(&mut errors, &hosts.index(index), text(host));
            }
            check::follows(&mut errors, &path.field("secretName"), &tls["secretName"], name::subdomain);
        }
        check::follows(
            &mut errors,
            &path.field("ingressClassName"),
            &spec["ingressClassName"],
            name::subdomain,
        );
        errors
    }

    fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        let annotation = &object["metadata"]["annotations"][CLASS_ANNOTATION];
        let class = &object["spec"]["ingressClassName"];
        if annotation.is_null() || class.is_null() || annotation == class {
            return Vec::new();
        }
        let path = Path::Text("annotations");
        let detail = "must match `ingressClassName` when both are specified";
        vec![FieldError::invalid(path.field(CLASS_ANNOTATION), annotation.clone(), detail)]
    }

    fn validate_subresource(&self, _subresource: Subresource, new: &Value, _old: &Value) -> Vec<FieldError> {
        validate_load_balancer(&new["status"]["loadBalancer"])
    }
}

/// Checks the addresses that a load balancer gave, to an Ingress or to a Service.
pub(super) fn validate_load_balancer(balancer: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let list = Path::Text("status.loadBalancer.ingress");
    for (index, ingress) in items(&balancer["ingress"]).iter().enumerate() {
        let path = list.index(index);
        check::follows(&mut errors, &path.field("ip"), &ingress["ip"], name::address);
        if is_set(&ingress["hostname"]) {
            not_an_address(&mut errors, &path.field("hostname"), text(&ingress["hostname"]));
            check::follows(&mut errors, &path.field("hostname"), &ingress["hostname"], name::subdomain);
        }
    }
    errors
}

fn not_an_address(errors: &mut Errors, path: &Path<'_>, host: &str) {
    if host.parse::<std::net::IpAddr>().is_ok() {
        errors.push(FieldError::invalid(path, host, "must be a DNS name, not an IP address"));
    }
}

fn host_name(errors: &mut Errors, path: &Path<'_>, host: &str) {
    let rule = if host.contains('*') { name::wildcard_subdomain } else { name::subdomain };
    check::text_follows(errors, path, host, rule);
}

fn validate_rule(errors: &mut Errors, path: &Path<'_>, rule: &Value) {
    let host = text(&rule["host"]);
    if !host.is_empty() {
        not_an_address(errors, &path.field("host"), host);
        host_name(errors, &path.field("host"), host);
    }
    if rule["http"].is_null() {
        return;
    }
    let http = path.field("http");
    let list = http.field("paths");
    check::given(errors, &list, &rule["http"]["paths"]);
    for (index, item) in items(&rule["http"]["paths"]).iter().enumerate() {
        validate_path(errors, &list.index(index), item);
    }
}

fn validate_path(errors: &mut Errors, path: &Path<'_>, item: &Value) {
    let kind = text(&item["pathType"]);
    let target = text(&item["path"]);
    let target_path = path.field("path");
    if item["pathType"].is_null() {
        errors.push(FieldError::required(path.field("pathType"), "pathType must be specified"));
        return;
    }
    let kinds = ["Exact", "ImplementationSpecific", "Prefix"];
    check::one_of(errors, &path.field("pathType"), &item["pathType"], &kinds);
    let strict = kind == "Exact" || kind == "Prefix";
    if (strict || !target.is_empty()) && kinds.contains(&kind) && !target.starts_with('/') {
        errors.push(FieldError::invalid(target_path, target, "must be an absolute path"));
    }
    if strict {
        for sequence in ["//", "/./", "/../", "%2f", "%2F"] {
            if target.contains(sequence) {
                errors.push(FieldError::invalid(
                    target_path,
                    target,
                    format!("must not contain '{sequence}'"),
                ));
            }
        }
        for suffix in ["/..", "/."] {
            if target.ends_with(suffix) {
                errors.push(FieldError::invalid(target_path, target, format!("cannot end with '{suffix}'")));
            }
        }
    }
    backend(errors, &path.field("backend"), &item["backend"]);
}

fn backend(errors: &mut Errors, path: &Path<'_>, backend: &Value) {
    match (backend["resource"].is_null(), backend["service"].is_null()) {
        (false, false) => {
            errors.push(FieldError::invalid(path, "", "cannot set both resource and service backends"));
        }
        (true, true) => errors.push(FieldError::invalid(path, "", "resource or service backend is required")),
        (false, true) => {
            let path = path.field("resource");
            for field in ["kind", "name"] {
                check::given(errors, &path.field(field), &backend["resource"][field]);
            }
        }
        (true, false) => service_backend(errors, path, &backend["service"]),
    }
}

fn service_backend(errors: &mut Errors, path: &Path<'_>, service: &Value) {
    let service_path = path.field("service");
    check::requires(errors, &service_path.field("name"), &service["name"], name::label);
    let port = &service["port"];
    let port_path = service_path.field("port");
    let has_number = integer(&port["number"]).is_some_and(|number| number != 0);
    match (is_set(&port["name"]), has_number) {
        (true, true) => errors.push(FieldError::invalid(path, "", "cannot set both port name & port number")),
        (false, false) => errors.push(FieldError::required(path, "port name or number is required")),
        (true, false) => check::follows(errors, &port_path.field("name"), &port["name"], name::port_name),
        (false, true) => check::port_number(errors, &port_path.field("number"), &port["number"]),
    }
}
