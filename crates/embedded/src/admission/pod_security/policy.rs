//! The labels by which a namespace names its standards.

use std::fmt;

use maar_machinery::error::FieldError;
use maar_machinery::selector::Labels;
use serde_json::Value;

use crate::store::Meta;

const PREFIX: &str = "pod-security.kubernetes.io/";

/// How much is forbidden, in rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Privileged,
    Baseline,
    Restricted,
}

impl Level {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "privileged" => Some(Self::Privileged),
            "baseline" => Some(Self::Baseline),
            "restricted" => Some(Self::Restricted),
            _ => None,
        }
    }
}

/// Of which Kubernetes the standard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Latest,
    Minor(u32),
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        if text == "latest" {
            return Some(Self::Latest);
        }
        let minor = text.strip_prefix("v1.")?;
        let plain =
            minor.bytes().all(|byte| byte.is_ascii_digit()) && (minor == "0" || !minor.starts_with('0'));
        if plain { minor.parse().ok().map(Self::Minor) } else { None }
    }

    /// The number that controls compare; the latest is past all of them.
    pub(super) fn minor(self) -> u32 {
        match self {
            Self::Latest => u32::MAX,
            Self::Minor(minor) => minor,
        }
    }
}

/// One standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LevelVersion {
    pub(super) level: Level,
    pub(super) version: Version,
}

impl fmt::Display for LevelVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        };
        match self.version {
            Version::Latest => write!(formatter, "{level}:latest"),
            Version::Minor(minor) => write!(formatter, "{level}:v1.{minor}"),
        }
    }
}

/// What holds in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Policy {
    pub(super) enforce: LevelVersion,
    pub(super) warn: LevelVersion,
}

/// Labels in the two forms that objects come in.
pub(super) trait Named {
    fn named(&self, key: &str) -> Option<&str>;

    /// Whether any label is about this, which of most namespaces none is.
    fn has_any(&self) -> bool;
}

impl Named for Value {
    fn named(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    fn has_any(&self) -> bool {
        self.as_object().is_some_and(|labels| labels.keys().any(|key| key.starts_with(PREFIX)))
    }
}

impl Named for Meta {
    fn named(&self, key: &str) -> Option<&str> {
        self.label(key)
    }

    fn has_any(&self) -> bool {
        self.labels.iter().any(|(key, _)| key.starts_with(PREFIX))
    }
}

const NOTHING: LevelVersion = LevelVersion { level: Level::Privileged, version: Version::Latest };

/// What the labels of one mode say.
struct Said {
    /// The level, if one is named; the one for errors if it cannot be read.
    level: Option<Level>,
    readable: bool,
    version: Option<Version>,
}

impl Policy {
    /// Reads the labels. What cannot be read is an error of the namespace, and counts as the strictest level where
    /// Pods are refused, as nothing where people are only warned.
    pub(super) fn read(labels: &impl Named) -> (Self, Vec<FieldError>) {
        let mut errors = Vec::new();
        if !labels.has_any() {
            return (Self { enforce: NOTHING, warn: NOTHING }, errors);
        }
        let enforce = said(labels, "enforce", Level::Restricted, &mut errors);
        // Read only to find what is wrong with it.
        said(labels, "audit", Level::Privileged, &mut errors);
        let warn = said(labels, "warn", Level::Privileged, &mut errors);
        let standard = |said: &Said| LevelVersion {
            level: said.level.unwrap_or(Level::Privileged),
            version: said.version.unwrap_or(Version::Latest),
        };
        let (enforced, mut warned) = (standard(&enforce), standard(&warn));
        // Whoever writes a template should hear that its Pods will be refused.
        if warn.level.is_none() && enforce.readable && enforced.level > warned.level {
            warned.level = enforced.level;
            warned.version = warn.version.unwrap_or(enforced.version);
        }
        (Self { enforce: enforced, warn: warned }, errors)
    }
}

fn said(labels: &impl Named, mode: &str, on_error: Level, errors: &mut Vec<FieldError>) -> Said {
    let mut complain = |key: &str, given: &str, rule: &str| {
        errors.push(FieldError::invalid(format!("metadata.labels[{key}]"), given, rule));
    };
    let mut said = Said { level: None, readable: false, version: None };
    let key = format!("{PREFIX}{mode}");
    if let Some(given) = labels.named(&key) {
        let level = Level::parse(given);
        said.readable = level.is_some();
        said.level = Some(level.unwrap_or(on_error));
        if level.is_none() {
            complain(&key, given, "must be one of privileged, baseline, restricted");
        }
    }
    let key = format!("{PREFIX}{mode}-version");
    if let Some(given) = labels.named(&key) {
        let version = Version::parse(given);
        said.version = Some(version.unwrap_or(Version::Latest));
        if version.is_none() {
            complain(&key, given, "must be \"latest\" or \"v1.x\"");
        }
    }
    said
}
