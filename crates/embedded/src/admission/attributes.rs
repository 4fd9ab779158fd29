//! What a request is about, as plugins see it.

use crate::request::WriteOptions;
use crate::resource::{Resource, Subresource};
use crate::server::{Call, Caller};
use crate::status::ApiError;
use crate::verbs::DeleteOptions;

/// What is done to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Create,
    Update,
    Delete,
    /// A stream to a container or a port.
    Connect,
}

impl Action {
    /// As webhooks know it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// The options of a request, as far as anybody asks for them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Options<'a> {
    None,
    Write(&'a WriteOptions),
    Delete(&'a DeleteOptions),
}

/// The circumstances of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) resource: &'a Resource,
    pub(crate) namespace: &'a str,
    /// The object's name; where it is still to be generated, what it will begin with.
    pub(crate) name: &'a str,
    pub(crate) subresource: Option<Subresource>,
    pub(crate) action: Action,
    /// Nothing may be left behind.
    pub(crate) dry_run: bool,
    /// What else the client asked for.
    pub(crate) options: Options<'a>,
    /// The name is still to be generated.
    pub(crate) generated: bool,
}

impl<'a> Attributes<'a> {
    /// Something sent to a part of the object that a path names.
    pub(crate) fn of_call(call: &'a Call<'_>, part: Subresource, action: Action) -> Result<Self, ApiError> {
        Ok(Self {
            caller: call.caller,
            resource: &call.resource,
            namespace: &call.target.namespace,
            name: &call.target.name,
            subresource: Some(part),
            action,
            dry_run: WriteOptions::parse(call.query)?.dry_run,
            options: Options::None,
            generated: false,
        })
    }
}

impl Attributes<'_> {
    /// The refusal of a plugin.
    pub(crate) fn forbidden(&self, why: impl std::fmt::Display) -> ApiError {
        ApiError::forbidden(self.resource, self.name, why)
    }
}
