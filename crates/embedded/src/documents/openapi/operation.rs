//! One call of the API, described in the words of either OpenAPI.

use maar_machinery::builtin::OpenApi;
use serde_json::{Map, Value, json};

/// The definition of a patch's body, which no type describes.
pub(super) const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";

/// Custom resources have no strategic merge, the last one, and kubectl looks here before it sends one.
const PATCH_TYPES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// The group, version and kind that a call works on.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    /// Whether a CRD defines it.
    pub(super) is_custom: bool,
}

/// A parameter in the query or in the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) description: &'static str,
    pub(super) in_path: bool,
}

impl Parameter {
    pub(super) fn render(&self, openapi: OpenApi) -> Value {
        let mut value = json!({
            "name": self.name,
            "in": if self.in_path { "path" } else { "query" },
            "description": self.description,
        });
        if self.in_path {
            value["required"] = true.into();
        }
        match openapi {
            OpenApi::V2 => {
                value["type"] = self.kind.into();
                value["uniqueItems"] = true.into();
            }
            OpenApi::V3 => value["schema"] = json!({"type": self.kind, "uniqueItems": true}),
        }
        value
    }
}

/// What a call takes or gives.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// An object of the definition with this name.
    Object(String),
    /// Text, or whatever comes over an upgraded connection.
    Text,
}

impl Content {
    fn schema(&self, openapi: OpenApi) -> Value {
        let place = match openapi {
            OpenApi::V2 => "#/definitions/",
            OpenApi::V3 => "#/components/schemas/",
        };
        match self {
            Self::Object(name) => json!({"$ref": format!("{place}{name}")}),
            Self::Text => json!({"type": "string"}),
        }
    }

    fn media_types(&self) -> &'static [&'static str] {
        match self {
            Self::Object(_) => &["application/json"],
            Self::Text => &["text/plain"],
        }
    }
}

/// One method of one path.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) method: &'static str,
    /// What Kubernetes calls it: `get`, `list`, `post`, `put`, `patch`, `delete`, `deletecollection`, `connect`.
    pub(super) action: &'static str,
    pub(super) id: String,
    pub(super) description: String,
    pub(super) tag: String,
    pub(super) kind: Subject,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<String>,
    pub(super) answer: Content,
}

impl Operation {
    pub(super) fn render(&self, openapi: OpenApi) -> Value {
        let mut value = json!({
            "description": self.description,
            "operationId": self.id,
            "tags": [self.tag],
            "responses": self.responses(openapi),
            "x-kubernetes-action": self.action,
            "x-kubernetes-group-version-kind": {
                "group": self.kind.group, "version": self.kind.version, "kind": self.kind.kind,
            },
        });
        let mut parameters: Vec<Value> = self.parameters.iter().map(|it| it.render(openapi)).collect();
        if let Some(name) = &self.body {
            let schema = Content::Object(name.clone()).schema(openapi);
            match openapi {
                OpenApi::V2 => {
                    let required = self.method != "delete";
                    parameters
                        .push(json!({"name": "body", "in": "body", "required": required, "schema": schema}));
                }
                OpenApi::V3 => value["requestBody"] = json!({"content": by_type(self.consumes(), &schema)}),
            }
        }
        if openapi == OpenApi::V2 {
            value["consumes"] = json!(self.consumes());
            value["produces"] = json!(self.answer.media_types());
        }
        if !parameters.is_empty() {
            value["parameters"] = parameters.into();
        }
        value
    }

    fn consumes(&self) -> &'static [&'static str] {
        match self.method {
            "patch" if self.kind.is_custom => &PATCH_TYPES[..3],
            "patch" => &PATCH_TYPES,
            _ => &["*/*"],
        }
    }

    fn responses(&self, openapi: OpenApi) -> Value {
        let codes: &[(&str, &str)] = match self.action {
            "post" => &[("200", "OK"), ("201", "Created"), ("202", "Accepted")],
            "put" | "patch" => &[("200", "OK"), ("201", "Created")],
            "delete" => &[("200", "OK"), ("202", "Accepted")],
            _ => &[("200", "OK")],
        };
        let schema = self.answer.schema(openapi);
        let mut responses: Map<String, Value> = codes
            .iter()
            .map(|(code, word)| {
                let response = match openapi {
                    OpenApi::V2 => json!({"description": word, "schema": schema}),
                    OpenApi::V3 => {
                        json!({"description": word, "content": by_type(self.answer.media_types(), &schema)})
                    }
                };
                ((*code).to_owned(), response)
            })
            .collect();
        responses.insert("401".to_owned(), json!({"description": "Unauthorized"}));
        responses.into()
    }
}

fn by_type(types: &[&str], schema: &Value) -> Value {
    types.iter().map(|media| ((*media).to_owned(), json!({"schema": schema}))).collect()
}
