//! What kinds of objects the cluster serves: the built-in ones and those that CRDs add.
//!
//! `builtin` is the table of facts, `registry` the set in force; everything else asks a [`Resource`].

mod builtin;
mod registry;
mod transient;

use std::sync::Arc;

use maar_machinery::builtin::{self as builtin_types, DecodeError};
use maar_machinery::crd::Version;
use maar_machinery::fields::Type;
use maar_machinery::schema::Schema;
use serde_json::Value;

pub(crate) use builtin::{Builtin, builtins};
pub(crate) use registry::Registry;
pub(crate) use transient::{TRANSIENTS, Transient, TransientFact, transient};

/// A part of an object with a path of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subresource {
    /// The observed state.
    Status,
    /// The replica count.
    Scale,
    /// Placing a Pod on a node.
    Binding,
    /// Deleting a Pod if its disruption budget allows.
    Eviction,
    /// A container's output.
    Log,
    /// A command in a container.
    Exec,
    /// A container's own terminal.
    Attach,
    /// A connection to a Pod's port.
    PortForward,
    /// HTTP to a Pod, Service or Node.
    Proxy,
    /// A token for a service account.
    Token,
    /// The decision on a certificate request.
    Approval,
    /// The end of a namespace.
    Finalize,
    /// Containers added to a running Pod to look into it.
    EphemeralContainers,
    /// What a running Pod asks for.
    Resize,
}

impl Subresource {
    /// Its name in paths.
    pub fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Binding => "binding",
            Self::Eviction => "eviction",
            Self::Log => "log",
            Self::Exec => "exec",
            Self::Attach => "attach",
            Self::PortForward => "portforward",
            Self::Proxy => "proxy",
            Self::Token => "token",
            Self::Approval => "approval",
            Self::Finalize => "finalize",
            Self::EphemeralContainers => "ephemeralcontainers",
            Self::Resize => "resize",
        }
    }
}

/// Where a resource's rules come from.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    Builtin(&'static Builtin),
    Custom(Arc<Version>),
}

/// One served version of one kind.
#[derive(Clone, Debug)]
pub struct Resource {
    /// API group, empty for core.
    pub group: String,
    /// API version within the group.
    pub version: String,
    /// The kind of its objects.
    pub kind: String,
    /// The kind of its lists.
    pub list_kind: String,
    /// The name in paths.
    pub plural: String,
    /// The name for one.
    pub singular: String,
    /// Abbreviations for the command line.
    pub short_names: Vec<String>,
    /// Groups of kinds, such as `all`.
    pub categories: Vec<String>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// The parts with paths of their own.
    pub subresources: Vec<Subresource>,
    /// The table of the store; versions of one kind share it.
    pub table: Arc<str>,
    /// The apiVersion objects are stored as.
    pub storage_api_version: String,
    /// The version that custom objects are stored as, where what is stored may not be what this version shows: there
    /// are other versions, or the schema was another once.
    pub(crate) stored_as: Option<Arc<Version>>,
    /// The selectable fields besides `metadata.name` and `metadata.namespace`.
    pub field_paths: Vec<String>,
    pub(crate) origin: Origin,
}

impl Resource {
    /// `group/version`, or `version` for core.
    pub fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// `plural.group`, as messages name it.
    pub fn qualified(&self) -> String {
        qualified(&self.plural, &self.group)
    }

    pub(crate) fn has(&self, subresource: Subresource) -> bool {
        self.subresources.contains(&subresource)
    }

    pub(crate) fn is_custom(&self) -> bool {
        matches!(self.origin, Origin::Custom(_))
    }

    /// Whether this is the built-in resource of that table.
    pub(crate) fn is(&self, table: &str) -> bool {
        !self.is_custom() && &*self.table == table
    }

    /// Reads an object: what does not fit its type is an error, what the type does not know is dropped and named.
    pub(crate) fn decode(&self, object: &mut Value) -> Result<Vec<String>, DecodeError> {
        match &self.origin {
            Origin::Builtin(_) => builtin_types::decode(object, &self.builtin_schema()),
            Origin::Custom(version) => version.decode(object),
        }
    }

    fn builtin_schema(&self) -> Arc<Schema> {
        builtin_types::schema(&self.group, &self.version, &self.kind)
            .expect("a test decodes an object of every built-in resource")
    }

    /// How objects merge under strategic merge and apply.
    pub(crate) fn merge_type(&self) -> Arc<Type> {
        match &self.origin {
            Origin::Builtin(_) => builtin_types::merge_type(&self.group, &self.version, &self.kind)
                .expect("a test decodes an object of every built-in resource"),
            Origin::Custom(version) => version.merge_type(),
        }
    }

    /// What clients of a version on its way out are told.
    pub(crate) fn deprecation(&self) -> Option<String> {
        match &self.origin {
            Origin::Custom(version) => version.deprecation.clone(),
            Origin::Builtin(fact) => fact.deprecation.map(ToOwned::to_owned),
        }
    }

    /// Whether an update may leave out which revision it is of.
    pub(crate) fn allows_unconditional_update(&self) -> bool {
        match &self.origin {
            Origin::Custom(_) => false,
            Origin::Builtin(fact) => fact.unconditional,
        }
    }

    /// Whether an update of an object that is not there makes it.
    pub(crate) fn creates_on_update(&self) -> bool {
        matches!(&self.origin, Origin::Builtin(fact) if fact.creates_on_update)
    }

    /// The values of the selectable fields of an object.
    pub(crate) fn fields_of(&self, object: &Value) -> Vec<Box<str>> {
        self.field_paths.iter().map(|path| field_text(object, path)).collect()
    }
}

/// `group/version`, or `version` for core.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

fn qualified(plural: &str, group: &str) -> String {
    if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
}

/// A field as selectors compare it: as text, empty when absent.
pub(crate) fn field_text(object: &Value, path: &str) -> Box<str> {
    // The source of an Event is the component behind it, under whichever name that is given.
    if path == "source" {
        let component = object["source"]["component"].as_str().filter(|component| !component.is_empty());
        return component.or_else(|| object["reportingComponent"].as_str()).unwrap_or_default().into();
    }
    let mut value = object;
    for segment in path.trim_start_matches('.').split('.') {
        match value.get(segment) {
            Some(next) => value = next,
            // Booleans and counts are never absent to a selector: they are false and zero.
            None if segment == "hostNetwork" || segment == "unschedulable" => return "false".into(),
            None if segment == "replicas" || segment == "successful" => return "0".into(),
            None => return "".into(),
        }
    }
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Bool(_) | Value::Number(_) => value.to_string().into(),
        _ => "".into(),
    }
}
