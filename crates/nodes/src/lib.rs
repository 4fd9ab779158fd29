//! Kubelets that join any cluster through a `kube::Client`: the embedded one or a real one.
//!
//! *Simulated* nodes come from a [`profile`](Profile) and do with Pods what their annotations say. The life of a Pod
//! is a state machine without I/O (`lifecycle`) over a `Runtime`, of which there are two: the simulation, and
//! processes of this machine.

mod any_certificate;
mod back_off;
mod card;
mod clock;
mod console;
mod directory;
mod duration;
mod environment;
mod events;
mod failure;
mod fleet;
mod ids;
mod kubelet;
mod lifecycle;
mod local;
mod pod;
mod pods;
mod profile;
mod requests;
mod runtime;
mod simulated;
mod table;

pub use clock::Clock;
pub use directory::KubeletDirectory;
pub use events::EventPolicy;
pub use failure::{FAIL_ANNOTATION, FailureError, Failures};
pub use fleet::{FleetError, POOL_LABEL, RACK_LABEL, SET_ANNOTATION};
pub use kubelet::tls::{Listen, ListenError};
pub use local::{
    LIMITS_ANNOTATION, LOCAL_LABEL, LocalError, LocalHandle, LocalOptions, Sandbox, Unavailable,
    find_sandbox, run_local,
};
pub use profile::{Cards, DEFAULT_PROFILE, Pool, Power, Profile, ProfileError, Taint, TaintEffect, Vendor};
pub use simulated::{Handle, Options, simulate};
