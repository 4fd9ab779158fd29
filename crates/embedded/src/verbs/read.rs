//! Get and list.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use maar_machinery::error::FieldError;
use maar_machinery::selector::{FieldSelector, LabelSelector};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::hooks::from_storage;
use crate::request::Query;
use crate::resource::{Resource, field_text};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Entry, Key, Listing, RevisionError};

/// Which objects are meant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    labels: Option<LabelSelector>,
    fields: Vec<FieldTest>,
}

#[derive(Clone, Debug)]
struct FieldTest {
    field: FieldRef,
    value: String,
    equal: bool,
}

#[derive(Clone, Debug)]
enum FieldRef {
    Name,
    Namespace,
    /// Index among the resource's selectable fields.
    Indexed(usize),
    /// A field of a custom kind whose objects may have been stored when other fields could be selected, or in a version
    /// in which others can: it has to be looked for in the object.
    Sought(Arc<Resource>, String),
}

impl Selection {
    pub(crate) fn parse(resource: &Resource, query: &Query) -> Result<Self, ApiError> {
        let labels = query
            .text("labelSelector")
            .map(LabelSelector::parse)
            .transpose()
            .map_err(|error| ApiError::bad_request(format!("unable to parse labelSelector: {error}")))?
            .filter(|selector| !selector.is_empty());
        let mut fields = Vec::new();
        if let Some(text) = query.text("fieldSelector") {
            let selector = FieldSelector::parse(text)
                .map_err(|error| ApiError::bad_request(format!("unable to parse fieldSelector: {error}")))?;
            for term in selector.terms() {
                fields.push(FieldTest {
                    field: field_ref(resource, &term.field)?,
                    value: term.value.clone(),
                    equal: !term.negated,
                });
            }
        }
        Ok(Self { labels, fields })
    }

    pub(crate) fn matches(&self, entry: &Entry) -> bool {
        self.labels.as_ref().is_none_or(|selector| selector.matches(&entry.meta))
            && self.fields.iter().all(|test| test.holds(entry))
    }
}

impl FieldTest {
    fn holds(&self, entry: &Entry) -> bool {
        let sought;
        let value: &str = match &self.field {
            FieldRef::Name => &entry.meta.name,
            FieldRef::Namespace => &entry.meta.namespace,
            FieldRef::Indexed(index) => match entry.meta.fields.get(*index) {
                Some(value) => value,
                None => return !self.equal,
            },
            FieldRef::Sought(resource, path) => {
                sought = field_text(&from_storage(resource, entry.value()), path);
                &sought
            }
        };
        (*value == *self.value) == self.equal
    }
}

/// The name of a field as it is stored: Events are, whichever group they are asked for in, in the core form.
fn stored_field<'a>(resource: &Resource, field: &'a str) -> Cow<'a, str> {
    if resource.group != "events.k8s.io" {
        return field.into();
    }
    match field.strip_prefix("regarding.") {
        Some(part) => format!("involvedObject.{part}").into(),
        None if field == "reportingController" => "reportingComponent".into(),
        None => field.into(),
    }
}

fn field_ref(resource: &Resource, field: &str) -> Result<FieldRef, ApiError> {
    match field {
        "metadata.name" => Ok(FieldRef::Name),
        "metadata.namespace" => Ok(FieldRef::Namespace),
        other => resource
            .field_paths
            .iter()
            .position(|path| path.trim_start_matches('.') == stored_field(resource, other))
            .map(|index| match &resource.stored_as {
                None => FieldRef::Indexed(index),
                Some(_) => FieldRef::Sought(Arc::new(resource.clone()), resource.field_paths[index].clone()),
            })
            .ok_or_else(|| {
                ApiError::bad_request(format!(
                    "field label not supported: {other}; {} has metadata.name{}{}",
                    resource.qualified(),
                    if resource.namespaced { ", metadata.namespace" } else { "" },
                    resource.field_paths.iter().fold(String::new(), |list, path| list + ", " + path)
                ))
            }),
    }
}

/// How exact the revision of a list must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    /// The newest.
    Newest,
    /// Anything at least as new.
    NotOlderThan(u64),
    /// Just this one.
    Exact(u64),
}

/// The options of a list request.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListOptions {
    pub(crate) selection: Selection,
    pub(crate) limit: usize,
    revision: Option<Match>,
    after: Option<Continue>,
}

/// Where the next page starts.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Continue {
    #[serde(rename = "rv")]
    revision: u64,
    #[serde(rename = "start")]
    after: String,
}

impl ListOptions {
    pub(crate) fn selecting(selection: Selection) -> Self {
        Self { selection, ..Self::default() }
    }

    pub(crate) fn parse(resource: &Resource, query: &Query) -> Result<Self, ApiError> {
        let after = query.text("continue").map(decode_continue).transpose()?;
        let version = query.text("resourceVersion");
        let matching = query.text("resourceVersionMatch");
        if after.is_some() && version.is_some_and(|version| version != "0") {
            return Err(ApiError::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        check_list_options(query)?;
        let number = version.map(revision_number).transpose()?;
        let limit = query.number::<i64>("limit")?.unwrap_or(0);
        // Whoever takes any revision is answered from a cache there, which knows no pages; Events are not in one.
        let whole = number == Some(0) && after.is_none() && !resource.is("events");
        let limit = if whole { 0 } else { usize::try_from(limit).unwrap_or(0) };
        query.number::<i64>("timeoutSeconds")?;
        let revision = match (matching, number) {
            (Some(_), None) | (None, None | Some(0)) => Match::Newest,
            // Without a limit "at least"; with one, the page of exactly that revision.
            (None, Some(number)) if limit > 0 => Match::Exact(number),
            (None | Some("NotOlderThan"), Some(number)) => Match::NotOlderThan(number),
            (Some(_), Some(number)) => Match::Exact(number),
        };
        let selection = Selection::parse(resource, query)?;
        Ok(Self { selection, limit, revision: Some(revision), after })
    }
}

/// A revision as clients write it.
fn revision_number(text: &str) -> Result<u64, ApiError> {
    text.parse::<u64>()
        .map_err(|_| ApiError::bad_request(format!("resourceVersion: {text:?} is not a valid revision")))
}

/// Refuses options of a list that contradict each other.
fn check_list_options(query: &Query) -> Result<(), ApiError> {
    const MATCH: &str = "resourceVersionMatch";
    let mut errors = Vec::new();
    let version = query.text("resourceVersion");
    if let Some(matching) = query.text(MATCH) {
        if version.is_none() {
            errors.push(FieldError::forbidden(MATCH, "needs a resourceVersion"));
        }
        if query.text("continue").is_some() {
            errors.push(FieldError::forbidden(MATCH, "does not go with a continue token"));
        }
        if !matches!(matching, "Exact" | "NotOlderThan") {
            errors.push(FieldError::not_supported(MATCH, matching, ["Exact", "NotOlderThan"]));
        }
        if matching == "Exact" && version == Some("0") {
            errors.push(FieldError::forbidden(MATCH, "the revision 0 has no exact state"));
        }
    }
    if query.flag("sendInitialEvents").is_some() {
        errors.push(FieldError::forbidden("sendInitialEvents", "belongs to watches"));
    }
    if errors.is_empty() { Ok(()) } else { Err(ApiError::invalid_options("ListOptions", &errors)) }
}

/// One page of a list.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) revision: u64,
    pub(crate) rows: Vec<Arc<Entry>>,
    /// The token of the next page.
    pub(crate) next: Option<String>,
    /// How many rows follow, where that is known.
    pub(crate) remaining: Option<usize>,
}

impl Server {
    pub(crate) fn get(&self, resource: &Resource, key: &Key) -> Result<Arc<Entry>, ApiError> {
        self.store.get(key).ok_or_else(|| ApiError::not_found(resource, key.name()))
    }

    /// The object as it is, if that is as new as the request asks for.
    pub(crate) fn get_since(
        &self,
        resource: &Resource,
        key: &Key,
        query: &Query,
    ) -> Result<Arc<Entry>, ApiError> {
        let requested = query.text("resourceVersion").map(revision_number).transpose()?.unwrap_or(0);
        let current = self.store.revision();
        if requested > current {
            return Err(revision_error(RevisionError::Future { requested, current }));
        }
        self.get(resource, key)
    }

    pub(crate) fn list(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        options: &ListOptions,
    ) -> Result<Page, ApiError> {
        let listing = self.listing(resource, namespace, options)?;
        let selective = options.selection.labels.is_some() || !options.selection.fields.is_empty();
        let mut rows = listing.rows;
        if let Some(after) = &options.after {
            rows.retain(|entry| row_of(entry) > after.after);
        }
        if selective {
            rows.retain(|entry| options.selection.matches(entry));
        }
        let mut page = Page { revision: listing.revision, rows, next: None, remaining: None };
        if options.limit > 0 && page.rows.len() > options.limit {
            // With a selector the rest would have to be read to be counted: Kubernetes leaves it out too.
            page.remaining = (!selective).then(|| page.rows.len() - options.limit);
            page.rows.truncate(options.limit);
            page.next = page.rows.last().map(|last| encode_continue(listing.revision, row_of(last)));
        }
        Ok(page)
    }

    fn listing(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        options: &ListOptions,
    ) -> Result<Listing, ApiError> {
        if let Some(after) = &options.after {
            return self.store.list_at(&resource.table, namespace, after.revision).map_err(|_| {
                ApiError::expired(
                    "The provided continue parameter is too old to display a consistent list result. \
                     Start a new list without the continue parameter.",
                )
            });
        }
        match options.revision {
            Some(Match::Exact(revision)) => {
                self.store.list_at(&resource.table, namespace, revision).map_err(revision_error)
            }
            Some(Match::NotOlderThan(revision)) => {
                let listing = self.store.list(&resource.table, namespace);
                if listing.revision < revision {
                    let current = listing.revision;
                    return Err(revision_error(RevisionError::Future { requested: revision, current }));
                }
                Ok(listing)
            }
            _ => Ok(self.store.list(&resource.table, namespace)),
        }
    }
}

/// The answer to a revision that cannot be read.
pub(super) fn revision_error(error: RevisionError) -> ApiError {
    match error {
        RevisionError::Compacted { requested, oldest } => {
            ApiError::expired(format!("too old resource version: {requested} ({oldest})"))
        }
        RevisionError::Future { requested, current } => {
            let message = format!("Too large resource version: {requested}, current: {current}");
            let mut error = ApiError::new(504, "Timeout", message);
            error.details = Some(json!({
                "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                "retryAfterSeconds": 1,
            }));
            error
        }
    }
}

fn row_of(entry: &Entry) -> String {
    if entry.meta.namespace.is_empty() {
        entry.meta.name.to_string()
    } else {
        format!("{}/{}", entry.meta.namespace, entry.meta.name)
    }
}

fn encode_continue(revision: u64, after: String) -> String {
    let token = serde_json::to_vec(&Continue { revision, after }).expect("a token is two plain fields");
    URL_SAFE_NO_PAD.encode(token)
}

fn decode_continue(text: &str) -> Result<Continue, ApiError> {
    URL_SAFE_NO_PAD
        .decode(text)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .ok_or_else(|| ApiError::bad_request("continue: is not a token this server gave out"))
}
