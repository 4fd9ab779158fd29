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
    /// A version of a custom kind `Thing` to install first, in a group of the row's own; `{things}` is its path.
    #[serde(default)]
    pub custom: Option<Value>,
    /// The requests, in order.
    pub steps: Vec<Step>,
    /// Objects outside the namespace to delete at the end, by path.
    #[serde(default)]
    pub delete: Vec<String>,
}

/// One request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Method and path, such as `GET /api/v1/namespaces/{ns}/pods`; `{ns}`, `{things}`, `{group}` and saved values
    /// are filled in.
    #[serde(rename = "do")]
    pub request: String,
    /// The body.
    #[serde(default)]
    pub body: Option<Value>,
    /// The body as it goes over the wire, where it is not JSON or not as a JSON library would write it.
    #[serde(default)]
    pub text: Option<String>,
    /// The content type: `json`, `merge`, `strategic` or `apply` for the patches, anything else as it is.
    #[serde(default, rename = "as")]
    pub content_type: Option<String>,
    /// The `Accept` header, if it is not plain JSON.
    #[serde(default)]
    pub accept: Option<String>,
    /// Whom to act as.
    #[serde(default)]
    pub user: Option<String>,
    /// The groups of that user.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Values of the answer to remember for later steps: name to JSON pointer.
    #[serde(default)]
    pub save: BTreeMap<String, String>,
    /// JSON pointers into the answer that are not compared, with the reason why in a comment; `*` is any member.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// JSON pointers into the answer: these alone are compared.
    #[serde(default)]
    pub only: Vec<String>,
    /// Asks again until the answer has these values: JSON pointers into `{code, body}`. For what controllers do.
    #[serde(default)]
    pub until: BTreeMap<String, Value>,
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
        // `{x: y}` is a label of a test, not a truth.
        let options = serde_saphyr::options! { strict_booleans: true };
        let rows: Vec<Row> = serde_saphyr::from_str_with_options(&text, options)
            .with_context(|| format!("understanding {}", path.display()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        found.insert(name, rows);
    }
    Ok(found)
}
