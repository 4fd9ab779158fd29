//! What the core knows the world by.
//!
//! Names from Kubernetes are turned into small numbers once, at the border ([`Resources`] for resource names,
//! [`PodId`] and friends for objects), so that deciding is arithmetic on short vectors. Nothing here reads a clock:
//! times are [`Millis`] that the caller brings.

mod account;
mod amounts;
mod card;
mod group;
mod node;
mod pod;
mod shape;
mod volume;

pub use account::{Account, AccountId, Member};
pub use amounts::{Amounts, ResourceId, Resources};
pub use card::{CardKind, CardKindId, CardRequest, CardSet, CardShare, CardsTaken, WHOLE_CARD};
pub use group::{Group, GroupId, ServiceLevel, TaskMinimum};
pub use node::{Effect, Node, NodeId, Taint, Window};
pub use pod::{Pod, PodId, PodPhase};
pub use shape::{
    LabelSelector, Operator, PodAffinityTerm, PodPreference, PreferredTerm, Requirement, Shape, ShapeId,
    SpreadConstraint, Term, Toleration, Unsatisfiable,
};
pub use volume::{PodVolumes, StaticClaim, StaticVolume};

/// Milliseconds since the Unix epoch.
pub type Millis = i64;
