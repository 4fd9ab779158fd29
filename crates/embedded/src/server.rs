//! The API server: the state every request works on, and the way from a request to an answer.

mod caller;
mod delete_options;
mod encoding;
mod handler;
mod respond;

use std::sync::{Arc, OnceLock};

use maar_streams::dial::Dial;
use parking_lot::{Mutex, RwLock, RwLockReadGuard};

pub(crate) use caller::Caller;
pub use caller::UserInfo;
pub(crate) use encoding::YAML;
pub(crate) use handler::{Call, content_type, read_body, router};
pub(crate) use respond::value as respond_value;

use crate::admission;
use crate::documents::Documents;
use crate::faults::Plan;
use crate::identity::Identity;
use crate::resource::{Registry, Resource};
use crate::status::ApiError;
use crate::store::Store;
use crate::world::World;

/// The resources served, for whoever is to see them change.
pub(crate) type SharedRegistry = Arc<RwLock<Arc<Registry>>>;

/// The state of one cluster's API server.
pub(crate) struct Server {
    pub(crate) world: World,
    pub(crate) store: Arc<Store>,
    /// Which admission plugins run.
    pub(crate) admission: admission::Settings,
    /// Keys, and the roles in force.
    pub(crate) identity: Identity,
    registry: SharedRegistry,
    /// Held while a Service takes an address and is stored, so that no two take the same one.
    pub(crate) addresses: Mutex<()>,
    /// How to reach webhooks that are not on the network, by `host:port`.
    pub(crate) webhooks: RwLock<Option<Arc<dyn Dial>>>,
    /// How to reach the kubelet of a node.
    pub(crate) kubelets: RwLock<Option<Arc<dyn Dial>>>,
    /// The OpenAPI documents made so far.
    pub(crate) openapi: Documents,
    /// What goes wrong here, once somebody has asked for it.
    pub(crate) faults: OnceLock<Arc<Plan>>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Server").field("revision", &self.store.revision()).finish_non_exhaustive()
    }
}

impl Server {
    pub(crate) fn new(
        world: World,
        store: Arc<Store>,
        identity: Identity,
        admission: admission::Settings,
    ) -> Self {
        Self {
            world,
            store,
            admission,
            identity,
            registry: Arc::new(RwLock::new(Arc::new(Registry::builtin()))),
            addresses: Mutex::new(()),
            webhooks: RwLock::new(None),
            kubelets: RwLock::new(None),
            openapi: Documents::default(),
            faults: OnceLock::new(),
        }
    }

    /// The resources served now.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry.read())
    }

    pub(crate) fn shared_registry(&self) -> SharedRegistry {
        Arc::clone(&self.registry)
    }

    /// Refuses a new object whose definition goes; it does not begin to while the answer is held.
    pub(crate) fn definition_stays(
        &self,
        resource: &Resource,
        name: &str,
    ) -> Result<Option<RwLockReadGuard<'_, Arc<Registry>>>, ApiError> {
        if !resource.is_custom() {
            return Ok(None);
        }
        let registry = self.registry.read();
        match registry.definition(&resource.table) {
            None => Err(ApiError::no_such_path()),
            Some(definition) if definition.going => {
                let why = "create not allowed while custom resource definition is terminating";
                Err(ApiError::forbidden(resource, name, why))
            }
            Some(_) => Ok(Some(registry)),
        }
    }

    /// Replaces the set of resources by a changed copy.
    pub(crate) fn change_registry<T>(&self, change: impl FnOnce(&mut Registry) -> T) -> T {
        let mut current = self.registry.write();
        let mut next = Registry::clone(&current);
        let answer = change(&mut next);
        *current = Arc::new(next);
        answer
    }

    /// Whether anything is served in this group and version.
    pub(crate) fn serves(&self, group: &str, version: &str) -> bool {
        self.registry.read().iter().any(|resource| resource.group == group && resource.version == version)
    }

    /// The resource of a path, or 404.
    pub(crate) fn resource(
        &self,
        group: &str,
        version: &str,
        plural: &str,
    ) -> Result<Arc<Resource>, ApiError> {
        self.registry.read().find(group, version, plural).cloned().ok_or_else(ApiError::no_such_path)
    }
}
