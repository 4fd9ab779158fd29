//! What the namespace of a user holds before the first workspace does: limits, and walls.

use k8s_openapi::{
    api::{
        core::v1::{LimitRange, Namespace, ResourceQuota, ServiceAccount},
        networking::v1::NetworkPolicy,
    },
    apimachinery::pkg::api::resource::Quantity as TextQuantity,
};
use maar_api::names;
use serde_json::json;

use super::limits::UserLimits;
use crate::live::QuotaFacts;

/// Namespace annotation: the identifier of the user whose it is.
const ANNOTATION_USER_ID: &str = "maar.io/user-id";
/// The name of the quota.
pub(crate) const QUOTA: &str = "maar-user";
/// What the quota limits of our kinds.
pub(super) const COUNT_WORKSPACES: &str = "count/workspaces.maar.io";
pub(super) const COUNT_JOBS: &str = "count/aijobs.maar.io";
/// The namespace in which Maar itself runs.
const SYSTEM: &str = "maar-system";

/// The objects of one user's namespace.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NamespaceObjects {
    pub(crate) namespace: Namespace,
    pub(crate) quota: ResourceQuota,
    pub(crate) range: LimitRange,
    pub(crate) wall: NetworkPolicy,
    pub(crate) account: ServiceAccount,
}

/// What the Pod Security standard of a namespace lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Baseline,
    /// For those to whom an administrator has granted a profile; the portal refuses what it does not grant.
    Privileged,
}

/// What the namespace of a user, named and identified, shall hold.
pub(crate) fn plan(
    namespace: &str,
    user: (&str, &str),
    limits: &UserLimits,
    level: Level,
) -> NamespaceObjects {
    NamespaceObjects {
        namespace: namespace_object(namespace, user, (limits, level)),
        quota: quota(namespace, limits),
        range: range(namespace),
        wall: wall(namespace),
        account: service_account(namespace),
    }
}

/// `baseline` is enforced and `restricted` only warned of: nearly all images with CUDA run as root in their container,
/// and `restricted` would refuse every one of them. What leads out of a container (privileged, host paths, host
/// network, host ports, added capabilities) is refused by `baseline` already.
fn namespace_object(
    namespace: &str,
    (user, id): (&str, &str),
    (limits, level): (&UserLimits, Level),
) -> Namespace {
    let level = match level {
        Level::Baseline => "baseline",
        Level::Privileged => "privileged",
    };
    object(json!({
        "metadata": {
            "name": namespace,
            "labels": {
                names::LABEL_MANAGED_BY: names::MANAGED_BY,
                names::LABEL_USER: user,
                "pod-security.kubernetes.io/enforce": level,
                "pod-security.kubernetes.io/warn": "restricted",
                "pod-security.kubernetes.io/audit": "restricted",
            },
            "annotations": { ANNOTATION_USER_ID: id, names::ANNOTATION_USER_LIMITS: requests(limits) },
        },
    }))
}

/// Limits that the scheduler holds to as well: the quota knows nothing of shares of cards, and kube-controller-manager counts
/// it anew from caches that may be behind, after which a cluster lets in more than it allows.
fn requests(limits: &UserLimits) -> String {
    serde_json::to_string(&limits.requests).unwrap_or_default()
}

fn quota(namespace: &str, limits: &UserLimits) -> ResourceQuota {
    let mut made: ResourceQuota = object(json!({
        "metadata": metadata(QUOTA, namespace),
        "spec": { "hard": {
            COUNT_WORKSPACES: limits.workspaces.to_string(),
            COUNT_JOBS: limits.jobs.to_string(),
            "pods": limits.pods.to_string(),
            "persistentvolumeclaims": limits.volumes.to_string(),
            "requests.storage": limits.storage.to_string(),
            // Ports of nodes and addresses of clouds lead past every check of the portal.
            "services.nodeports": "0",
            "services.loadbalancers": "0",
        } },
    }));
    if let Some(spec) = &mut made.spec {
        let hard = spec.hard.get_or_insert_default();
        for (resource, amount) in &limits.requests {
            hard.insert(format!("requests.{resource}"), TextQuantity(amount.to_string()));
        }
    }
    made
}

/// The limits of somebody who has no namespace yet.
pub(crate) fn quota_facts(limits: &UserLimits) -> QuotaFacts {
    QuotaFacts::of(&quota("", limits))
}

/// A quota on processor time or memory refuses Pods that say nothing of it; this says it for them.
fn range(namespace: &str) -> LimitRange {
    object(json!({
        "metadata": metadata("maar-user", namespace),
        "spec": { "limits": [{ "type": "Container", "defaultRequest": { "cpu": "100m", "memory": "256Mi" } }] },
    }))
}

/// In: only from the own namespace and from Maar. Out: everywhere but the machine's own addresses, where clouds keep
/// the credentials of nodes; the namespaces of others are closed by their own walls.
fn wall(namespace: &str) -> NetworkPolicy {
    let maar = json!({ "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": SYSTEM } } });
    object(json!({
        "metadata": metadata("maar-user", namespace),
        "spec": {
            "podSelector": {},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{ "from": [{ "podSelector": {} }, maar] }],
            "egress": [
                { "to": [{ "ipBlock": { "cidr": "0.0.0.0/0", "except": ["169.254.0.0/16"] } }] },
                { "to": [{ "ipBlock": { "cidr": "::/0", "except": ["fe80::/10", "fd00:ec2::254/128"] } }] },
                { "to": [{ "namespaceSelector": {} }] },
            ],
        },
    }))
}

/// Programs of users get no token for the cluster.
fn service_account(namespace: &str) -> ServiceAccount {
    object(json!({ "metadata": metadata("default", namespace), "automountServiceAccountToken": false }))
}

fn metadata(name: &str, namespace: &str) -> serde_json::Value {
    json!({ "name": name, "namespace": namespace, "labels": { names::LABEL_MANAGED_BY: names::MANAGED_BY } })
}

fn object<K: serde::de::DeserializeOwned>(value: serde_json::Value) -> K {
    serde_json::from_value(value).expect("the literal above has the shape of its kind")
}

#[cfg(test)]
mod tests {
    use maar_api::{Quantity, ResourceList};

    use super::*;

    #[test]
    fn a_namespace_has_limits_and_walls() {
        let requests = [("nvidia.com/gpu", 8), ("cpu", 64)];
        let requests = requests.map(|(name, count)| (name.to_owned(), Quantity::from_units(count)));
        let requests = ResourceList::from_iter(requests);
        let made = plan(
            "user-ada-x",
            ("ada", "u-1"),
            &UserLimits { requests, ..UserLimits::default() },
            Level::Baseline,
        );
        insta::assert_yaml_snapshot!([
            serde_json::to_value(&made.namespace).unwrap(),
            serde_json::to_value(&made.quota).unwrap(),
            serde_json::to_value(&made.range).unwrap(),
            serde_json::to_value(&made.wall).unwrap(),
            serde_json::to_value(&made.account).unwrap(),
        ]);
    }
}
