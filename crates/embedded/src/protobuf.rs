//! Objects as protobuf, which Go's typed clients (kubectl among them) send without asking.
//!
//! The server itself speaks JSON: a body is turned into JSON before anything else looks at it, and answers are
//! JSON, which nearly every client accepts; `write` makes protobuf for the others. The field numbers are in `fields.txt`, written by `generate.py`.

mod wire;
mod write;

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::status::ApiError;
use wire::{Item, Reader, WireError};
pub(crate) use write::encode;

/// The media type of such bodies.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What every body starts with.
const MAGIC: &[u8] = b"k8s\0";

/// How deep messages may be nested; the deepest built-in kind needs a third of it.
const DEPTH: usize = 64;

/// One field of a message, as `fields.txt` has it.
#[derive(Debug)]
struct Field {
    /// The JSON name; none where the message's own fields take its place.
    name: Option<&'static str>,
    kind: &'static str,
    /// Whether a zero that was sent means zero and not absent.
    keeps_zero: bool,
}

type Messages = HashMap<&'static str, BTreeMap<u64, Field>>;

fn messages() -> &'static Messages {
    static MESSAGES: OnceLock<Messages> = OnceLock::new();
    MESSAGES.get_or_init(|| {
        let mut messages: Messages = HashMap::new();
        let mut current = "";
        for line in include_str!("protobuf/fields.txt").lines() {
            let Some(line) = line.strip_prefix(' ') else {
                current = line;
                messages.entry(current).or_default();
                continue;
            };
            if let Some((number, field)) = field(line) {
                messages.entry(current).or_default().insert(number, field);
            }
        }
        messages
    })
}

fn field(line: &'static str) -> Option<(u64, Field)> {
    let mut words = line.split(' ');
    let (number, name, kind) = (words.next()?, words.next()?, words.next()?);
    let field = Field {
        name: Some(name).filter(|name| *name != "^"),
        kind: kind.trim_end_matches('!'),
        keeps_zero: kind.ends_with('!'),
    };
    Some((number.parse().ok()?, field))
}

/// The object in a body, with its apiVersion and kind.
pub(crate) fn decode(body: &[u8]) -> Result<Value, ApiError> {
    let broken =
        |error: WireError| ApiError::bad_request(format!("the protobuf object cannot be read: {error}"));
    let envelope = body.strip_prefix(MAGIC).ok_or_else(|| {
        ApiError::bad_request("the body is not a protobuf object: its first bytes are wrong")
    })?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for item in Reader::new(envelope) {
        match item.map_err(broken)? {
            (1, Item::Bytes(types)) => {
                for item in Reader::new(types) {
                    match item.map_err(broken)? {
                        (1, Item::Bytes(text)) => api_version = String::from_utf8_lossy(text).into_owned(),
                        (2, Item::Bytes(text)) => kind = String::from_utf8_lossy(text).into_owned(),
                        _ => {}
                    }
                }
            }
            (2, Item::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let name = message_of(&api_version, &kind);
    if !messages().contains_key(name.as_str()) {
        return Err(ApiError::unsupported_media_type(format!(
            "the embedded cluster does not read {kind} of {api_version} as {MEDIA_TYPE}; send application/json"
        )));
    }
    let mut object = message(&name, raw, DEPTH).map_err(broken)?;
    object.insert("apiVersion".into(), api_version.into());
    object.insert("kind".into(), kind.into());
    Ok(object.into())
}

/// The message of a kind: groups are named by their first label.
fn message_of(api_version: &str, kind: &str) -> String {
    // Clients name options after the group they talk to, and the server refusals after none.
    if matches!(kind, "DeleteOptions" | "Status") {
        return format!("meta/v1.{kind}");
    }
    match api_version.split_once('/') {
        None => format!("core/{api_version}.{kind}"),
        Some((group, version)) => {
            format!("{}/{version}.{kind}", group.split('.').next().unwrap_or_default())
        }
    }
}

fn message(name: &str, bytes: &[u8], depth: usize) -> Result<Map<String, Value>, WireError> {
    if depth == 0 {
        return Err(WireError::Deep);
    }
    let mut object = Map::new();
    let Some(fields) = messages().get(name) else { return Ok(object) };
    for item in Reader::new(bytes) {
        let (number, item) = item?;
        let Some(field) = fields.get(&number) else { continue };
        let Some(label) = field.name else {
            object.append(&mut message(field.kind, item.bytes()?, depth - 1)?);
            continue;
        };
        if let Some(kind) = field.kind.strip_prefix("[]") {
            let list = object.entry(label).or_insert_with(|| Value::Array(Vec::new()));
            if let (Some(list), Some(value)) = (list.as_array_mut(), value(kind, item, true, depth)?) {
                list.push(value);
            }
        } else if let Some(kind) = field.kind.strip_prefix("{}") {
            let (key, value) = entry(kind, item.bytes()?, depth)?;
            let map = object.entry(label).or_insert_with(|| Value::Object(Map::new()));
            if let Some(map) = map.as_object_mut() {
                map.insert(key, value);
            }
        } else if let Some(value) = value(field.kind, item, field.keeps_zero, depth)? {
            object.insert(label.to_owned(), value);
        }
    }
    Ok(object)
}

/// One entry of a map; a value that was left out is the zero of its kind.
fn entry(kind: &str, bytes: &[u8], depth: usize) -> Result<(String, Value), WireError> {
    let mut key = String::new();
    let mut found = None;
    for item in Reader::new(bytes) {
        match item? {
            (1, item) => key = item.text()?,
            (2, item) => found = Some(item),
            _ => {}
        }
    }
    let item = found.unwrap_or(Item::Bytes(&[]));
    // A list as a value is a message with the list as its only field.
    let value = if let Some(kind) = kind.strip_prefix("[]") {
        let items = Reader::new(item.bytes()?).map(|item| value(kind, item?.1, true, depth));
        items.filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()?.into()
    } else {
        value(kind, item, true, depth)?.unwrap_or_default()
    };
    Ok((key, value))
}

/// A value as JSON has it; `None` where a zero stands for nothing.
fn value(kind: &str, item: Item<'_>, keeps_zero: bool, depth: usize) -> Result<Option<Value>, WireError> {
    let value: Value = match kind {
        "s" => item.text()?.into(),
        "i" => item.integer()?.into(),
        "b" => (item.integer()? != 0).into(),
        "f" => item.double()?.into(),
        "y" => return Ok(Some(STANDARD.encode(item.bytes()?).into())),
        "t" | "u" => return time(kind, item.bytes()?),
        "q" => quantity(item.bytes()?)?,
        "o" => return integer_or_text(item.bytes()?).map(Some),
        "j" => return raw(item.bytes()?),
        name => return Ok(Some(message(name, item.bytes()?, depth - 1)?.into())),
    };
    let zero = value == 0 || value == "" || value == false;
    Ok(Some(value).filter(|_| keeps_zero || !zero))
}

fn time(kind: &str, bytes: &[u8]) -> Result<Option<Value>, WireError> {
    let (mut seconds, mut nanoseconds) = (0, 0);
    for item in Reader::new(bytes) {
        match item? {
            (1, item) => seconds = item.integer()?,
            (2, item) => nanoseconds = item.integer()?,
            _ => {}
        }
    }
    if seconds == 0 && nanoseconds == 0 {
        return Ok(None);
    }
    let nanoseconds = i32::try_from(nanoseconds).map_err(|_| WireError::Value)?;
    let time = Timestamp::new(seconds, nanoseconds).map_err(|_| WireError::Value)?;
    let form = if kind == "u" { "%Y-%m-%dT%H:%M:%S%.6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" };
    Ok(Some(time.strftime(form).to_string().into()))
}

fn quantity(bytes: &[u8]) -> Result<Value, WireError> {
    for item in Reader::new(bytes) {
        if let (1, item) = item? {
            return Ok(item.text()?.into());
        }
    }
    Ok("0".into())
}

fn integer_or_text(bytes: &[u8]) -> Result<Value, WireError> {
    let (mut is_text, mut integer, mut text) = (false, 0, String::new());
    for item in Reader::new(bytes) {
        match item? {
            (1, item) => is_text = item.integer()? == 1,
            (2, item) => integer = item.integer()?,
            (3, item) => text = item.text()?,
            _ => {}
        }
    }
    Ok(if is_text { text.into() } else { integer.into() })
}

/// JSON within protobuf.
fn raw(bytes: &[u8]) -> Result<Option<Value>, WireError> {
    for item in Reader::new(bytes) {
        if let (1, item) = item? {
            return serde_json::from_slice(item.bytes()?).map(Some).map_err(|_| WireError::Value);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bytes(number: u8, content: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2, u8::try_from(content.len()).unwrap()];
        out.extend_from_slice(content);
        out
    }

    fn number(number: u8, value: u8) -> Vec<u8> {
        vec![number << 3, value]
    }

    fn body(api_version: &str, kind: &str, object: &[u8]) -> Vec<u8> {
        let types = [bytes(1, api_version.as_bytes()), bytes(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), bytes(1, &types), bytes(2, object)].concat()
    }

    #[test]
    fn objects_become_the_json_their_clients_mean() {
        let entry = [bytes(1, b"app"), bytes(2, b"web")].concat();
        let created = number(1, 1);
        let metadata =
            [bytes(1, b"a"), bytes(2, b""), number(7, 0), bytes(8, &created), bytes(11, &entry)].concat();
        let spec = [number(1, 0), number(5, 0)].concat();
        let deployment = [bytes(1, &metadata), bytes(2, &spec)].concat();
        let want = json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "a", "creationTimestamp": "1970-01-01T00:00:01Z", "labels": {"app": "web"}},
            // Zero replicas were asked for; zero seconds were not.
            "spec": {"replicas": 0},
        });
        assert_eq!(decode(&body("apps/v1", "Deployment", &deployment)).unwrap(), want);
    }

    #[test]
    fn what_is_inlined_is_inlined_and_lists_in_maps_are_lists() {
        let volume = [bytes(1, b"data"), bytes(2, &bytes(2, b""))].concat();
        let pod = bytes(2, &bytes(1, &volume));
        let want = json!([{"name": "data", "emptyDir": {}}]);
        assert_eq!(decode(&body("v1", "Pod", &pod)).unwrap()["spec"]["volumes"], want);
        let extra = [bytes(1, b"scope"), bytes(2, &[bytes(1, b"a"), bytes(1, b"b")].concat())].concat();
        let review = bytes(2, &bytes(5, &extra));
        let review = decode(&body("authorization.k8s.io/v1", "SubjectAccessReview", &review)).unwrap();
        assert_eq!(review["spec"]["extra"], json!({"scope": ["a", "b"]}));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        assert_eq!(decode(b"{}").unwrap_err().code, 400);
        assert_eq!(decode(&body("example.com/v1", "Thing", b"")).unwrap_err().code, 415);
        let cut = body("v1", "Pod", &[0x0a, 0x7f]);
        assert_eq!(decode(&cut).unwrap_err().code, 400);
    }

    proptest::proptest! {
        #[test]
        fn no_body_breaks_the_reader(object: Vec<u8>) {
            let mut types = MAGIC.to_vec();
            types.extend(bytes(1, &[bytes(1, b"v1"), bytes(2, b"Pod")].concat()));
            types.push(2 << 3 | 2);
            types.push(u8::try_from(object.len() % 128).unwrap());
            types.extend(object);
            let _ = decode(&types);
        }
    }
}
