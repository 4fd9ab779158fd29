//! What is kept of claims, quotas, and applications that people make with kubectl.

use jiff::Timestamp;
use k8s_openapi::{
    api::{
        apps::v1::{Deployment, StatefulSet},
        core::v1::{PersistentVolumeClaim, PodTemplateSpec, ResourceQuota},
    },
    apimachinery::pkg::api::resource::Quantity,
};
use kube::ResourceExt as _;

/// What pages need of a Deployment or a StatefulSet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AppFacts {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) ready: i32,
    pub(crate) wanted: i32,
    /// The image of its first container.
    pub(crate) image: Option<String>,
    pub(crate) created: Option<Timestamp>,
}

fn image(template: Option<&PodTemplateSpec>) -> Option<String> {
    template?.spec.as_ref()?.containers.first()?.image.clone()
}

impl AppFacts {
    pub(crate) fn of_deployment(app: &Deployment) -> Self {
        let (spec, status) = (app.spec.as_ref(), app.status.as_ref());
        Self {
            namespace: app.namespace().unwrap_or_default(),
            name: app.name_any(),
            ready: status.and_then(|status| status.ready_replicas).unwrap_or_default(),
            wanted: spec.and_then(|spec| spec.replicas).unwrap_or(1),
            image: image(spec.map(|spec| &spec.template)),
            created: app.creation_timestamp().map(|time| time.0),
        }
    }

    pub(crate) fn of_stateful_set(app: &StatefulSet) -> Self {
        let (spec, status) = (app.spec.as_ref(), app.status.as_ref());
        Self {
            namespace: app.namespace().unwrap_or_default(),
            name: app.name_any(),
            ready: status.and_then(|status| status.ready_replicas).unwrap_or_default(),
            wanted: spec.and_then(|spec| spec.replicas).unwrap_or(1),
            image: image(spec.map(|spec| &spec.template)),
            created: app.creation_timestamp().map(|time| time.0),
        }
    }
}

/// What pages need of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClaimFacts {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: Option<String>,
    /// What was given, or else what was asked for.
    pub(crate) size: Option<String>,
    pub(crate) storage_class: Option<String>,
    /// Pods on several nodes may use it.
    pub(crate) shared: bool,
    pub(crate) phase: String,
    /// The workspace that it goes with.
    pub(crate) workspace: Option<String>,
    pub(crate) created: Option<Timestamp>,
}

impl ClaimFacts {
    pub(crate) fn of(claim: &PersistentVolumeClaim) -> Self {
        let (spec, status) = (claim.spec.as_ref(), claim.status.as_ref());
        let given = status.and_then(|status| status.capacity.as_ref()?.get("storage"));
        let asked = || spec?.resources.as_ref()?.requests.as_ref()?.get("storage");
        let modes = spec.and_then(|spec| spec.access_modes.clone()).unwrap_or_default();
        let owner = claim.owner_references().iter().find(|owner| owner.kind == "Workspace");
        Self {
            namespace: claim.namespace().unwrap_or_default(),
            name: claim.name_any(),
            uid: claim.uid(),
            size: given.or_else(asked).map(|Quantity(size)| size.clone()),
            storage_class: spec.and_then(|spec| spec.storage_class_name.clone()),
            shared: modes.iter().any(|mode| mode.ends_with("Many")),
            phase: status.and_then(|status| status.phase.clone()).unwrap_or_default(),
            workspace: owner.map(|owner| owner.name.clone()),
            created: claim.creation_timestamp().map(|time| time.0),
        }
    }
}

/// What pages need of a quota: each limit with what is used of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QuotaFacts {
    pub(crate) namespace: String,
    pub(crate) limits: Vec<(String, String)>,
    pub(crate) used: Vec<(String, String)>,
}

impl QuotaFacts {
    pub(crate) fn of(quota: &ResourceQuota) -> Self {
        let hard = quota.spec.as_ref().and_then(|spec| spec.hard.clone()).unwrap_or_default();
        let used = quota.status.as_ref().and_then(|status| status.used.clone()).unwrap_or_default();
        let words = |(name, Quantity(amount)): (String, Quantity)| (name, amount);
        Self {
            namespace: quota.namespace().unwrap_or_default(),
            limits: hard.into_iter().map(words).collect(),
            used: used.into_iter().map(words).collect(),
        }
    }
}
