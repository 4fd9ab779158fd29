//! A recorded cluster, taken in as the watches would have brought it.
//!
//! What a recording carries is what a live scheduler reads, no more and no less: the same types, the same translation.

use kube::runtime::watcher::Event;
use serde::Deserialize;

use super::{
    feed::{Change, Kind},
    settings::Settings,
    wire::{self, Lean, Wire},
    world::World,
};
use crate::{core::Core, model::Resources};

/// Why a recording cannot be taken in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplayError {
    /// An object is not what its kind says.
    #[error("object {number} is malformed")]
    Object {
        /// Its number in the recording, from 0.
        number: usize,
        /// What is wrong, and where in the object.
        source: serde_json::Error,
    },
    /// A Pod asks for what cannot be understood.
    #[error("Pod {pod}: {why}")]
    Pod {
        /// The Pod.
        pod: String,
        /// What is wrong.
        why: String,
    },
}

/// What an object says it is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Type {
    api_version: String,
    kind: String,
}

/// A core that knows all objects of a recording. Pods of all schedulers count as ours: the question is what Maar would do.
pub(crate) fn replay(settings: &Settings, objects: &[&str]) -> Result<Core, ReplayError> {
    let mut resources = Resources::default();
    let (cards, kinds) = settings.kinds(&mut resources);
    let mut core = Core::new(settings.core.clone(), kinds, resources);
    World::default_account(settings, &mut core);
    let mut world = World::of_recording(settings.clone(), cards);
    let mut changes = Vec::new();
    for (number, text) in objects.iter().enumerate() {
        let change = change(settings, text).map_err(|source| ReplayError::Object { number, source })?;
        changes.extend(change);
    }
    // In the order of the kinds: whatever a Pod refers to is there before it.
    changes.sort_by_key(|(kind, _)| *kind);
    for kind in Kind::ALL {
        if changes.iter().all(|(there, _)| *there != kind) {
            world.apply(&mut core, Change::Absent(kind));
        }
    }
    for (_, change) in changes {
        world.apply(&mut core, change);
    }
    match world.waiting(&core, true).into_iter().next() {
        Some(refused) => Err(ReplayError::Pod {
            pod: format!("{}/{}", refused.namespace, refused.name),
            why: refused.why.to_string(),
        }),
        None => Ok(core),
    }
}

/// An object as the watch of its kind would bring it; nothing for kinds that are not followed.
fn change(settings: &Settings, text: &str) -> Result<Option<(Kind, Change)>, serde_json::Error> {
    let Type { api_version, kind } = serde_json::from_str(text)?;
    let is = |group: &str| api_version.starts_with(group);
    let change = match kind.as_str() {
        wire::Namespace::KIND => (Kind::Namespaces, Change::Namespace(seen(text)?)),
        wire::Node::KIND => (Kind::Nodes, Change::Node(seen(text)?)),
        wire::CsiNode::KIND => (Kind::CsiNodes, Change::CsiNode(seen(text)?)),
        wire::StorageClass::KIND => (Kind::Classes, Change::Class(seen(text)?)),
        wire::Volume::KIND => (Kind::Volumes, Change::Volume(seen(text)?)),
        wire::Claim::KIND => (Kind::Claims, Change::Claim(seen(text)?)),
        wire::Budget::KIND => (Kind::Budgets, Change::Budget(seen(text)?)),
        wire::VolcanoPodGroup::KIND if is(wire::VolcanoPodGroup::GROUP) => {
            (Kind::Volcano, Change::Volcano(seen(text)?))
        }
        wire::UpstreamPodGroup::KIND if is(wire::UpstreamPodGroup::GROUP) => {
            (Kind::Upstream, Change::Upstream(seen(text)?))
        }
        wire::Account::KIND => (Kind::Accounts, Change::Account(seen(text)?)),
        wire::Job::KIND => (Kind::Jobs, Change::Job(seen(text)?)),
        wire::Pod::KIND => (Kind::Pods, Change::Pod(Event::Apply(pod(settings, text)?))),
        _ => return Ok(None),
    };
    Ok(Some(change))
}

fn seen<K: Wire>(text: &str) -> Result<Event<Lean<K>>, serde_json::Error> {
    lean(text).map(Event::Apply)
}

/// A watch passes over what is malformed; in a recording it is a mistake that has a place.
fn lean<K: Wire>(text: &str) -> Result<Lean<K>, serde_json::Error> {
    serde_json::from_str::<K>(text)?;
    serde_json::from_str(text)
}

fn pod(settings: &Settings, text: &str) -> Result<Lean<wire::Pod>, serde_json::Error> {
    let mut lean: Lean<wire::Pod> = lean(text)?;
    if let Ok(pod) = &mut lean.object {
        pod.spec.scheduler_name.clone_from(&settings.scheduler_name);
        if pod.metadata.uid.is_empty() {
            pod.metadata.uid = pod.metadata.key();
        }
    }
    Ok(lean)
}
