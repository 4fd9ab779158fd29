//! Objects for tests: the parts that matter in a line, the rest filled in.
//!
//! ```
//! use maar_testkit::build::deployment;
//! let web = deployment("web").replicas(3).image("one").behave("ready-after", "2s").set("/spec/paused", true);
//! ```

use std::marker::PhantomData;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::Pod;
use kube::Resource;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Label and taint of the nodes that belong to one scenario.
pub const OWNER: &str = "testkit.maar.io/scenario";

/// An object in the making.
#[derive(Clone, Debug)]
pub struct Build<K> {
    value: Value,
    /// Where the Pod's metadata and spec are.
    pod: Option<&'static str>,
    anywhere: bool,
    kind: PhantomData<K>,
}

/// A Pod with one container that runs until it is stopped.
pub fn pod(name: &str) -> Build<Pod> {
    let mut build = object(name, json!({}));
    build.pod = Some("");
    build.with_pod(name)
}

/// A Deployment of one replica; its Pods carry `app: NAME`.
pub fn deployment(name: &str) -> Build<Deployment> {
    templated(name, "/spec/template", json!({"selector": {"matchLabels": {"app": name}}}))
}

/// A ReplicaSet of one replica.
pub fn replica_set(name: &str) -> Build<ReplicaSet> {
    templated(name, "/spec/template", json!({"selector": {"matchLabels": {"app": name}}}))
}

/// A StatefulSet of one replica.
pub fn stateful_set(name: &str) -> Build<StatefulSet> {
    templated(
        name,
        "/spec/template",
        json!({"serviceName": name, "selector": {"matchLabels": {"app": name}}}),
    )
}

/// A DaemonSet on the nodes of the scenario.
pub fn daemon_set(name: &str) -> Build<DaemonSet> {
    templated(name, "/spec/template", json!({"selector": {"matchLabels": {"app": name}}}))
}

/// A Job of one Pod that ends well after a second.
pub fn job(name: &str) -> Build<Job> {
    templated(name, "/spec/template", json!({}))
        .set("/spec/template/spec/restartPolicy", "Never")
        .behave("run-time", "1s")
}

/// A CronJob whose Jobs end well after a second.
pub fn cron_job(name: &str, schedule: &str) -> Build<CronJob> {
    templated(name, "/spec/jobTemplate/spec/template", json!({"schedule": schedule}))
        .set("/spec/jobTemplate/spec/template/spec/restartPolicy", "Never")
        .behave("run-time", "1s")
}

/// Any object, with `app: NAME` on it.
pub fn object<K>(name: &str, spec: Value) -> Build<K> {
    let mut value = json!({"metadata": {"name": name, "labels": {"app": name}}});
    if spec != json!({}) {
        value["spec"] = spec;
    }
    Build { value, pod: None, anywhere: false, kind: PhantomData }
}

fn templated<K>(name: &str, pod: &'static str, spec: Value) -> Build<K> {
    let mut build = object(name, spec);
    build.pod = Some(pod);
    build.with_pod(name)
}

impl<K> Build<K> {
    fn with_pod(self, name: &str) -> Self {
        let pod = self.pod.unwrap_or_default();
        self.set(&format!("{pod}/metadata/labels/app"), name)
            .set(&format!("{pod}/spec/containers"), json!([{"name": "main", "image": "example.com/image:1"}]))
            // Nobody has anything to finish.
            .set(&format!("{pod}/spec/terminationGracePeriodSeconds"), 1)
    }

    /// Sets whatever a JSON pointer names, making what is missing on the way. A number names a list's element.
    pub fn set(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        let mut at = &mut self.value;
        for part in pointer.split('/').skip(1) {
            let part = part.replace("~1", "/").replace("~0", "~");
            at = match part.parse::<usize>() {
                Ok(index) if at.is_array() => &mut at[index],
                _ => {
                    if !at.is_object() {
                        *at = json!({});
                    }
                    &mut at[part]
                }
            };
        }
        *at = value.into();
        self
    }

    /// How many replicas.
    pub fn replicas(self, count: u32) -> Self {
        self.set("/spec/replicas", count)
    }

    /// Sets something of the Pod or of the Pod template, such as `/spec/priorityClassName`.
    pub fn pod_set(self, pointer: &str, value: impl Into<Value>) -> Self {
        let pod = self.pod.unwrap_or_default();
        self.set(&format!("{pod}{pointer}"), value)
    }

    /// The image of the container.
    pub fn image(self, image: &str) -> Self {
        self.pod_set("/spec/containers/0/image", image)
    }

    /// What the container asks for, such as `cpu` and `2`.
    pub fn request(self, resource: &str, amount: &str) -> Self {
        let resource = resource.replace('/', "~1");
        let limits = resource.contains('.');
        let build = self.pod_set(&format!("/spec/containers/0/resources/requests/{resource}"), amount);
        // Extended resources cannot be over-committed.
        if limits {
            build.pod_set(&format!("/spec/containers/0/resources/limits/{resource}"), amount)
        } else {
            build
        }
    }

    /// What a simulated node does with the container: `run-time`, `exit-code`, `ready-after`, …
    pub fn behave(self, name: &str, value: &str) -> Self {
        self.pod_set(&format!("/metadata/annotations/sim.maar.io~1{name}"), value)
    }

    /// Leaves the choice of nodes to the test: neither selector nor toleration is added.
    pub fn anywhere(mut self) -> Self {
        self.anywhere = true;
        self
    }
}

impl<K: Resource<DynamicType = ()> + DeserializeOwned> Build<K> {
    /// The object, with its Pods on the nodes of a scenario.
    pub(crate) fn placed(self, owner: &str) -> K {
        if self.pod.is_none() || self.anywhere {
            return self.build();
        }
        let selector = format!("/spec/nodeSelector/{}", OWNER.replace('/', "~1"));
        let pod = self.pod.unwrap_or_default();
        let mut tolerations =
            self.value.pointer(&format!("{pod}/spec/tolerations")).cloned().unwrap_or(json!([]));
        if let Some(list) = tolerations.as_array_mut() {
            list.push(json!({"key": OWNER, "operator": "Equal", "value": owner, "effect": "NoSchedule"}));
        }
        self.pod_set(&selector, owner).pod_set("/spec/tolerations", tolerations).build()
    }

    /// The object as it is.
    pub fn build(self) -> K {
        serde_json::from_value(self.value).expect("what a test builds fits its kind")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_filled_in_and_placed() {
        let web = deployment("web").replicas(3).image("one").behave("ready-after", "2s");
        let web = web.request("nvidia.com/gpu", "1").placed("mine");
        let spec = web.spec.unwrap();
        assert_eq!(spec.replicas, Some(3));
        let template = spec.template;
        assert_eq!(template.metadata.unwrap().annotations.unwrap()["sim.maar.io/ready-after"], "2s");
        let pod = template.spec.unwrap();
        assert_eq!(pod.containers[0].image.as_deref(), Some("one"));
        assert_eq!(
            pod.containers[0].resources.as_ref().unwrap().limits.as_ref().unwrap()["nvidia.com/gpu"].0,
            "1"
        );
        assert_eq!(pod.node_selector.unwrap()[OWNER], "mine");
        assert_eq!(pod.tolerations.unwrap().len(), 1);
    }

    #[test]
    fn a_pod_anywhere_is_not_placed() {
        let pod = pod("one").anywhere().placed("mine").spec.unwrap();
        assert!(pod.node_selector.is_none() && pod.tolerations.is_none());
    }
}
