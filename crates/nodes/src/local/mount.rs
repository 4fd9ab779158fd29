//! Which directory of this machine a container sees where.

use std::path::{Component, Path, PathBuf};

use k8s_openapi::api::core::v1::{Container, VolumeMount};

use super::plan::Problem;
use crate::environment::{Variables, expand};

/// One bind mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) source: PathBuf,
    pub(super) target: String,
    pub(super) read_only: bool,
}

/// A volume that is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ready {
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// Its content is ours, not the container's.
    pub(super) read_only: bool,
}

/// The mounts of a container, outer ones first.
pub(super) fn mounts(
    container: &Container,
    volumes: &[Ready],
    variables: &Variables,
) -> Result<Vec<Mount>, Problem> {
    let mut mounts = Vec::new();
    for wanted in container.volume_mounts.iter().flatten() {
        let volume = volumes.iter().find(|volume| volume.name == wanted.name).ok_or_else(|| {
            Problem::config(format!("volume mount {:?}: there is no such volume", wanted.name))
        })?;
        let source = match sub_path(wanted, variables)? {
            Some(path) => volume.path.join(path),
            None => volume.path.clone(),
        };
        let read_only = volume.read_only || wanted.read_only == Some(true);
        mounts.push(Mount { source, target: wanted.mount_path.clone(), read_only });
    }
    mounts.sort_by_key(|mount| Path::new(&mount.target).components().count());
    Ok(mounts)
}

/// The part of the volume to mount; it must not lead out of it.
fn sub_path(wanted: &VolumeMount, variables: &Variables) -> Result<Option<PathBuf>, Problem> {
    let expanded = wanted.sub_path_expr.as_deref().map(|text| expand(text, variables));
    let Some(text) = expanded.or_else(|| wanted.sub_path.clone()).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let path = PathBuf::from(&text);
    let inside = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if inside {
        return Ok(Some(path));
    }
    Err(Problem::config(format!("volume mount {:?}: subPath {text:?} leads out of the volume", wanted.name)))
}

/// A `subPath` that does not exist is made, as kubelets do. What a container wrote into its volume must not lead to a
/// place outside: a link in there would be followed here, where it means something else.
pub(super) fn make_sources(mounts: &[Mount], volumes: &[Ready]) -> Result<(), Problem> {
    for mount in mounts {
        let failed = |error: std::io::Error| Problem::create(format!("{}: {error}", mount.target));
        let Some(volume) = volumes
            .iter()
            .filter(|volume| mount.source.starts_with(&volume.path) && mount.source != volume.path)
            .max_by_key(|volume| volume.path.components().count())
        else {
            continue;
        };
        let root = volume.path.canonicalize().map_err(failed)?;
        let existing = mount.source.ancestors().find(|path| path.symlink_metadata().is_ok());
        let real = existing.unwrap_or(&root).canonicalize().map_err(failed)?;
        if !real.starts_with(&root) {
            let message = format!("volume mount {:?}: subPath leads out of the volume", mount.target);
            return Err(Problem::config(message));
        }
        if !mount.source.exists() {
            std::fs::create_dir_all(&mount.source).map_err(failed)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn container(mounts: &serde_json::Value) -> Container {
        serde_json::from_value(json!({ "name": "c", "volumeMounts": mounts })).unwrap()
    }

    fn volumes() -> Vec<Ready> {
        vec![
            Ready { name: "data".into(), path: "/s/data".into(), read_only: false },
            Ready { name: "config".into(), path: "/s/config".into(), read_only: true },
        ]
    }

    #[test]
    fn mounts_come_outer_first_and_what_is_ours_is_read_only() {
        let container = container(&json!([
            { "name": "config", "mountPath": "/a/b" },
            { "name": "data", "mountPath": "/a", "subPathExpr": "x/$(N)" },
        ]));
        let got = mounts(&container, &volumes(), &vec![("N".into(), "7".into())]).unwrap();
        let want = [
            Mount { source: "/s/data/x/7".into(), target: "/a".into(), read_only: false },
            Mount { source: "/s/config".into(), target: "/a/b".into(), read_only: true },
        ];
        assert_eq!(got, want);
    }

    #[test]
    fn a_link_in_a_volume_does_not_lead_a_sub_path_out_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        std::fs::create_dir(&data).unwrap();
        std::fs::create_dir(folder.path().join("secret")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret"), data.join("out")).unwrap();
        std::os::unix::fs::symlink("/no/such/place", data.join("dangling")).unwrap();
        std::os::unix::fs::symlink("own", data.join("inner")).unwrap();
        std::fs::create_dir(data.join("own")).unwrap();
        let volumes = [Ready { name: "data".into(), path: data.clone(), read_only: false }];
        let make = |path: &str| {
            let mount = Mount { source: data.join(path), target: "/a".into(), read_only: false };
            make_sources(&[mount], &volumes)
        };
        for good in ["own", "inner", "new/er"] {
            assert_eq!(make(good), Ok(()), "{good}");
        }
        for bad in ["out", "out/deeper", "dangling", "dangling/x"] {
            assert!(make(bad).is_err(), "{bad}");
        }
        assert!(data.join("new/er").is_dir() && !folder.path().join("secret/deeper").exists());
    }

    #[test]
    fn a_sub_path_stays_inside_its_volume() {
        for path in ["../x", "/etc", "a/../../b"] {
            let container = container(&json!([{ "name": "data", "mountPath": "/a", "subPath": path }]));
            assert!(mounts(&container, &volumes(), &Variables::new()).is_err(), "{path}");
        }
        let unknown = container(&json!([{ "name": "none", "mountPath": "/a" }]));
        assert!(mounts(&unknown, &volumes(), &Variables::new()).is_err());
    }
}
