//! Cluster addresses and node ports of Services.
//!
//! Allocation looks at what is stored and takes the next free one; callers allocate and store under one lock
//! (`Server::addresses`), so that two Services created at the same instant do not pick the same address.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use maar_machinery::error::FieldError;
use serde_json::{Value, json};

use crate::resource::Resource;
use crate::server::Server;
use crate::status::ApiError;

/// Node ports of a default cluster.
const NODE_PORTS: std::ops::RangeInclusive<u64> = 30_000..=32_767;

impl Server {
    /// Gives a Service the addresses and ports it still needs; refuses what it asks for and cannot have.
    pub(crate) fn allocate(
        &self,
        resource: &Resource,
        object: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), ApiError> {
        if !resource.is("services") || old.is_some_and(|old| old["spec"] == object["spec"]) {
            return Ok(());
        }
        let kind = object["spec"]["type"].as_str().unwrap_or("ClusterIP").to_owned();
        if kind == "ExternalName" {
            return Ok(());
        }
        let (addresses, ports) = self.taken(object["metadata"]["uid"].as_str().unwrap_or_default());
        let errors = refused(object, &addresses, &ports);
        if !errors.is_empty() {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            return Err(ApiError::invalid(resource, name, &errors));
        }
        if object["spec"]["clusterIP"].as_str().is_none_or(str::is_empty) {
            let address = free_address(&addresses)
                .ok_or_else(|| ApiError::internal("no cluster address is left for Services"))?;
            object["spec"]["clusterIP"] = json!(address);
            object["spec"]["clusterIPs"] = json!([address]);
        }
        if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
            assign_ports(object, ports)?;
        }
        Ok(())
    }

    /// The addresses and node ports of all other Services.
    fn taken(&self, own_uid: &str) -> (BTreeSet<String>, BTreeSet<u64>) {
        let (mut addresses, mut ports) = (BTreeSet::new(), BTreeSet::new());
        for entry in self.store.list("services", None).rows {
            if *entry.meta.uid == *own_uid {
                continue;
            }
            let service = entry.value();
            addresses.extend(service["spec"]["clusterIP"].as_str().map(ToOwned::to_owned));
            ports.extend(node_ports(&service).chain(service["spec"]["healthCheckNodePort"].as_u64()));
        }
        (addresses, ports)
    }
}

fn node_ports(service: &Value) -> impl Iterator<Item = u64> {
    let listed = service["spec"]["ports"].as_array().into_iter().flatten();
    listed.filter_map(|port| port["nodePort"].as_u64().filter(|number| *number != 0))
}

/// What a Service asks for and cannot have: it is another's, or nobody's to give.
fn refused(object: &Value, addresses: &BTreeSet<String>, ports: &BTreeSet<u64>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let asked = object["spec"]["clusterIP"].as_str().unwrap_or_default();
    let why = match asked.parse::<Ipv4Addr>().map(|address| address.octets()) {
        Ok([10, 96, ..]) if !addresses.contains(asked) => None,
        Ok([10, 96, ..]) => Some("provided IP is already allocated".to_owned()),
        Ok(_) => Some(format!(
            "the provided IP ({asked}) is not in the valid range. The range of valid IPs is 10.96.0.0/16"
        )),
        Err(_) => None,
    };
    if let Some(why) = why {
        let detail = format!("failed to allocate IP {asked}: {why}");
        errors.push(FieldError::invalid("spec.clusterIPs", json!([asked]), detail));
    }
    for (index, port) in object["spec"]["ports"].as_array().into_iter().flatten().enumerate() {
        let Some(number) = port["nodePort"].as_u64().filter(|number| *number != 0) else { continue };
        let (first, last) = (NODE_PORTS.start(), NODE_PORTS.end());
        let detail = if !NODE_PORTS.contains(&number) {
            format!("provided port is not in the valid range. The range of valid ports is {first}-{last}")
        } else if ports.contains(&number) {
            "provided port is already allocated".to_owned()
        } else {
            continue;
        };
        errors.push(FieldError::invalid(format!("spec.ports[{index}].nodePort"), number, detail));
    }
    errors
}

/// The first free address of 10.96.0.0/16, past the ones clusters reserve for themselves.
fn free_address(taken: &BTreeSet<String>) -> Option<String> {
    (16u32..65_535).map(|host| format!("10.96.{}.{}", host >> 8, host & 0xff)).find(|ip| !taken.contains(ip))
}

fn assign_ports(object: &mut Value, mut taken: BTreeSet<u64>) -> Result<(), ApiError> {
    taken.extend(node_ports(object).chain(object["spec"]["healthCheckNodePort"].as_u64()));
    let mut fill = |place: &mut Value| {
        if place.as_u64().is_some_and(|number| number > 0) {
            return Ok(());
        }
        let free = NODE_PORTS
            .clone()
            .find(|number| !taken.contains(number))
            .ok_or_else(|| ApiError::internal("no node port is left for Services"))?;
        taken.insert(free);
        *place = json!(free);
        Ok(())
    };
    let spec = &mut object["spec"];
    let balanced = spec["type"] == "LoadBalancer";
    // A balancer that reaches Pods by itself needs no ports on the nodes.
    if !(balanced && spec["allocateLoadBalancerNodePorts"] == false) {
        for port in spec["ports"].as_array_mut().into_iter().flatten() {
            fill(&mut port["nodePort"])?;
        }
    }
    if balanced && spec["externalTrafficPolicy"] == "Local" {
        fill(&mut spec["healthCheckNodePort"])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_balancer_for_local_traffic_gets_a_port_for_its_checks_and_others_only_if_it_needs_them() {
        let mut service = json!({"spec": {
            "type": "LoadBalancer", "externalTrafficPolicy": "Local", "allocateLoadBalancerNodePorts": false,
            "ports": [{"port": 80}, {"port": 81, "nodePort": 30_001}],
        }});
        assign_ports(&mut service, BTreeSet::from([30_000])).unwrap();
        assert_eq!(service["spec"]["healthCheckNodePort"], 30_002);
        assert_eq!(service["spec"]["ports"], json!([{"port": 80}, {"port": 81, "nodePort": 30_001}]));
        service["spec"]["allocateLoadBalancerNodePorts"] = json!(true);
        assign_ports(&mut service, BTreeSet::from([30_000])).unwrap();
        assert_eq!(service["spec"]["healthCheckNodePort"], 30_002, "it keeps the one it has");
        assert_eq!(service["spec"]["ports"][0]["nodePort"], 30_003);
    }

    #[test]
    fn what_is_anothers_or_nobodys_is_refused() {
        let asks = |address: &str, port: u64| {
            let service = json!({"spec": {"clusterIP": address, "ports": [{"port": 80, "nodePort": port}]}});
            let taken = (BTreeSet::from(["10.96.0.16".to_owned()]), BTreeSet::from([30_000]));
            let paths = refused(&service, &taken.0, &taken.1).into_iter().map(|error| error.path);
            paths.collect::<Vec<_>>()
        };
        assert_eq!(asks("10.96.0.17", 30_001), [""; 0]);
        assert_eq!(asks("None", 0), [""; 0]);
        assert_eq!(asks("10.96.0.16", 30_000), ["spec.clusterIPs", "spec.ports[0].nodePort"]);
        assert_eq!(asks("10.97.0.1", 80), ["spec.clusterIPs", "spec.ports[0].nodePort"]);
    }
}
