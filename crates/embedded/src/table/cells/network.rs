//! Services and what leads to them.

use serde_json::Value;

use super::{NONE, first_few, items, labels, name, number, selector, text, text_or};
use crate::table::age::Now;

pub(in crate::table) fn service(object: &Value, now: Now) -> Vec<Value> {
    let spec = &object["spec"];
    let address = items(&spec["clusterIPs"]).first().map_or(NONE.into(), Clone::clone);
    vec![
        name(object),
        spec["type"].clone(),
        address,
        external_address(object),
        ports(items(&spec["ports"])),
        now.age(object),
        labels(&spec["selector"]),
    ]
}

fn external_address(object: &Value) -> Value {
    let spec = &object["spec"];
    let given = items(&spec["externalIPs"]).iter().map(text);
    match text(&spec["type"]) {
        "ExternalName" => spec["externalName"].clone(),
        "LoadBalancer" => {
            let mut all = balancer_addresses(object);
            all.extend(given);
            text_or(&all.join(",").into(), "<pending>")
        }
        "ClusterIP" | "NodePort" => text_or(&given.collect::<Vec<_>>().join(",").into(), NONE),
        _ => "<unknown>".into(),
    }
}

/// The addresses a load balancer gave, each once.
fn balancer_addresses(object: &Value) -> Vec<&str> {
    let ingress = items(&object["status"]["loadBalancer"]["ingress"]);
    let mut addresses: Vec<&str> = ingress
        .iter()
        .map(|item| Some(text(&item["ip"])).filter(|ip| !ip.is_empty()).unwrap_or(text(&item["hostname"])))
        .filter(|address| !address.is_empty())
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

fn ports(ports: &[Value]) -> Value {
    let shown = ports.iter().map(|port| {
        let (number_text, protocol) = (number(&port["port"]), text(&port["protocol"]));
        match number(&port["nodePort"]) {
            0 => format!("{number_text}/{protocol}"),
            node => format!("{number_text}:{node}/{protocol}"),
        }
    });
    text_or(&shown.collect::<Vec<_>>().join(",").into(), NONE)
}

pub(in crate::table) fn endpoints(object: &Value, now: Now) -> Vec<Value> {
    let mut all = Vec::new();
    for subset in items(&object["subsets"]) {
        let addresses = items(&subset["addresses"]).iter().map(|address| text(&address["ip"]));
        let ports = items(&subset["ports"]);
        if ports.is_empty() {
            all.extend(addresses.map(str::to_owned));
            continue;
        }
        for port in ports {
            let port = number(&port["port"]);
            all.extend(addresses.clone().map(|address| with_port(address, port)));
        }
    }
    vec![name(object), first_few(&all), now.age(object)]
}

fn with_port(address: &str, port: i64) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

pub(in crate::table) fn endpoint_slice(object: &Value, now: Now) -> Vec<Value> {
    let port = |port: &Value| match (port["port"].as_i64(), port["name"].as_str()) {
        (Some(number), _) => number.to_string(),
        (None, Some(name)) => name.to_owned(),
        (None, None) => "*".to_owned(),
    };
    let ports: Vec<String> = items(&object["ports"]).iter().map(port).collect();
    let addresses: Vec<String> = items(&object["endpoints"])
        .iter()
        .flat_map(|endpoint| items(&endpoint["addresses"]))
        .map(|address| text(address).to_owned())
        .collect();
    let unset = |shown: Value| if shown == NONE { "<unset>".into() } else { shown };
    vec![
        name(object),
        object["addressType"].clone(),
        unset(first_few(&ports)),
        unset(first_few(&addresses)),
        now.age(object),
    ]
}

pub(in crate::table) fn ingress(object: &Value, now: Now) -> Vec<Value> {
    let spec = &object["spec"];
    let hosts: Vec<String> = items(&spec["rules"])
        .iter()
        .map(|rule| text(&rule["host"]))
        .filter(|host| !host.is_empty())
        .map(str::to_owned)
        .collect();
    vec![
        name(object),
        text_or(&spec["ingressClassName"], NONE),
        if hosts.is_empty() { "*".into() } else { first_few(&hosts) },
        balancer_addresses(object).join(",").into(),
        if items(&spec["tls"]).is_empty() { "80".into() } else { "80, 443".into() },
        now.age(object),
    ]
}

pub(in crate::table) fn ingress_class(object: &Value, now: Now) -> Vec<Value> {
    let annotation = &object["metadata"]["annotations"]["ingressclass.kubernetes.io/is-default-class"];
    let parameters = &object["spec"]["parameters"];
    let shown = if parameters.is_null() {
        NONE.to_owned()
    } else {
        let group = parameters["apiGroup"].as_str().map(|group| format!(".{group}")).unwrap_or_default();
        format!("{}{group}/{}", text(&parameters["kind"]), text(&parameters["name"]))
    };
    vec![
        default_name(object, annotation == "true"),
        object["spec"]["controller"].clone(),
        shown.into(),
        now.age(object),
    ]
}

/// The name, with a word if the object is the default of its kind.
pub(super) fn default_name(object: &Value, is_default: bool) -> Value {
    if is_default { format!("{} (default)", text(&object["metadata"]["name"])).into() } else { name(object) }
}

pub(in crate::table) fn network_policy(object: &Value, now: Now) -> Vec<Value> {
    vec![name(object), selector(&object["spec"]["podSelector"], "<error>", NONE), now.age(object)]
}
