//! Services, their Endpoints and their EndpointSlices.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Endpoints, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::ResourceExt as _;
use maar_testkit::build::{deployment, object, pod};
use maar_testkit::read::{is_ready, phase};
use maar_testkit::scenario;
use maar_testkit::scenario::Arena;
use serde_json::json;

scenario! {
    async fn slices_list_the_pods_of_a_service(context) {
        let arena = context.arena();
        let spec = json!({"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]});
        let service: Service = arena.create(object("web", spec)).await;
        assert!(service.spec.and_then(|spec| spec.cluster_ip).is_some_and(|address| address != "None"));
        arena.create(deployment("web").replicas(2)).await;
        let late = pod("late").set("/metadata/labels/app", "web").behave("ready-after", "9h");
        arena.create(late).await;
        let pods = arena.wait_all("two ready Pods and one that is not", "web", |pods: &[Pod]| {
            pods.iter().filter(|pod| is_ready(pod)).count() == 2
                && pods.iter().filter(|pod| phase(pod) == "Running").count() == 3
        }).await;
        let want: BTreeSet<(String, bool)> = pods.iter()
            .map(|pod| (pod.status.as_ref().and_then(|status| status.pod_ip.clone()).expect("an address"), is_ready(pod)))
            .collect();
        let listed = async || {
            let slices = arena.list::<EndpointSlice>("").await;
            let endpoints = slices.iter().flat_map(|slice| slice.endpoints.iter().flatten());
            let found: BTreeSet<(String, bool)> = endpoints
                .map(|one| (one.addresses[0].clone(), one.conditions.as_ref().and_then(|all| all.ready) == Some(true)))
                .collect();
            if found == want { Ok(slices) } else { Err(format!("{slices:#?}")) }
        };
        let slices = arena.until("the slice to list them", listed).await;
        assert_eq!(slices[0].labels()["kubernetes.io/service-name"], "web");
        let port = &slices[0].ports.as_ref().expect("ports")[0];
        assert_eq!((port.name.as_deref(), port.port), (Some("http"), Some(8080)));
        arena.delete::<Pod>("late", &kube::api::DeleteParams::default()).await;
        let fewer = async || {
            let slices = arena.list::<EndpointSlice>("").await;
            let count = slices.iter().flat_map(|slice| slice.endpoints.iter().flatten()).count();
            if count == 2 { Ok(()) } else { Err(format!("{slices:#?}")) }
        };
        arena.until("the slice to forget the Pod", fewer).await;
    }
}

/// The manager of slices that follow Endpoints somebody wrote.
const MIRROR: &str = "endpointslicemirroring-controller.k8s.io";

/// What the slices that a manager keeps for a Service say: kind of address, port, and each address with its readiness.
type Said = BTreeSet<(String, i32, Vec<(String, bool)>)>;

/// One of them, as scenarios write it.
type Wanted<'a> = (&'a str, i32, &'a [(&'a str, bool)]);

async fn mirrored(arena: &Arena, service: &str) -> Vec<EndpointSlice> {
    let labels = |slice: &EndpointSlice| {
        let has = |key: &str, value: &str| slice.labels().get(key).is_some_and(|found| found == value);
        has("kubernetes.io/service-name", service) && has("endpointslice.kubernetes.io/managed-by", MIRROR)
    };
    arena.list::<EndpointSlice>("").await.into_iter().filter(labels).collect()
}

fn said(slices: &[EndpointSlice]) -> Said {
    let one = |slice: &EndpointSlice| {
        let port = slice.ports.iter().flatten().next().and_then(|port| port.port).unwrap_or_default();
        let ready = |one: &k8s_openapi::api::discovery::v1::Endpoint| {
            (one.addresses[0].clone(), one.conditions.as_ref().and_then(|all| all.ready) == Some(true))
        };
        let mut addresses: Vec<_> = slice.endpoints.iter().flatten().map(ready).collect();
        addresses.sort();
        (slice.address_type.clone(), port, addresses)
    };
    slices.iter().map(one).collect()
}

async fn until_said(arena: &Arena, what: &str, service: &str, want: &[Wanted<'_>]) -> Vec<EndpointSlice> {
    let owned =
        |all: &[(&str, bool)]| all.iter().map(|(address, ready)| ((*address).to_owned(), *ready)).collect();
    let want: Said = want.iter().map(|(kind, port, all)| ((*kind).to_owned(), *port, owned(all))).collect();
    let look = async || {
        let slices = mirrored(arena, service).await;
        if slices.len() == want.len() && said(&slices) == want {
            Ok(slices)
        } else {
            Err(format!("{slices:#?}"))
        }
    };
    arena.until(what, look).await
}

scenario! {
    async fn endpoints_that_somebody_wrote_are_mirrored_into_slices(context) {
        let arena = context.arena();
        let ports = json!({"ports": [{"name": "http", "port": 80}]});
        let subset = json!({"addresses": [{"ip": "10.20.0.1", "hostname": "one"}, {"ip": "fd00::1"}],
            "notReadyAddresses": [{"ip": "10.20.0.2"}], "ports": [{"name": "http", "port": 8080}]});
        let endpoints = object("outside", json!({})).set("/subsets", json!([subset]))
            .set("/metadata/annotations", json!({"example.com/why": "told"}));
        let endpoints: Endpoints = arena.create(endpoints).await;
        let unseen = async || Some(mirrored(arena, "outside").await).filter(|slices| !slices.is_empty());
        arena.never("mirroring without a Service", 2, async || unseen().await.map(|slices| format!("{slices:#?}"))).await;
        arena.create(object::<Service>("outside", ports)).await;
        let v4: &[(&str, bool)] = &[("10.20.0.1", true), ("10.20.0.2", false)];
        let both = [("IPv4", 8080, v4), ("IPv6", 8080, &[("fd00::1", true)] as _)];
        let slices = until_said(arena, "a slice of each kind of address", "outside", &both).await;
        for slice in &slices {
            assert!(slice.name_any().starts_with("outside-"), "{slice:#?}");
            assert_eq!(slice.labels()["app"], "outside");
            assert_eq!(slice.annotations().iter().collect::<Vec<_>>(), [(&"example.com/why".to_owned(), &"told".to_owned())]);
            let owner = &slice.owner_references()[0];
            assert_eq!((owner.kind.as_str(), Some(&owner.uid)), ("Endpoints", endpoints.metadata.uid.as_ref()));
            assert_eq!((owner.controller, owner.block_owner_deletion), (Some(true), Some(true)));
            assert_eq!(slice.ports.as_ref().expect("ports")[0].name.as_deref(), Some("http"));
        }
        let named = slices.iter().flat_map(|slice| slice.endpoints.iter().flatten()).filter_map(|one| one.hostname.as_deref());
        assert_eq!(named.collect::<Vec<_>>(), ["one"]);

        // The same addresses on two ports that somebody wrote apart, which is one slice; and other labels.
        let apart = json!([{"addresses": [{"ip": "10.20.0.3"}], "ports": [{"name": "http", "port": 8081}]},
            {"addresses": [{"ip": "10.20.0.3"}], "ports": [{"name": "more", "port": 8082}]}]);
        arena.patch::<Endpoints>("outside", json!({"metadata": {"labels": {"more": "yes"}}, "subsets": apart})).await;
        let joined = async || {
            let slices = mirrored(arena, "outside").await;
            let [slice] = &slices[..] else { return Err(format!("{slices:#?}")) };
            let mut ports: Vec<_> = slice.ports.iter().flatten().filter_map(|port| port.port).collect();
            ports.sort_unstable();
            let good = ports == [8081, 8082] && slice.labels().get("more").is_some_and(|value| value == "yes");
            if good { Ok(()) } else { Err(format!("{slices:#?}")) }
        };
        arena.until("one slice with two ports", joined).await;
        arena.patch::<Endpoints>("outside", json!({"metadata": {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}}})).await;
        until_said(arena, "nothing to be mirrored where that is not wanted", "outside", &[]).await;
        arena.patch::<Endpoints>("outside", json!({"metadata": {"labels": {"endpointslice.kubernetes.io/skip-mirror": null}},
            "subsets": [{"addresses": [{"ip": "10.20.0.3"}], "ports": [{"port": 8083}]}]})).await;
        let again = until_said(arena, "it to be mirrored again", "outside", &[("IPv4", 8083, &[("10.20.0.3", true)])]).await;
        arena.delete::<EndpointSlice>(&again[0].name_any(), &kube::api::DeleteParams::default()).await;
        until_said(arena, "a lost slice to be made again", "outside", &[("IPv4", 8083, &[("10.20.0.3", true)])]).await;
        arena.patch::<Service>("outside", json!({"spec": {"selector": {"app": "nobody"}}})).await;
        until_said(arena, "the mirror to leave a Service with a selector alone", "outside", &[]).await;
    }
}

scenario! {
    async fn endpoints_that_somebody_wrote_go_with_their_service(context) {
        let arena = context.arena();
        arena.create(object::<Service>("outside", json!({"ports": [{"port": 80}]}))).await;
        let subset = json!({"addresses": [{"ip": "10.20.0.1"}], "ports": [{"port": 8080}]});
        arena.create(object::<Endpoints>("outside", json!({})).set("/subsets", json!([subset]))).await;
        until_said(arena, "a slice", "outside", &[("IPv4", 8080, &[("10.20.0.1", true)])]).await;
        arena.delete::<Service>("outside", &kube::api::DeleteParams::default()).await;
        arena.wait_gone::<Endpoints>("the Endpoints to go", "outside").await;
        until_said(arena, "the slice to go", "outside", &[]).await;
    }
}
