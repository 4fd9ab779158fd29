//! Volumes: those that Pods use, and those that were made before anybody asked for them and that claims get.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{LabelSelector, Term};

/// What a Pod uses of volumes beyond what decides for [`super::Shape`]: Pods of one template may differ in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PodVolumes {
    /// Volumes that are attached to its node, each as driver and name. One that several Pods use is attached once.
    pub attached: BTreeSet<(String, String)>,
    /// Claims, as `namespace/name`, that no two Pods use at a time.
    pub exclusive: BTreeSet<String>,
}

impl PodVolumes {
    /// Whether it uses none.
    pub fn is_empty(&self) -> bool {
        self.attached.is_empty() && self.exclusive.is_empty()
    }
}

/// A volume that was made beforehand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StaticVolume {
    /// Its name.
    pub name: Arc<str>,
    /// Its class; only claims of that class get it.
    pub class: String,
    /// Bytes.
    pub size: i64,
    /// How it may be mounted.
    pub modes: BTreeSet<String>,
    /// It is a device, not a file system.
    pub block: bool,
    /// Its labels, for selectors of claims.
    pub labels: BTreeMap<String, String>,
    /// Nodes it can be used on, one of the terms must hold; all nodes if absent.
    pub nodes: Option<Vec<Term>>,
    /// The uid of the claim it is promised to.
    pub claim: Option<Arc<str>>,
}

/// A claim that gets a volume made beforehand once the node of its Pod is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct StaticClaim {
    /// Its name, in the namespace of the Pod.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// The class of the volume.
    pub class: String,
    /// Bytes, at least.
    pub size: i64,
    /// How it has to be mountable.
    pub modes: Vec<String>,
    /// It wants a device, not a file system.
    pub block: bool,
    /// Labels the volume must have.
    pub selector: LabelSelector,
}
