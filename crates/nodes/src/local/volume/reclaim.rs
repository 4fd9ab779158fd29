//! The volumes that the node keeps itself, and their end.
//!
//! `DIR/NAME/data` holds what Pods wrote, `DIR/NAME/reclaim` the volume's reclaim policy as it was last seen: when the
//! volume is gone nobody can be asked, and only what is to be deleted may be.

use std::{
    io,
    path::{Path, PathBuf},
};

use futures::StreamExt;
use k8s_openapi::api::core::v1::PersistentVolume;
use kube::{
    Api, Client, ResourceExt,
    runtime::{WatchStreamExt, watcher},
};

use crate::{back_off::BackOff, local::erase};

const DATA: &str = "data";
const POLICY: &str = "reclaim";
const DELETE: &str = "Delete";

/// What is to become of a volume's files.
pub(super) fn policy(volume: &PersistentVolume) -> &str {
    let spec = volume.spec.as_ref();
    spec.and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref()).unwrap_or("Retain")
}

/// The directory of a volume, made if need be.
pub(super) fn keep(folder: &Path, volume: &str, policy: &str) -> io::Result<PathBuf> {
    let own = place(folder, volume).ok_or_else(|| io::Error::other(format!("{volume:?} is no name")))?;
    let data = own.join(DATA);
    std::fs::create_dir_all(&data)?;
    std::fs::write(own.join(POLICY), policy)?;
    Ok(data)
}

/// Names of volumes are names of folders, but nothing else is.
fn place(folder: &Path, volume: &str) -> Option<PathBuf> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '.';
    (!volume.starts_with('.') && !volume.is_empty() && volume.chars().all(plain)).then(|| folder.join(volume))
}

/// Follows volumes until dropped, and removes the files of those that are deleted.
pub(in crate::local) async fn follow(client: Client, folder: &Path) {
    let volumes = Api::<PersistentVolume>::all(client);
    let events = watcher(volumes, watcher::Config::default()).backoff(BackOff::default());
    let mut events = std::pin::pin!(events);
    let mut listed = Vec::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Init) => listed.clear(),
            Ok(watcher::Event::InitApply(volume)) => {
                note(folder, &volume);
                listed.push(volume.name_any());
            }
            Ok(watcher::Event::InitDone) => {
                for gone in kept(folder).into_iter().filter(|name| !listed.contains(name)) {
                    remove(folder, &gone);
                }
            }
            Ok(watcher::Event::Apply(volume)) => note(folder, &volume),
            Ok(watcher::Event::Delete(volume)) => remove(folder, &volume.name_any()),
            Err(error) => tracing::warn!("watching persistent volumes: {error}"),
        }
    }
}

fn kept(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Remembers the policy of a volume that is kept here.
fn note(folder: &Path, volume: &PersistentVolume) {
    let Some(own) = place(folder, &volume.name_any()).filter(|own| own.is_dir()) else { return };
    if let Err(error) = std::fs::write(own.join(POLICY), policy(volume)) {
        tracing::warn!("noting what becomes of {}: {error}", own.display());
    }
}

fn remove(folder: &Path, volume: &str) {
    let Some(own) = place(folder, volume).filter(|own| own.is_dir()) else { return };
    if std::fs::read_to_string(own.join(POLICY)).is_ok_and(|policy| policy == DELETE) {
        erase::folder(&own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_to_be_deleted_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        for (name, policy) in [("a", "Delete"), ("b", "Retain")] {
            let data = keep(folder.path(), name, policy).unwrap();
            std::fs::write(data.join("file"), "x").unwrap();
            remove(folder.path(), name);
        }
        assert_eq!(kept(folder.path()), ["b"]);
        for bad in ["", "..", ".x", "a/b", "/etc"] {
            assert!(keep(folder.path(), bad, "Delete").is_err(), "{bad:?}");
        }
    }
}
