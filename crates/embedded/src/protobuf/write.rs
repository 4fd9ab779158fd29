//! Objects as protobuf, for clients that take nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{MAGIC, message_of, messages};

const LIST_METADATA: &str = "meta/v1.ListMeta";

/// The object as a body; `None` for a kind that has no such form, as custom kinds.
pub(crate) fn encode(object: &Value) -> Option<Vec<u8>> {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let raw = match (kind.strip_suffix("List"), object.get("items").and_then(Value::as_array)) {
        (Some(kind), Some(items)) => list(&message_of(api_version, kind), object, items)?,
        _ => message(&message_of(api_version, kind), object.as_object()?)?,
    };
    let mut types = Vec::new();
    put_bytes(&mut types, 1, api_version.as_bytes());
    put_bytes(&mut types, 2, kind.as_bytes());
    let mut body = MAGIC.to_vec();
    put_bytes(&mut body, 1, &types);
    put_bytes(&mut body, 2, &raw);
    Some(body)
}

/// All lists are alike: metadata, then items.
fn list(item: &str, object: &Value, items: &[Value]) -> Option<Vec<u8>> {
    let mut raw = Vec::new();
    put_bytes(&mut raw, 1, &message(LIST_METADATA, object.get("metadata")?.as_object()?)?);
    for one in items {
        put_bytes(&mut raw, 2, &message(item, one.as_object()?)?);
    }
    Some(raw)
}

fn message(name: &str, object: &Map<String, Value>) -> Option<Vec<u8>> {
    let mut raw = Vec::new();
    for (number, field) in messages().get(name)? {
        let Some(label) = field.name else {
            put_bytes(&mut raw, *number, &message(field.kind, object)?);
            continue;
        };
        let Some(value) = object.get(label).filter(|value| !value.is_null()) else { continue };
        if let Some(kind) = field.kind.strip_prefix("[]") {
            for item in value.as_array()? {
                put(&mut raw, *number, kind, item)?;
            }
        } else if let Some(kind) = field.kind.strip_prefix("{}") {
            for (key, value) in value.as_object()? {
                let mut entry = Vec::new();
                put_bytes(&mut entry, 1, key.as_bytes());
                put_member(&mut entry, kind, value)?;
                put_bytes(&mut raw, *number, &entry);
            }
        } else {
            put(&mut raw, *number, field.kind, value)?;
        }
    }
    Some(raw)
}

/// The value of an entry of a map; a list is a message with the list as its only field.
fn put_member(entry: &mut Vec<u8>, kind: &str, value: &Value) -> Option<()> {
    let Some(kind) = kind.strip_prefix("[]") else { return put(entry, 2, kind, value) };
    let mut items = Vec::new();
    for item in value.as_array()? {
        put(&mut items, 1, kind, item)?;
    }
    put_bytes(entry, 2, &items);
    Some(())
}

fn put(out: &mut Vec<u8>, number: u64, kind: &str, value: &Value) -> Option<()> {
    match kind {
        "s" => put_bytes(out, number, value.as_str()?.as_bytes()),
        "i" => put_number(out, number, value.as_i64()?),
        "b" => put_number(out, number, i64::from(value.as_bool()?)),
        "f" => {
            put_varint(out, number << 3 | 1);
            out.extend(value.as_f64()?.to_le_bytes());
        }
        "y" => put_bytes(out, number, &STANDARD.decode(value.as_str()?).ok()?),
        "t" | "u" => put_bytes(out, number, &time(value.as_str()?)?),
        "q" => {
            let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
            put_bytes(out, number, &only(text.as_bytes()));
        }
        "o" => put_bytes(out, number, &integer_or_text(value)?),
        "j" => put_bytes(out, number, &only(value.to_string().as_bytes())),
        name => put_bytes(out, number, &message(name, value.as_object()?)?),
    }
    Some(())
}

/// A message of one field.
fn only(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(&mut out, 1, bytes);
    out
}

fn time(text: &str) -> Option<Vec<u8>> {
    let time: Timestamp = text.parse().ok()?;
    let mut out = Vec::new();
    put_number(&mut out, 1, time.as_second());
    put_number(&mut out, 2, i64::from(time.subsec_nanosecond()));
    Some(out)
}

fn integer_or_text(value: &Value) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    if let Some(text) = value.as_str() {
        put_number(&mut out, 1, 1);
        put_bytes(&mut out, 3, text.as_bytes());
    } else {
        put_number(&mut out, 1, 0);
        put_number(&mut out, 2, value.as_i64()?);
    }
    Some(out)
}

/// Negative numbers are sent as their two's complement.
fn put_number(out: &mut Vec<u8>, number: u64, value: i64) {
    put_varint(out, number << 3);
    put_varint(out, value.cast_unsigned());
}

fn put_bytes(out: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    put_varint(out, number << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::decode;
    use super::*;

    #[test]
    fn what_was_written_is_read_again() {
        let pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "a", "labels": {"x": "y", "empty": ""}, "creationTimestamp": "2026-01-02T03:04:05Z",
                "deletionGracePeriodSeconds": 0,
                "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {"f:nodeName": {}}}}],
            },
            "spec": {
                "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "hostPath": {"path": "/x", "type": ""}}],
                "containers": [{
                    "name": "c", "image": "x", "args": ["", "b"],
                    "resources": {"limits": {"cpu": "500m", "nvidia.com/gpu": "1"}},
                    "livenessProbe": {"httpGet": {"port": "web"}, "failureThreshold": 3},
                    "readinessProbe": {"tcpSocket": {"port": 80}},
                    "securityContext": {"runAsUser": 0, "privileged": false},
                }],
                "tolerations": [{"key": "t", "tolerationSeconds": -1}],
            },
            "status": {"phase": "Running", "startTime": "1969-12-31T23:59:58Z"},
        });
        assert_eq!(decode(&encode(&pod).unwrap()).unwrap(), pod);
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {}, "data": {"k": "AAEC"}});
        assert_eq!(decode(&encode(&secret).unwrap()).unwrap(), secret);
    }

    #[test]
    fn lists_refusals_and_metadata_have_a_form_and_custom_kinds_none() {
        let list = json!({
            "apiVersion": "apps/v1", "kind": "DeploymentList", "metadata": {"resourceVersion": "7"},
            "items": [{"metadata": {"name": "a"}, "spec": {"replicas": 0}}],
        });
        assert!(encode(&list).is_some());
        let status = json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "code": 404});
        assert!(encode(&status).is_some());
        let metadata =
            json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {}});
        assert!(encode(&metadata).is_some());
        assert!(encode(&json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {}})).is_none());
    }
}
