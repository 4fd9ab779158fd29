//! Helpers that there are: one for processors like the gateway's own, which is part of it, and others from a folder.

use std::{collections::BTreeMap, fmt::Write as _, fs, io, path::Path, sync::Arc};

use sha2::{Digest as _, Sha256};

use super::machine::{Machine, Made};

/// The program, for machines like the one that runs the gateway.
const OWN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/maar-helper"));
/// What every helper has in it that speaks as this gateway does; helper/main.rs says the same.
const MARK: &[u8] = b"maar helper, protocol 2";
/// How files in the folder are called, before the processor.
const PREFIX: &str = "maar-helper-";
/// The largest that is taken for a helper.
const LARGEST: u64 = 64 << 20;

/// A helper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) bytes: Arc<[u8]>,
    /// Its SHA-256.
    pub(super) digest: String,
}

impl Program {
    pub(super) fn new(bytes: &[u8]) -> Self {
        let digest = Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        });
        Self { bytes: bytes.into(), digest }
    }
}

/// All helpers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helpers {
    own: Arc<Program>,
    others: Arc<BTreeMap<Machine, Program>>,
}

/// Why a folder has no helpers to bring.
#[derive(Debug, thiserror::Error)]
pub enum HelpersError {
    /// It cannot be read.
    #[error("reading {0}")]
    Read(String, #[source] io::Error),
    /// A file is not what its name says, or none is there.
    #[error("{0}: {1}")]
    Wrong(String, String),
}

impl Default for Helpers {
    fn default() -> Self {
        Self { own: Arc::new(Program::new(OWN)), others: Arc::default() }
    }
}

impl Helpers {
    /// What the own one is called in a folder, and its bytes.
    pub fn own() -> (String, &'static [u8]) {
        let machine = match Made::read(OWN) {
            Some(Made::For(machine)) => machine.to_string(),
            _ => std::env::consts::ARCH.to_owned(),
        };
        (format!("{PREFIX}{machine}"), OWN)
    }

    /// With those of a folder, which are called `maar-helper-` and a processor: `maar-helper-arm64`. For processors like
    /// the gateway's own its own is taken.
    pub fn with_folder(folder: &Path) -> Result<Self, HelpersError> {
        let place = |path: &Path| path.display().to_string();
        let failed = |path: &Path| {
            let place = place(path);
            |error| HelpersError::Read(place, error)
        };
        let mut others = BTreeMap::new();
        for entry in fs::read_dir(folder).map_err(failed(folder))? {
            let path = entry.map_err(failed(folder))?.path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let Some(machine) = name.strip_prefix(PREFIX) else { continue };
            let wrong = |why: String| HelpersError::Wrong(place(&path), why);
            let machine = Machine::named(machine).ok_or_else(|| {
                wrong(format!("helpers are called {PREFIX} and one of {}", Machine::names()))
            })?;
            if fs::metadata(&path).map_err(failed(&path))?.len() > LARGEST {
                return Err(wrong("is far too large for a helper".to_owned()));
            }
            let bytes = fs::read(&path).map_err(failed(&path))?;
            check(&bytes, machine).map_err(wrong)?;
            others.insert(machine, Program::new(&bytes));
        }
        if others.is_empty() {
            let why = format!("has no file {PREFIX}arm64 or the like; maar ssh-helper writes one");
            return Err(HelpersError::Wrong(place(folder), why));
        }
        Ok(Self { others: Arc::new(others), ..Self::default() })
    }

    /// The one for processors like ours.
    pub(super) fn usual(&self) -> &Program {
        &self.own
    }

    /// The one for a container, by the beginning of one of its programs. What cannot be told is taken for a processor like
    /// ours: then it shows when the helper is run.
    pub(super) fn fitting(&self, head: &[u8]) -> Result<&Program, String> {
        let made = Made::read(head);
        if made.is_none() || made == Made::read(&self.own.bytes) {
            return Ok(&self.own);
        }
        let machine = match made {
            Some(Made::For(machine)) => match self.others.get(&machine) {
                Some(program) => return Ok(program),
                None => machine.to_string(),
            },
            Some(Made::ForOther(number)) => format!("processor {number} of ELF"),
            None => String::new(),
        };
        Err(format!(
            "the container runs on {machine}, and the gateway has no helper for that; an administrator can give it one \
             (--ssh-helpers). Shells, commands, -L and `maar cp` need none"
        ))
    }
}

/// Whether a file is a helper for a processor.
fn check(bytes: &[u8], machine: Machine) -> Result<(), String> {
    match Made::read(bytes) {
        Some(Made::For(found)) if found == machine => {}
        Some(Made::For(found)) => return Err(format!("is for {found}, not for {machine} as its name says")),
        Some(Made::ForOther(_)) => return Err(format!("is not for {machine} as its name says")),
        None => return Err("is no program (ELF)".to_owned()),
    }
    if bytes.windows(MARK.len()).any(|part| part == MARK) {
        return Ok(());
    }
    Err("is no helper of this version of Maar; maar ssh-helper of this version writes one".to_owned())
}

#[cfg(test)]
pub(super) mod tests {
    use super::{super::machine::tests::head, *};

    fn foreign(number: [u8; 2]) -> Vec<u8> {
        [&head(2, 1, number)[..], MARK].concat()
    }

    /// A processor that is not that of whoever runs this, and what is taken for its helper.
    pub(crate) fn other() -> (&'static str, Vec<u8>) {
        if cfg!(target_arch = "x86_64") { ("arm64", foreign([183, 0])) } else { ("amd64", foreign([62, 0])) }
    }

    #[test]
    fn a_container_gets_the_helper_of_its_processor() {
        let folder = tempfile::tempdir().unwrap();
        let helpers = Helpers::default();
        assert_eq!(helpers.fitting(OWN).unwrap(), helpers.usual());
        assert_eq!(helpers.fitting(b"").unwrap(), helpers.usual(), "nothing was told");
        let (name, program) = other();
        let refused = helpers.fitting(&program).unwrap_err();
        assert!(refused.contains(name) && refused.contains("--ssh-helpers"), "{refused}");
        std::fs::write(folder.path().join(format!("{PREFIX}{name}")), &program).unwrap();
        std::fs::write(folder.path().join("README"), "not a helper").unwrap();
        let helpers = Helpers::with_folder(folder.path()).unwrap();
        assert_eq!(*helpers.fitting(&program).unwrap().bytes, *program);
        assert_eq!(*helpers.fitting(OWN).unwrap().bytes, *OWN);
        let unknown = helpers.fitting(&head(2, 1, [8, 0])).unwrap_err();
        assert!(unknown.contains("processor 8"), "{unknown}");
    }

    #[test]
    fn what_is_no_helper_is_not_brought_anywhere() {
        let rows: [(&str, Vec<u8>, &str); 6] = [
            ("maar-helper-aarch64", foreign([183, 0]), "amd64, arm64"),
            ("maar-helper-arm64", foreign([62, 0]), "is for amd64, not for arm64"),
            ("maar-helper-arm64", head(1, 1, [40, 0]), "is not for arm64"),
            ("maar-helper-arm64", b"#!/bin/sh\necho arm64 is what I am".to_vec(), "no program"),
            ("maar-helper-arm64", head(2, 1, [183, 0]), "no helper of this version"),
            ("other", Vec::new(), "has no file maar-helper-arm64"),
        ];
        for (name, bytes, want) in rows {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join(name), bytes).unwrap();
            let error = Helpers::with_folder(folder.path()).unwrap_err().to_string();
            assert!(error.contains(want), "{name}: {error}");
        }
        let missing = Helpers::with_folder(Path::new("/nowhere")).unwrap_err();
        assert_eq!(missing.to_string(), "reading /nowhere");
    }

    #[test]
    fn the_own_helper_is_one_by_the_rules_for_others() {
        let (name, bytes) = Helpers::own();
        let machine = Machine::named(name.strip_prefix(PREFIX).unwrap()).unwrap();
        assert_eq!(check(bytes, machine), Ok(()));
    }
}
