//! Volumes of a Pod beside those of its template.

use k8s_openapi::{
    api::core::v1::{
        ConfigMapVolumeSource, EmptyDirVolumeSource, PersistentVolumeClaimVolumeSource, PodSpec,
        SecretVolumeSource, Volume, VolumeMount,
    },
    apimachinery::pkg::api::resource::Quantity,
};
use maar_api::v1alpha1::MountSpec;

use super::containers;
use crate::kind::keys_at;

/// Keys are for their owner only: ssh refuses others.
const KEY_MODE: i32 = 0o400;

/// Volumes and where each is found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mounts {
    volumes: Vec<Volume>,
    mounts: Vec<VolumeMount>,
}

impl Mounts {
    /// Adds a volume at a path.
    pub(crate) fn add(&mut self, volume: Volume, mount: VolumeMount) {
        let mount = VolumeMount { name: volume.name.clone(), ..mount };
        if self.volumes.iter().all(|known| known.name != volume.name) {
            self.volumes.push(volume);
        }
        self.mounts.push(mount);
    }

    /// The files of a ConfigMap.
    pub(crate) fn files(&mut self, config_map: String, path: &str) {
        let source = ConfigMapVolumeSource { name: config_map, ..ConfigMapVolumeSource::default() };
        let volume = Volume { name: "maar-files".to_owned(), config_map: Some(source), ..Volume::default() };
        self.add(volume, read_only(path));
    }

    /// The key pair of a Secret.
    pub(crate) fn keys(&mut self, secret: String) {
        let source = SecretVolumeSource {
            secret_name: Some(secret),
            default_mode: Some(KEY_MODE),
            ..SecretVolumeSource::default()
        };
        let volume = Volume { name: "maar-keys".to_owned(), secret: Some(source), ..Volume::default() };
        self.add(volume, read_only(keys_at()));
    }

    /// What people asked for.
    pub(crate) fn asked(&mut self, asked: &[MountSpec]) {
        for (number, one) in asked.iter().enumerate() {
            // Two mounts of one claim share a volume: kubelets may wait for ever for the second of two.
            let first =
                asked[..number].iter().position(|other| one.memory.is_none() && source(other) == source(one));
            let number = first.unwrap_or(number);
            let mount = VolumeMount {
                mount_path: one.path.clone(),
                sub_path: one.sub_path.clone(),
                read_only: one.read_only.then_some(true),
                ..VolumeMount::default()
            };
            self.add(volume(number, one), mount);
        }
    }
}

fn read_only(path: &str) -> VolumeMount {
    VolumeMount { mount_path: path.to_owned(), read_only: Some(true), ..VolumeMount::default() }
}

fn source(mount: &MountSpec) -> [Option<&str>; 3] {
    [mount.claim.as_deref(), mount.config_map.as_deref(), mount.secret.as_deref()]
}

fn volume(number: usize, asked: &MountSpec) -> Volume {
    let mut volume = Volume { name: format!("maar-mount-{number}"), ..Volume::default() };
    if let Some(claim_name) = asked.claim.clone() {
        volume.persistent_volume_claim =
            Some(PersistentVolumeClaimVolumeSource { claim_name, read_only: None });
    } else if let Some(name) = asked.config_map.clone() {
        volume.config_map = Some(ConfigMapVolumeSource { name, ..ConfigMapVolumeSource::default() });
    } else if let Some(name) = asked.secret.clone() {
        volume.secret = Some(SecretVolumeSource { secret_name: Some(name), ..SecretVolumeSource::default() });
    } else if let Some(size) = asked.memory {
        volume.empty_dir = Some(EmptyDirVolumeSource {
            medium: Some("Memory".to_owned()),
            size_limit: Some(Quantity(size.to_string())),
        });
    }
    volume
}

/// Adds volumes to a Pod; a path that a container of the template has mounted already stays as it is.
pub(crate) fn mount(spec: &mut PodSpec, added: &Mounts) {
    if added.volumes.is_empty() {
        return;
    }
    spec.volumes.get_or_insert_default().extend(added.volumes.iter().cloned());
    for container in containers(spec) {
        let mine = container.volume_mounts.get_or_insert_default();
        for mount in &added.mounts {
            if mine.iter().all(|one| one.mount_path != mount.mount_path) {
                mine.push(mount.clone());
            }
        }
    }
}
