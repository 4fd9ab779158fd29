//! Which kubeconfigs this device was given, kept beside the login: names of machines change, and two machines may have
//! one. A new one is noted before it is in its place, so that whatever breaks off in between is found by the next.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::file::{hold, make_folder, replace};
use crate::commands::failure::Failure;

/// Whose kubeconfig it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    /// The portal.
    pub(super) address: String,
    pub(super) user: String,
    /// What `--device` said; nothing for this machine, whatever it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) device: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Known {
    #[serde(flatten)]
    owner: Owner,
    /// Those that may still work, the newest last.
    ids: Vec<String>,
}

/// What the file says. It is read anew for every change: other commands may have changed it since.
#[derive(Debug)]
pub(super) struct Given {
    path: PathBuf,
}

impl Given {
    /// A file that says nothing that can be understood is no reason to begin.
    pub(super) fn at(path: PathBuf) -> anyhow::Result<Self> {
        read(&path)?;
        Ok(Self { path })
    }

    /// Notes one that was just made; those that it takes the place of.
    pub(super) fn made(&self, owner: &Owner, id: &str) -> anyhow::Result<Vec<String>> {
        self.change(|known| {
            let Some(one) = known.iter_mut().find(|one| one.owner == *owner) else {
                known.push(Known { owner: owner.clone(), ids: vec![id.to_owned()] });
                return Vec::new();
            };
            let before = one.ids.clone();
            one.ids.push(id.to_owned());
            before
        })
    }

    /// Forgets one that works no more.
    pub(super) fn ended(&self, id: &str) -> anyhow::Result<()> {
        self.change(|known| {
            for one in known.iter_mut() {
                one.ids.retain(|known| known != id);
            }
            known.retain(|one| !one.ids.is_empty());
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<Known>) -> T) -> anyhow::Result<T> {
        make_folder(&self.path)?;
        let _held = hold(&self.path)?;
        let mut known = read(&self.path)?;
        let said = change(&mut known);
        replace(&self.path, &serde_json::to_string_pretty(&known)?)?;
        Ok(said)
    }
}

fn read(path: &Path) -> anyhow::Result<Vec<Known>> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        text => {
            let text = text.with_context(|| format!("reading {}", path.display()))?;
            Ok(serde_json::from_str(&text).map_err(|error| damaged(path, &error))?)
        }
    }
}

fn damaged(path: &Path, error: &serde_json::Error) -> Failure {
    let place = path.display();
    Failure::failed(format!(
        "{place} does not say which kubeconfigs this device has ({error}): remove it, and revoke those that you do not \
         know (maar kubeconfig list)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(device: Option<&str>) -> Owner {
        let device = device.map(str::to_owned);
        Owner { address: "https://gpu.example".to_owned(), user: "ada".to_owned(), device }
    }

    #[test]
    fn what_a_device_has_is_remembered_until_it_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/given.json");
        let read = || Given::at(path.clone()).unwrap();
        assert_eq!(read().made(&owner(None), "d-1").unwrap(), Vec::<String>::new());
        assert_eq!(read().made(&owner(Some("ci")), "d-2").unwrap(), Vec::<String>::new(), "another device");
        let elsewhere = Owner { address: "https://other.example".to_owned(), ..owner(None) };
        assert_eq!(read().made(&elsewhere, "d-3").unwrap(), Vec::<String>::new(), "another portal");
        // What was made and never came to its place is found by the next.
        assert_eq!(read().made(&owner(None), "d-4").unwrap(), ["d-1"]);
        assert_eq!(read().made(&owner(None), "d-5").unwrap(), ["d-1", "d-4"]);
        let given = read();
        given.ended("d-1").unwrap();
        given.ended("d-4").unwrap();
        assert_eq!(read().made(&owner(None), "d-6").unwrap(), ["d-5"]);
    }

    #[test]
    fn devices_that_are_written_at_the_same_time_are_all_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("given.json");
        let name = |number: i32| format!("d-{number}");
        // All have begun before the first is done.
        let begun: Vec<Given> = (0..8).map(|_| Given::at(path.clone()).unwrap()).collect();
        std::thread::scope(|scope| {
            for (number, given) in (0..).zip(begun) {
                scope.spawn(move || given.made(&owner(Some(&name(number))), &name(number)).unwrap());
            }
        });
        let given = Given::at(path).unwrap();
        for number in 0..8 {
            assert_eq!(given.made(&owner(Some(&name(number))), "d-next").unwrap(), [name(number)]);
        }
    }

    #[test]
    fn a_damaged_file_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("given.json");
        fs::write(&path, "nonsense").unwrap();
        let error = Given::at(path).unwrap_err().to_string();
        assert!(error.contains("given.json") && error.contains("remove it"), "{error}");
    }
}
