//! The steps every write goes through between decoding and storing.

use maar_machinery::error::FieldError;
use serde_json::{Map, Value, json};

use crate::request::FieldValidation;
use crate::resource::{Origin, Resource, Subresource};
use crate::server::Server;
use crate::status::ApiError;
use crate::strategy::{self, Strategy};
use crate::world::World;

/// Metadata fields a client cannot set: they are the server's.
const SERVER_METADATA: &[&str] = &[
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "generation",
];

impl Resource {
    pub(crate) fn strategy(&self) -> &dyn Strategy {
        match &self.origin {
            Origin::Builtin(fact) => fact.strategy,
            Origin::Custom(_) => &strategy::Plain,
        }
    }

    /// Whether `metadata.generation` is kept.
    fn counts_generations(&self) -> bool {
        match &self.origin {
            Origin::Builtin(fact) => fact.generation,
            Origin::Custom(_) => true,
        }
    }
}

/// As many levels as an object may have. What is stored is read again by a reader that stops at 128, and managed fields
/// go some levels deeper than what they are of.
const DEEPEST: usize = 100;

/// Refuses an object that could not be read again.
pub(super) fn check_depth(object: &Value) -> Result<(), ApiError> {
    let why = || ApiError::bad_request(format!("the object is nested more than {DEEPEST} levels deep"));
    if is_deeper(object, DEEPEST) { Err(why()) } else { Ok(()) }
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    match value {
        Value::Object(fields) => levels == 0 || fields.values().any(|field| is_deeper(field, levels - 1)),
        Value::Array(items) => levels == 0 || items.iter().any(|item| is_deeper(item, levels - 1)),
        _ => false,
    }
}

/// Reads a body as JSON; YAML is accepted where clients send it.
pub(crate) fn decode_body(body: &[u8]) -> Result<Value, ApiError> {
    if body.is_empty() {
        return Err(ApiError::bad_request("the request body is empty; an object is needed"));
    }
    serde_json::from_slice(body)
        .map_err(|error| ApiError::bad_request(format!("the object provided is unrecognized: {error}")))
}

/// Checks type and shape, drops what the schema does not know, and answers what to warn about.
pub(crate) fn decode_object(
    resource: &Resource,
    object: &mut Value,
    validation: FieldValidation,
) -> Result<Vec<String>, ApiError> {
    check_type(resource, object)?;
    decode_fields(resource, object, validation)
}

/// The same for an object whose type is known to be right.
pub(crate) fn decode_fields(
    resource: &Resource,
    object: &mut Value,
    validation: FieldValidation,
) -> Result<Vec<String>, ApiError> {
    let unknown = resource.decode(object).map_err(|error| {
        ApiError::bad_request(format!(
            "{} in version {:?} cannot be handled as a {}: {error}",
            resource.kind, resource.version, resource.kind
        ))
    })?;
    let messages = unknown.iter().map(|path| format!("unknown field {path:?}"));
    match validation {
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(messages.collect()),
        FieldValidation::Strict if unknown.is_empty() => Ok(Vec::new()),
        FieldValidation::Strict => {
            let list: Vec<String> = messages.collect();
            Err(ApiError::bad_request(format!("strict decoding error: {}", list.join(", "))))
        }
    }
}

fn check_type(resource: &Resource, object: &mut Value) -> Result<(), ApiError> {
    let expected = resource.api_version();
    let Some(map) = object.as_object_mut() else {
        return Err(ApiError::bad_request(format!("a {} must be a JSON object", resource.kind)));
    };
    if resource.is_custom() {
        check_custom_type(resource, map)?;
    }
    for (field, expected) in [("apiVersion", expected.as_str()), ("kind", resource.kind.as_str())] {
        match map.get(field) {
            None | Some(Value::Null) => {
                map.insert(field.to_owned(), expected.into());
            }
            Some(Value::String(given)) if given.is_empty() => {
                map.insert(field.to_owned(), expected.into());
            }
            Some(Value::String(given)) if given == expected => {}
            Some(given) => {
                return Err(ApiError::bad_request(format!(
                    "the {field} in the data ({}) does not match the expected {field} ({expected})",
                    given.as_str().unwrap_or("not a string")
                )));
            }
        }
    }
    match map.get("metadata") {
        None | Some(Value::Null) => {
            map.insert("metadata".into(), json!({}));
        }
        Some(Value::Object(_)) => {}
        Some(_) => return Err(ApiError::bad_request("metadata: must be an object")),
    }
    Ok(())
}

/// Objects of custom kinds must say what they are.
fn check_custom_type(resource: &Resource, object: &Map<String, Value>) -> Result<(), ApiError> {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    if text("apiVersion").is_empty() || text("kind").is_empty() {
        return Err(ApiError::bad_request("an object of a custom kind needs its apiVersion and kind"));
    }
    if text("apiVersion") == resource.api_version() && text("kind") != resource.kind {
        let error = FieldError::invalid("kind", text("kind"), format!("must be {}", resource.kind));
        let name = object.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Value::as_str);
        return Err(ApiError::invalid_question(
            &resource.group,
            text("kind"),
            name.unwrap_or_default(),
            &error,
        ));
    }
    Ok(())
}

/// The metadata of an object that passed [`decode_object`].
pub(crate) fn metadata(object: &mut Value) -> &mut Map<String, Value> {
    let map = object.as_object_mut().expect("decode_object admits only objects");
    map.entry("metadata")
        .or_insert_with(|| json!({}))
        .as_object_mut()
        .expect("decode_object checked metadata")
}

/// A string member of the metadata.
pub(crate) fn meta_text<'a>(object: &'a Value, field: &str) -> Option<&'a str> {
    object.get("metadata")?.get(field)?.as_str()
}

impl Server {
    /// Puts a new object in its namespace, under its name, with a fresh identity.
    pub(super) fn identify(
        &self,
        resource: &Resource,
        namespace: &str,
        object: &mut Value,
    ) -> Result<String, ApiError> {
        let metadata = metadata(object);
        if metadata.get("resourceVersion").and_then(Value::as_str).is_some_and(|version| !version.is_empty())
        {
            return Err(ApiError::unclassified("resourceVersion should not be set on objects to be created"));
        }
        for field in SERVER_METADATA {
            // Where nobody counts generations, a client may.
            if *field != "generation" || resource.counts_generations() {
                metadata.remove(*field);
            }
        }
        settle_namespace(resource, namespace, metadata)?;
        let name = match metadata.get("name").and_then(Value::as_str).unwrap_or_default() {
            "" => match metadata.get("generateName").and_then(Value::as_str).unwrap_or_default() {
                "" => String::new(),
                prefix => generated_name(prefix, &self.world),
            },
            name => name.to_owned(),
        };
        if name.is_empty() {
            let error = maar_machinery::error::FieldError::required(
                "metadata.name",
                "name or generateName is required",
            );
            return Err(ApiError::invalid(resource, "", &[error]));
        }
        metadata.insert("name".into(), name.clone().into());
        metadata.insert("uid".into(), self.world.uid().into());
        metadata.insert("creationTimestamp".into(), self.world.now_text().into());
        if resource.counts_generations() {
            metadata.insert("generation".into(), 1.into());
        }
        Ok(name)
    }

    /// Gives an object another name of its prefix.
    pub(super) fn generate_name(&self, object: &mut Value) -> String {
        let name = generated_name(meta_text(object, "generateName").unwrap_or_default(), &self.world);
        metadata(object).insert("name".into(), name.clone().into());
        name
    }

    /// Carries the server's metadata over from the stored object to its successor.
    pub(super) fn carry_identity(
        resource: &Resource,
        namespace: &str,
        new: &mut Value,
        old: &Value,
    ) -> Result<(), ApiError> {
        let old_metadata = old.get("metadata").cloned().unwrap_or_default();
        let metadata = metadata(new);
        settle_namespace(resource, namespace, metadata)?;
        let given_uid = metadata.get("uid").and_then(Value::as_str).unwrap_or_default();
        let uid = old_metadata["uid"].as_str().unwrap_or_default();
        if !given_uid.is_empty() && given_uid != uid {
            let name = old_metadata["name"].as_str().unwrap_or_default();
            return Err(ApiError::conflict(
                resource,
                name,
                format!("Precondition failed: UID in precondition: {given_uid}, UID in object meta: {uid}"),
            ));
        }
        for field in SERVER_METADATA.iter().copied().chain(["name", "generateName"]) {
            match old_metadata.get(field) {
                Some(value) => metadata.insert(field.to_owned(), value.clone()),
                None => metadata.remove(field),
            };
        }
        Ok(())
    }

    /// Defaults from the schema (custom kinds) or from the kind's own rules.
    pub(crate) fn default(resource: &Resource, object: &mut Value) {
        match &resource.origin {
            Origin::Custom(version) => version.default(object),
            Origin::Builtin(fact) => fact.strategy.default(object),
        }
    }

    /// Refuses an object that breaks its rules; answers what to warn about. `old` is the stored object on updates.
    pub(super) fn validate(
        resource: &Resource,
        object: &Value,
        old: Option<&Value>,
        subresource: Option<Subresource>,
    ) -> Result<Vec<String>, ApiError> {
        let strategy = resource.strategy();
        let mut tolerated = Vec::new();
        let mut errors = match old {
            None => strategy::metadata::validate(object, resource.namespaced, strategy),
            Some(old) => strategy::metadata::validate_update(object, old, strategy),
        };
        match (&resource.origin, old) {
            (Origin::Custom(version), old) => {
                let mut judgement = version.judge(object, old);
                errors.append(&mut judgement.broken);
                tolerated = judgement.tolerated;
            }
            (Origin::Builtin(_), None) => {
                errors.extend(strategy.validate(object));
                errors.extend(strategy.validate_create(object));
            }
            (Origin::Builtin(_), Some(old)) => {
                if let Some(part) = subresource {
                    errors.extend(strategy.validate_subresource(part, object, old));
                } else {
                    errors.extend(strategy.validate(object));
                    errors.extend(strategy.validate_update(object, old));
                }
            }
        }
        if errors.is_empty() {
            return Ok(tolerated.iter().map(ToString::to_string).collect());
        }
        let name = meta_text(object, "name").unwrap_or_default();
        Err(ApiError::invalid(resource, name, &errors))
    }
}

/// Counts a change of what is wanted.
pub(super) fn count_generation(resource: &Resource, new: &mut Value, old: &Value) {
    if !resource.counts_generations() {
        return;
    }
    // Without a status subresource, `status` is a field like any other.
    let plain_status = resource.is_custom() && !resource.has(Subresource::Status);
    let status_changed = plain_status && new.get("status") != old.get("status");
    if status_changed || resource.strategy().changes_generation(new, old) {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
        metadata(new).insert("generation".into(), generation.into());
    }
}

fn settle_namespace(
    resource: &Resource,
    namespace: &str,
    metadata: &mut Map<String, Value>,
) -> Result<(), ApiError> {
    if !resource.namespaced {
        metadata.remove("namespace");
        return Ok(());
    }
    match metadata.get("namespace").and_then(Value::as_str).unwrap_or_default() {
        "" => {
            metadata.insert("namespace".into(), namespace.into());
            Ok(())
        }
        given if given == namespace => Ok(()),
        given => Err(ApiError::bad_request(format!(
            "the namespace of the provided object does not match the namespace sent on the request: {given:?} is not {namespace:?}"
        ))),
    }
}

/// Names end up in labels and host names, so that 63 characters are the limit for generated ones.
fn generated_name(prefix: &str, world: &World) -> String {
    let mut end = prefix.len().min(58);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{}", &prefix[..end], world.name_suffix())
}
