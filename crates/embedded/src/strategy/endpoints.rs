//! Endpoints, the older form of EndpointSlices.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::check::{self, Errors};
use super::value::{fill_text, items, items_mut, text};
use super::{Strategy, name};

/// The strategy of Endpoints.
#[derive(Debug)]
pub(crate) struct Endpoints;

impl Strategy for Endpoints {
    fn default(&self, object: &mut Value) {
        let Some(object) = object.as_object_mut() else { return };
        for subset in items_mut(object, "subsets") {
            for port in items_mut(subset, "ports") {
                fill_text(port, "protocol", "TCP");
            }
        }
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let list = Path::Text("subsets");
        for (index, subset) in items(&object["subsets"]).iter().enumerate() {
            let path = list.index(index);
            if items(&subset["addresses"]).is_empty() && items(&subset["notReadyAddresses"]).is_empty() {
                errors.push(FieldError::required(path, "must specify `addresses` or `notReadyAddresses`"));
            }
            for field in ["addresses", "notReadyAddresses"] {
                let list = path.field(field);
                for (index, address) in items(&subset[field]).iter().enumerate() {
                    validate_address(&mut errors, &list.index(index), address);
                }
            }
            let ports = items(&subset["ports"]);
            let list = path.field("ports");
            for (index, port) in ports.iter().enumerate() {
                validate_port(&mut errors, &list.index(index), port, ports.len() > 1);
            }
        }
        errors
    }
}

fn validate_address(errors: &mut Errors, path: &Path<'_>, address: &Value) {
    check::follows(errors, &path.field("hostname"), &address["hostname"], name::label);
    check::follows(errors, &path.field("nodeName"), &address["nodeName"], name::subdomain);
    validate_endpoint_address(errors, &path.field("ip"), text(&address["ip"]));
}

/// Checks that an address can be reached from other machines.
pub(super) fn validate_endpoint_address(errors: &mut Errors, path: &Path<'_>, address: &str) {
    check::text_follows(errors, path, address, name::address);
    let Ok(parsed) = address.parse::<std::net::IpAddr>() else { return };
    let link_local = match parsed {
        std::net::IpAddr::V4(parsed) => parsed.is_link_local(),
        std::net::IpAddr::V6(parsed) => parsed.is_unicast_link_local(),
    };
    let link_local_multicast = match parsed {
        std::net::IpAddr::V4(parsed) => parsed.octets()[..3] == [224, 0, 0],
        std::net::IpAddr::V6(parsed) => parsed.segments()[0] & 0xff0f == 0xff02,
    };
    let complaint = if parsed.is_unspecified() {
        format!("may not be unspecified ({address})")
    } else if parsed.is_loopback() {
        "may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned()
    } else if link_local {
        "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned()
    } else if link_local_multicast {
        "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned()
    } else {
        return;
    };
    errors.push(FieldError::invalid(path, address, complaint));
}

fn validate_port(errors: &mut Errors, path: &Path<'_>, port: &Value, needs_name: bool) {
    if needs_name {
        check::given(errors, &path.field("name"), &port["name"]);
    }
    check::follows(errors, &path.field("name"), &port["name"], name::label);
    check::port(errors, &path.field("port"), &port["port"]);
    check::required_one_of(errors, &path.field("protocol"), &port["protocol"], &["SCTP", "TCP", "UDP"]);
    check::follows(errors, &path.field("appProtocol"), &port["appProtocol"], name::qualified);
}
