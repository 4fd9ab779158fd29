//! Where something is: here, or in a workspace or a Pod of a job. Pure.

use std::path::PathBuf;

use crate::commands::{failure::Failure, target::Target};

/// Where something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Here(PathBuf),
    There { target: Target, path: String },
}

impl Place {
    /// `NAME:PATH` is in a workspace, `job/NAME:PATH` in a Pod of a job; a path here with a colon begins with `./` or `/`.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        match text.split_once(':') {
            Some((name, path)) if is_elsewhere(name) => {
                if name.is_empty() {
                    return Err(Failure::usage(format!("{text} names no workspace before the colon")));
                }
                let path = if path.is_empty() { "." } else { path };
                if path.contains('\0') {
                    return Err(Failure::usage("a path holds no NUL"));
                }
                Ok(Self::There { target: Target::parse(name)?, path: path.to_owned() })
            }
            _ if text.is_empty() => Err(Failure::usage("say a path, or WORKSPACE:PATH")),
            _ => Ok(Self::Here(PathBuf::from(text))),
        }
    }
}

/// Whether what stands before a colon names something that is not here.
fn is_elsewhere(name: &str) -> bool {
    let known = ["job/", "workspace/", "ws/"].iter().any(|kind| name.starts_with(kind));
    known || (!name.contains('/') && !name.starts_with('.'))
}

/// The folder that a path is in, and its name there.
pub(super) fn split(path: &str) -> Result<(String, String), Failure> {
    let (parent, name) = match path.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some((parent, name)) => (parent, name),
        None => (".", path),
    };
    if matches!(name, "" | "." | "..") {
        return Err(Failure::usage(format!("{path} has no name of its own: say one, such as /work/data")));
    }
    Ok((parent.to_owned(), name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_colon_mean_a_workspace() {
        let there = |target: &str, path: &str| Place::There {
            target: Target::parse(target).unwrap(),
            path: path.to_owned(),
        };
        assert_eq!(Place::parse("desk:/work").unwrap(), there("desk", "/work"));
        assert_eq!(Place::parse("desk:a:b").unwrap(), there("desk", "a:b"));
        assert_eq!(Place::parse("desk:").unwrap(), there("desk", "."));
        assert_eq!(Place::parse("job/train:/work").unwrap(), there("job/train", "/work"));
        assert_eq!(Place::parse("job/train/worker-1:a").unwrap(), there("job/train/worker-1", "a"));
        for here in ["data", "./a:b", "/a:b", "a/b:c", "..:x", "./job/train:x", "job/train", "jobs/a:b"] {
            assert_eq!(Place::parse(here).unwrap(), Place::Here(here.into()), "{here}");
        }
        assert!(Place::parse(":x").is_err() && Place::parse("").is_err() && Place::parse("job/:x").is_err());
    }

    #[test]
    fn a_path_is_a_folder_and_a_name() {
        let pair = |path| split(path).map(|(parent, name)| format!("{parent} {name}")).ok();
        assert_eq!(pair("/work/data").as_deref(), Some("/work data"));
        assert_eq!(pair("/data").as_deref(), Some("/ data"));
        assert_eq!(pair("data").as_deref(), Some(". data"));
        for wrong in ["", ".", "..", "/", "/work/", "/work/.."] {
            assert_eq!(pair(wrong), None, "{wrong}");
        }
    }
}
