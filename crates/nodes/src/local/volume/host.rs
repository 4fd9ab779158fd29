//! Directories and files of this machine that somebody allowed Pods to use.

use std::path::{Component, Path, PathBuf};

use k8s_openapi::api::core::v1::HostPathVolumeSource;

use crate::local::plan::Problem;

/// The path of a `hostPath` volume, if it is allowed and of the kind that is asked for.
pub(super) fn path(source: &HostPathVolumeSource, roots: &[PathBuf]) -> Result<PathBuf, Problem> {
    let wanted = Path::new(&source.path);
    let path = allowed(wanted, roots).ok_or_else(|| {
        Problem::config(format!(
            "hostPath {:?} is not offered by the local node: it is not under a directory that it may use",
            source.path
        ))
    })?;
    let made = match source.type_.as_deref().unwrap_or_default() {
        "" | "DirectoryOrCreate" if !path.exists() => std::fs::create_dir_all(&path),
        "FileOrCreate" if !path.exists() => std::fs::File::create(&path).map(drop),
        _ => Ok(()),
    };
    made.map_err(|error| Problem::create(format!("hostPath {:?}: {error}", source.path)))?;
    let fits = match source.type_.as_deref().unwrap_or_default() {
        "" => true,
        "Directory" | "DirectoryOrCreate" => path.is_dir(),
        "File" | "FileOrCreate" => path.is_file(),
        other => {
            return Err(Problem::config(format!(
                "hostPath of type {other} is not offered by the local node"
            )));
        }
    };
    if fits {
        return Ok(path);
    }
    let kind = source.type_.as_deref().unwrap_or_default();
    Err(Problem::config(format!("hostPath type check failed: {} is not a {kind}", source.path)))
}

/// The path if it leads below one of the roots, links and dots resolved as far as the path exists.
pub(super) fn allowed(path: &Path, roots: &[PathBuf]) -> Option<PathBuf> {
    if path.components().any(|part| matches!(part, Component::ParentDir)) {
        return None;
    }
    // A link that leads nowhere is there too: making what it names would make it where it points to.
    let existing = path.ancestors().find(|ancestor| ancestor.symlink_metadata().is_ok())?;
    let rest = path.strip_prefix(existing).ok()?;
    let mut real = existing.canonicalize().ok()?;
    // Joining with nothing would leave a slash at the end, which no file has.
    real.extend(rest);
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
        std::os::unix::fs::symlink(folder.path().join("made"), root.join("dangling")).unwrap();
        let roots = [root.clone()];
        assert!(allowed(&root.join("a/b"), &roots).is_some());
        let outside = [folder.path().join("other"), PathBuf::from("/etc")];
        let links = ["../x", "link/x", "dangling", "dangling/x"].map(|path| root.join(path));
        for bad in outside.iter().chain(&links) {
            assert_eq!(allowed(bad, &roots), None, "{}", bad.display());
        }
        assert_eq!(allowed(&root, &[]), None);
    }

    #[test]
    fn a_host_path_is_made_or_must_be_what_it_says() {
        let folder = tempfile::tempdir().unwrap();
        let roots = [folder.path().to_owned()];
        std::fs::write(folder.path().join("file"), "x").unwrap();
        let at = |name: &str, kind: &str| {
            let source = HostPathVolumeSource {
                path: folder.path().join(name).to_string_lossy().into_owned(),
                type_: Some(kind.to_owned()),
            };
            path(&source, &roots)
        };
        assert!(at("a/b", "DirectoryOrCreate").unwrap().is_dir());
        assert!(at("new", "FileOrCreate").unwrap().is_file());
        assert!(at("file", "File").is_ok() && at("a", "Directory").is_ok());
        for (name, kind) in [("file", "Directory"), ("none", "Directory"), ("a", "File"), ("file", "Socket")]
        {
            assert!(at(name, kind).is_err(), "{name} as {kind}");
        }
        let outside = HostPathVolumeSource { path: "/etc".into(), type_: None };
        assert!(path(&outside, &roots).unwrap_err().message.contains("not offered by the local node"));
    }
}
