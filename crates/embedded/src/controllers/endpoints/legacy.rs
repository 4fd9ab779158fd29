//! The older Endpoints object, one per Service.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::plan::{Target, TargetPort};

const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
const MANAGER: &str = "endpoint-controller";
const HEADLESS: &str = "service.kubernetes.io/headless";
/// More addresses than this are left out; slices have no such limit.
const CAPACITY: usize = 1000;

type Addresses = (Vec<EndpointAddress>, Vec<EndpointAddress>);

/// The Endpoints of a Service.
pub(crate) fn endpoints(service: &Service, targets: &[Target]) -> Endpoints {
    let mut groups: BTreeMap<Vec<TargetPort>, Addresses> = BTreeMap::new();
    for target in targets.iter().filter(|target| target.ready || !target.terminating).take(CAPACITY) {
        let Some(ip) = target.addresses.first() else { continue };
        let address = EndpointAddress {
            ip: ip.to_string(),
            hostname: target.hostname.clone(),
            node_name: target.node.clone(),
            target_ref: Some(target.reference.clone()),
        };
        let (ready, unready) = groups.entry(target.ports.clone()).or_default();
        if target.ready { ready.push(address) } else { unready.push(address) }
    }
    let subsets: Vec<EndpointSubset> = groups.into_iter().map(subset).collect();
    let mut labels = service.metadata.labels.clone().unwrap_or_default();
    labels.insert(MANAGED_BY.into(), MANAGER.into());
    if service.spec.as_ref().and_then(|spec| spec.cluster_ip.as_deref()) == Some("None") {
        labels.insert(HEADLESS.into(), String::new());
    }
    Endpoints {
        metadata: ObjectMeta {
            name: service.metadata.name.clone(),
            namespace: service.metadata.namespace.clone(),
            labels: Some(labels),
            ..ObjectMeta::default()
        },
        subsets: Some(subsets).filter(|subsets| !subsets.is_empty()),
    }
}

fn subset((ports, (mut ready, mut unready)): (Vec<TargetPort>, Addresses)) -> EndpointSubset {
    let ports: Vec<EndpointPort> = ports
        .into_iter()
        .map(|port| EndpointPort {
            name: port.name,
            port: port.port,
            protocol: Some(port.protocol),
            app_protocol: port.app_protocol,
        })
        .collect();
    ready.sort_by(|one, other| one.ip.cmp(&other.ip));
    unready.sort_by(|one, other| one.ip.cmp(&other.ip));
    EndpointSubset {
        addresses: Some(ready).filter(|list| !list.is_empty()),
        not_ready_addresses: Some(unready).filter(|list| !list.is_empty()),
        ports: Some(ports).filter(|ports| !ports.is_empty()),
    }
}
