//! Files that show objects: which, where, and with which permissions.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Component, Path, PathBuf},
};

use k8s_openapi::api::core::v1::{Container, DownwardAPIVolumeFile, KeyToPath, Pod};

use crate::{
    environment::{self, Facts},
    local::plan::Problem,
};

const DEFAULT_MODE: i32 = 0o644;

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) path: String,
    content: Vec<u8>,
    mode: u32,
}

impl Entry {
    pub(super) fn new(path: &str, content: Vec<u8>, mode: Option<i32>) -> Self {
        let mode = u32::try_from(mode.unwrap_or(DEFAULT_MODE)).unwrap_or(0o644) & 0o777;
        Self { path: path.to_owned(), content, mode }
    }
}

/// Which keys of an object become files.
pub(super) struct Selection<'a> {
    items: Option<&'a [KeyToPath]>,
    mode: Option<i32>,
    optional: bool,
}

impl<'a> Selection<'a> {
    pub(super) fn new(items: Option<&'a [KeyToPath]>, mode: Option<i32>, optional: Option<bool>) -> Self {
        Self { items: items.filter(|items| !items.is_empty()), mode, optional: optional == Some(true) }
    }

    /// The files of the object `name`, whose data is given if it exists.
    pub(super) fn of(
        &self,
        kind: &str,
        name: &str,
        data: Option<&BTreeMap<String, Vec<u8>>>,
    ) -> Result<Vec<Entry>, Problem> {
        let Some(data) = data else {
            let missing = Problem::config(format!("{kind} {name:?} not found"));
            return if self.optional { Ok(Vec::new()) } else { Err(missing) };
        };
        let Some(items) = self.items else {
            return Ok(data
                .iter()
                .map(|(key, content)| Entry::new(key, content.clone(), self.mode))
                .collect());
        };
        let mut entries = Vec::new();
        for item in items {
            match data.get(&item.key) {
                Some(content) => {
                    entries.push(Entry::new(&item.path, content.clone(), item.mode.or(self.mode)));
                }
                None if self.optional => {}
                None => return Err(Problem::config(format!("{kind} {name:?} has no key {:?}", item.key))),
            }
        }
        Ok(entries)
    }
}

/// The files of a downward API volume.
pub(super) fn downward(
    pod: &Pod,
    items: &[DownwardAPIVolumeFile],
    mode: Option<i32>,
    facts: &Facts,
) -> Result<Vec<Entry>, Problem> {
    // Resource references in volumes name their container.
    let nobody = Container::default();
    items
        .iter()
        .map(|item| {
            let content = match (&item.field_ref, &item.resource_field_ref) {
                (Some(reference), _) => environment::field(pod, &reference.field_path, facts)?,
                (None, Some(reference)) => environment::resource(pod, &nobody, reference, facts)?,
                (None, None) => String::new(),
            };
            Ok(Entry::new(&item.path, content.into_bytes(), item.mode.or(mode)))
        })
        .collect()
}

/// Writes the files that changed, each at once or not at all, and removes what is no longer listed.
pub(super) fn write_all(folder: &Path, entries: &[Entry]) -> io::Result<()> {
    let mut wanted = BTreeSet::new();
    for entry in entries {
        let relative = Path::new(&entry.path);
        if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(io::Error::other(format!("path {:?} leads out of the volume", entry.path)));
        }
        let path = folder.join(relative);
        if !entry.is_written(&path) {
            entry.write(&path)?;
        }
        wanted.insert(path);
    }
    sweep(folder, &wanted)
}

impl Entry {
    fn is_written(&self, path: &Path) -> bool {
        let mode = std::fs::metadata(path).map(|metadata| metadata.permissions().mode() & 0o777);
        mode.is_ok_and(|mode| mode == self.mode)
            && std::fs::read(path).is_ok_and(|content| content == self.content)
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let draft =
            path.with_file_name(format!(".{}.new", path.file_name().unwrap_or_default().to_string_lossy()));
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(self.mode)
            .open(&draft)?;
        file.write_all(&self.content)?;
        file.set_permissions(std::fs::Permissions::from_mode(self.mode))?;
        std::fs::rename(&draft, path)
    }
}

/// Removes files that are not wanted, and folders that are empty after that. Nobody but us writes there.
fn sweep(folder: &Path, wanted: &BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            sweep(&path, wanted)?;
            // Fails if something is left in it, which is as it should be.
            let _ = std::fs::remove_dir(&path);
        } else if !wanted.contains(&path) {
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> BTreeMap<String, Vec<u8>> {
        BTreeMap::from([("a".to_owned(), b"1".to_vec()), ("b".to_owned(), b"2".to_vec())])
    }

    #[test]
    fn keys_become_files_all_or_as_listed() {
        let data = data();
        let all = Selection::new(None, None, None).of("configmap", "cm", Some(&data)).unwrap();
        assert_eq!(all, [Entry::new("a", b"1".to_vec(), None), Entry::new("b", b"2".to_vec(), None)]);
        let items = [KeyToPath { key: "b".into(), path: "sub/x".into(), mode: Some(0o400) }];
        let some = Selection::new(Some(&items), None, None).of("configmap", "cm", Some(&data)).unwrap();
        assert_eq!(some, [Entry { path: "sub/x".into(), content: b"2".to_vec(), mode: 0o400 }]);
        let missing = [KeyToPath { key: "z".into(), path: "z".into(), mode: None }];
        assert!(Selection::new(Some(&missing), None, None).of("secret", "s", Some(&data)).is_err());
        assert!(
            Selection::new(Some(&missing), None, Some(true))
                .of("secret", "s", Some(&data))
                .unwrap()
                .is_empty()
        );
        assert!(
            Selection::new(None, None, None)
                .of("secret", "s", None)
                .unwrap_err()
                .message
                .contains("\"s\" not found")
        );
        assert!(Selection::new(None, None, Some(true)).of("secret", "s", None).unwrap().is_empty());
    }

    #[test]
    fn files_are_written_with_their_mode_and_stay_inside() {
        let folder = tempfile::tempdir().unwrap();
        write_all(folder.path(), &[Entry::new("x/y", b"hello".to_vec(), Some(0o440))]).unwrap();
        write_all(folder.path(), &[Entry::new("x/y", b"again".to_vec(), Some(0o440))]).unwrap();
        let path = folder.path().join("x/y");
        assert_eq!(std::fs::read(&path).unwrap(), b"again");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o440);
        let written = std::fs::metadata(&path).unwrap().modified().unwrap();
        write_all(folder.path(), &[Entry::new("x/y", b"again".to_vec(), Some(0o440))]).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), written, "nothing changed");
        write_all(folder.path(), &[Entry::new("z", b"other".to_vec(), None)]).unwrap();
        assert!(!folder.path().join("x").exists(), "what is no longer listed is gone");
        for path in ["../x", "/etc/x", "a/../../b"] {
            assert!(write_all(folder.path(), &[Entry::new(path, Vec::new(), None)]).is_err(), "{path}");
        }
    }
}
