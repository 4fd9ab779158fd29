//! The volumes of a Pod as directories of this machine.

pub(super) mod claim;
mod files;
mod host;
pub(super) mod reclaim;
mod token;

use std::{collections::BTreeSet, io, os::unix::fs::PermissionsExt, path::Path};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, Volume, VolumeProjection};
use kube::Client;

use super::{mount::Ready, plan::Problem};
use crate::{
    environment::{Facts, SourceError, Sources},
    lifecycle::FAILED_MOUNT,
};
use claim::Places;
use files::{Entry, Selection};

/// What filling volumes needs.
pub(super) struct Filling<'a> {
    pub(super) client: &'a Client,
    pub(super) pod: &'a Pod,
    pub(super) namespace: &'a str,
    pub(super) facts: &'a Facts,
    pub(super) sources: &'a Sources,
    /// Where the Pod's own volumes are.
    pub(super) folder: &'a Path,
    /// Where volumes of this machine may be.
    pub(super) places: Places<'a>,
    pub(super) now: Timestamp,
}

/// Names of the ConfigMaps and of the Secrets that volumes show.
pub(super) fn references(pod: &Pod) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut config_maps, mut secrets) = (BTreeSet::new(), BTreeSet::new());
    for volume in pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten()) {
        config_maps.extend(volume.config_map.as_ref().map(|source| source.name.clone()));
        secrets.extend(volume.secret.as_ref().and_then(|source| source.secret_name.clone()));
        let projections = volume.projected.iter().flat_map(|projected| projected.sources.iter().flatten());
        for projection in projections {
            config_maps.extend(projection.config_map.as_ref().map(|source| source.name.clone()));
            secrets.extend(projection.secret.as_ref().map(|source| source.name.clone()));
        }
    }
    (config_maps, secrets)
}

impl Filling<'_> {
    /// Makes all volumes of the Pod.
    pub(super) async fn all(&self) -> Result<Vec<Ready>, Problem> {
        let mut ready = Vec::new();
        for volume in self.pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten()) {
            let made = self.one(volume).await;
            ready.push(made.map_err(|problem| Problem {
                reason: FAILED_MOUNT,
                message: format!(
                    "MountVolume.SetUp failed for volume {:?} : {}",
                    volume.name, problem.message
                ),
            })?);
        }
        Ok(ready)
    }

    async fn one(&self, volume: &Volume) -> Result<Ready, Problem> {
        let path = self.folder.join(&volume.name);
        let name = volume.name.clone();
        if let Some(claim) = &volume.persistent_volume_claim {
            let path = claim::folder(self.client, self.namespace, &claim.claim_name, self.places).await?;
            return Ok(Ready { name, path, read_only: claim.read_only == Some(true) });
        }
        if volume.ephemeral.is_some() {
            let claim = format!("{}-{name}", self.pod.metadata.name.as_deref().unwrap_or_default());
            let path = claim::folder(self.client, self.namespace, &claim, self.places).await?;
            return Ok(Ready { name, path, read_only: false });
        }
        if let Some(source) = &volume.host_path {
            return Ok(Ready { name, path: host::path(source, self.places.roots)?, read_only: false });
        }
        std::fs::create_dir_all(&path).map_err(|error| failed(&error))?;
        if volume.empty_dir.is_some() {
            // Every user of the Pod may write there, as in a real one.
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777))
                .map_err(|error| failed(&error))?;
            return Ok(Ready { name, path, read_only: false });
        }
        let entries = self.entries(volume).await?;
        files::write_all(&path, &entries).map_err(|error| failed(&error))?;
        Ok(Ready { name, path, read_only: true })
    }

    /// The files of a volume that shows something.
    async fn entries(&self, volume: &Volume) -> Result<Vec<Entry>, Problem> {
        if let Some(source) = &volume.config_map {
            let selection = Selection::new(source.items.as_deref(), source.default_mode, source.optional);
            return selection.of("configmap", &source.name, self.sources.config_map(&source.name));
        }
        if let Some(source) = &volume.secret {
            let secret = source.secret_name.as_deref().unwrap_or_default();
            let selection = Selection::new(source.items.as_deref(), source.default_mode, source.optional);
            return selection.of("secret", secret, self.sources.secret(secret));
        }
        if let Some(source) = &volume.downward_api {
            let mode = source.default_mode;
            return files::downward(self.pod, source.items.as_deref().unwrap_or_default(), mode, self.facts);
        }
        let Some(projected) = &volume.projected else {
            return Err(Problem::config(
                "this kind of volume is not offered by the local node; it has emptyDir, configMap, secret, \
                 downwardAPI, projected, persistentVolumeClaim, ephemeral and allowed hostPath",
            ));
        };
        let mut entries = Vec::new();
        for projection in projected.sources.iter().flatten() {
            entries.extend(self.projected(volume, projection, projected.default_mode).await?);
        }
        Ok(entries)
    }

    async fn projected(
        &self,
        volume: &Volume,
        projection: &VolumeProjection,
        mode: Option<i32>,
    ) -> Result<Vec<Entry>, Problem> {
        if let Some(source) = &projection.config_map {
            let selection = Selection::new(source.items.as_deref(), mode, source.optional);
            return selection.of("configmap", &source.name, self.sources.config_map(&source.name));
        }
        if let Some(source) = &projection.secret {
            let selection = Selection::new(source.items.as_deref(), mode, source.optional);
            return selection.of("secret", &source.name, self.sources.secret(&source.name));
        }
        if let Some(source) = &projection.downward_api {
            return files::downward(self.pod, source.items.as_deref().unwrap_or_default(), mode, self.facts);
        }
        if let Some(source) = &projection.service_account_token {
            let held = std::fs::read_to_string(self.folder.join(&volume.name).join(&source.path));
            let token = match held {
                Ok(token) if token::is_fresh(&token, self.now) => token,
                _ => token::request(self.client, self.pod, self.namespace, source).await?,
            };
            return Ok(vec![Entry::new(&source.path, token.into_bytes(), mode)]);
        }
        Err(Problem::config("this kind of projected source is not offered by the local node"))
    }
}

fn failed(error: &io::Error) -> Problem {
    Problem::create(error.to_string())
}

impl From<SourceError> for Problem {
    fn from(error: SourceError) -> Self {
        Self::config(error.to_string())
    }
}
