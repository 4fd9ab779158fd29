//! Objects as rows for people: the `Table` that kubectl prints.
//!
//! `layout` says which kind has which columns; `cells` has a function per kind that fills them. Custom kinds bring
//! their columns along, and whatever is left has a name and a time.

mod age;
mod cells;
mod layout;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::resource::{Origin, Resource};
use crate::status::ApiError;
use age::Now;
use layout::{CREATED_AT, Column, Layout, NAME};

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
            None | Some("" | "Metadata") => Ok(Self::Metadata),
            Some("None") => Ok(Self::None),
            Some("Object") => Ok(Self::Object),
            Some(other) => Err(ApiError::bad_request(format!(
                "includeObject: {other:?} is not supported; use None, Metadata or Object"
            ))),
        }
    }

    fn of(self, object: &Value) -> Value {
        match self {
            Self::None => Value::Null,
            Self::Object => object.clone(),
            Self::Metadata => json!({
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": object["metadata"],
            }),
        }
    }
}

/// The table of some objects of a resource; `metadata` is that of the list. Watches send the headings once.
pub(crate) fn render(
    resource: &Resource,
    objects: &[Value],
    metadata: &Value,
    include: IncludeObject,
    headings: bool,
    now: Timestamp,
) -> Value {
    let now = Now(now);
    let columns = Columns::of(resource);
    let rows: Vec<Value> = objects.iter().map(|object| columns.row(object, include, now)).collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": if headings { columns.definitions() } else { Value::Null },
        "rows": rows,
    })
}

/// The table of the Scale of an object, which custom kinds head a little differently.
pub(crate) fn scale(scale: &Value, custom: bool, include: IncludeObject, now: Timestamp) -> Value {
    let columns = if custom { layout::CUSTOM_SCALE } else { layout::SCALE };
    let count = |part: &str| scale[part]["replicas"].as_i64().unwrap_or(0);
    let cells = json!([scale["metadata"]["name"], count("spec"), count("status"), Now(now).age(scale)]);
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": scale["metadata"]["resourceVersion"]},
        "columnDefinitions": columns.iter().map(Column::definition).collect::<Value>(),
        "rows": [{"cells": cells, "object": include.of(scale)}],
    })
}

/// Where the columns of a resource come from.
enum Columns<'a> {
    Known(&'static Layout),
    Custom(&'a maar_machinery::crd::Version),
    Plain,
}

impl<'a> Columns<'a> {
    fn of(resource: &'a Resource) -> Self {
        match &resource.origin {
            Origin::Custom(version) => Self::Custom(version),
            Origin::Builtin(_) => {
                layout::find(&resource.group, &resource.plural).map_or(Self::Plain, Self::Known)
            }
        }
    }

    fn definitions(&self) -> Value {
        match self {
            Self::Known(layout) => layout.columns.iter().map(Column::definition).collect(),
            Self::Plain => [NAME, CREATED_AT].iter().map(Column::definition).collect(),
            Self::Custom(version) => {
                let custom = version.columns.iter().map(|column| {
                    json!({
                        "name": column.name,
                        "type": column.kind,
                        "format": column.format,
                        "description": column.description,
                        "priority": column.priority,
                    })
                });
                std::iter::once(NAME.definition()).chain(custom).collect()
            }
        }
    }

    fn row(&self, object: &Value, include: IncludeObject, now: Now) -> Value {
        let name = object["metadata"]["name"].clone();
        let cells = match self {
            Self::Known(layout) => (layout.cells)(object, now),
            Self::Plain => vec![name, object["metadata"]["creationTimestamp"].clone()],
            Self::Custom(version) => {
                let cell = |column: &maar_machinery::crd::PrinterColumn| {
                    column.cell(object, |time| now.since_text(time))
                };
                std::iter::once(name).chain(version.columns.iter().map(cell)).collect()
            }
        };
        let mut row = json!({"cells": cells, "object": include.of(object)});
        if let Self::Known(layout) = self
            && let Some(condition) = (layout.condition)(object)
        {
            row["conditions"] = json!([condition]);
        }
        row
    }
}
