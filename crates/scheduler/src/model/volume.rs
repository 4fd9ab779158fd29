//! Volumes that were made before anybody asked for them, and claims that get one of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{LabelSelector, Term};

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
