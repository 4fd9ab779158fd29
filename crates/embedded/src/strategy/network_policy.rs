//! NetworkPolicies.

use maar_machinery::error::{FieldError, Path};
use serde_json::{Value, json};

use super::check::{self, Errors};
use super::value::{fill, integer, items, items_mut, make_child, make_root_child, text};
use super::{Strategy, name, selector};

/// The strategy of NetworkPolicies.
#[derive(Debug)]
pub(crate) struct NetworkPolicy;

impl Strategy for NetworkPolicy {
    fn default(&self, object: &mut Value) {
        let Some(spec) = make_root_child(object, "spec") else { return };
        make_child(spec, "podSelector");
        for direction in ["ingress", "egress"] {
            for rule in items_mut(spec, direction) {
                for port in items_mut(rule, "ports") {
                    fill(port, "protocol", "TCP");
                }
            }
        }
        if spec.get("policyTypes").is_none_or(|types| items(types).is_empty()) {
            let leaves = spec.get("egress").is_some_and(|egress| !items(egress).is_empty());
            let types = if leaves { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
            spec.insert("policyTypes".to_owned(), types);
        }
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec");
        let spec = &object["spec"];
        selector::validate(&mut errors, &path.field("podSelector"), &spec["podSelector"]);
        for (direction, side) in [("ingress", "from"), ("egress", "to")] {
            let list = path.field(direction);
            for (index, rule) in items(&spec[direction]).iter().enumerate() {
                let path = list.index(index);
                let ports = path.field("ports");
                for (index, port) in items(&rule["ports"]).iter().enumerate() {
                    validate_port(&mut errors, &ports.index(index), port);
                }
                let peers = path.field(side);
                for (index, peer) in items(&rule[side]).iter().enumerate() {
                    validate_peer(&mut errors, &peers.index(index), peer);
                }
            }
        }
        let types = items(&spec["policyTypes"]);
        let list = path.field("policyTypes");
        if types.len() > 2 {
            errors.push(FieldError::invalid(
                list,
                types.to_vec(),
                "may not specify more than two policyTypes",
            ));
            return errors;
        }
        for (index, kind) in types.iter().enumerate() {
            check::one_of(&mut errors, &list.index(index), kind, &["Ingress", "Egress"]);
        }
        errors
    }
}

fn validate_port(errors: &mut Errors, path: &Path<'_>, port: &Value) {
    check::one_of(errors, &path.field("protocol"), &port["protocol"], &["TCP", "UDP", "SCTP"]);
    let end = &port["endPort"];
    let end_path = path.field("endPort");
    if !port["port"].is_null() {
        check::port(errors, &path.field("port"), &port["port"]);
    }
    if end.is_null() {
        return;
    }
    let complaint = match (integer(&port["port"]), integer(end)) {
        (Some(first), Some(last)) if last < first => "must be greater than or equal to `port`",
        (Some(_), _) => {
            check::port_number(errors, &end_path, end);
            return;
        }
        (None, _) if port["port"].is_null() => "may not be specified when `port` is not specified",
        (None, _) => "may not be specified when `port` is non-numeric",
    };
    errors.push(FieldError::invalid(end_path, end.clone(), complaint));
}

fn validate_peer(errors: &mut Errors, path: &Path<'_>, peer: &Value) {
    for field in ["podSelector", "namespaceSelector"] {
        selector::validate(errors, &path.field(field), &peer[field]);
    }
    let selects = !peer["podSelector"].is_null() || !peer["namespaceSelector"].is_null();
    match (selects, peer["ipBlock"].is_null()) {
        (false, true) => errors.push(FieldError::required(path, "must specify a peer")),
        (true, false) => {
            errors.push(FieldError::forbidden(path, "may not specify both ipBlock and another peer"));
        }
        _ => {}
    }
    if !peer["ipBlock"].is_null() {
        block(errors, &path.field("ipBlock"), &peer["ipBlock"]);
    }
}

fn block(errors: &mut Errors, path: &Path<'_>, block: &Value) {
    let network = text(&block["cidr"]);
    check::requires(errors, &path.field("cidr"), &block["cidr"], name::network);
    let list = path.field("except");
    for (index, except) in items(&block["except"]).iter().map(text).enumerate() {
        check::text_follows(errors, &list.index(index), except, name::network);
        let well_formed = name::network(network).is_empty() && name::network(except).is_empty();
        if well_formed && !name::is_within(except, network) {
            errors.push(FieldError::invalid(list.index(index), except, "must be a strict subset of `cidr`"));
        }
    }
}
