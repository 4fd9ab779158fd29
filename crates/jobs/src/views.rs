//! What the controllers of the role see of the cluster, once for all of them.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use maar_api::{
    names,
    v1alpha1::{AIJob, Account, Workspace},
};

use crate::index::Index;

/// Everything that is watched. Clones share it; each part is fed by the controller of its kind.
#[derive(Debug, Clone)]
pub(crate) struct Views {
    pub(crate) jobs: Index<AIJob>,
    pub(crate) job_pods: Index<Pod>,
    /// Pods of jobs that Volcano runs.
    pub(crate) volcano_pods: Index<Pod>,
    pub(crate) workspaces: Index<Workspace>,
    pub(crate) workspace_pods: Index<Pod>,
    pub(crate) accounts: Index<Account>,
    /// Only what is in this namespace.
    pub(crate) namespace: Option<Arc<str>>,
}

impl Views {
    pub(crate) fn new(namespace: Option<&str>) -> Self {
        Self {
            jobs: Index::new(names::LABEL_PARENT),
            job_pods: Index::new(names::LABEL_JOB),
            volcano_pods: Index::new(names::LABEL_VOLCANO_JOB),
            // Workspaces and accounts belong to nothing by label: one that none of them has.
            workspaces: Index::new(names::LABEL_PARENT),
            workspace_pods: Index::new(names::LABEL_WORKSPACE),
            accounts: Index::new(names::LABEL_PARENT),
            namespace: namespace.map(Arc::from),
        }
    }

    /// Pods of jobs and workspaces.
    pub(crate) fn pods(&self) -> Vec<Arc<Pod>> {
        [&self.job_pods, &self.volcano_pods, &self.workspace_pods].into_iter().flat_map(Index::all).collect()
    }

    /// Waits until everything was listed once.
    pub(crate) async fn ready(&self) {
        tokio::join!(
            self.jobs.ready(),
            self.job_pods.ready(),
            self.volcano_pods.ready(),
            self.workspaces.ready(),
            self.workspace_pods.ready(),
            self.accounts.ready(),
        );
    }
}
