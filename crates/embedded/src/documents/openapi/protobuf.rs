//! The Swagger document in the protobuf form that Go's clients ask for.
//!
//! The numbers are those of gnostic's `OpenAPIv2.proto`. Only what our documents contain is written: a keyword that
//! is not named here never occurs in them, which a test holds on to.

use serde_json::{Map, Value};

/// A message being written. Empty texts and `false` are left out, as protobuf has it.
#[derive(Debug, Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.0.push(number.to_le_bytes()[0]);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u64, text: Option<&Value>) {
        if let Some(text) = text.and_then(Value::as_str).filter(|text| !text.is_empty()) {
            self.bytes(field, text.as_bytes());
        }
    }

    fn texts(&mut self, field: u64, list: Option<&Value>) {
        for text in list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            self.bytes(field, text.as_bytes());
        }
    }

    fn flag(&mut self, field: u64, flag: Option<&Value>) {
        if flag.and_then(Value::as_bool) == Some(true) {
            self.varint(field << 3);
            self.varint(1);
        }
    }

    fn integer(&mut self, field: u64, number: Option<&Value>) {
        if let Some(number) = number.and_then(Value::as_i64) {
            self.varint(field << 3);
            self.varint(number.cast_unsigned());
        }
    }

    fn double(&mut self, field: u64, number: Option<&Value>) {
        if let Some(number) = number.and_then(Value::as_f64) {
            self.varint(field << 3 | 1);
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn message(&mut self, field: u64, message: &Self) {
        self.bytes(field, &message.0);
    }

    /// Entries of a map: each a message of a name and a value.
    fn named(&mut self, field: u64, map: Option<&Value>, value: impl Fn(&Map<String, Value>) -> Self) {
        for (name, entry) in map.and_then(Value::as_object).into_iter().flatten() {
            let mut named = Self::default();
            named.bytes(1, name.as_bytes());
            named.message(2, &value(object(entry)));
            self.message(field, &named);
        }
    }

    /// Fields that only Kubernetes knows, as text.
    fn extensions(&mut self, field: u64, of: &Map<String, Value>) {
        for (name, value) in of.iter().filter(|(name, _)| name.starts_with("x-")) {
            let mut named = Self::default();
            named.bytes(1, name.as_bytes());
            named.message(2, &any(value));
            self.message(field, &named);
        }
    }
}

fn object(value: &Value) -> &Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    value.as_object().unwrap_or(&EMPTY)
}

/// A message that holds another one and nothing else.
fn wrapped(field: u64, message: &Message) -> Message {
    let mut wrapper = Message::default();
    wrapper.message(field, message);
    wrapper
}

/// Any value, as YAML; JSON is YAML.
fn any(value: &Value) -> Message {
    let mut message = Message::default();
    message.bytes(2, format!("{value}\n").as_bytes());
    message
}

/// Writes a whole document.
pub(super) fn encode(document: &Value) -> Vec<u8> {
    let mut message = Message::default();
    message.text(1, document.get("swagger"));
    let mut info = Message::default();
    info.text(1, document["info"].get("title"));
    info.text(2, document["info"].get("version"));
    message.message(2, &info);
    let mut paths = Message::default();
    paths.named(2, document.get("paths"), path_item);
    message.message(8, &paths);
    let mut definitions = Message::default();
    definitions.named(1, document.get("definitions"), schema);
    message.message(9, &definitions);
    let mut security = Message::default();
    security.named(1, document.get("securityDefinitions"), |scheme| wrapped(2, &api_key(scheme)));
    message.message(13, &security);
    message.0
}

fn api_key(scheme: &Map<String, Value>) -> Message {
    let mut message = Message::default();
    message.text(1, scheme.get("type"));
    message.text(2, scheme.get("name"));
    message.text(3, scheme.get("in"));
    message.text(4, scheme.get("description"));
    message
}

fn path_item(item: &Map<String, Value>) -> Message {
    let mut message = Message::default();
    for (field, method) in [(2, "get"), (3, "put"), (4, "post"), (5, "delete"), (8, "patch")] {
        if let Some(call) = item.get(method) {
            message.message(field, &operation(object(call)));
        }
    }
    parameters(&mut message, 9, item.get("parameters"));
    message
}

fn operation(call: &Map<String, Value>) -> Message {
    let mut message = Message::default();
    message.texts(1, call.get("tags"));
    message.text(3, call.get("description"));
    message.text(5, call.get("operationId"));
    message.texts(6, call.get("produces"));
    message.texts(7, call.get("consumes"));
    parameters(&mut message, 8, call.get("parameters"));
    let mut responses = Message::default();
    responses.named(1, call.get("responses"), |response| {
        let mut inner = Message::default();
        inner.text(1, response.get("description"));
        if let Some(answer) = response.get("schema") {
            inner.message(2, &wrapped(1, &schema(object(answer))));
        }
        wrapped(1, &inner)
    });
    message.message(9, &responses);
    message.extensions(13, call);
    message
}

fn parameters(message: &mut Message, field: u64, list: Option<&Value>) {
    for parameter in list.and_then(Value::as_array).into_iter().flatten() {
        message.message(field, &wrapped(1, &one_parameter(object(parameter))));
    }
}

fn one_parameter(parameter: &Map<String, Value>) -> Message {
    let mut message = Message::default();
    if parameter.get("in").is_some_and(|place| place == "body") {
        message.text(2, parameter.get("name"));
        message.text(3, parameter.get("in"));
        message.flag(4, parameter.get("required"));
        message.message(5, &schema(object(&parameter["schema"])));
        return wrapped(1, &message);
    }
    let in_path = parameter.get("in").is_some_and(|place| place == "path");
    message.flag(1, parameter.get("required"));
    message.text(2, parameter.get("in"));
    message.text(3, parameter.get("description"));
    message.text(4, parameter.get("name"));
    // Parameters of a query may also be empty, which shifts everything behind by one.
    let shift = u64::from(!in_path);
    message.text(5 + shift, parameter.get("type"));
    message.flag(19 + shift, parameter.get("uniqueItems"));
    wrapped(2, &wrapped(if in_path { 4 } else { 3 }, &message))
}

fn schema(schema_: &Map<String, Value>) -> Message {
    let get = |name: &str| schema_.get(name);
    let mut message = Message::default();
    message.text(1, get("$ref"));
    message.text(2, get("format"));
    message.text(3, get("title"));
    message.text(4, get("description"));
    if let Some(value) = get("default") {
        message.message(5, &any(value));
    }
    message.double(6, get("multipleOf"));
    message.double(7, get("maximum"));
    message.flag(8, get("exclusiveMaximum"));
    message.double(9, get("minimum"));
    message.flag(10, get("exclusiveMinimum"));
    message.integer(11, get("maxLength"));
    message.integer(12, get("minLength"));
    message.text(13, get("pattern"));
    message.integer(14, get("maxItems"));
    message.integer(15, get("minItems"));
    message.flag(16, get("uniqueItems"));
    message.integer(17, get("maxProperties"));
    message.integer(18, get("minProperties"));
    message.texts(19, get("required"));
    for value in get("enum").and_then(Value::as_array).into_iter().flatten() {
        message.message(20, &any(value));
    }
    nested(&mut message, schema_);
    message.extensions(31, schema_);
    message
}

/// The keywords of a schema that hold schemas.
fn nested(message: &mut Message, outer: &Map<String, Value>) {
    match outer.get("additionalProperties") {
        None => {}
        Some(flag @ Value::Bool(_)) => {
            let mut choice = Message::default();
            choice.flag(2, Some(flag));
            message.message(21, &choice);
        }
        Some(below) => message.message(21, &wrapped(1, &schema(object(below)))),
    }
    if let Some(kind) = outer.get("type") {
        let mut types = Message::default();
        types.text(1, Some(kind));
        message.message(22, &types);
    }
    if let Some(items) = outer.get("items") {
        message.message(23, &wrapped(1, &schema(object(items))));
    }
    for below in outer.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        message.message(24, &schema(object(below)));
    }
    if let Some(properties) = outer.get("properties") {
        let mut map = Message::default();
        map.named(1, Some(properties), schema);
        message.message(25, &map);
    }
}
