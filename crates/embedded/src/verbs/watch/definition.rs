//! The definition behind a watch of a custom kind.

use std::sync::Arc;

use crate::resource::{Registry, Resource};
use crate::server::SharedRegistry;

/// How the definition of a kind is, compared with how it was when the watch began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Same,
    /// It is another: what the watch would show of later changes is wrong.
    Other,
    Gone,
}

/// Sees to it that a watch does not outlive what it shows objects by.
#[derive(Debug)]
pub(super) struct Definition {
    resource: Arc<Resource>,
    registry: SharedRegistry,
    /// The last registry that had the resource: most of the time it is still that one.
    seen: Option<Arc<Registry>>,
}

impl Definition {
    /// Nothing for built-in kinds, which never change.
    pub(super) fn of(resource: &Arc<Resource>, registry: SharedRegistry) -> Option<Self> {
        resource.is_custom().then(|| Self { resource: Arc::clone(resource), registry, seen: None })
    }

    pub(super) fn state(&mut self) -> State {
        let registry = Arc::clone(&self.registry.read());
        if self.seen.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, &registry)) {
            return State::Same;
        }
        let Resource { group, version, plural, table, .. } = &*self.resource;
        if registry.find(group, version, plural).is_some_and(|found| Arc::ptr_eq(found, &self.resource)) {
            self.seen = Some(registry);
            return State::Same;
        }
        if registry.definition(table).is_some() { State::Other } else { State::Gone }
    }
}
