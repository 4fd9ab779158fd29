//! Objects as rows for people.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::resource::Resource;
use crate::status::ApiError;

/// How much of each object a row carries along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    None,
    #[default]
    Metadata,
    Object,
}

impl IncludeObject {
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, ApiError> {
        match text {
            None | Some("Metadata") => Ok(Self::Metadata),
            Some("None") => Ok(Self::None),
            Some("Object") => Ok(Self::Object),
            Some(other) => Err(ApiError::bad_request(format!(
                "includeObject: {other:?} is not supported; use None, Metadata or Object"
            ))),
        }
    }
}

pub(crate) fn render(
    _resource: &Resource,
    objects: &[Value],
    metadata: &Value,
    _include: IncludeObject,
    _headings: bool,
    _now: Timestamp,
) -> Value {
    json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "columnDefinitions": [], "rows": objects.len()})
}
