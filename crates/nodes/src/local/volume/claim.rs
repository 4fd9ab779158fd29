//! Persistent volumes that are directories of this machine.

use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec};
use kube::{Api, Client};

use crate::local::plan::Problem;

/// The directory behind a claim; it must be under one of `roots`.
pub(super) async fn folder(
    client: &Client,
    namespace: &str,
    claim: &str,
    roots: &[PathBuf],
) -> Result<PathBuf, Problem> {
    let failed = |error: kube::Error| Problem::create(error.to_string());
    let claims = Api::<PersistentVolumeClaim>::namespaced(client.clone(), namespace);
    let found = claims.get_opt(claim).await.map_err(failed)?;
    let found = found.ok_or_else(|| Problem::config(format!("persistentvolumeclaim {claim:?} not found")))?;
    let volume = found.spec.and_then(|spec| spec.volume_name).filter(|name| !name.is_empty());
    let volume =
        volume.ok_or_else(|| Problem::config(format!("persistentvolumeclaim {claim:?} is not bound")))?;
    let object = Api::<PersistentVolume>::all(client.clone()).get(&volume).await.map_err(failed)?;
    let path = directory(object.spec.as_ref()).ok_or_else(|| {
        Problem::config(format!("persistentvolume {volume:?} is not a directory of this machine"))
    })?;
    let path = allowed(&path, roots).ok_or_else(|| {
        Problem::config(format!(
            "persistentvolume {volume:?}: {} is not under a directory that the local node may use",
            path.display()
        ))
    })?;
    std::fs::create_dir_all(&path).map_err(|error| Problem::create(error.to_string()))?;
    Ok(path)
}

fn directory(spec: Option<&PersistentVolumeSpec>) -> Option<PathBuf> {
    let spec = spec?;
    let host = spec.host_path.as_ref().map(|source| source.path.clone());
    host.or_else(|| spec.local.as_ref().map(|source| source.path.clone())).map(PathBuf::from)
}

/// The path if it leads below one of the roots, links and dots resolved as far as the path exists.
fn allowed(path: &Path, roots: &[PathBuf]) -> Option<PathBuf> {
    if path.components().any(|part| matches!(part, std::path::Component::ParentDir)) {
        return None;
    }
    let existing = path.ancestors().find(|ancestor| ancestor.exists())?;
    let rest = path.strip_prefix(existing).ok()?;
    let real = existing.canonicalize().ok()?.join(rest);
    let inside = roots.iter().filter_map(|root| root.canonicalize().ok()).any(|root| real.starts_with(root));
    inside.then_some(real)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_under_the_roots_are_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("volumes");
        std::fs::create_dir(&root).unwrap();
        std::os::unix::fs::symlink("/etc", root.join("link")).unwrap();
        let roots = [root.clone()];
        assert!(allowed(&root.join("a/b"), &roots).is_some());
        for bad in
            [folder.path().join("other"), root.join("../x"), root.join("link/x"), PathBuf::from("/etc")]
        {
            assert_eq!(allowed(&bad, &roots), None, "{}", bad.display());
        }
        assert_eq!(allowed(&root, &[]), None);
    }
}
