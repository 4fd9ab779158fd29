//! What a Pod on a node is: part of the system, work of users, or somebody else's.
//!
//! The described system looked at three hard-wired namespaces of Kubernetes and at its own. Its own analysis proposes
//! corrections, which are kept here: namespaces are configuration, and those of monitoring, card operators, schedulers,
//! databases and storage count as system. Jobs of Maar and of Volcano are users' work wherever they run.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use maar_api::names;

/// What a Pod is, in views of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodKind {
    /// Keeps the cluster going.
    System,
    /// Belongs to a job or a workspace.
    UserJob,
    /// Runs here, and Maar knows nothing of it.
    External,
}

impl PodKind {
    /// Its name in views.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::UserJob => "user-job",
            Self::External => "external",
        }
    }
}

/// Which namespaces are whose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodKinds {
    /// Pods here are part of the system.
    pub system: Vec<String>,
    /// Jobs run here; what belongs to none is part of the system.
    pub jobs: Vec<String>,
}

impl Default for PodKinds {
    fn default() -> Self {
        let all = [
            "kube-system",
            "kube-public",
            "kube-node-lease",
            "maar-system",
            "maar-images",
            "monitoring",
            "prometheus",
            "gpu-operator",
            "nvidia-gpu-operator",
            "volcano-system",
            "cnpg-system",
            "openebs",
        ];
        Self { system: all.map(str::to_owned).to_vec(), jobs: vec!["maar-workspace".to_owned()] }
    }
}

impl PodKinds {
    /// What a Pod is.
    pub fn of(&self, pod: &Pod) -> PodKind {
        if is_work(pod) {
            return PodKind::UserJob;
        }
        let namespace = pod.namespace().unwrap_or_default();
        let among = |all: &[String]| all.contains(&namespace);
        if among(&self.system) || among(&self.jobs) { PodKind::System } else { PodKind::External }
    }
}

fn is_work(pod: &Pod) -> bool {
    let owner = pod.owner_references().iter().find(|owner| owner.controller == Some(true));
    owner.is_some_and(|owner| {
        let group = owner.api_version.split('/').next().unwrap_or_default();
        match (group, owner.kind.as_str()) {
            (names::GROUP, kind) => ["AIJob", "Workspace"].contains(&kind),
            ("batch.volcano.sh", kind) => kind == "Job",
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(namespace: &str, owner: Option<(&str, &str)>) -> Pod {
        let owners: Vec<_> = owner
            .into_iter()
            .map(|(version, kind)| {
                json!({ "apiVersion": version, "kind": kind, "name": "o", "uid": "u", "controller": true })
            })
            .collect();
        let metadata = json!({ "name": "p", "namespace": namespace, "ownerReferences": owners });
        serde_json::from_value(json!({ "metadata": metadata })).unwrap()
    }

    #[test]
    fn pods_are_what_their_owners_and_namespaces_say() {
        let kinds = PodKinds::default();
        let rows = [
            ("kube-system", None, PodKind::System),
            ("monitoring", None, PodKind::System),
            ("volcano-system", Some(("apps/v1", "ReplicaSet")), PodKind::System),
            ("maar-images", None, PodKind::System),
            ("maar-workspace", Some(("batch.volcano.sh/v1alpha1", "Job")), PodKind::UserJob),
            ("maar-workspace", Some(("batch/v1", "Job")), PodKind::System),
            ("lab", Some(("maar.io/v1alpha1", "AIJob")), PodKind::UserJob),
            ("lab", Some(("maar.io/v1alpha1", "Workspace")), PodKind::UserJob),
            ("lab", Some(("example.com/v1", "AIJob")), PodKind::External),
            ("default", None, PodKind::External),
        ];
        for (namespace, owner, want) in rows {
            assert_eq!(kinds.of(&pod(namespace, owner)), want, "{namespace} {owner:?}");
        }
        let mine = PodKinds { system: vec!["default".to_owned()], jobs: Vec::new() };
        assert_eq!(mine.of(&pod("default", None)), PodKind::System);
    }
}
