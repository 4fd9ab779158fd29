//! Folders of nodes that an administrator lets some workspaces have.

use maar_jobs::GrantedPath;
use schemars::JsonSchema;
use serde::Deserialize;

use super::text::{Wrong, check_path};

/// A folder of every node, as a profile names it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostPath {
    /// The folder, whole.
    pub path: String,
    /// Workspaces can only read it.
    #[serde(default)]
    pub read_only: bool,
}

impl HostPath {
    /// Whether it makes sense to grant it.
    pub(crate) fn check(&self) -> Result<(), Wrong> {
        check_path("hostPaths", &self.path)?;
        if self.path.ends_with('/') {
            return Err(Wrong::new("hostPaths", format!("{} ends with /", self.path)));
        }
        Ok(())
    }
}

/// A folder of the node that somebody asks for.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewHostPath {
    /// The folder, or one below a folder that the profile names.
    pub(crate) host_path: String,
    /// Where it is found in the workspace.
    pub(crate) path: String,
    /// It can only be read.
    #[serde(default)]
    pub(crate) read_only: bool,
}

/// What is mounted for `asked`, if one of `granted` holds it: the folder that the administrator named is the volume, and
/// what is below it a part of the volume. So a link that somebody made in it leads nowhere else, and no name that only
/// begins alike is taken for a folder below.
pub(crate) fn host_path(
    field: &str,
    asked: &NewHostPath,
    granted: &[HostPath],
) -> Result<GrantedPath, Wrong> {
    check_path(&format!("{field}.path"), &asked.path)?;
    let field = format!("{field}.hostPath");
    check_path(&field, &asked.host_path)?;
    let wanted = asked.host_path.trim_end_matches('/');
    let below = |root: &str| match wanted.strip_prefix(root)? {
        "" => Some(None),
        rest => rest.strip_prefix('/').map(|rest| Some(rest.to_owned())),
    };
    // Of several the longest, which says the most of it.
    let found =
        granted.iter().filter_map(|one| Some((one, below(&one.path)?))).max_by_key(|(one, _)| one.path.len());
    let Some((root, sub_path)) = found else {
        return Err(Wrong::new(field, "is not a folder that the profile names, nor below one"));
    };
    if sub_path.as_ref().is_some_and(|path| path.contains('\\')) {
        return Err(Wrong::new(field, "has no backslash"));
    }
    Ok(GrantedPath {
        root: root.path.clone(),
        sub_path,
        path: asked.path.clone(),
        read_only: asked.read_only || root.read_only,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted() -> Vec<HostPath> {
        let one = |path: &str, read_only| HostPath { path: path.to_owned(), read_only };
        vec![one("/mnt/data", true), one("/scratch", false), one("/scratch/shared", true)]
    }

    fn asked(path: &str) -> Result<GrantedPath, Wrong> {
        let asked = NewHostPath { host_path: path.to_owned(), path: "/data".to_owned(), read_only: false };
        host_path("hostPaths[0]", &asked, &granted())
    }

    #[test]
    fn folders_are_taken_as_parts_of_what_was_named() {
        let whole = asked("/mnt/data/").unwrap();
        assert_eq!((whole.root.as_str(), whole.sub_path, whole.read_only), ("/mnt/data", None, true));
        let below = asked("/scratch/ada/run 1").unwrap();
        assert_eq!((below.root.as_str(), below.sub_path.as_deref()), ("/scratch", Some("ada/run 1")));
        assert!(!below.read_only);
        let longest = asked("/scratch/shared/x").unwrap();
        assert_eq!(
            (longest.root.as_str(), longest.read_only),
            ("/scratch/shared", true),
            "not by the shorter name"
        );
    }

    #[test]
    fn no_trick_leads_to_another_folder() {
        for trick in [
            "/mnt/database",
            "/mnt/data.old/x",
            "/mnt",
            "/",
            "",
            "mnt/data",
            "/mnt/data/../../etc",
            "/scratch/..",
            "/mnt/./data",
            "/mnt//data",
            "//mnt/data",
            "/mnt/data\0/x",
            "/mnt/data\n",
            "/mnt/data:/etc",
            "/scratch/a\\..\\b",
            "/MNT/data",
            "/proc/1/root/mnt/data",
            "/mnt/data/%2e%2e/..",
        ] {
            let refused = asked(trick).unwrap_err();
            assert_eq!(refused.field, "hostPaths[0].hostPath", "{trick:?}: {}", refused.why);
        }
        let inside = NewHostPath { host_path: "/scratch".into(), path: "/proc/x".into(), read_only: false };
        assert_eq!(host_path("h", &inside, &granted()).unwrap_err().field, "h.path");
    }

    #[test]
    fn what_is_granted_makes_sense() {
        let check = |path: &str| HostPath { path: path.to_owned(), read_only: false }.check();
        assert!(check("/mnt/data").is_ok());
        for wrong in ["/", "mnt", "/mnt/", "/mnt/../etc", "/proc/1", "/dev/mem"] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
    }
}
