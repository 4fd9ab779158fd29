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
    fn a_sub_path_stays_inside_its_volume() {
        for path in ["../x", "/etc", "a/../../b"] {
            let container = container(&json!([{ "name": "data", "mountPath": "/a", "subPath": path }]));
            assert!(mounts(&container, &volumes(), &Variables::new()).is_err(), "{path}");
        }
        let unknown = container(&json!([{ "name": "none", "mountPath": "/a" }]));
        assert!(mounts(&unknown, &volumes(), &Variables::new()).is_err());
    }
}
