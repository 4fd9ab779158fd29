//! Who asks, and whether they may.
//!
//! `authenticate` finds the user of a request, `policy` and `rbac` decide what that user may do, `pki` holds the
//! keys behind both. `review` answers questions about either, `signer` signs certificates on request.

mod aggregation;
mod approval;
mod authenticate;
mod authorize;
mod defaults;
mod escalation;
mod pki;
mod policy;
mod published;
mod rbac;
mod review;
mod signer;
mod subjects;
mod token;
mod token_request;
mod token_secret;
mod transport;

use std::path::Path;
use std::sync::Arc;

use parking_lot::RwLock;
use serde_json::Value;

pub(crate) use aggregation::aggregation;
pub(crate) use authenticate::Trusted;
pub(crate) use defaults::prepare;
pub use pki::PkiError;
pub(crate) use published::{CONFIGURATION, KEYS};
pub(crate) use rbac::Ask;
pub(crate) use signer::signer;
pub(crate) use token_secret::token_secrets;
pub use transport::TransportError;
pub(crate) use transport::{ClusterTime, Peer, Transport};

use crate::resource::{Resource, Subresource};
use crate::server::{Caller, Server};
use crate::status::ApiError;
use crate::store::Key;
use crate::world::World;
use policy::Policy;

/// What the server knows about users: keys, and the roles in force.
pub(crate) struct Identity {
    pub(crate) pki: pki::Pki,
    /// The policy and the revision up to which it is known to hold.
    policy: RwLock<Option<(u64, Arc<Policy>)>>,
}

impl Identity {
    pub(crate) fn new(world: &World, data_folder: Option<&Path>) -> Self {
        Self { pki: pki::Pki::new(world.clone(), data_folder), policy: RwLock::new(None) }
    }
}

impl Server {
    /// The certificate by which clients know this cluster, in PEM.
    pub(crate) fn root_ca(&self) -> Result<String, ApiError> {
        Ok(self.identity.pki.authority().map_err(ApiError::internal)?.pem.clone())
    }

    /// The roles and bindings in force.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        // Taken before looking, so that what changes meanwhile is looked at next time.
        let now = self.store.revision();
        if let Some((at, policy)) = &*self.identity.policy.read()
            && (*at == now || Policy::is_current(&self.store, *at))
        {
            return Arc::clone(policy);
        }
        let policy = Arc::new(Policy::read(&self.store));
        *self.identity.policy.write() = Some((now, Arc::clone(&policy)));
        policy
    }

    /// What who asks has to do with a new object: roles nobody may give away, and who wants a certificate.
    pub(crate) fn identity_on_create(
        &self,
        caller: &Caller,
        resource: &Resource,
        key: &Key,
        object: &mut Value,
    ) -> Result<(), ApiError> {
        if resource.is(approval::TABLE) {
            approval::stamp(&caller.user, object);
            approval::check_request(resource, key, object)?;
        }
        self.check_escalation(caller, resource, key, object, None)
    }

    /// The same for a change.
    pub(crate) fn identity_on_update(
        &self,
        caller: &Caller,
        resource: &Resource,
        key: &Key,
        subresource: Option<Subresource>,
        new: &Value,
        old: &Value,
    ) -> Result<(), ApiError> {
        if resource.is(approval::TABLE) {
            self.check_approval(caller, resource, key, subresource, new, old)?;
        }
        self.check_escalation(caller, resource, key, new, Some(old))
    }
}
