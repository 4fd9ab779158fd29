//! Services and their EndpointSlices.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::ResourceExt as _;
use maar_testkit::build::{deployment, object, pod};
use maar_testkit::read::{is_ready, phase};
use maar_testkit::scenario;
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
