//! What a request is about, as rules and the log see it.

use std::fmt;
use std::sync::Arc;

use http::{Method, Uri};

use crate::request::{self, Query, Route};
use crate::store::Key;

/// Who asks for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The name under which the component took its client.
    pub component: Arc<str>,
    /// The verb as authorization knows it: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, …
    pub verb: &'static str,
    /// `plural` or `plural.group`; the path for what is no resource.
    pub resource: String,
    /// Empty for none.
    pub namespace: String,
    /// Empty for collections.
    pub name: String,
    /// Empty for none.
    pub subresource: String,
    /// Whether the client is content with an older state (`resourceVersion=0`).
    pub(super) lenient: bool,
}

impl Subject {
    pub(super) fn of_request(component: &Arc<str>, method: &Method, uri: &Uri) -> Self {
        let query = Query::parse(uri.query());
        let mut subject = Self {
            component: Arc::clone(component),
            verb: "get",
            resource: uri.path().to_owned(),
            namespace: String::new(),
            name: String::new(),
            subresource: String::new(),
            lenient: query.text("resourceVersion") == Some("0"),
        };
        if let Route::Resource(target) = request::route(uri.path()) {
            subject.verb = request::verb(method, &target, &query);
            let group = target.group;
            subject.resource =
                if group.is_empty() { target.resource } else { format!("{}.{group}", target.resource) };
            subject.namespace = target.namespace;
            subject.name = target.name;
            subject.subresource = target.subresource;
        }
        subject
    }

    /// A write of a built-in controller.
    pub(crate) fn of_controller(component: &str, verb: &'static str, key: &Key) -> Self {
        Self {
            component: component.into(),
            verb,
            resource: key.table.to_string(),
            namespace: key.namespace().to_owned(),
            name: key.name().to_owned(),
            subresource: String::new(),
            lenient: false,
        }
    }

    /// Whether it changes something.
    pub fn is_write(&self) -> bool {
        matches!(self.verb, "create" | "update" | "patch" | "delete" | "deletecollection")
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { component, verb, resource, namespace, name, subresource, .. } = self;
        write!(formatter, "{component} {verb} {resource}")?;
        for part in [namespace, name, subresource].into_iter().filter(|part| !part.is_empty()) {
            write!(formatter, "/{part}")?;
        }
        Ok(())
    }
}
