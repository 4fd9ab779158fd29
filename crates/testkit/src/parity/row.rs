//! The rows, as they are written in `parity/rows/*.yaml`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::Value;

/// One behaviour, shown by a few requests in a namespace of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The behaviour, as a sentence.
    pub name: String,
    /// The requests, in order.
    pub steps: Vec<Step>,
}

/// One request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Method and path, such as `GET /api/v1/namespaces/{ns}/pods`; `{ns}` and saved values are filled in.
    #[serde(rename = "do")]
    pub request: String,
    /// The body.
    #[serde(default)]
    pub body: Option<Value>,
    /// The content type of a patch: `json`, `merge`, `strategic` or `apply`.
    #[serde(default, rename = "as")]
    pub patch: Option<String>,
    /// The `Accept` header, if it is not plain JSON.
    #[serde(default)]
    pub accept: Option<String>,
    /// Values of the answer to remember for later steps: name to JSON pointer.
    #[serde(default)]
    pub save: BTreeMap<String, String>,
    /// JSON pointers into the answer that are not compared, with the reason why in a comment.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// Only prepares later steps: the answer is not compared.
    #[serde(default)]
    pub quiet: bool,
}

/// All rows below a folder, by file.
pub fn rows(folder: &Path) -> anyhow::Result<BTreeMap<String, Vec<Row>>> {
    let mut found = BTreeMap::new();
    for file in std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = file?.path();
        let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let rows: Vec<Row> =
            serde_saphyr::from_str(&text).with_context(|| format!("understanding {}", path.display()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        found.insert(name, rows);
    }
    Ok(found)
}
