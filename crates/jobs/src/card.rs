//! Vendors of cards, as data: by which variables a program learns which cards are its own.
//!
//! The scheduler writes the numbers of the cards onto the Pod when it binds it, and the downward API brings them into
//! the variable, also for whole cards: what the device plugin chose by itself must not be a card that is shared out
//! already.

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
