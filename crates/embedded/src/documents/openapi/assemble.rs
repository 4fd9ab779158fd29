//! Whole documents: the definitions and paths of group versions, put together.

use std::sync::Arc;

use maar_machinery::builtin::{self, BuiltinKind, OpenApi};
use maar_machinery::crd;
use serde_json::{Map, Value, json};

use super::operation::PATCH;
use super::paths::{self, Paths};
use crate::resource::{Origin, Resource, Subresource, TRANSIENTS, TransientFact};

/// What one group version serves: the input of its document.
#[derive(Clone, Debug, Default)]
pub(super) struct Served {
    pub(super) resources: Vec<Arc<Resource>>,
    pub(super) transients: Vec<&'static TransientFact>,
}

impl Served {
    /// What these resources and the transient ones of the group version amount to.
    pub(super) fn new(resources: Vec<Arc<Resource>>, group: &str, version: &str) -> Self {
        let transients = TRANSIENTS.iter().filter(|fact| fact.group == group && version == "v1").collect();
        Self { resources, transients }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.transients.is_empty()
    }

    /// Whether both are made of the very same resources, so that their documents are equal.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.resources.len() == other.resources.len()
            && self.resources.iter().zip(&other.resources).all(|(one, other)| Arc::ptr_eq(one, other))
    }

    fn builtin_kinds(&self) -> Vec<&'static BuiltinKind> {
        let of_resources = self
            .resources
            .iter()
            .filter(|resource| !resource.is_custom())
            .map(|resource| (resource.group.as_str(), resource.version.as_str(), resource.kind.as_str()));
        let of_parts = self.resources.iter().flat_map(|resource| &resource.subresources).filter_map(|part| {
            Some(match part {
                Subresource::Scale => ("autoscaling", "v1", "Scale"),
                Subresource::Binding => ("", "v1", "Binding"),
                Subresource::Eviction => ("policy", "v1", "Eviction"),
                Subresource::Token => ("authentication.k8s.io", "v1", "TokenRequest"),
                _ => return None,
            })
        });
        let of_transients = self.transients.iter().map(|fact| (fact.group, "v1", fact.kind));
        let common = [("", "v1", "DeleteOptions"), ("", "v1", "Status")];
        let mut names: Vec<_> = of_resources.chain(of_parts).chain(of_transients).chain(common).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().filter_map(|(group, version, kind)| builtin::find(group, version, kind)).collect()
    }

    /// Every definition that the paths and each other refer to.
    pub(super) fn definitions(&self, openapi: OpenApi) -> Map<String, Value> {
        let mut definitions = builtin::openapi_definitions(self.builtin_kinds(), openapi);
        let patch =
            json!({"type": "object", "description": "A change, in the form that its media type says."});
        definitions.insert(PATCH.to_owned(), patch);
        for resource in &self.resources {
            if let Origin::Custom(version) = &resource.origin {
                definitions.extend(builtin::metadata_definitions(openapi));
                let Resource { group, kind, list_kind, .. } = &**resource;
                definitions.extend(crd::openapi_definitions(version, group, kind, list_kind, openapi));
            }
        }
        definitions
    }

    pub(super) fn paths(&self, openapi: OpenApi) -> Paths {
        let mut paths = Paths::new();
        for resource in &self.resources {
            paths::add_resource(&mut paths, resource, openapi);
        }
        for fact in &self.transients {
            paths::add_transient(&mut paths, fact, openapi);
        }
        paths
    }
}

/// The document of one group version.
pub(super) fn version_three(served: &Served) -> Value {
    json!({
        "openapi": "3.0.0",
        "info": info(),
        "paths": served.paths(OpenApi::V3),
        "components": {
            "schemas": served.definitions(OpenApi::V3),
            "securitySchemes": {"BearerToken": bearer_token()},
        },
    })
}

/// The document of everything.
pub(super) fn version_two(served: &[Served]) -> Value {
    let mut definitions = Map::new();
    let mut paths = Paths::new();
    for part in served {
        definitions.extend(part.definitions(OpenApi::V2));
        paths.extend(part.paths(OpenApi::V2));
    }
    json!({
        "swagger": "2.0",
        "info": info(),
        "paths": paths,
        "definitions": definitions,
        "securityDefinitions": {"BearerToken": bearer_token()},
        "security": [{"BearerToken": []}],
    })
}

fn info() -> Value {
    json!({"title": "Kubernetes", "version": super::super::git_version()})
}

fn bearer_token() -> Value {
    json!({
        "description": "Bearer Token authentication",
        "type": "apiKey", "name": "authorization", "in": "header",
    })
}
