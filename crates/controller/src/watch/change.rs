//! One change, as a line of a watch tells it.

use std::{fmt, marker::PhantomData};

use kube::{api::WatchEvent, core::Status};
use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::Received;

/// Reads a line in one go; only what does not fit is looked at again, with the object behind the guard of its type.
pub(super) fn read<K: Received>(line: &[u8]) -> serde_json::Result<WatchEvent<K>> {
    match serde_json::from_slice::<Change<K>>(line) {
        Ok(change) => Ok(change.0),
        Err(_) => serde_json::from_slice::<Loose<'_>>(line)?.closer(),
    }
}

/// A change whose object was not looked at.
#[derive(Deserialize)]
struct Loose<'a> {
    #[serde(rename = "type")]
    kind: Kind,
    #[serde(borrow)]
    object: &'a RawValue,
}

impl Loose<'_> {
    fn closer<K: Received>(&self) -> serde_json::Result<WatchEvent<K>> {
        let text = self.object.get();
        Ok(match self.kind {
            Kind::Added => WatchEvent::Added(serde_json::from_str(text)?),
            Kind::Modified => WatchEvent::Modified(serde_json::from_str(text)?),
            Kind::Deleted => WatchEvent::Deleted(serde_json::from_str(text)?),
            Kind::Bookmark => WatchEvent::Bookmark(serde_json::from_str(text)?),
            Kind::Error => WatchEvent::Error(serde_json::from_str::<Status>(text)?.boxed()),
        })
    }
}

/// A change whose object is whole.
struct Change<K>(WatchEvent<K>);

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Kind {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Error,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Key {
    Type,
    Object,
    #[serde(other)]
    Other,
}

impl<'de, K: Received> Deserialize<'de> for Change<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ChangeVisitor(PhantomData))
    }
}

struct ChangeVisitor<K>(PhantomData<K>);

impl<'de, K: Received> Visitor<'de> for ChangeVisitor<K> {
    type Value = Change<K>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a change with its type before its object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut kind, mut event) = (None, None);
        while let Some(key) = map.next_key()? {
            match (key, kind) {
                (Key::Type, _) => kind = Some(map.next_value::<Kind>()?),
                // Servers send the type first. Without it, what the object is cannot be known yet.
                (Key::Object, None) => return Err(de::Error::missing_field("type")),
                (Key::Object, Some(kind)) => event = Some(object(kind, &mut map)?),
                (Key::Other, _) => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        event.map(Change).ok_or_else(|| de::Error::missing_field("object"))
    }
}

fn object<'de, K: Received, A: MapAccess<'de>>(kind: Kind, map: &mut A) -> Result<WatchEvent<K>, A::Error> {
    Ok(match kind {
        Kind::Added => WatchEvent::Added(K::whole(map.next_value()?)),
        Kind::Modified => WatchEvent::Modified(K::whole(map.next_value()?)),
        Kind::Deleted => WatchEvent::Deleted(K::whole(map.next_value()?)),
        Kind::Bookmark => WatchEvent::Bookmark(map.next_value()?),
        Kind::Error => WatchEvent::Error(map.next_value::<Status>()?.boxed()),
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use kube::ResourceExt as _;
    use serde_json::json;

    use super::*;
    use crate::watch::Guarded;

    fn told(line: &str) -> String {
        match read::<Guarded<Pod>>(line.as_bytes()) {
            Ok(WatchEvent::Added(pod)) => format!("added {} {}", pod.name_any(), pod.0.is_ok()),
            Ok(WatchEvent::Modified(pod)) => format!("modified {} {}", pod.name_any(), pod.0.is_ok()),
            Ok(WatchEvent::Deleted(pod)) => format!("deleted {} {}", pod.name_any(), pod.0.is_ok()),
            Ok(WatchEvent::Bookmark(bookmark)) => format!("bookmark {}", bookmark.metadata.resource_version),
            Ok(WatchEvent::Error(status)) => format!("error {}", status.code),
            Err(error) if error.is_eof() => "cut".to_owned(),
            Err(_) => "wrong".to_owned(),
        }
    }

    #[test]
    fn every_kind_of_change_is_read() {
        let pod = json!({ "metadata": { "name": "a" } });
        let wrong = json!({ "metadata": { "name": "b" }, "spec": { "containers": "none" } });
        let bookmark = json!({ "kind": "Pod", "apiVersion": "v1", "metadata": { "resourceVersion": "7" } });
        let status = json!({ "kind": "Status", "status": "Failure", "message": "too old", "reason": "Expired", "code": 410 });
        let rows = [
            (json!({ "type": "ADDED", "object": pod }).to_string(), "added a true"),
            (json!({ "type": "MODIFIED", "object": pod }).to_string(), "modified a true"),
            (json!({ "type": "DELETED", "object": pod }).to_string(), "deleted a true"),
            (format!(r#"{{"type":"ADDED","object":{wrong}}}"#), "added b false"),
            (format!(r#"{{"type":"BOOKMARK","object":{bookmark}}}"#), "bookmark 7"),
            (format!(r#"{{"type":"ERROR","object":{status}}}"#), "error 410"),
            (format!(r#"{{"extra":[1],"type":"ADDED","object":{pod}}}"#), "added a true"),
            (r#"{"type":"ADDED","object":{"met"#.to_owned(), "cut"),
            (r#"{"type":"SPOILED","object":{}}"#.to_owned(), "wrong"),
            (r#"{"type":"ADDED"}"#.to_owned(), "wrong"),
            ("7".to_owned(), "wrong"),
        ];
        for (line, want) in rows {
            assert_eq!(told(&line), want, "{line}");
        }
    }
}
