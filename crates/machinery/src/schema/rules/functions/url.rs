//! URLs, taken apart as Go does it: nothing is made lower case but the scheme, no port is left out, no dots are resolved.

mod encoding;
mod parse;

use std::{collections::HashMap, sync::Arc};

use kube_cel::cel::{
    Value,
    objects::{Key, Map, Opaque},
};

use super::held;
use crate::schema::rules::evaluate::{Answer, text_value};
use encoding::Part;

/// A URL. Two are the same where they are written the same.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Url {
    scheme: String,
    /// What follows the scheme where that is neither a host nor a path.
    opaque: String,
    user: Option<(String, Option<String>)>,
    host: String,
    /// Whether there is a scheme and a path, and not even an empty host between them.
    omits_host: bool,
    path: String,
    /// With a question mark and nothing behind it, there is a query that is empty.
    query: Option<String>,
    fragment: String,
}

/// The answer of a function of URLs; `None` where it is another function.
pub(super) fn call(name: &str, target: Option<&Value>, arguments: &[Value]) -> Option<Answer> {
    match (name, target, arguments) {
        ("url", None, [Value::String(text)]) => {
            Some(parse::parse(text).map(Into::into).map_err(|why| {
                format!("URL parse error during conversion from string: parse {text:?}: {why}")
            }))
        }
        ("isURL", None, [Value::String(text)]) => Some(Ok(Value::Bool(parse::request(text).is_ok()))),
        (_, Some(target), []) => held(target).and_then(|url| part(name, url)).map(Ok),
        _ => None,
    }
}

fn part(name: &str, url: &Url) -> Option<Value> {
    let (hostname, port) = split_port(&url.host);
    Some(match name {
        "getScheme" => text_value(&*url.scheme),
        "getHost" => text_value(&*url.host),
        "getHostname" => text_value(hostname),
        "getPort" => text_value(port),
        "getEscapedPath" => text_value(&*url.path),
        "getQuery" => query(url.query.as_deref().unwrap_or_default()),
        _ => return None,
    })
}

fn split_port(host: &str) -> (&str, &str) {
    let (name, port) = match host.rfind(':') {
        Some(colon) if parse::is_port(&host[colon..]) => (&host[..colon], &host[colon + 1..]),
        _ => (host, ""),
    };
    let inside = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    (inside.unwrap_or(name), port)
}

/// The values of each key, in their order. Pairs that cannot be read are left out.
fn query(text: &str) -> Value {
    let mut pairs: HashMap<Key, Vec<Value>> = HashMap::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let (Ok(key), Ok(value)) = (Part::Query.decode(key), Part::Query.decode(value)) {
            pairs.entry(Key::String(Arc::new(key))).or_default().push(text_value(value));
        }
    }
    let pairs = pairs.into_iter().map(|(key, values)| (key, Value::List(Arc::new(values))));
    Value::Map(Map { map: Arc::new(pairs.collect()) })
}

impl Opaque for Url {
    fn runtime_type_name(&self) -> &'static str {
        "kubernetes.URL"
    }
}

impl From<Url> for Value {
    fn from(url: Url) -> Self {
        Value::Opaque(Arc::new(url))
    }
}

#[cfg(test)]
mod tests;
