//! Persistent volumes that are directories of this machine.

use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::{Api, Client};

use super::{host, reclaim};
use crate::local::plan::Problem;

/// Who made a volume says so here.
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// The embedded cluster's own maker of directories. It names a place that need not exist on this machine, so the node
/// keeps those volumes with its own files.
const DIRECTORIES: &str = "maar.io/directory";

/// Where directories may be.
#[derive(Debug, Clone, Copy)]
pub(in crate::local) struct Places<'a> {
    /// Directories of this machine that volumes may use.
    pub(in crate::local) roots: &'a [PathBuf],
    /// Where the node keeps volumes itself.
    pub(in crate::local) kept: &'a Path,
}

/// The directory behind a claim.
pub(super) async fn folder(
    client: &Client,
    namespace: &str,
    claim: &str,
    places: Places<'_>,
) -> Result<PathBuf, Problem> {
    let failed = |error: kube::Error| Problem::create(error.to_string());
    let claims = Api::<PersistentVolumeClaim>::namespaced(client.clone(), namespace);
    let found = claims.get_opt(claim).await.map_err(failed)?;
    let found = found.ok_or_else(|| Problem::config(format!("persistentvolumeclaim {claim:?} not found")))?;
    let volume = found.spec.and_then(|spec| spec.volume_name).filter(|name| !name.is_empty());
    let volume =
        volume.ok_or_else(|| Problem::config(format!("persistentvolumeclaim {claim:?} is not bound")))?;
    let object = Api::<PersistentVolume>::all(client.clone()).get(&volume).await.map_err(failed)?;
    let path = directory(&object).ok_or_else(|| {
        Problem::config(format!("persistentvolume {volume:?} is not a directory of this machine"))
    })?;
    if let Some(path) = host::allowed(&path, places.roots) {
        std::fs::create_dir_all(&path).map_err(|error| Problem::create(error.to_string()))?;
        return Ok(path);
    }
    if is_made_for_us(&object) {
        return reclaim::keep(places.kept, &volume, reclaim::policy(&object))
            .map_err(|error| Problem::create(error.to_string()));
    }
    Err(Problem::config(format!(
        "persistentvolume {volume:?}: {} is not under a directory that the local node may use",
        path.display()
    )))
}

fn is_made_for_us(volume: &PersistentVolume) -> bool {
    let annotations = volume.metadata.annotations.as_ref();
    annotations.and_then(|map| map.get(PROVISIONED_BY)).is_some_and(|maker| maker == DIRECTORIES)
}

fn directory(volume: &PersistentVolume) -> Option<PathBuf> {
    let spec = volume.spec.as_ref()?;
    let host = spec.host_path.as_ref().map(|source| source.path.clone());
    host.or_else(|| spec.local.as_ref().map(|source| source.path.clone())).map(PathBuf::from)
}
