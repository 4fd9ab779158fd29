//! What a request asks for, from its method, path and query: pure parsing.

use std::borrow::Cow;
use std::collections::BTreeMap;

use http::{HeaderMap, Method, header};

use crate::status::ApiError;

/// A request for objects, as authorization and the verbs see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// API group, empty for core.
    pub(crate) group: String,
    /// API version.
    pub(crate) version: String,
    /// Plural resource name.
    pub(crate) resource: String,
    /// Namespace, empty for none.
    pub(crate) namespace: String,
    /// Object name, empty for collections.
    pub(crate) name: String,
    /// Subresource name, empty for none.
    pub(crate) subresource: String,
    /// What follows the subresource (proxy paths).
    pub(crate) rest: String,
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// Objects of a resource.
    Resource(Target),
    /// Anything else: discovery, health, documents.
    Other(String),
}

/// Reads a path.
pub(crate) fn route(path: &str) -> Route {
    let other = || Route::Other(path.trim_end_matches('/').to_owned());
    let mut segments = path.split('/').filter(|segment| !segment.is_empty());
    let (group, version) = match segments.next() {
        Some("api") => ("", segments.next()),
        Some("apis") => match segments.next() {
            Some(group) => (group, segments.next()),
            None => return other(),
        },
        _ => return other(),
    };
    let Some(version) = version else { return other() };
    let rest: Vec<Cow<'_, str>> = segments.map(decode).collect();
    let Some(target) = target(group, version, &rest) else { return other() };
    Route::Resource(target)
}

fn target(group: &str, version: &str, rest: &[Cow<'_, str>]) -> Option<Target> {
    let mut target = Target {
        group: group.to_owned(),
        version: version.to_owned(),
        resource: String::new(),
        namespace: String::new(),
        name: String::new(),
        subresource: String::new(),
        rest: String::new(),
    };
    let is_namespace_part = |part: &str| matches!(part, "status" | "finalize");
    let tail = match rest {
        [] => return None,
        // `namespaces/x` and its subresources are the object; with anything else behind, a prefix.
        [first, namespace, more @ ..]
            if first == "namespaces"
                && group.is_empty()
                && more.first().is_none_or(|part| is_namespace_part(part)) =>
        {
            target.namespace = namespace.to_string();
            rest
        }
        [first, namespace, more @ ..] if first == "namespaces" && !more.is_empty() => {
            target.namespace = namespace.to_string();
            more
        }
        _ => rest,
    };
    let mut parts = tail.iter();
    target.resource = parts.next()?.to_string();
    target.name = parts.next().map(ToString::to_string).unwrap_or_default();
    target.subresource = parts.next().map(ToString::to_string).unwrap_or_default();
    target.rest = parts.fold(String::new(), |rest, part| rest + "/" + part);
    if group.is_empty() && target.resource == "namespaces" {
        target.namespace.clear();
    }
    Some(target)
}

/// Undoes percent-encoding; a broken sequence stays as it is.
pub(crate) fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') && !text.contains('+') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        if let Some(byte) = escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            decoded.push(byte);
            at += 3;
        } else {
            decoded.push(bytes[at]);
            at += 1;
        }
    }
    Cow::Owned(String::from_utf8_lossy(&decoded).into_owned())
}

/// The query of a request, decoded; a key may come more than once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(BTreeMap<String, Vec<String>>);

impl Query {
    /// Reads the part after `?`.
    pub(crate) fn parse(query: Option<&str>) -> Self {
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = value.replace('+', " ");
            values.entry(decode(key).into_owned()).or_default().push(decode(&value).into_owned());
        }
        Self(values)
    }

    /// The first value of a key, if it is not empty.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.first().map(String::as_str).filter(|value| !value.is_empty())
    }

    /// All values of a key.
    pub(crate) fn all(&self, key: &str) -> &[String] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    /// A yes or no; present without a value means yes.
    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, ApiError> {
        match self.0.get(key).and_then(|values| values.first()).map(String::as_str) {
            None => Ok(None),
            Some("" | "1" | "true" | "True" | "TRUE" | "t") => Ok(Some(true)),
            Some("0" | "false" | "False" | "FALSE" | "f") => Ok(Some(false)),
            Some(other) => {
                Err(ApiError::bad_request(format!("{key}: {other:?} is not allowed; use true or false")))
            }
        }
    }

    /// A number.
    pub(crate) fn number<T: std::str::FromStr>(&self, key: &str) -> Result<Option<T>, ApiError> {
        self.text(key)
            .map(|text| {
                text.parse()
                    .map_err(|_| ApiError::bad_request(format!("{key}: {text:?} is not a valid number")))
            })
            .transpose()
    }
}

/// How unknown and duplicate fields are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    /// Dropped silently.
    Ignore,
    /// Dropped, and the client is warned.
    #[default]
    Warn,
    /// Refused.
    Strict,
}

/// Options of create, update and patch.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteOptions {
    /// Do everything but store it.
    pub(crate) dry_run: bool,
    /// Who the fields belong to.
    pub(crate) field_manager: Option<String>,
    /// How unknown fields are treated.
    pub(crate) field_validation: FieldValidation,
    /// Take over fields of other managers on apply.
    pub(crate) force: bool,
}

impl WriteOptions {
    /// Reads them from the query.
    pub(crate) fn parse(query: &Query) -> Result<Self, ApiError> {
        let field_validation = match query.text("fieldValidation") {
            None | Some("Warn") => FieldValidation::Warn,
            Some("Ignore") => FieldValidation::Ignore,
            Some("Strict") => FieldValidation::Strict,
            Some(other) => {
                return Err(ApiError::bad_request(format!(
                    "fieldValidation: {other:?} is not supported; use Ignore, Warn or Strict"
                )));
            }
        };
        let field_manager = query.text("fieldManager").map(ToOwned::to_owned);
        if field_manager.as_ref().is_some_and(|manager| manager.len() > 128) {
            return Err(ApiError::bad_request("fieldManager: at most 128 characters are allowed"));
        }
        Ok(Self {
            dry_run: dry_run(query)?,
            field_manager,
            field_validation,
            force: query.flag("force")?.unwrap_or(false),
        })
    }
}

/// Whether the query asks for a dry run.
pub(crate) fn dry_run(query: &Query) -> Result<bool, ApiError> {
    match query.text("dryRun") {
        None => Ok(false),
        Some("All") => Ok(true),
        Some(other) => Err(ApiError::bad_request(format!("dryRun: {other:?} is not supported; use All"))),
    }
}

/// In which form objects are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As they are.
    Object,
    /// As rows for people.
    Table,
    /// Only type and metadata.
    Metadata,
}

/// Reads the `Accept` header; the first form that is understood wins.
pub(crate) fn accepted_form(headers: &HeaderMap) -> Result<Form, ApiError> {
    let Some(accept) = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()) else {
        return Ok(Form::Object);
    };
    for choice in accept.split(',') {
        let mut parts = choice.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let parameters: BTreeMap<&str, &str> = parts.filter_map(|part| part.split_once('=')).collect();
        let understood =
            matches!(media, "application/json" | "*/*" | "application/*" | "text/plain" | "text/html" | "");
        if !understood {
            continue;
        }
        match parameters.get("as").copied() {
            None => return Ok(Form::Object),
            Some("Table") => return Ok(Form::Table),
            Some("PartialObjectMetadata" | "PartialObjectMetadataList") => return Ok(Form::Metadata),
            Some(_) => {}
        }
    }
    Err(ApiError::not_acceptable())
}

/// The verb that authorization knows a request by.
pub(crate) fn verb(method: &Method, target: &Target, query: &Query) -> &'static str {
    let collection = target.name.is_empty();
    let connect = matches!(target.subresource.as_str(), "exec" | "attach" | "portforward" | "proxy");
    match *method {
        Method::GET | Method::HEAD if query.flag("watch") == Ok(Some(true)) => "watch",
        // A client opens exec with GET when it speaks WebSocket and with POST when it speaks SPDY: to
        // authorization both create a session.
        Method::GET | Method::POST if connect && target.subresource != "proxy" => "create",
        Method::GET | Method::HEAD if collection => "list",
        Method::GET | Method::HEAD => "get",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if collection => "deletecollection",
        Method::DELETE => "delete",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(path: &str) -> (String, String, String, String, String) {
        match route(path) {
            Route::Resource(target) => (
                format!("{}/{}", target.group, target.version),
                target.namespace,
                target.resource,
                target.name,
                target.subresource + &target.rest,
            ),
            Route::Other(path) => (path, String::new(), String::new(), String::new(), String::new()),
        }
    }

    #[test]
    fn paths_lead_where_kubernetes_says() {
        let want = |group: &str, namespace: &str, resource: &str, name: &str, sub: &str| {
            (group.into(), namespace.into(), resource.into(), name.into(), sub.into())
        };
        assert_eq!(parsed("/api/v1/pods"), want("/v1", "", "pods", "", ""));
        assert_eq!(parsed("/api/v1/namespaces/a/pods/b/exec"), want("/v1", "a", "pods", "b", "exec"));
        assert_eq!(parsed("/api/v1/namespaces"), want("/v1", "", "namespaces", "", ""));
        assert_eq!(parsed("/api/v1/namespaces/a"), want("/v1", "", "namespaces", "a", ""));
        assert_eq!(parsed("/api/v1/namespaces/a/finalize"), want("/v1", "", "namespaces", "a", "finalize"));
        assert_eq!(
            parsed("/apis/apps/v1/namespaces/a/deployments/b/scale"),
            want("apps/v1", "a", "deployments", "b", "scale")
        );
        assert_eq!(parsed("/apis/apps/v1"), want("/apis/apps/v1", "", "", "", ""));
        assert_eq!(
            parsed("/api/v1/nodes/n/proxy/metrics/x"),
            want("/v1", "", "nodes", "n", "proxy/metrics/x")
        );
        assert_eq!(parsed("/version/"), want("/version", "", "", "", ""));
    }

    #[test]
    fn queries_are_decoded() {
        let query = Query::parse(Some("labelSelector=a%3Db%2Cc&watch=1&command=a&command=b+c"));
        assert_eq!(query.text("labelSelector"), Some("a=b,c"));
        assert_eq!(query.flag("watch"), Ok(Some(true)));
        assert_eq!(query.text("command"), Some("a"));
        assert!(query.number::<u64>("watch").is_ok());
    }
}
