//! What is checked about a Service.

use maar_machinery::error::{FieldError, Path};
use serde_json::{Value, json};

use super::super::check::{self, Errors};
use super::super::endpoints::validate_endpoint_address;
use super::super::name;
use super::super::value::{integer, is_set, items, text};
use super::is_external;

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const A_DAY: i64 = 86400;

pub(super) fn service(errors: &mut Errors, object: &Value) {
    let path = Path::Text("spec");
    let spec = &object["spec"];
    let kinds = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    check::required_one_of(errors, &path.field("type"), &spec["type"], &kinds);
    by_type(errors, &path, spec);
    ports(errors, &path.field("ports"), spec);
    check::labels(errors, &path.field("selector"), &spec["selector"]);
    affinity(errors, &path, spec);
    if spec["type"] != "ExternalName" {
        addresses(errors, &path, spec);
    }
    let list = path.field("externalIPs");
    for (index, address) in items(&spec["externalIPs"]).iter().enumerate() {
        validate_endpoint_address(errors, &list.index(index), text(address));
    }
    load_balancer(errors, &path, spec);
    traffic(errors, &path, spec);
}

fn is_headless(spec: &Value) -> bool {
    spec["clusterIP"] == "None" || items(&spec["clusterIPs"]).first().is_some_and(|address| address == "None")
}

fn by_type(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let kind = text(&spec["type"]);
    if kind == "ExternalName" {
        for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if is_set(&spec[field]) {
                errors.push(FieldError::forbidden(
                    path.field(field),
                    "may not be set for ExternalName services",
                ));
            }
        }
        let host = text(&spec["externalName"]);
        let bare = host.strip_suffix('.').unwrap_or(host);
        check::requires(errors, &path.field("externalName"), &bare.into(), name::subdomain);
        return;
    }
    if items(&spec["ports"]).is_empty() && !is_headless(spec) {
        errors.push(FieldError::required(path.field("ports"), ""));
    }
    if is_headless(spec) && (kind == "LoadBalancer" || kind == "NodePort") {
        let list = path.field("clusterIPs");
        let detail = format!("may not be set to 'None' for {kind} services");
        errors.push(FieldError::invalid(list.index(0), "None", detail));
    }
}

fn ports(errors: &mut Errors, list: &Path<'_>, spec: &Value) {
    let ports = items(&spec["ports"]);
    for (index, port) in ports.iter().enumerate() {
        let path = list.index(index);
        let earlier = &ports[..index];
        let port_name = &port["name"];
        if ports.len() > 1 {
            check::given(errors, &path.field("name"), port_name);
        }
        check::follows(errors, &path.field("name"), port_name, name::label);
        if is_set(port_name) && earlier.iter().any(|other| other["name"] == *port_name) {
            errors.push(FieldError::duplicate(path.field("name"), port_name.clone()));
        }
        let number = integer(&port["port"]).unwrap_or_default();
        check::port_number(errors, &path.field("port"), &number.into());
        check::required_one_of(errors, &path.field("protocol"), &port["protocol"], &PROTOCOLS);
        check::port(errors, &path.field("targetPort"), &port["targetPort"]);
        check::follows(errors, &path.field("appProtocol"), &port["appProtocol"], name::qualified);
        let node_port = integer(&port["nodePort"]).unwrap_or_default();
        let same = |field: &str| {
            earlier.iter().any(|other| other["protocol"] == port["protocol"] && other[field] == port[field])
        };
        if node_port != 0 && spec["type"] == "ClusterIP" {
            let detail = "may not be used when `type` is 'ClusterIP'";
            errors.push(FieldError::forbidden(path.field("nodePort"), detail));
        }
        if node_port != 0 && same("nodePort") {
            errors.push(FieldError::duplicate(path.field("nodePort"), node_port));
        }
        if same("port") {
            let key = json!({"protocol": port["protocol"], "port": number});
            errors.push(FieldError::duplicate(path, key));
        }
    }
}

fn affinity(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let kinds = ["ClientIP", "None"];
    check::required_one_of(errors, &path.field("sessionAffinity"), &spec["sessionAffinity"], &kinds);
    if spec["sessionAffinity"] == "ClientIP" {
        let seconds = &spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"];
        let config = path.field("sessionAffinityConfig");
        let client = config.field("clientIP");
        check::between(errors, &client.field("timeoutSeconds"), seconds, 1, A_DAY);
    }
}

fn addresses(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let list = path.field("clusterIPs");
    let addresses = items(&spec["clusterIPs"]);
    let first = text(&spec["clusterIP"]);
    if !first.is_empty() && addresses.first().is_some_and(|address| address != first) {
        let detail = "first value must match `clusterIP`";
        errors.push(FieldError::invalid(list, spec["clusterIPs"].clone(), detail));
    }
    if first.is_empty() && !addresses.is_empty() {
        let detail = "must be empty when `clusterIP` is not specified";
        errors.push(FieldError::invalid(list, spec["clusterIPs"].clone(), detail));
    }
    for (index, address) in addresses.iter().map(text).enumerate() {
        if index == 0 && address == "None" {
            continue;
        }
        check::text_follows(errors, &list.index(index), address, name::address);
    }
    if addresses.len() > 2 {
        errors.push(FieldError::invalid(list, spec["clusterIPs"].clone(), "may only hold up to 2 values"));
    }
    families(errors, path, spec);
}

fn families(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let list = path.field("ipFamilies");
    let families = items(&spec["ipFamilies"]);
    for (index, family) in families.iter().enumerate() {
        check::one_of(errors, &list.index(index), family, &["IPv4", "IPv6"]);
        if families[..index].contains(family) {
            errors.push(FieldError::duplicate(list.index(index), family.clone()));
        }
    }
    let policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
    check::one_of(errors, &path.field("ipFamilyPolicy"), &spec["ipFamilyPolicy"], &policies);
    let addresses = path.field("clusterIPs");
    for (index, (address, family)) in items(&spec["clusterIPs"]).iter().zip(families).enumerate() {
        let Ok(parsed) = text(address).parse::<std::net::IpAddr>() else { continue };
        let actual = if parsed.is_ipv6() { "IPv6" } else { "IPv4" };
        if family != actual {
            let detail = format!("expected an {} value as indicated by `ipFamilies[{index}]`", text(family));
            errors.push(FieldError::invalid(addresses.index(index), address.clone(), detail));
        }
    }
}

/// What a Service asks of a cluster whose addresses are of one family. Without a selector it has none of them.
pub(super) fn families_of_cluster(object: &Value) -> Vec<FieldError> {
    let (path, spec) = (Path::Text("spec"), &object["spec"]);
    let mut errors = Vec::new();
    if spec["type"] == "ExternalName" || (is_headless(spec) && !is_set(&spec["selector"])) {
        return errors;
    }
    if spec["ipFamilyPolicy"] == "RequireDualStack" {
        let detail = "this cluster is not configured for dual-stack services";
        errors.push(FieldError::invalid(path.field("ipFamilyPolicy"), "RequireDualStack", detail));
    }
    // Families that were not given follow from the addresses.
    let addresses = path.field("clusterIPs");
    for (index, address) in items(&spec["clusterIPs"]).iter().enumerate() {
        if text(address).parse::<std::net::IpAddr>().is_ok_and(|address| address.is_ipv6()) {
            let detail = "IPv6 is not configured on this cluster";
            errors.push(FieldError::invalid(addresses.index(index), address.clone(), detail));
        }
    }
    let list = path.field("ipFamilies");
    for (index, family) in items(&spec["ipFamilies"]).iter().enumerate() {
        // A family that contradicts the address is said elsewhere.
        let settled = items(&spec["clusterIPs"]).get(index).is_some_and(is_set);
        if family == "IPv6" && errors.is_empty() && !settled {
            let detail = "not configured on this cluster";
            errors.push(FieldError::invalid(list.index(index), "IPv6", detail));
        }
    }
    errors
}

fn load_balancer(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    const ONLY: &str = "may only be used when `type` is 'LoadBalancer'";
    let balanced = spec["type"] == "LoadBalancer";
    for (field, shown) in [
        ("loadBalancerSourceRanges", "LoadBalancerSourceRanges"),
        ("allocateLoadBalancerNodePorts", "allocateLoadBalancerNodePorts"),
        ("loadBalancerClass", "loadBalancerClass"),
    ] {
        if !balanced && is_set(&spec[field]) {
            errors.push(FieldError::forbidden(path.field(shown), ONLY));
        }
    }
    let list = path.field("LoadBalancerSourceRanges");
    for (index, range) in items(&spec["loadBalancerSourceRanges"]).iter().enumerate() {
        check::text_follows(errors, &list.index(index), text(range).trim(), name::network);
    }
    if balanced {
        check::follows(errors, &path.field("loadBalancerClass"), &spec["loadBalancerClass"], name::qualified);
    }
}

fn traffic(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let external = &spec["externalTrafficPolicy"];
    let external_path = path.field("externalTrafficPolicy");
    if is_external(text(&spec["type"]), items(&spec["externalIPs"])) {
        check::required_one_of(errors, &external_path, external, &["Cluster", "Local"]);
    } else if is_set(external) {
        let detail = "may only be set for externally-accessible services";
        errors.push(FieldError::invalid(external_path, external.clone(), detail));
    }
    let health = &spec["healthCheckNodePort"];
    let checked = spec["type"] == "LoadBalancer" && external == "Local";
    if integer(health).is_some_and(|port| port != 0) && !checked {
        let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        errors.push(FieldError::invalid(path.field("healthCheckNodePort"), health.clone(), detail));
    }
    let internal = path.field("internalTrafficPolicy");
    check::one_of(errors, &internal, &spec["internalTrafficPolicy"], &["Cluster", "Local"]);
    let choices = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    check::one_of(errors, &path.field("trafficDistribution"), &spec["trafficDistribution"], &choices);
}

/// Checks that a Service keeps its addresses.
pub(super) fn update(errors: &mut Errors, new: &Value, old: &Value) {
    if new["type"] == "ExternalName" || old["type"] == "ExternalName" {
        return;
    }
    // A family that contradicts the address is wrong whatever it was before, and said elsewhere.
    let contradicts =
        items(&new["clusterIPs"]).iter().zip(items(&new["ipFamilies"])).any(|(address, family)| {
            text(address)
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_ipv6() != (family == "IPv6"))
        });
    let fields: &[&str] = if contradicts { &["clusterIPs"] } else { &["clusterIPs", "ipFamilies"] };
    for field in fields {
        let (now, before) = (items(&new[*field]), items(&old[*field]));
        let path = Path::Text("spec");
        let list = path.field(field);
        if let (Some(first), Some(was)) = (now.first(), before.first())
            && first != was
            && !(is_headless(new) && is_headless(old))
        {
            errors.push(FieldError::invalid(list.index(0), new[*field].clone(), "may not change once set"));
        }
    }
    if new["type"] == "LoadBalancer" && old["type"] == "LoadBalancer" {
        let path = Path::Text("spec.loadBalancerClass");
        if new["loadBalancerClass"] != old["loadBalancerClass"] {
            errors.push(FieldError::invalid(
                path,
                new["loadBalancerClass"].clone(),
                "may not change once set",
            ));
        }
    }
}
