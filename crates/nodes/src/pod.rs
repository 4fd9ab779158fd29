//! What a kubelet needs to know of a Pod, and no more: a hundred thousand of them fit in memory.
//!
//! [`object::PodObject`] is what the watch delivers. From it come the [`Template`], which Pods of one controller share
//! because equal ones are kept once, and the few things that differ from Pod to Pod.

pub(crate) mod behaviour;
pub(crate) mod load;
pub(crate) mod object;
pub(crate) mod restart;
pub(crate) mod sleep;
pub(crate) mod template;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::core::v1;
use kube::{Api, Client};

pub(crate) use behaviour::{Behaviour, FailNow};
pub(crate) use object::PodObject;
pub(crate) use template::{Container, Role, Template, Templates};

/// A Pod that is assigned to one of our nodes.
#[derive(Debug, Clone)]
pub(crate) struct Pod {
    pub(crate) uid: Arc<str>,
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Box<str>,
    pub(crate) node: Arc<str>,
    pub(crate) generation: Option<i64>,
    pub(crate) template: Arc<Template>,
    /// Somebody asked for the Pod's deletion.
    pub(crate) deletion: Option<Deletion>,
    /// Status of the condition behind each of the template's readiness gates, where it exists.
    pub(crate) gates: Box<[Option<Box<str>>]>,
    /// `sim.maar.io/fail-now`, since we saw it.
    pub(crate) fail: Option<Failing>,
}

/// A failure that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failing {
    pub(crate) what: FailNow,
    /// When it was first seen.
    pub(crate) at: Timestamp,
    /// The run of each container that it hits; the runs after that are spared.
    pub(crate) runs: Box<[u32]>,
}

/// A deletion under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deletion {
    pub(crate) grace: Duration,
}

impl Pod {
    /// The whole Pod as the API has it, if it is still this one.
    pub(crate) async fn read(&self, client: &Client) -> kube::Result<Option<v1::Pod>> {
        let api = Api::<v1::Pod>::namespaced(client.clone(), &self.namespace);
        let object = api.get_opt(&self.name).await?;
        Ok(object.filter(|object| object.metadata.uid.as_deref() == Some(&*self.uid)))
    }

    /// `namespace/name`, for messages.
    pub(crate) fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}
