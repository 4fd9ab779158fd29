//! Which resources count cards. Device plugins count much else in the same way: network cards, `/dev/kvm`, interfaces of
//! a cloud.

use std::collections::BTreeSet;

/// Resources of makers that are known, each counting whole cards.
const WHOLE: [&str; 16] = [
    "nvidia.com/gpu",
    "nvidia.com/gpu.shared",
    "amd.com/gpu",
    "huawei.com/npu",
    "hygon.com/dcu",
    "cambricon.com/mlu",
    "mthreads.com/gpu",
    "google.com/tpu",
    "gpu.intel.com/i915",
    "gpu.intel.com/xe",
    "habana.ai/gaudi",
    "aws.amazon.com/neuron",
    "enflame.com/gcu",
    "metax-tech.com/gpu",
    "iluvatar.ai/gpu",
    "kunlunxin.com/xpu",
];
/// How names begin that hold a model or a profile.
const BEGINS: [&str; 2] = ["nvidia.com/mig-", "huawei.com/Ascend"];
/// How names end that count a part of cards instead.
const PARTS: [&str; 2] = ["-memory", "-core"];

/// The kinds of cards.
#[derive(Debug, Clone, Default)]
pub(crate) struct CardKinds(BTreeSet<String>);

impl CardKinds {
    /// Those that are known, and `named` besides.
    pub(crate) fn new(named: &[String]) -> Self {
        Self(named.iter().cloned().collect())
    }

    /// Whether a resource counts cards.
    pub(crate) fn hold(&self, resource: &str) -> bool {
        let begins = || BEGINS.iter().any(|begin| resource.starts_with(begin));
        let part = || PARTS.iter().any(|end| resource.ends_with(end));
        self.0.contains(resource) || WHOLE.contains(&resource) || (begins() && !part())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_told_from_what_else_is_counted() {
        let kinds = CardKinds::new(&["example.com/card".to_owned()]);
        for card in [
            "nvidia.com/gpu",
            "nvidia.com/mig-1g.5gb",
            "huawei.com/Ascend910",
            "huawei.com/Ascend310P",
            "cambricon.com/mlu",
            "example.com/card",
        ] {
            assert!(kinds.hold(card), "{card}");
        }
        for other in [
            "cpu",
            "devices.kubevirt.io/kvm",
            "vpc.amazonaws.com/pod-eni",
            "rdma/hca",
            "nvidia.com/gpumem",
            "huawei.com/Ascend910A-memory",
            "nvidia.com/hostdev",
            "example.com/other",
        ] {
            assert!(!kinds.hold(other), "{other}");
        }
    }
}
