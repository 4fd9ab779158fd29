//! Claims, volumes and classes: what they say about Pods that wait, and about those that run.

use std::{collections::BTreeMap, sync::Arc};

use super::World;
use crate::{adapter::wire, core::Core, model::StaticVolume};

impl World {
    pub(super) fn csi_node(&mut self, core: &mut Core, node: wire::CsiNode) {
        let limits = node
            .spec
            .drivers
            .into_iter()
            .filter_map(|driver| Some((driver.name, driver.allocatable?.count?)));
        self.set_limits(core, &node.metadata.name, limits.collect());
    }

    pub(super) fn csi_node_gone(&mut self, core: &mut Core, name: &str) {
        self.set_limits(core, name, BTreeMap::new());
    }

    fn set_limits(&mut self, core: &mut Core, name: &str, limits: BTreeMap<String, u32>) {
        let known =
            core.ledger().find_node(name).and_then(|id| core.ledger().node(id)).filter(|state| state.present);
        if let Some(mut node) = known.map(|state| state.node.clone()) {
            node.volume_limits = limits.clone();
            core.upsert_node(node);
        }
        if limits.is_empty() {
            self.limits.remove(name);
        } else {
            self.limits.insert(name.to_owned(), limits);
        }
    }

    pub(super) fn class(&mut self, core: &mut Core, class: wire::StorageClass) {
        self.volumes.classes.insert(class.metadata.name.clone(), class);
        self.look_again(core);
    }

    pub(super) fn class_gone(&mut self, core: &mut Core, name: &str) {
        self.volumes.classes.remove(name);
        self.look_again(core);
    }

    pub(super) fn volume(&mut self, core: &mut Core, volume: wire::Volume) {
        let name = volume.metadata.name.clone();
        let offer = self.volumes.set_volume(volume);
        Self::offer(core, &name, offer);
        self.look_at_users_of_volume(core, &name);
    }

    pub(super) fn volume_gone(&mut self, core: &mut Core, name: &str) {
        self.volumes.remove_volume(name);
        core.remove_volume(name);
        self.look_at_users_of_volume(core, name);
    }

    /// A volume made beforehand that claims may get, or that is not to be had any more.
    fn offer(core: &mut Core, name: &str, volume: Option<StaticVolume>) {
        match volume {
            Some(volume) => core.upsert_volume(volume),
            None => core.remove_volume(name),
        }
    }

    pub(super) fn claim(&mut self, core: &mut Core, claim: wire::Claim) {
        self.volumes.set_claim(claim.clone());
        for (name, offer) in self.volumes.touched_by(&claim) {
            Self::offer(core, &name, offer);
        }
        self.look_at_users(core, &claim.metadata.key());
    }

    pub(super) fn claim_gone(&mut self, core: &mut Core, key: &str) {
        self.volumes.remove_claim(key);
        self.look_at_users(core, key);
    }

    fn look_at_users_of_volume(&mut self, core: &mut Core, volume: &str) {
        let claims: Vec<String> = self.volumes.claims_of(volume).cloned().collect();
        for claim in claims {
            self.look_at_users(core, &claim);
        }
    }

    /// A claim or its volume has changed: looks again at the Pods that use it.
    fn look_at_users(&mut self, core: &mut Core, claim: &str) {
        let users: Vec<Arc<str>> = self.by_claim.get(claim).into_iter().flatten().cloned().collect();
        for uid in users {
            let Some(known) = self.pods.get(&uid) else { continue };
            if let Some(pod) = known.waiting.as_deref() {
                let pod = pod.clone();
                self.set_pod(core, uid, pod);
            } else if let Some(id) = core.ledger().find_pod(&uid) {
                let used = self.volumes.used(known.claims.iter().map(|claim| &**claim));
                if core.ledger().pod(id).is_some_and(|state| *state.pod.volumes != used) {
                    core.set_pod_volumes(id, &Arc::new(used));
                }
            }
        }
    }
}
