//! Cluster addresses and node ports of Services.
//!
//! Allocation looks at what is stored and takes the next free one; callers allocate and store under one lock
//! (`Server::addresses`), so that two Services created at the same instant do not pick the same address.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::resource::Resource;
use crate::server::Server;
use crate::status::ApiError;

/// Node ports of a default cluster.
const NODE_PORTS: std::ops::RangeInclusive<u64> = 30_000..=32_767;

impl Server {
    /// Gives a Service the addresses and ports it still needs.
    pub(crate) fn allocate(&self, resource: &Resource, object: &mut Value) -> Result<(), ApiError> {
        if !resource.is("services") {
            return Ok(());
        }
        let kind = object["spec"]["type"].as_str().unwrap_or("ClusterIP").to_owned();
        if kind == "ExternalName" {
            return Ok(());
        }
        let needs_address = object["spec"]["clusterIP"].as_str().is_none_or(str::is_empty);
        let needs_ports = matches!(kind.as_str(), "NodePort" | "LoadBalancer");
        if !needs_address && !needs_ports {
            return Ok(());
        }
        let (addresses, ports) = self.taken(object["metadata"]["uid"].as_str().unwrap_or_default());
        if needs_address {
            let address = free_address(&addresses)
                .ok_or_else(|| ApiError::internal("no cluster address is left for Services"))?;
            object["spec"]["clusterIP"] = json!(address);
            object["spec"]["clusterIPs"] = json!([address]);
        }
        if needs_ports {
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
            let listed = service["spec"]["ports"].as_array().into_iter().flatten();
            ports.extend(listed.filter_map(|port| port["nodePort"].as_u64()));
        }
        (addresses, ports)
    }
}

/// The first free address of 10.96.0.0/16, past the ones clusters reserve for themselves.
fn free_address(taken: &BTreeSet<String>) -> Option<String> {
    (16u32..65_535).map(|host| format!("10.96.{}.{}", host >> 8, host & 0xff)).find(|ip| !taken.contains(ip))
}

fn assign_ports(object: &mut Value, mut taken: BTreeSet<u64>) -> Result<(), ApiError> {
    let Some(ports) = object["spec"]["ports"].as_array_mut() else { return Ok(()) };
    taken.extend(ports.iter().filter_map(|port| port["nodePort"].as_u64()));
    for port in ports {
        if port["nodePort"].as_u64().is_some_and(|number| number > 0) {
            continue;
        }
        let free = NODE_PORTS
            .clone()
            .find(|number| !taken.contains(number))
            .ok_or_else(|| ApiError::internal("no node port is left for Services"))?;
        taken.insert(free);
        port["nodePort"] = json!(free);
    }
    Ok(())
}
