//! Vendors of cards, as data: by which variables a program learns which cards are its own.
//!
//! The scheduler writes the numbers of the cards onto the Pod when it binds it, and the downward API brings them into
//! the variable, also for whole cards: what the device plugin chose by itself must not be a card that is shared out
//! already.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use maar_api::{names, resources::PodResources};

/// What a program of one vendor's looks for.
pub(crate) struct Vendor {
    /// The resource that counts whole cards.
    pub(crate) resource: &'static str,
    /// Variables with the numbers of its cards.
    pub(crate) variables: &'static [&'static str],
}

/// The vendors that are known. A resource that is not here gets `MAAR_VISIBLE_CARDS` only.
pub(crate) const VENDORS: &[Vendor] = &[
    Vendor { resource: "nvidia.com/gpu", variables: &["NVIDIA_VISIBLE_DEVICES"] },
    Vendor { resource: "amd.com/gpu", variables: &["ROCR_VISIBLE_DEVICES"] },
    Vendor { resource: "huawei.com/Ascend910", variables: &["ASCEND_VISIBLE_DEVICES"] },
    Vendor { resource: "huawei.com/Ascend310", variables: &["ASCEND_VISIBLE_DEVICES"] },
    Vendor { resource: "hygon.com/dcu", variables: &["HIP_VISIBLE_DEVICES"] },
    Vendor {
        resource: "cambricon.com/mlu",
        variables: &["CAMBRICON_VISIBLE_DEVICES", "MLU_VISIBLE_DEVICES"],
    },
    Vendor { resource: "mthreads.com/gpu", variables: &["MTHREADS_VISIBLE_DEVICES"] },
];

/// The variable every Pod with cards has.
pub(crate) const VARIABLE: &str = "MAAR_VISIBLE_CARDS";

/// Variables of the programs that use `resource`.
pub(crate) fn variables(resource: &str) -> &'static [&'static str] {
    VENDORS.iter().find(|vendor| vendor.resource == resource).map_or(&[], |vendor| vendor.variables)
}

/// Whole cards that a Pod asks for, by resource.
pub(crate) fn asked(pod: &Pod) -> Vec<(&'static str, usize)> {
    let Ok(resources) = PodResources::from_pod(pod) else { return Vec::new() };
    let requests = resources.requests();
    let count = |vendor: &Vendor| usize::try_from(requests.get(vendor.resource).value()).unwrap_or(0);
    VENDORS.iter().map(|vendor| (vendor.resource, count(vendor))).filter(|(_, count)| *count > 0).collect()
}

/// The cards of a Pod that has a node, such as `nvidia.com/gpu=2,3`. Who is placed by others has `?` for each: only its
/// node knows which they are.
pub(crate) fn held(pod: &Pod) -> Option<String> {
    if let Some(given) = pod.annotations().get(names::ANNOTATION_CARDS) {
        return Some(given.clone());
    }
    let unknown = |(resource, count): (&str, usize)| format!("{resource}={}", vec!["?"; count].join(","));
    let all: Vec<String> = asked(pod).into_iter().map(unknown).collect();
    (!all.is_empty()).then(|| all.join(";"))
}
