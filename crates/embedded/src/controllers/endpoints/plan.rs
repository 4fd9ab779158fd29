//! What a Pod contributes to a Service.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::{ObjectReference, Service, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::controllers::view::PodView;

/// A port as a Pod offers it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TargetPort {
    pub(crate) name: Option<String>,
    pub(crate) port: i32,
    pub(crate) protocol: String,
    pub(crate) app_protocol: Option<String>,
}

/// A Pod behind a Service.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Target {
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) ports: Vec<TargetPort>,
    pub(crate) ready: bool,
    pub(crate) serving: bool,
    pub(crate) terminating: bool,
    pub(crate) hostname: Option<String>,
    pub(crate) node: Option<String>,
    pub(crate) zone: Option<String>,
    pub(crate) reference: ObjectReference,
}

/// The contribution of a Pod, if it has an address and may still answer.
pub(crate) fn target(service: &Service, pod: &PodView, zone: Option<String>) -> Option<Target> {
    if pod.is_terminal() {
        return None;
    }
    let mut texts: Vec<&str> = pod.status.pod_ips.iter().map(|address| address.ip.as_str()).collect();
    if texts.is_empty() {
        texts.push(&pod.status.pod_ip);
    }
    let addresses: Vec<IpAddr> = texts.into_iter().filter_map(|text| text.parse().ok()).collect();
    if addresses.is_empty() {
        return None;
    }
    let spec = service.spec.clone().unwrap_or_default();
    let publish = spec.publish_not_ready_addresses == Some(true);
    let (serving, terminating) = (pod.is_ready(), pod.is_deleting());
    let own_name =
        !pod.spec.hostname.is_empty() && Some(&pod.spec.subdomain) == service.metadata.name.as_ref();
    Some(Target {
        addresses,
        ports: spec.ports.iter().flatten().filter_map(|port| resolve(port, pod)).collect(),
        ready: publish || (serving && !terminating),
        serving,
        terminating,
        hostname: own_name.then(|| pod.spec.hostname.clone()),
        node: Some(pod.spec.node_name.clone()).filter(|node| !node.is_empty()),
        zone,
        reference: ObjectReference {
            kind: Some("Pod".into()),
            namespace: Some(pod.metadata.namespace.clone()),
            name: Some(pod.metadata.name.clone()),
            uid: Some(pod.metadata.uid.clone()),
            ..ObjectReference::default()
        },
    })
}

/// The number of a port; a name is looked up in the Pod.
fn resolve(port: &ServicePort, pod: &PodView) -> Option<TargetPort> {
    let protocol = port.protocol.clone().unwrap_or_else(|| "TCP".into());
    let number = match &port.target_port {
        None | Some(IntOrString::Int(0)) => port.port,
        Some(IntOrString::Int(number)) => *number,
        Some(IntOrString::String(name)) => {
            let sidecar = |container: &&crate::controllers::view::ContainerView| {
                container.restart_policy.as_deref() == Some("Always")
            };
            let containers =
                pod.spec.containers.iter().chain(pod.spec.init_containers.iter().filter(sidecar));
            let ports = containers.flat_map(|container| &container.ports);
            ports
                .filter(|offered| offered.protocol.as_deref().unwrap_or("TCP") == protocol)
                .find(|offered| offered.name == *name)?
                .container_port
        }
    };
    Some(TargetPort {
        name: port.name.clone().filter(|name| !name.is_empty()),
        port: number,
        protocol,
        app_protocol: port.app_protocol.clone(),
    })
}
