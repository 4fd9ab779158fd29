//! What an administrator grants a workspace beside the ordinary, as the portal writes it on the object.
//!
//! It gives nobody a right: whoever may write Workspaces in a namespace can write it, and the Pod Security level of the
//! namespace decides whether such a Pod is made. The portal raises that level for those to whom a profile was granted, and
//! refuses what the profile does not name.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{
    Capabilities, HostPathVolumeSource, PodSpec, SecurityContext, Volume, VolumeMount,
};
use serde::{Deserialize, Serialize};

use crate::pod::Mounts;

/// Workspace annotation: a [`WorkspaceGrant`] as JSON.
pub const ANNOTATION_GRANT: &str = "maar.io/grant";

/// What a workspace has beside the ordinary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "a Pod has the same")]
pub struct WorkspaceGrant {
    /// The profile that grants it, for those who look.
    pub profile: String,
    /// Its container is root on the node.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub privileged: bool,
    /// The network of the node.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub host_network: bool,
    /// Processes of the node.
    #[serde(default, rename = "hostPID", skip_serializing_if = "std::ops::Not::not")]
    pub host_pid: bool,
    /// Memory that processes of the node share.
    #[serde(default, rename = "hostIPC", skip_serializing_if = "std::ops::Not::not")]
    pub host_ipc: bool,
    /// Capabilities that its container has more.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub capabilities: BTreeSet<String>,
    /// Folders of the node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_paths: Vec<GrantedPath>,
}

/// A folder of the node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrantedPath {
    /// The folder that an administrator named.
    pub root: String,
    /// Only this below it. Kubelets follow links in it no further than to the end of the volume, which is why it is no part
    /// of `root`: there they would be followed anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_path: Option<String>,
    /// Where it is found in the workspace.
    pub path: String,
    /// It can only be read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

impl WorkspaceGrant {
    /// What stands on a workspace; nothing if it cannot be read, which makes it an ordinary one.
    pub(super) fn of(annotations: &BTreeMap<String, String>) -> Option<Self> {
        serde_json::from_str(annotations.get(ANNOTATION_GRANT)?).ok()
    }

    /// Gives it to a Pod.
    pub(super) fn give(&self, spec: &mut PodSpec) {
        if self.host_network {
            spec.host_network = Some(true);
            // Or names of the cluster would not be found there.
            spec.dns_policy = Some("ClusterFirstWithHostNet".to_owned());
        }
        spec.host_pid = self.host_pid.then_some(true);
        spec.host_ipc = self.host_ipc.then_some(true);
        if !self.privileged && self.capabilities.is_empty() {
            return;
        }
        for container in &mut spec.containers {
            let context = container.security_context.get_or_insert_with(SecurityContext::default);
            context.privileged = self.privileged.then_some(true);
            let add: Vec<String> = self.capabilities.iter().cloned().collect();
            let some = (!add.is_empty()).then_some(Capabilities { add: Some(add), drop: None });
            context.capabilities = some;
        }
    }

    /// Adds its folders.
    pub(super) fn mount(&self, mounts: &mut Mounts) {
        for (number, one) in self.host_paths.iter().enumerate() {
            let source = HostPathVolumeSource {
                path: one.root.clone(),
                // A folder that is there: nothing is made on the node.
                type_: Some("Directory".to_owned()),
            };
            let volume =
                Volume { name: format!("maar-host-{number}"), host_path: Some(source), ..Volume::default() };
            let mount = VolumeMount {
                mount_path: one.path.clone(),
                sub_path: one.sub_path.clone(),
                read_only: one.read_only.then_some(true),
                ..VolumeMount::default()
            };
            mounts.add(volume, mount);
        }
    }
}
