//! Which slices say what Endpoints say.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointSubset, Endpoints};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::controllers::endpoints::TRIGGER_TIME;
use crate::controllers::endpoints::plan::TargetPort;
use crate::controllers::endpoints::slices::{
    Change, Group, MANAGED_BY, SERVICE_NAME, group_of, reuse, slice_ports,
};
use crate::controllers::owners::controller_reference;

pub(super) const MANAGER: &str = "endpointslicemirroring-controller.k8s.io";
/// More addresses than this are left out of a slice.
pub(super) const CAPACITY: usize = 1000;
const SKIP: &str = "endpointslice.kubernetes.io/skip-mirror";
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";
/// What is about the Endpoints alone: when they were worked out, and what somebody applied.
const NOT_COPIED: &[&str] = &[TRIGGER_TIME, "kubectl.kubernetes.io/last-applied-configuration"];

/// What to do, and how many addresses had no room.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) changes: Vec<Change>,
    pub(super) skipped: usize,
}

/// By what two addresses are the same one.
type Identity = (String, Option<String>);

/// The addresses that offer a port, and whether each is ready there.
type Hosts = BTreeMap<Identity, bool>;

/// By what two endpoints of a slice are the same one: address, host name, and whom they stand for.
type EndpointIdentity = (Vec<String>, Option<String>, Option<String>, Option<String>);

type Wanted = BTreeMap<EndpointIdentity, Endpoint>;

/// Whether Endpoints are of the kind that is mirrored: not those that ask not to be, nor those that only say who leads.
pub(super) fn is_wanted(endpoints: &Endpoints) -> bool {
    let labels = endpoints.metadata.labels.as_ref();
    let annotations = endpoints.metadata.annotations.as_ref();
    labels.and_then(|all| all.get(SKIP)).is_none_or(|value| value != "true")
        && annotations.is_none_or(|all| !all.contains_key(LEADER))
}

/// What to do so that there is one slice for each set of ports and kind of address.
pub(super) fn plan(endpoints: &Endpoints, existing: Vec<EndpointSlice>) -> Plan {
    let (mut groups, skipped) = group(endpoints);
    let metadata = metadata(endpoints);
    let mut changes = Vec::new();
    let mut unused = Vec::new();
    for slice in existing {
        let Some(key) = group_of(&slice).map(in_order) else {
            unused.push(slice);
            continue;
        };
        // The first of a group stays, and others of the same have nothing left to say.
        let Some(wanted) = groups.remove(&key) else {
            unused.push(slice);
            continue;
        };
        if !says(&slice, &wanted, &metadata) {
            let mut after = make(&metadata, &key, wanted);
            after.metadata.name = slice.metadata.name;
            after.metadata.generate_name = None;
            changes.push(Change::Update(Box::new(after)));
        }
    }
    if endpoints.metadata.deletion_timestamp.is_none() {
        let new = groups.into_iter().map(|(key, wanted)| make(&metadata, &key, wanted));
        changes.extend(new.map(|slice| Change::Create(Box::new(slice))));
    }
    reuse(&mut changes, unused);
    Plan { changes, skipped }
}

fn in_order((family, mut ports): Group) -> Group {
    ports.sort();
    (family, ports)
}

fn group(endpoints: &Endpoints) -> (BTreeMap<Group, Wanted>, usize) {
    let mut groups: BTreeMap<Group, Wanted> = BTreeMap::new();
    let mut skipped = 0;
    let (all, sets) = repack(endpoints.subsets.as_deref().unwrap_or_default());
    for (hosts, ports) in sets {
        let (ready, unready): (Vec<_>, Vec<_>) = hosts.into_iter().partition(|(_, ready)| *ready);
        skipped += (ready.len() + unready.len()).saturating_sub(CAPACITY);
        for (identity, ready) in ready.into_iter().chain(unready).take(CAPACITY) {
            let Some(address) = identity.0.parse::<IpAddr>().ok().map(|address| address.to_canonical())
            else {
                continue;
            };
            let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
            let endpoint = endpoint(all[&identity], address, ready);
            groups.entry((family, ports.clone())).or_default().insert(identity_of(&endpoint), endpoint);
        }
    }
    (groups, skipped)
}

/// Sorts subsets into sets of addresses that offer the same ports, however they were written: the same address may be
/// in several subsets. One that is not ready in any of them is not ready.
fn repack(
    subsets: &[EndpointSubset],
) -> (BTreeMap<Identity, &EndpointAddress>, BTreeMap<Hosts, Vec<TargetPort>>) {
    let mut all: BTreeMap<Identity, &EndpointAddress> = BTreeMap::new();
    let mut by_port: BTreeMap<Option<TargetPort>, Hosts> = BTreeMap::new();
    for subset in subsets {
        let ready = subset.addresses.iter().flatten().map(|address| (address, true));
        let unready = subset.not_ready_addresses.iter().flatten().map(|address| (address, false));
        for (address, ready) in ready.chain(unready) {
            let uid = address.target_ref.as_ref().and_then(|target| target.uid.clone());
            let identity = (address.ip.clone(), uid);
            all.entry(identity.clone()).or_insert(address);
            for port in ports(subset) {
                let state = by_port.entry(port).or_default().entry(identity.clone()).or_insert(true);
                *state &= ready;
            }
        }
    }
    let mut sets: BTreeMap<Hosts, Vec<TargetPort>> = BTreeMap::new();
    for (port, hosts) in by_port {
        sets.entry(hosts).or_default().extend(port);
    }
    (all, sets)
}

/// The ports of a subset; none is one kind of port, so that its addresses are not lost.
fn ports(subset: &EndpointSubset) -> Vec<Option<TargetPort>> {
    let ports = subset.ports.iter().flatten().map(|port| {
        Some(TargetPort {
            name: port.name.clone().filter(|name| !name.is_empty()),
            port: port.port,
            protocol: port.protocol.clone().unwrap_or_else(|| "TCP".into()),
            app_protocol: port.app_protocol.clone(),
        })
    });
    let ports: Vec<_> = ports.collect();
    if ports.is_empty() { vec![None] } else { ports }
}

fn endpoint(written: &EndpointAddress, address: IpAddr, ready: bool) -> Endpoint {
    Endpoint {
        addresses: vec![address.to_string()],
        conditions: Some(EndpointConditions { ready: Some(ready), ..EndpointConditions::default() }),
        hostname: written.hostname.clone().filter(|name| !name.is_empty()),
        node_name: written.node_name.clone(),
        target_ref: written.target_ref.clone(),
        ..Endpoint::default()
    }
}

fn identity_of(endpoint: &Endpoint) -> EndpointIdentity {
    let target = endpoint.target_ref.clone().unwrap_or_default();
    (endpoint.addresses.clone(), endpoint.hostname.clone(), target.namespace, target.name)
}

/// What the slices carry, without their names.
fn metadata(endpoints: &Endpoints) -> ObjectMeta {
    let name = endpoints.metadata.name.clone().unwrap_or_default();
    let mut labels = endpoints.metadata.labels.clone().unwrap_or_default();
    labels.insert(SERVICE_NAME.into(), name.clone());
    labels.insert(MANAGED_BY.into(), MANAGER.into());
    let mut annotations = endpoints.metadata.annotations.clone().unwrap_or_default();
    annotations.retain(|key, _| !NOT_COPIED.contains(&key.as_str()));
    ObjectMeta {
        generate_name: Some(format!("{name}-")),
        namespace: endpoints.metadata.namespace.clone(),
        labels: Some(labels),
        annotations: Some(annotations).filter(|all| !all.is_empty()),
        owner_references: Some(vec![controller_reference(endpoints)]),
        ..ObjectMeta::default()
    }
}

/// Whether a slice says what is wanted already, in whatever order.
fn says(slice: &EndpointSlice, wanted: &Wanted, metadata: &ObjectMeta) -> bool {
    let endpoints = slice.endpoints.as_deref().unwrap_or_default();
    let same = |endpoint: &Endpoint| wanted.get(&identity_of(endpoint)) == Some(endpoint);
    let annotations = slice.metadata.annotations.as_ref().filter(|all| !all.is_empty());
    endpoints.len() == wanted.len()
        && endpoints.iter().all(same)
        && slice.metadata.labels == metadata.labels
        && annotations == metadata.annotations.as_ref()
        && slice.metadata.owner_references == metadata.owner_references
}

fn make(metadata: &ObjectMeta, key: &Group, wanted: Wanted) -> EndpointSlice {
    EndpointSlice {
        metadata: metadata.clone(),
        address_type: key.0.to_owned(),
        endpoints: Some(wanted.into_values().collect()),
        ports: slice_ports(&key.1),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn endpoints(subsets: &Value) -> Endpoints {
        from_value(json!({"metadata": {"name": "s", "namespace": "default", "uid": "one",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}, "subsets": subsets}))
        .unwrap()
    }

    /// The slices that are made, with the names they would get.
    fn made(plan: Plan) -> Vec<EndpointSlice> {
        let slice = |(number, change)| {
            let Change::Create(mut slice) = change else { panic!("{change:?}") };
            slice.metadata.name = Some(format!("s-{number}"));
            *slice
        };
        plan.changes.into_iter().enumerate().map(slice).collect()
    }

    fn summary(slice: &EndpointSlice) -> (&str, Vec<i32>, Vec<&str>) {
        let ports = slice.ports.iter().flatten().filter_map(|port| port.port).collect();
        let addresses = slice.endpoints.iter().flatten().map(|one| one.addresses[0].as_str()).collect();
        (slice.address_type.as_str(), ports, addresses)
    }

    #[test]
    fn slices_stay_as_they_are_and_change_in_place() {
        let port = |number: i32| json!([{"port": number}]);
        let first =
            endpoints(&json!([{"addresses": [{"ip": "10.0.0.2"}, {"ip": "10.0.0.1"}], "ports": port(80)}]));
        let mut slices = made(plan(&first, Vec::new()));
        assert_eq!(
            slices.iter().map(summary).collect::<Vec<_>>(),
            [("IPv4", vec![80], vec!["10.0.0.1", "10.0.0.2"])]
        );
        assert_eq!(slices[0].metadata.annotations, None);
        slices[0].endpoints.as_mut().unwrap().reverse();
        assert!(plan(&first, slices.clone()).changes.is_empty(), "their order says nothing");
        let other = endpoints(&json!([{"addresses": [{"ip": "10.0.0.2"}], "ports": port(81)}]));
        let [Change::Update(slice)] = &plan(&other, slices.clone()).changes[..] else { panic!("one update") };
        assert_eq!(
            (slice.metadata.name.as_deref(), summary(slice)),
            (Some("s-0"), ("IPv4", vec![81], vec!["10.0.0.2"]))
        );
        let mut again = first.clone();
        again.metadata.uid = Some("two".into());
        assert!(
            matches!(&plan(&again, slices.clone()).changes[..], [Change::Update(_)]),
            "others of that name own it"
        );
        let none = plan(&endpoints(&json!([])), slices).changes;
        assert_eq!(none, [Change::Delete("s-0".into())]);
    }

    #[test]
    fn the_same_addresses_share_a_slice_however_they_are_written() {
        let subset = |ready: &[&str], unready: &[&str], ports: &[i32]| {
            let list = |all: &[&str]| all.iter().map(|ip| json!({"ip": ip})).collect::<Vec<_>>();
            let ports: Vec<_> =
                ports.iter().map(|port| json!({"name": format!("p{port}"), "port": port})).collect();
            json!({"addresses": list(ready), "notReadyAddresses": list(unready), "ports": ports})
        };
        let cases = [
            (
                "one set",
                json!([subset(&["10.0.0.1"], &[], &[80]), subset(&["10.0.0.1"], &[], &[81])]),
                vec![("IPv4", vec![80, 81], vec!["10.0.0.1"])],
            ),
            (
                "two sets",
                json!([subset(&["10.0.0.1", "10.0.0.2"], &[], &[80]), subset(&["10.0.0.1"], &[], &[81])]),
                vec![("IPv4", vec![80], vec!["10.0.0.1", "10.0.0.2"]), ("IPv4", vec![81], vec!["10.0.0.1"])],
            ),
            (
                "ready on one port only",
                json!([subset(&["10.0.0.1"], &[], &[80]), subset(&[], &["10.0.0.1"], &[81])]),
                vec![("IPv4", vec![80], vec!["10.0.0.1"]), ("IPv4", vec![81], vec!["10.0.0.1"])],
            ),
            ("no ports", json!([subset(&["10.0.0.1"], &[], &[])]), vec![("IPv4", vec![], vec!["10.0.0.1"])]),
            (
                "two kinds of address",
                json!([subset(&["10.0.0.1", "fd00::1"], &["::ffff:10.0.0.2"], &[80])]),
                vec![("IPv4", vec![80], vec!["10.0.0.1", "10.0.0.2"]), ("IPv6", vec![80], vec!["fd00::1"])],
            ),
        ];
        for (name, subsets, want) in cases {
            let slices = made(plan(&endpoints(&subsets), Vec::new()));
            assert_eq!(slices.iter().map(summary).collect::<Vec<_>>(), want, "{name}");
        }
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let addresses: Vec<_> = (0..1010)
            .map(|number| json!({"ip": format!("10.0.{}.{}", number / 250, number % 250)}))
            .collect();
        let plan = plan(&endpoints(&json!([{"addresses": addresses}])), Vec::new());
        assert_eq!(plan.skipped, 10);
        assert_eq!(made(plan)[0].endpoints.as_ref().unwrap().len(), CAPACITY);
    }

    #[test]
    fn some_are_not_mirrored() {
        let with = |metadata: Value| from_value::<Endpoints>(json!({"metadata": metadata})).unwrap();
        assert!(is_wanted(&with(json!({}))));
        assert!(is_wanted(&with(json!({"labels": {SKIP: "false"}}))));
        assert!(!is_wanted(&with(json!({"labels": {SKIP: "true"}}))));
        assert!(!is_wanted(&with(json!({"annotations": {LEADER: "{}"}}))));
    }
}
