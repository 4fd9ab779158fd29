//! What a request asks for, from its method, path and query: pure parsing.

use std::borrow::Cow;
use std::collections::BTreeMap;

use http::{HeaderMap, Method, header};
use maar_machinery::error::FieldError;

use crate::protobuf;
use crate::server::YAML;
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
    /// Whether this is `…/watch/…`, the old way to ask for a watch.
    pub(crate) watching: bool,
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
    // Decoded before it is taken apart, as the real server does: no name has a slash in it.
    let decoded = decode(path);
    let mut segments = decoded.split('/').filter(|segment| !segment.is_empty());
    let (group, version) = match segments.next() {
        Some("api") => ("", segments.next()),
        Some("apis") => match segments.next() {
            Some(group) => (group, segments.next()),
            None => return other(),
        },
        _ => return other(),
    };
    let Some(version) = version else { return other() };
    let rest: Vec<&str> = segments.collect();
    let (rest, watching) = match rest.split_first() {
        Some((&"watch", rest)) if !rest.is_empty() => (rest, true),
        _ => (&rest[..], false),
    };
    let Some(mut target) = target(group, version, rest) else { return other() };
    target.watching = watching;
    Route::Resource(target)
}

fn target(group: &str, version: &str, rest: &[&str]) -> Option<Target> {
    let mut target = Target {
        group: group.to_owned(),
        version: version.to_owned(),
        resource: String::new(),
        namespace: String::new(),
        name: String::new(),
        subresource: String::new(),
        rest: String::new(),
        watching: false,
    };
    let is_namespace_part = |part: &str| matches!(part, "status" | "finalize");
    let tail = match rest {
        [] => return None,
        // `namespaces/x` and its subresources are the object; with anything else behind, a prefix.
        [first, namespace, more @ ..]
            if *first == "namespaces"
                && group.is_empty()
                && more.first().is_none_or(|part| is_namespace_part(part)) =>
        {
            (*namespace).clone_into(&mut target.namespace);
            rest
        }
        [first, namespace, more @ ..] if *first == "namespaces" && !more.is_empty() => {
            (*namespace).clone_into(&mut target.namespace);
            more
        }
        _ => rest,
    };
    let mut parts = tail.iter();
    (*parts.next()?).clone_into(&mut target.resource);
    let mut next = || parts.next().copied().unwrap_or_default().to_owned();
    (target.name, target.subresource) = (next(), next());
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

    /// A yes or no; anything that is not a plain no means yes.
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        let text = self.0.get(key)?.first()?;
        Some(text != "0" && !text.eq_ignore_ascii_case("false"))
    }

    /// Makes this the query of a watch, of one object if it has a name.
    pub(crate) fn turn_into_watch(&mut self, name: &str) {
        self.0.insert("watch".into(), vec!["true".into()]);
        if !name.is_empty() {
            self.0.insert("fieldSelector".into(), vec![format!("metadata.name={name}")]);
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

impl FieldValidation {
    /// What to warn about, or the refusal, when these fields were given twice.
    pub(crate) fn judge(self, twice: &[String]) -> Result<Vec<String>, ApiError> {
        let messages = twice.iter().map(|path| format!("duplicate field {path:?}"));
        match self {
            Self::Ignore => Ok(Vec::new()),
            Self::Strict if !twice.is_empty() => {
                let messages: Vec<String> = messages.collect();
                Err(ApiError::bad_request(format!("strict decoding error: {}", messages.join(", "))))
            }
            Self::Warn | Self::Strict => Ok(messages.collect()),
        }
    }

    /// The same for keys given twice in YAML, which are told as its reader tells them.
    pub(crate) fn judge_yaml(self, twice: Vec<String>) -> Result<Vec<String>, ApiError> {
        match self {
            Self::Ignore => Ok(Vec::new()),
            Self::Strict if !twice.is_empty() => {
                Err(ApiError::bad_request(format!("strict decoding error: {}", twice.join(", "))))
            }
            Self::Warn | Self::Strict => Ok(twice),
        }
    }
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
        check_write_options(query, "CreateOptions")?;
        let field_validation = match query.text("fieldValidation") {
            Some("Ignore") => FieldValidation::Ignore,
            Some("Strict") => FieldValidation::Strict,
            _ => FieldValidation::Warn,
        };
        Ok(Self {
            dry_run: query.text("dryRun") == Some("All"),
            field_manager: query.text("fieldManager").map(ToOwned::to_owned),
            field_validation,
            force: query.flag("force").unwrap_or(false),
        })
    }
}

/// What the options of a write are called, by its method.
pub(crate) fn options_kind(method: &Method) -> Option<&'static str> {
    match *method {
        Method::POST => Some("CreateOptions"),
        Method::PUT => Some("UpdateOptions"),
        Method::PATCH => Some("PatchOptions"),
        _ => None,
    }
}

/// Refuses options of a write that nobody knows.
pub(crate) fn check_write_options(query: &Query, kind: &str) -> Result<(), ApiError> {
    let mut errors = Vec::new();
    // Whoever names a dry run without saying which means no real one.
    if query.all("dryRun").iter().any(|text| text != "All") {
        errors.push(FieldError::not_supported("dryRun", query.all("dryRun").to_vec(), ["All"]));
    }
    let choices = ["Ignore", "Strict", "Warn"];
    if let Some(text) = query.text("fieldValidation").filter(|text| !choices.contains(text)) {
        errors.push(FieldError::not_supported("fieldValidation", text, choices));
    }
    let manager = query.text("fieldManager").unwrap_or_default();
    if manager.len() > MANAGER_LENGTH {
        errors.push(FieldError::too_long("fieldManager", MANAGER_LENGTH as u64));
    }
    if manager.chars().any(char::is_control) {
        errors.push(FieldError::invalid("fieldManager", manager, "should only contain printable characters"));
    }
    if errors.is_empty() { Ok(()) } else { Err(ApiError::invalid_options(kind, &errors)) }
}

/// How long the name of a manager may be.
const MANAGER_LENGTH: usize = 128;

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

/// Reads the `Accept` header; the first form that is understood wins. Lists have a form of their own for metadata.
pub(crate) fn accepted_form(headers: &HeaderMap, list: bool) -> Result<Form, ApiError> {
    let Some(accept) = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()) else {
        return Ok(Form::Object);
    };
    let mut refused = None;
    for choice in accept.split(',') {
        let mut parts = choice.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let parameters: BTreeMap<&str, &str> = parts.filter_map(|part| part.split_once('=')).collect();
        let understood = matches!(media, "application/json" | YAML | protobuf::MEDIA_TYPE | "*/*" | "");
        if !understood {
            continue;
        }
        let Some(shape) = parameters.get("as").copied() else { return Ok(Form::Object) };
        let known = parameters.get("g").is_none_or(|group| *group == "meta.k8s.io")
            && parameters.get("v").is_none_or(|version| matches!(*version, "v1" | "v1beta1"));
        match shape {
            "Table" if known => return Ok(Form::Table),
            "PartialObjectMetadata" if known && !list => return Ok(Form::Metadata),
            "PartialObjectMetadataList" if known && list => return Ok(Form::Metadata),
            other => refused = Some(other),
        }
    }
    Err(refused.map_or_else(ApiError::not_acceptable, ApiError::no_such_form))
}

/// The verb that authorization knows a request by.
pub(crate) fn verb(method: &Method, target: &Target, query: &Query) -> &'static str {
    let collection = target.name.is_empty();
    match *method {
        Method::GET | Method::HEAD if collection && query.flag("watch") == Some(true) => "watch",
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
    fn what_a_request_is_does_not_hang_on_its_query() {
        let ask = |method: Method, path: &str, query: &str| match route(path) {
            Route::Resource(target) => verb(&method, &target, &Query::parse(Some(query))),
            Route::Other(_) => "",
        };
        let pods = "/api/v1/namespaces/n/pods";
        assert_eq!(ask(Method::GET, pods, "watch=true"), "watch");
        for part in ["exec", "attach", "portforward"] {
            assert_eq!(ask(Method::GET, &format!("{pods}/p/{part}"), "watch=true"), "get");
        }
        assert_eq!(ask(Method::GET, &format!("{pods}/p"), "watch=true"), "get");
        assert_eq!(ask(Method::GET, &format!("{pods}/p/proxy"), "watch=true"), "get");
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
        assert_eq!(query.flag("watch"), Some(true));
        assert_eq!(query.text("command"), Some("a"));
        assert!(query.number::<u64>("watch").is_ok());
    }
}
