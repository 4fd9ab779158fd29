//! Keeps the written rules of aggregated ClusterRoles equal to what they collect, for those who read them.
//! Authorization does not wait for this: it collects by itself.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};

use super::policy::{CLUSTER_ROLES, aggregated};
use crate::controllers::{Again, BoxController, Controller};
use crate::local::Local;
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};

/// The control loop.
pub(crate) fn aggregation(server: &Arc<Server>) -> BoxController {
    Arc::new(AggregationController {
        local: Local::new(Arc::clone(server), "clusterrole-aggregation-controller"),
    })
}

struct AggregationController {
    local: Local,
}

impl Controller for AggregationController {
    fn name(&self) -> &'static str {
        "clusterrole-aggregation-controller"
    }

    fn tables(&self) -> Vec<&'static str> {
        vec![CLUSTER_ROLES]
    }

    /// Any role can be part of any aggregated one: all are looked at together, under one key.
    fn keys(&self, _table: &str, _event: &Event) -> Vec<Key> {
        vec![Key::new(&CLUSTER_ROLES.into(), "", "")]
    }

    fn reconcile<'a>(&'a self, _key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        self.collect().map(|result| result.map(|()| None)).boxed()
    }
}

impl AggregationController {
    async fn collect(&self) -> Result<(), ApiError> {
        let rows = self.local.entries::<ClusterRole>(None);
        for (name, rules) in aggregated(&rows) {
            let rules: Vec<PolicyRule> =
                serde_json::to_value(rules).and_then(serde_json::from_value).map_err(ApiError::internal)?;
            self.local.modify::<ClusterRole>("", name, |role| role.rules = Some(rules.clone())).await?;
        }
        Ok(())
    }
}
