//! The document.

use schemars::{Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::{
    error::ErrorBody,
    route::{Answers, Route, Target, table},
};

/// The OpenAPI 3.1 document of the portal.
pub fn openapi() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for route in table() {
        let operation = operation(&route, &mut generator);
        let path = paths.entry(route.full_path()).or_insert_with(|| json!({}));
        path[route.method.as_str().to_lowercase()] = operation;
    }
    let error = generator.subschema_for::<ErrorBody>();
    let mut schemas = generator.take_definitions(true);
    schemas.sort_keys();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Maar",
            "version": "v1",
            "description": "GPU workspaces and jobs. Browsers use a session's cookie and send X-Maar-Request with every change; programs use an API key.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "session": { "type": "apiKey", "in": "cookie", "name": "__Host-maar-session" },
                "key": { "type": "http", "scheme": "bearer" },
            },
            "responses": { "Refused": {
                "description": "What was asked for was not done",
                "content": { "application/json": { "schema": error } },
            } },
        },
    })
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let mut parameters: Vec<Value> = path_names(route.path).map(path_parameter).collect();
    for query in &route.queries {
        parameters.extend(query_parameters(&query(generator), generator));
    }
    let mut made = json!({
        "operationId": route.name,
        "summary": route.summary,
        "tags": [route.target.word()],
        "parameters": parameters,
        "responses": { success(route): answer(route, generator), "default": refused(route) },
        "security": if route.target == Target::Public { json!([]) } else { json!([{ "session": [] }, { "key": [] }]) },
    });
    if let Some(body) = route.body {
        made["requestBody"] =
            json!({ "required": true, "content": { "application/json": { "schema": body(generator) } } });
    }
    if route.foreign && route.method.writes() {
        let form = json!({ "schema": { "type": "object", "additionalProperties": { "type": "string" } } });
        made["requestBody"] = json!({ "content": { "application/x-www-form-urlencoded": form } });
    }
    made
}

/// Routes that standards describe refuse in their words.
fn refused(route: &Route) -> Value {
    if route.full_path().starts_with("/api/") {
        return json!({ "$ref": "#/components/responses/Refused" });
    }
    json!({ "description": "Refused, as OAuth 2.0 and OpenID Connect have it" })
}

fn success(route: &Route) -> &'static str {
    match (route.answers, route.name) {
        (Answers::Nothing, _) => "204",
        (Answers::Redirect, _) => "303",
        (_, name) if name.starts_with("create") || name.starts_with("submit") => "201",
        _ => "200",
    }
}

fn answer(route: &Route, generator: &mut SchemaGenerator) -> Value {
    match route.answers {
        Answers::Nothing => json!({ "description": "Done" }),
        Answers::Redirect => json!({ "description": "Goes on elsewhere" }),
        Answers::Json(schema) => {
            json!({ "description": "Done", "content": { "application/json": { "schema": schema(generator) } } })
        }
        // Who reads YAML gets an object, and who does not a text: the document says neither.
        Answers::Text(kind) if kind == "application/yaml" => {
            json!({ "description": "Done", "content": { kind: {} } })
        }
        Answers::Text(kind) => {
            json!({ "description": "Done", "content": { kind: { "schema": { "type": "string" } } } })
        }
    }
}

fn path_names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn path_parameter(name: &str) -> Value {
    json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
}

/// The fields of a query as parameters of their own.
fn query_parameters(schema: &Schema, generator: &SchemaGenerator) -> Vec<Value> {
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
    let whole = name.and_then(|name| generator.definitions().get(name)).unwrap_or_else(|| schema.as_value());
    let fields = whole.get("properties").and_then(Value::as_object);
    fields
        .into_iter()
        .flatten()
        .map(|(name, field)| {
            let mut field = field.clone();
            let description = field.as_object_mut().and_then(|field| field.remove("description"));
            json!({ "name": name, "in": "query", "required": false, "description": description, "schema": field })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_somewhere() {
        let document = openapi();
        let text = document.to_string();
        let mut missing = Vec::new();
        for part in text.split("\"$ref\":\"#").skip(1) {
            let pointer = part.split('"').next().unwrap();
            if document.pointer(pointer).is_none() {
                missing.push(pointer.to_owned());
            }
        }
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn routes_are_in_it_with_their_parameters() {
        let document = openapi();
        let list = &document["paths"]["/api/v1/workspaces"]["get"];
        let names: Vec<&str> =
            list["parameters"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert!(["search", "limit", "cursor"].iter().all(|name| names.contains(name)), "{names:?}");
        assert!(document["paths"]["/api/v1/login"]["post"]["security"].as_array().unwrap().is_empty());
    }
}
