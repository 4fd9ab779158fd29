//! Lays endpoints out in slices, moving as few of them as possible.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::plan::{Target, TargetPort};
use crate::controllers::owners::controller_reference;

/// How many endpoints a slice holds.
const CAPACITY: usize = 100;
pub(super) const SERVICE_NAME: &str = "kubernetes.io/service-name";
pub(super) const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const MANAGER: &str = "endpointslice-controller.k8s.io";
const HEADLESS: &str = "service.kubernetes.io/headless";

/// One thing to do.
#[derive(Debug, PartialEq)]
pub(crate) enum Change {
    Create(Box<EndpointSlice>),
    Update(Box<EndpointSlice>),
    Delete(String),
}

/// Endpoints with the same ports and kind of address share slices.
pub(super) type Group = (&'static str, Vec<TargetPort>);

/// What to do so that the slices say where the targets are.
pub(crate) fn changes(service: &Service, targets: &[Target], existing: Vec<EndpointSlice>) -> Vec<Change> {
    let labels = labels(service);
    let mut groups = group(service, targets);
    if groups.is_empty() {
        // A Service without Pods still has one slice, so that those who look for it find that it is empty.
        let family = families(service).into_iter().next().unwrap_or("IPv4");
        groups.insert((family, Vec::new()), BTreeMap::new());
    }
    let mut changes = Vec::new();
    let mut unused: Vec<EndpointSlice> = Vec::new();
    let mut spare: BTreeMap<Group, Vec<EndpointSlice>> = BTreeMap::new();
    for slice in existing.into_iter().filter(is_ours) {
        let key = group_of(&slice);
        match key.filter(|key| groups.contains_key(key)) {
            Some(key) => spare.entry(key).or_default().push(slice),
            None => unused.push(slice),
        }
    }
    for (key, wanted) in &mut groups {
        let slices = spare.remove(key).unwrap_or_default();
        lay_out(service, &labels, key, wanted, slices, &mut changes, &mut unused);
    }
    reuse(&mut changes, unused);
    changes
}

/// Slices that are no longer needed take the place of new ones, so that watchers see one change instead of two.
pub(super) fn reuse(changes: &mut Vec<Change>, mut unused: Vec<EndpointSlice>) {
    for change in changes.iter_mut() {
        let Change::Create(new) = change else { continue };
        let Some(at) = unused.iter().position(|old| old.address_type == new.address_type) else { continue };
        let mut slice = new.clone();
        slice.metadata.name = unused.remove(at).metadata.name;
        slice.metadata.generate_name = None;
        *change = Change::Update(slice);
    }
    changes.extend(unused.into_iter().map(|slice| Change::Delete(slice.metadata.name.unwrap_or_default())));
}

fn is_ours(slice: &EndpointSlice) -> bool {
    let manager = slice.metadata.labels.as_ref().and_then(|labels| labels.get(MANAGED_BY));
    manager.is_some_and(|manager| manager == MANAGER) && slice.metadata.deletion_timestamp.is_none()
}

fn labels(service: &Service) -> BTreeMap<String, String> {
    let mut labels = service.metadata.labels.clone().unwrap_or_default();
    labels.insert(SERVICE_NAME.into(), service.metadata.name.clone().unwrap_or_default());
    labels.insert(MANAGED_BY.into(), MANAGER.into());
    let address = service.spec.as_ref().and_then(|spec| spec.cluster_ip.as_deref());
    if address == Some("None") {
        labels.insert(HEADLESS.into(), String::new());
    } else {
        labels.remove(HEADLESS);
    }
    labels
}

fn families(service: &Service) -> BTreeSet<&'static str> {
    let families = service.spec.as_ref().and_then(|spec| spec.ip_families.clone()).unwrap_or_default();
    let mut found: BTreeSet<&'static str> =
        families.iter().map(|family| if family == "IPv6" { "IPv6" } else { "IPv4" }).collect();
    if found.is_empty() {
        found.insert("IPv4");
    }
    found
}

fn group(service: &Service, targets: &[Target]) -> BTreeMap<Group, BTreeMap<String, Endpoint>> {
    let mut groups: BTreeMap<Group, BTreeMap<String, Endpoint>> = BTreeMap::new();
    for family in families(service) {
        for target in targets {
            let suits = |address: &&IpAddr| address.is_ipv6() == (family == "IPv6");
            let Some(address) = target.addresses.iter().find(suits) else { continue };
            let key = (family, target.ports.clone());
            let uid = target.reference.uid.clone().unwrap_or_default();
            groups.entry(key).or_default().insert(uid, endpoint(target, *address));
        }
    }
    groups
}

fn endpoint(target: &Target, address: IpAddr) -> Endpoint {
    Endpoint {
        addresses: vec![address.to_string()],
        conditions: Some(EndpointConditions {
            ready: Some(target.ready),
            serving: Some(target.serving),
            terminating: Some(target.terminating),
        }),
        hostname: target.hostname.clone(),
        node_name: target.node.clone(),
        zone: target.zone.clone(),
        target_ref: Some(target.reference.clone()),
        ..Endpoint::default()
    }
}

pub(super) fn group_of(slice: &EndpointSlice) -> Option<Group> {
    let family = match slice.address_type.as_str() {
        "IPv4" => "IPv4",
        "IPv6" => "IPv6",
        _ => return None,
    };
    let ports = slice.ports.iter().flatten().map(|port| TargetPort {
        name: port.name.clone().filter(|name| !name.is_empty()),
        port: port.port.unwrap_or(0),
        protocol: port.protocol.clone().unwrap_or_else(|| "TCP".into()),
        app_protocol: port.app_protocol.clone(),
    });
    Some((family, ports.collect()))
}

/// Puts the wanted endpoints into the slices there are, each where it is if it can stay, and into new ones.
fn lay_out(
    service: &Service,
    labels: &BTreeMap<String, String>,
    key: &Group,
    wanted: &mut BTreeMap<String, Endpoint>,
    slices: Vec<EndpointSlice>,
    changes: &mut Vec<Change>,
    unused: &mut Vec<EndpointSlice>,
) {
    let is_placeholder = key.1.is_empty() && wanted.is_empty();
    let mut kept: Vec<(EndpointSlice, EndpointSlice)> = Vec::new();
    for mut before in slices {
        // None and an empty list say the same.
        before.endpoints = before.endpoints.filter(|endpoints| !endpoints.is_empty());
        let mut after = before.clone();
        let stay = |old: &Endpoint| {
            let uid = old.target_ref.as_ref().and_then(|reference| reference.uid.clone()).unwrap_or_default();
            wanted.remove(&uid)
        };
        after.endpoints = before.endpoints.as_ref().map(|old| old.iter().filter_map(stay).collect());
        after.metadata.labels = Some(labels.clone());
        kept.push((before, after));
    }
    let mut rest = std::mem::take(wanted).into_values();
    for (_, after) in &mut kept {
        let mut endpoints = after.endpoints.take().unwrap_or_default();
        let room = CAPACITY.saturating_sub(endpoints.len());
        endpoints.extend(rest.by_ref().take(room));
        after.endpoints = Some(endpoints).filter(|endpoints| !endpoints.is_empty());
    }
    let mut stays = is_placeholder;
    let missing = is_placeholder && kept.is_empty();
    for (before, after) in kept {
        let empty = after.endpoints.as_ref().is_none_or(Vec::is_empty);
        if empty && !std::mem::take(&mut stays) {
            unused.push(before);
        } else if after != before {
            changes.push(Change::Update(Box::new(after)));
        }
    }
    let rest: Vec<Endpoint> = rest.collect();
    if missing {
        changes.push(Change::Create(Box::new(make(service, labels, key, Vec::new()))));
    }
    for chunk in rest.chunks(CAPACITY) {
        changes.push(Change::Create(Box::new(make(service, labels, key, chunk.to_vec()))));
    }
}

fn make(
    service: &Service,
    labels: &BTreeMap<String, String>,
    key: &Group,
    endpoints: Vec<Endpoint>,
) -> EndpointSlice {
    EndpointSlice {
        metadata: ObjectMeta {
            generate_name: Some(format!("{}-", service.metadata.name.as_deref().unwrap_or_default())),
            namespace: service.metadata.namespace.clone(),
            labels: Some(labels.clone()),
            owner_references: Some(vec![controller_reference(service)]),
            ..ObjectMeta::default()
        },
        address_type: key.0.to_owned(),
        endpoints: Some(endpoints).filter(|endpoints| !endpoints.is_empty()),
        ports: slice_ports(&key.1),
    }
}

/// Ports as slices have them.
pub(super) fn slice_ports(ports: &[TargetPort]) -> Option<Vec<EndpointPort>> {
    let port = |port: &TargetPort| EndpointPort {
        // An unnamed port has the empty name here, unlike elsewhere.
        name: Some(port.name.clone().unwrap_or_default()),
        port: Some(port.port),
        protocol: Some(port.protocol.clone()),
        app_protocol: port.app_protocol.clone(),
    };
    Some(ports.iter().map(port).collect::<Vec<_>>()).filter(|ports| !ports.is_empty())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "tables of JSON literals read better by value")]

    use serde_json::{Value, from_value, json};

    use super::*;
    use crate::controllers::endpoints::plan::target;
    use crate::controllers::view::PodView;
    use crate::controllers::view::tests::pod;

    fn service(change: Value) -> Service {
        let mut spec = json!({"clusterIP": "10.0.0.1", "ipFamilies": ["IPv4"], "selector": {"app": "a"},
            "ports": [{"name": "http", "port": 80, "targetPort": "web", "protocol": "TCP"}]});
        for (key, member) in change.as_object().unwrap() {
            spec[key] = member.clone();
        }
        from_value(json!({"metadata": {"name": "s", "namespace": "default", "uid": "svc"}, "spec": spec}))
            .unwrap()
    }

    fn backend(number: usize, port: i32) -> PodView {
        let mut pod = pod(&format!("p{number}")).on("n").ready_for(5);
        pod.status.pod_ip = format!("10.1.{}.{}", number / 250, number % 250);
        pod.spec.containers =
            from_value(json!([{"name": "c", "ports": [{"name": "web", "containerPort": port}]}])).unwrap();
        pod
    }

    /// The slices after the changes.
    fn apply(mut slices: Vec<EndpointSlice>, changes: Vec<Change>) -> Vec<EndpointSlice> {
        for change in changes {
            match change {
                Change::Create(mut slice) => {
                    slice.metadata.name = Some(format!("s-{}", slices.len()));
                    slices.push(*slice);
                }
                Change::Update(slice) => {
                    let at = slices.iter().position(|one| one.metadata.name == slice.metadata.name).unwrap();
                    slices[at] = *slice;
                }
                Change::Delete(name) => slices.retain(|one| one.metadata.name.as_ref() != Some(&name)),
            }
        }
        slices
    }

    fn sizes(slices: &[EndpointSlice]) -> Vec<usize> {
        slices.iter().map(|slice| slice.endpoints.as_ref().map_or(0, Vec::len)).collect()
    }

    fn targets(service: &Service, pods: &[PodView]) -> Vec<Target> {
        pods.iter().filter_map(|pod| target(service, pod, None)).collect()
    }

    #[test]
    fn slices_hold_a_hundred_and_stay_as_they_are() {
        let service = service(json!({}));
        let pods: Vec<PodView> = (0..150).map(|number| backend(number, 8080)).collect();
        let slices = apply(Vec::new(), changes(&service, &targets(&service, &pods), Vec::new()));
        assert_eq!(sizes(&slices), [100, 50]);
        assert_eq!(slices[0].ports.as_ref().unwrap()[0].port, Some(8080));
        assert!(changes(&service, &targets(&service, &pods), slices.clone()).is_empty());
        let fewer = &pods[10..];
        let steps = changes(&service, &targets(&service, fewer), slices.clone());
        assert!(steps.iter().all(|step| matches!(step, Change::Update(_))));
        let none = apply(
            slices,
            changes(
                &service,
                &[],
                apply(Vec::new(), changes(&service, &targets(&service, &pods), Vec::new())),
            ),
        );
        assert_eq!(sizes(&none), [0], "an empty one stays");
        assert!(none[0].ports.is_none());
    }

    #[test]
    fn the_empty_slice_is_filled_and_emptied_in_place() {
        let service = service(json!({}));
        let empty = apply(Vec::new(), changes(&service, &[], Vec::new()));
        assert_eq!(sizes(&empty), [0]);
        assert!(changes(&service, &[], empty.clone()).is_empty(), "it stays as it is");
        let filled = changes(&service, &targets(&service, &[backend(0, 8080)]), empty.clone());
        assert!(matches!(filled.as_slice(), [Change::Update(_)]), "{filled:?}");
        let emptied = changes(&service, &[], apply(empty, filled));
        assert!(matches!(emptied.as_slice(), [Change::Update(_)]), "{emptied:?}");
    }

    #[test]
    fn pods_with_other_port_numbers_have_slices_of_their_own() {
        let service = service(json!({}));
        let pods = [backend(0, 8080), backend(1, 9090)];
        let slices = apply(Vec::new(), changes(&service, &targets(&service, &pods), Vec::new()));
        let mut ports: Vec<Option<i32>> =
            slices.iter().map(|slice| slice.ports.as_ref().unwrap()[0].port).collect();
        ports.sort();
        assert_eq!(ports, [Some(8080), Some(9090)]);
    }

    #[test]
    fn readiness_and_ending_are_told_apart() {
        let plain = service(json!({}));
        let eager = service(json!({"publishNotReadyAddresses": true}));
        let state = |service: &Service, pod: PodView| {
            let target = target(service, &pod, None).unwrap();
            (target.ready, target.serving, target.terminating)
        };
        assert_eq!(state(&plain, backend(0, 1)), (true, true, false));
        assert_eq!(state(&plain, backend(0, 1).deleting()), (false, true, true));
        let mut unready = backend(0, 1);
        unready.status.conditions.clear();
        assert_eq!(state(&plain, unready.clone()), (false, false, false));
        assert_eq!(state(&eager, unready), (true, false, false));
        assert!(target(&plain, &backend(0, 1).phase("Succeeded"), None).is_none());
        assert!(target(&plain, &pod("no-address"), None).is_none());
    }
}
