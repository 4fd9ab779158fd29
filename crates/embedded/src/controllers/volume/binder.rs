//! Joins claims and volumes, and makes directories for claims of the default class.
//!
//! A made volume is a `hostPath` below a base folder, held to the node its Pod was placed on where the class waits
//! for one. The directory itself is made by the kubelet that mounts it (`DirectoryOrCreate`); a deleted volume's
//! directory is left to the machine, because nodes are simulated more often than not.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{
    HostPathVolumeSource, Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectReference,
    PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimStatus, PersistentVolumeSpec,
    PersistentVolumeStatus, Pod, VolumeNodeAffinity,
};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as TextQuantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use maar_machinery::selector::Labels as _;

use super::matching::{self, is_bound, is_promised, is_provisioned, waits_for_consumer};
use super::{PROVISIONER, SELECTED_NODE};
use crate::controllers::base::{self, Base};
use crate::controllers::recorder::{Recorder, reference};
use crate::controllers::view::PodView;
use crate::controllers::{Again, Controller};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};
use crate::verbs::DeleteOptions;

/// The class of claims that name none.
const DEFAULT_CLASS: &str = "standard";
const IS_DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";

#[derive(Debug)]
pub(crate) struct VolumeBinder {
    base: Base,
    claims: Arc<str>,
    volumes: Arc<str>,
    /// The folder that directories are made in, on every node.
    folder: String,
    class: Key,
}

impl VolumeBinder {
    pub(crate) fn new(server: &Arc<Server>, folder: &str) -> Self {
        let base = Base::new(server, "persistentvolume-controller");
        let claims = Arc::clone(&base.local.resource::<PersistentVolumeClaim>().table);
        let volumes = Arc::clone(&base.local.resource::<PersistentVolume>().table);
        let class = Key { table: "default-storage-class".into(), row: "".into() };
        Self { base, claims, volumes, folder: folder.to_owned(), class }
    }

    /// Makes the default class, once: somebody who deletes it does not want it.
    async fn ensure_class(&self) -> Result<Again, ApiError> {
        if !self.base.local.entries::<StorageClass>(None).is_empty() {
            return Ok(None);
        }
        let class = StorageClass {
            metadata: ObjectMeta {
                name: Some(DEFAULT_CLASS.into()),
                annotations: Some(BTreeMap::from([(IS_DEFAULT.into(), "true".into())])),
                ..ObjectMeta::default()
            },
            provisioner: PROVISIONER.into(),
            reclaim_policy: Some("Delete".into()),
            volume_binding_mode: Some("WaitForFirstConsumer".into()),
            ..StorageClass::default()
        };
        match self.base.local.create(&class).await {
            Err(error) if !error.is_already_exists() => Err(error),
            _ => Ok(None),
        }
    }

    async fn sync_claim(&self, namespace: &str, name: &str) -> Result<Again, ApiError> {
        let Some(claim) = self.base.local.get::<PersistentVolumeClaim>(namespace, name) else {
            return Ok(None);
        };
        if is_bound(&claim) {
            return self.follow_bound(&claim).await.map(|()| None);
        }
        self.report(&claim, "Pending", None).await?;
        if self.set_default_class(&claim).await? {
            return Ok(None);
        }
        let spec = claim.spec.clone().unwrap_or_default();
        if let Some(wanted) = spec.volume_name.as_deref().filter(|name| !name.is_empty()) {
            return self.take_named(&claim, wanted).await.map(|()| None);
        }
        let volumes: Vec<PersistentVolume> = self.base.local.list(None);
        let class = spec.storage_class_name.as_deref().filter(|class| !class.is_empty());
        let class: Option<StorageClass> = class.and_then(|class| self.base.local.get("", class));
        let waits = class.as_ref().is_some_and(waits_for_consumer);
        let selected = claim.metadata.annotations.as_ref().and_then(|all| all.get(SELECTED_NODE)).cloned();
        let reaches = |volume: &PersistentVolume| !waits || self.reaches(volume, selected.as_deref());
        match (matching::choose(&volumes, &claim, reaches), class) {
            (Some(volume), _) => self.join(&claim, volume, true).await?,
            (None, Some(class)) if is_provisioned(&class) && (!waits || selected.is_some()) => {
                Box::pin(self.provision(&claim, &class, selected.as_deref().filter(|_| waits))).await?;
            }
            (None, Some(_)) if waits => {
                let (reason, message) = self.what_is_waited_for(&claim);
                self.base.recorder.normal(&reference(&claim), reason, message).await;
            }
            (None, None) if spec.storage_class_name.as_deref().is_some_and(|class| !class.is_empty()) => {
                let missing = spec.storage_class_name.unwrap_or_default();
                let message = format!("storageclass.storage.k8s.io {missing:?} not found");
                self.base.recorder.warning(&reference(&claim), "ProvisioningFailed", message).await;
            }
            (None, _) => {
                let message =
                    "no persistent volumes available for this claim and no storage class is set".into();
                self.base.recorder.normal(&reference(&claim), "FailedBinding", message).await;
            }
        }
        Ok(None)
    }

    /// Joins a claim with the volume it names, once that is there, free and suits it.
    async fn take_named(&self, claim: &PersistentVolumeClaim, wanted: &str) -> Result<(), ApiError> {
        let Some(volume) = self.base.local.get::<PersistentVolume>("", wanted) else { return Ok(()) };
        let promised = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
        let (reason, message) = match promised {
            Some(promised) if is_promised(promised, claim) => return self.join(claim, &volume, false).await,
            Some(_) => ("FailedBinding", format!("volume {wanted:?} already bound to a different claim.")),
            None => match matching::mismatch(&volume, claim) {
                None => return self.join(claim, &volume, false).await,
                Some(why) => ("VolumeMismatch", format!("Cannot bind to requested volume {wanted:?}: {why}")),
            },
        };
        self.base.recorder.warning(&reference(claim), reason, message).await;
        Ok(())
    }

    fn what_is_waited_for(&self, claim: &PersistentVolumeClaim) -> (&'static str, String) {
        let (namespace, name) = names(claim);
        let pods = self.base.local.entries::<Pod>(Some(namespace));
        let views = pods.iter().filter_map(|entry| entry.view::<PodView>());
        let users: Vec<String> = views
            .filter(|pod| pod.spec.node_name.is_empty() && pod.claims().any(|used| used == name))
            .map(|pod| pod.name().to_owned())
            .collect();
        if users.is_empty() {
            let message = "waiting for first consumer to be created before binding".to_owned();
            return ("WaitForFirstConsumer", message);
        }
        ("WaitForPodScheduled", format!("waiting for pod {} to be scheduled", users.join(",")))
    }

    /// Gives a claim that names no class the default one, also if that came later. Whether it did.
    async fn set_default_class(&self, claim: &PersistentVolumeClaim) -> Result<bool, ApiError> {
        let spec = claim.spec.clone().unwrap_or_default();
        if spec.storage_class_name.is_some() || spec.volume_name.is_some() {
            return Ok(false);
        }
        let classes = self.base.local.list::<StorageClass>(None);
        let is_default = |class: &&StorageClass| {
            class
                .metadata
                .annotations
                .as_ref()
                .and_then(|all| all.get(IS_DEFAULT))
                .is_some_and(|yes| yes == "true")
        };
        // The newest of several; of those made at once, the first by name.
        let rank = |class: &&StorageClass| {
            (class.metadata.creation_timestamp.clone(), std::cmp::Reverse(class.metadata.name.clone()))
        };
        let Some(class) = classes.iter().filter(is_default).max_by_key(rank) else { return Ok(false) };
        let (namespace, name) = names(claim);
        let change = |claim: &mut PersistentVolumeClaim| {
            let spec = claim.spec.get_or_insert_default();
            if spec.storage_class_name.is_none() {
                spec.storage_class_name.clone_from(&class.metadata.name);
            }
        };
        self.base.local.modify(namespace, name, change).await?;
        Ok(true)
    }

    /// Whether a volume can be used on the chosen node. Without a chosen node, none can yet.
    fn reaches(&self, volume: &PersistentVolume, node: Option<&str>) -> bool {
        let Some(entry) = node.and_then(|node| self.base.local.entry::<Node>("", node)) else {
            return false;
        };
        let labels =
            entry.meta.labels.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        matching::nodes_of(volume).is_none_or(|nodes| {
            crate::controllers::placement::selector_matches(&nodes, &entry.meta.name, &labels)
        })
    }

    /// Promises the volume to the claim, then gives the claim the volume. Cut off in between, the promise is kept.
    async fn join(
        &self,
        claim: &PersistentVolumeClaim,
        volume: &PersistentVolume,
        by_controller: bool,
    ) -> Result<(), ApiError> {
        let (namespace, name) = names(claim);
        let volume_name = volume.metadata.name.clone().unwrap_or_default();
        let promise = claim_reference(claim);
        let change = |volume: &mut PersistentVolume| matching::promise(volume, claim, &promise);
        let stored: PersistentVolume = self.base.local.modify("", &volume_name, change).await?;
        let ours = stored.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
        if !ours.is_some_and(|ours| is_promised(ours, claim)) {
            return Ok(());
        }
        self.set_phase(&stored, "Bound").await?;
        let change =
            |claim: &mut PersistentVolumeClaim| matching::complete(claim, &volume_name, by_controller);
        let claim: PersistentVolumeClaim = self.base.local.modify(namespace, name, change).await?;
        self.report(&claim, "Bound", Some(&stored)).await
    }

    async fn provision(
        &self,
        claim: &PersistentVolumeClaim,
        class: &StorageClass,
        node: Option<&str>,
    ) -> Result<(), ApiError> {
        let uid = claim.metadata.uid.as_deref().unwrap_or_default();
        let name = format!("pvc-{uid}");
        let (namespace, claim_name) = names(claim);
        let wish = claim.spec.clone().unwrap_or_default();
        let path = format!("{}/{namespace}_{claim_name}_{name}", self.folder);
        let size = TextQuantity(matching::requested(claim).to_string());
        let volume = PersistentVolume {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                annotations: Some(BTreeMap::from([(PROVISIONED_BY.into(), PROVISIONER.into())])),
                ..ObjectMeta::default()
            },
            spec: Some(PersistentVolumeSpec {
                capacity: Some(BTreeMap::from([("storage".into(), size)])),
                access_modes: wish.access_modes,
                volume_mode: wish.volume_mode,
                storage_class_name: class.metadata.name.clone(),
                mount_options: class.mount_options.clone(),
                persistent_volume_reclaim_policy: class.reclaim_policy.clone(),
                host_path: Some(HostPathVolumeSource { path, type_: Some("DirectoryOrCreate".into()) }),
                claim_ref: Some(claim_reference(claim)),
                node_affinity: node.map(|node| self.held_to(node)),
                ..PersistentVolumeSpec::default()
            }),
            status: None,
        };
        match self.base.local.create(&volume).await {
            Err(error) if !error.is_already_exists() => {
                let message = format!("Failed to create volume: {error}");
                self.base.recorder.warning(&reference(claim), "ProvisioningFailed", message).await;
                return Err(error);
            }
            _ => {}
        }
        let message = format!("Successfully provisioned volume {name}");
        self.base.recorder.normal(&reference(claim), "ProvisioningSucceeded", message).await;
        match self.base.local.get::<PersistentVolume>("", &name) {
            Some(stored) => self.join(claim, &stored, true).await,
            None => Ok(()),
        }
    }

    fn held_to(&self, node: &str) -> VolumeNodeAffinity {
        let entry = self.base.local.entry::<Node>("", node);
        let host = entry
            .as_ref()
            .and_then(|entry| entry.meta.label("kubernetes.io/hostname").map(ToOwned::to_owned));
        let requirement = |key: &str, value: String| NodeSelectorRequirement {
            key: key.into(),
            operator: "In".into(),
            values: Some(vec![value]),
        };
        let term = match host {
            Some(host) => NodeSelectorTerm {
                match_expressions: Some(vec![requirement("kubernetes.io/hostname", host)]),
                match_fields: None,
            },
            None => NodeSelectorTerm {
                match_expressions: None,
                match_fields: Some(vec![requirement("metadata.name", node.to_owned())]),
            },
        };
        VolumeNodeAffinity { required: Some(NodeSelector { node_selector_terms: vec![term] }) }
    }

    /// A bound claim whose volume is gone has lost it.
    async fn follow_bound(&self, claim: &PersistentVolumeClaim) -> Result<(), ApiError> {
        let name = claim.spec.as_ref().and_then(|spec| spec.volume_name.clone()).unwrap_or_default();
        match self.base.local.get::<PersistentVolume>("", &name) {
            Some(volume) => self.report(claim, "Bound", Some(&volume)).await,
            None => self.report(claim, "Lost", None).await,
        }
    }

    async fn report(
        &self,
        claim: &PersistentVolumeClaim,
        phase: &str,
        volume: Option<&PersistentVolume>,
    ) -> Result<(), ApiError> {
        let offer = volume.and_then(|volume| volume.spec.clone()).unwrap_or_default();
        let before = claim.status.clone().unwrap_or_default();
        let status = PersistentVolumeClaimStatus {
            phase: Some(phase.to_owned()),
            access_modes: if phase == "Bound" { offer.access_modes } else { None },
            capacity: if phase == "Bound" { offer.capacity } else { None },
            ..before.clone()
        };
        if status == before {
            return Ok(());
        }
        let (namespace, name) = names(claim);
        let change = |claim: &mut PersistentVolumeClaim| claim.status = Some(status.clone());
        self.base.local.modify_status(namespace, name, change).await.map(|_| ())
    }

    async fn set_phase(&self, volume: &PersistentVolume, phase: &str) -> Result<(), ApiError> {
        if volume.status.as_ref().and_then(|status| status.phase.as_deref()) == Some(phase) {
            return Ok(());
        }
        let name = volume.metadata.name.as_deref().unwrap_or_default();
        let change = |volume: &mut PersistentVolume| {
            let status: &mut PersistentVolumeStatus = volume.status.get_or_insert_default();
            status.phase = Some(phase.to_owned());
        };
        self.base.local.modify_status("", name, change).await.map(|_| ())
    }

    /// A volume whose claim is gone is released, and deleted if it says so.
    async fn sync_volume(&self, name: &str) -> Result<Again, ApiError> {
        let Some(volume) = self.base.local.get::<PersistentVolume>("", name) else { return Ok(None) };
        let spec = volume.spec.clone().unwrap_or_default();
        let Some(promised) = &spec.claim_ref else {
            return self.set_phase(&volume, "Available").await.map(|()| None);
        };
        let (namespace, claim_name) =
            (promised.namespace.as_deref().unwrap_or_default(), promised.name.as_deref().unwrap_or_default());
        let claim: Option<PersistentVolumeClaim> = self.base.local.get(namespace, claim_name);
        if promised.uid.as_deref().is_none_or(str::is_empty) {
            // Promised by name to a claim that may be yet to come.
            return self.set_phase(&volume, "Available").await.map(|()| None);
        }
        if claim.is_some_and(|claim| is_promised(promised, &claim)) {
            return Ok(None);
        }
        self.set_phase(&volume, "Released").await?;
        let made_here = volume
            .metadata
            .annotations
            .as_ref()
            .is_some_and(|all| all.get(PROVISIONED_BY).is_some_and(|maker| maker == PROVISIONER));
        if made_here && spec.persistent_volume_reclaim_policy.as_deref() == Some("Delete") {
            let uid = volume.metadata.uid.unwrap_or_default();
            self.base.local.delete::<PersistentVolume>("", name, &DeleteOptions::of_uid(&uid)).await?;
        }
        Ok(None)
    }

    /// The claims that may want a volume that changed: the one it is promised to, or all that wait.
    fn claims_for(&self, event: &Event) -> Vec<Key> {
        let volume: Option<PersistentVolume> = event.entry.typed();
        if let Some(promised) = volume.and_then(|volume| volume.spec?.claim_ref) {
            let name = promised.name.unwrap_or_default();
            return vec![Key::new(&self.claims, &promised.namespace.unwrap_or_default(), &name)];
        }
        let all = self.base.local.entries::<PersistentVolumeClaim>(None);
        all.iter().map(|entry| Key::new(&self.claims, &entry.meta.namespace, &entry.meta.name)).collect()
    }
}

fn names(claim: &PersistentVolumeClaim) -> (&str, &str) {
    let metadata = &claim.metadata;
    (metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
}

/// The reference by which a volume names its claim.
pub(crate) fn claim_reference(claim: &PersistentVolumeClaim) -> ObjectReference {
    ObjectReference { resource_version: None, ..reference(claim) }
}

impl Controller for VolumeBinder {
    fn name(&self) -> &'static str {
        "persistentvolume-controller"
    }

    fn recorder(&self) -> Option<&Recorder> {
        Some(&self.base.recorder)
    }

    fn tables(&self) -> Vec<&'static str> {
        vec!["namespaces", "persistentvolumeclaims", "persistentvolumes", "storageclasses.storage.k8s.io"]
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        match table {
            // The first namespace there is means that the cluster has just started.
            "namespaces" if &*event.entry.meta.name == "kube-system" && event.previous.is_none() => {
                vec![self.class.clone()]
            }
            "persistentvolumeclaims" => {
                let mut keys = vec![base::own_key(table, event)];
                let claim: Option<PersistentVolumeClaim> = event.entry.typed().filter(|_| event.deleted);
                let volume = claim.and_then(|claim| claim.spec?.volume_name);
                keys.extend(volume.map(|volume| Key::new(&self.volumes, "", &volume)));
                keys
            }
            "persistentvolumes" => {
                let mut keys = self.claims_for(event);
                keys.push(base::own_key(table, event));
                keys
            }
            "storageclasses.storage.k8s.io" if !event.deleted => {
                let all = self.base.local.entries::<PersistentVolumeClaim>(None);
                all.iter()
                    .map(|entry| Key::new(&self.claims, &entry.meta.namespace, &entry.meta.name))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        if key.table == self.claims {
            Box::pin(self.sync_claim(key.namespace(), key.name()))
        } else if key.table == self.volumes {
            Box::pin(self.sync_volume(key.name()))
        } else {
            Box::pin(self.ensure_class())
        }
    }
}
