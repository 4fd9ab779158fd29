//! Resource names, lists of quantities, and what a Pod asks for.
//!
//! [`ResourceList`] is the arithmetic; [`PodResources`] reads a Pod (typed or as JSON) and computes its effective
//! requests and limits. All of it is pure.

mod list;
mod pod;

pub use list::{ResourceList, Shortage};
pub use pod::{PodResources, PodResourcesError};

/// Processor time, in cores.
pub const CPU: &str = "cpu";
/// Main memory, in bytes.
pub const MEMORY: &str = "memory";
/// Local scratch space, in bytes.
pub const EPHEMERAL_STORAGE: &str = "ephemeral-storage";
/// How many Pods a node takes.
pub const PODS: &str = "pods";
/// Persistent space, in bytes.
pub const STORAGE: &str = "storage";
/// Start of the name of a huge-page resource; the page size follows.
pub const HUGEPAGES_PREFIX: &str = "hugepages-";
/// NVIDIA cards.
pub const NVIDIA_GPU: &str = "nvidia.com/gpu";
/// Ascend 910 cards.
pub const ASCEND_910: &str = "huawei.com/Ascend910";

/// Names without a domain, or inside Kubernetes' own one, are Kubernetes' resources; the rest comes from device
/// plugins and is counted in whole, never overcommitted units.
pub fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.contains("kubernetes.io/") && !name.starts_with("requests.")
}

/// The resources that may be set for a Pod as a whole.
pub fn is_pod_level(name: &str) -> bool {
    name == CPU || name == MEMORY || name.starts_with(HUGEPAGES_PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_resources_have_a_foreign_domain() {
        for name in [NVIDIA_GPU, ASCEND_910, "example.com/dongle"] {
            assert!(is_extended(name), "{name}");
        }
        for name in [CPU, MEMORY, PODS, "hugepages-2Mi", "kubernetes.io/thing", "requests.nvidia.com/gpu"] {
            assert!(!is_extended(name), "{name}");
        }
    }
}
