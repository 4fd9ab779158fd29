//! EndpointSlices.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::check::{self, Errors};
use super::endpoints::validate_endpoint_address;
use super::value::{fill, items, items_mut, make_child, text};
use super::{Strategy, name};
use crate::world::World;

const MOST_PORTS: usize = 20_000;
const MOST_ENDPOINTS: usize = 1000;
const MOST_ADDRESSES: usize = 100;
const MOST_ZONES: usize = 8;

/// The strategy of EndpointSlices.
#[derive(Debug)]
pub(crate) struct EndpointSlice;

impl Strategy for EndpointSlice {
    fn default(&self, object: &mut Value) {
        let Some(object) = object.as_object_mut() else { return };
        for port in items_mut(object, "ports") {
            fill(port, "name", "");
            fill(port, "protocol", "TCP");
        }
        for endpoint in items_mut(object, "endpoints") {
            make_child(endpoint, "conditions");
        }
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        drop_topology(object);
    }

    fn prepare_update(&self, new: &mut Value, _old: &Value) {
        drop_topology(new);
    }

    fn changes_generation(&self, new: &Value, old: &Value) -> bool {
        ["endpoints", "ports", "addressType"].iter().any(|field| new[field] != old[field])
            || new["metadata"]["labels"] != old["metadata"]["labels"]
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let kinds = ["FQDN", "IPv4", "IPv6"];
        check::required_one_of(&mut errors, &Path::Text("addressType"), &object["addressType"], &kinds);
        ports(&mut errors, items(&object["ports"]));
        let list = Path::Text("endpoints");
        let endpoints = items(&object["endpoints"]);
        if endpoints.len() > MOST_ENDPOINTS {
            errors.push(FieldError::too_many(list, endpoints.len() as u64, MOST_ENDPOINTS as u64));
            return errors;
        }
        for (index, endpoint) in endpoints.iter().enumerate() {
            validate_endpoint(&mut errors, &list.index(index), endpoint, text(&object["addressType"]));
        }
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        check::immutable(&mut errors, &Path::Text("addressType"), &new["addressType"], &old["addressType"]);
        errors
    }
}

/// A field of an earlier version that this one shows and does not accept.
fn drop_topology(object: &mut Value) {
    let Some(object) = object.as_object_mut() else { return };
    for endpoint in items_mut(object, "endpoints") {
        endpoint.remove("deprecatedTopology");
    }
}

fn ports(errors: &mut Errors, ports: &[Value]) {
    let list = Path::Text("ports");
    if ports.len() > MOST_PORTS {
        errors.push(FieldError::too_many(list, ports.len() as u64, MOST_PORTS as u64));
        return;
    }
    for (index, port) in ports.iter().enumerate() {
        let path = list.index(index);
        check::follows(errors, &path.field("name"), &port["name"], name::label);
        if ports[..index].iter().any(|other| text(&other["name"]) == text(&port["name"])) {
            errors.push(FieldError::duplicate(path.field("name"), text(&port["name"])));
        }
        check::required_one_of(errors, &path.field("protocol"), &port["protocol"], &["SCTP", "TCP", "UDP"]);
        check::follows(errors, &path.field("appProtocol"), &port["appProtocol"], name::qualified);
    }
}

fn validate_endpoint(errors: &mut Errors, path: &Path<'_>, endpoint: &Value, kind: &str) {
    let addresses = items(&endpoint["addresses"]);
    let list = path.field("addresses");
    if addresses.is_empty() {
        errors.push(FieldError::required(list, "must contain at least 1 address"));
    } else if addresses.len() > MOST_ADDRESSES {
        errors.push(FieldError::too_many(list, addresses.len() as u64, MOST_ADDRESSES as u64));
    }
    for (index, address) in addresses.iter().map(text).enumerate() {
        validate_address(errors, &list, index, address, kind);
    }
    check::follows(errors, &path.field("nodeName"), &endpoint["nodeName"], name::subdomain);
    check::follows(errors, &path.field("hostname"), &endpoint["hostname"], name::label);
    let hints = path.field("hints");
    for (field, rule) in [("forZones", name::label_value as name::Rule), ("forNodes", name::subdomain)] {
        let list = hints.field(field);
        let targets = items(&endpoint["hints"][field]);
        if targets.len() > MOST_ZONES {
            errors.push(FieldError::too_many(list, targets.len() as u64, MOST_ZONES as u64));
            continue;
        }
        for (index, target) in targets.iter().enumerate() {
            let path = list.index(index);
            check::text_follows(errors, &path.field("name"), text(&target["name"]), rule);
            if targets[..index].contains(target) {
                errors.push(FieldError::duplicate(path.field("name"), target["name"].clone()));
            }
        }
    }
}

fn validate_address(errors: &mut Errors, list: &Path<'_>, index: usize, address: &str, kind: &str) {
    let path = list.index(index);
    if kind == "FQDN" {
        let bare = address.strip_suffix('.').unwrap_or(address);
        check::text_follows(errors, &path, bare, name::subdomain);
        return;
    }
    if kind != "IPv4" && kind != "IPv6" {
        return;
    }
    let parsed = address.parse::<std::net::IpAddr>();
    if parsed.is_ok_and(|parsed| parsed.is_ipv4() != (kind == "IPv4")) {
        errors.push(FieldError::invalid(list, address, format!("must be an {kind} address")));
    }
    validate_endpoint_address(errors, &path, address);
}
