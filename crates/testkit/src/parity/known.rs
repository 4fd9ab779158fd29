//! The rows on which the two clusters are known to differ: one list, each with its reason.

use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

/// A row that cannot agree.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The row's name.
    pub row: String,
    /// Why.
    pub reason: String,
}

/// The list in a file.
pub fn known_differences(file: &Path) -> anyhow::Result<Vec<Known>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    serde_saphyr::from_str(&text).with_context(|| format!("understanding {}", file.display()))
}
