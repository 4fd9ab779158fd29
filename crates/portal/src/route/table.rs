//! What a route is, and all of them.

use std::{fmt, future::Future, sync::Arc};

use futures::future::BoxFuture;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{Answer, Call, Target};
use crate::{access::Verb, error::ApiError, template::TemplateKind};

/// Methods that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
    Put,
    Delete,
}

impl Method {
    /// Whether it may change something.
    pub(crate) const fn writes(self) -> bool {
        !matches!(self, Self::Get)
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

pub(crate) type Handler = Arc<dyn Fn(Call) -> BoxFuture<'static, Result<Answer, ApiError>> + Send + Sync>;
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// What an answer holds.
#[derive(Clone, Copy)]
pub(crate) enum Answers {
    Nothing,
    Json(SchemaOf),
    /// Text of this kind.
    Text(&'static str),
    /// Leads a browser elsewhere.
    Redirect,
}

/// One route.
#[derive(Clone)]
pub(crate) struct Route {
    /// Its name, also in the audit log.
    pub(crate) name: &'static str,
    pub(crate) method: Method,
    /// Below `/api/v1`, unless it begins with `/api`, `/oauth` or `/.well-known`.
    pub(crate) path: &'static str,
    pub(crate) verb: Verb,
    pub(crate) target: Target,
    /// What it does, in a sentence.
    pub(crate) summary: &'static str,
    pub(crate) queries: Vec<SchemaOf>,
    pub(crate) body: Option<SchemaOf>,
    pub(crate) answers: Answers,
    /// The body may name a template of this kind to begin from.
    pub(crate) template: Option<TemplateKind>,
    /// Writes its own entries in the audit log.
    pub(crate) audits_itself: bool,
    /// Programs of others speak here, as standards say: they show who they are to the handler, and send forms.
    pub(crate) foreign: bool,
    pub(crate) handler: Handler,
}

impl fmt::Debug for Route {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.method.as_str(), self.path)
    }
}

impl Route {
    /// A route that answers with nothing until something else is said.
    pub(crate) fn new<F>(
        method: Method,
        path: &'static str,
        name: &'static str,
        (verb, target): (Verb, Target),
        handler: impl Fn(Call) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Answer, ApiError>> + Send + 'static,
    {
        Self {
            name,
            method,
            path,
            verb,
            target,
            summary: "",
            queries: Vec::new(),
            body: None,
            answers: Answers::Nothing,
            template: None,
            audits_itself: false,
            foreign: false,
            handler: Arc::new(move |call| Box::pin(handler(call))),
        }
    }

    /// A route whose handler waits for nothing.
    pub(crate) fn at_once(
        method: Method,
        path: &'static str,
        name: &'static str,
        wants: (Verb, Target),
        handler: impl Fn(&Call) -> Result<Answer, ApiError> + Send + Sync + 'static,
    ) -> Self {
        Self::new(method, path, name, wants, move |call| std::future::ready(handler(&call)))
    }

    pub(crate) fn full_path(&self) -> String {
        let whole = ["/api/", "/oauth/", "/.well-known/"].iter().any(|root| self.path.starts_with(root));
        if whole { self.path.to_owned() } else { format!("/api/v1{}", self.path) }
    }

    /// Whether somebody who is nobody yet becomes somebody by it.
    pub(crate) fn signs_in(&self) -> bool {
        self.path == "/login" || self.path.starts_with("/login/") && self.target == Target::Public
    }

    /// Whether the guard writes down what came of it: changes, and being inside something.
    pub(super) fn audited(&self) -> bool {
        (self.method.writes() || self.verb == Verb::Enter) && !self.audits_itself
    }

    pub(crate) fn says(self, summary: &'static str) -> Self {
        Self { summary, ..self }
    }

    pub(crate) fn query<Q: JsonSchema>(mut self) -> Self {
        self.queries.push(SchemaGenerator::subschema_for::<Q>);
        self
    }

    pub(crate) fn takes<B: JsonSchema>(self) -> Self {
        Self { body: Some(SchemaGenerator::subschema_for::<B>), ..self }
    }

    /// What the body does not say, a template that it names does; the guard puts it there.
    pub(crate) fn begins_from(self, kind: TemplateKind) -> Self {
        Self { template: Some(kind), ..self }
    }

    pub(crate) fn answers<A: JsonSchema>(self) -> Self {
        Self { answers: Answers::Json(SchemaGenerator::subschema_for::<A>), ..self }
    }

    pub(crate) fn answers_text(self, kind: &'static str) -> Self {
        Self { answers: Answers::Text(kind), ..self }
    }

    pub(crate) fn redirects(self) -> Self {
        Self { answers: Answers::Redirect, ..self }
    }

    pub(crate) fn audits_itself(self) -> Self {
        Self { audits_itself: true, ..self }
    }

    /// For routes of everyone only: nobody is signed in there, whatever is sent.
    pub(crate) fn foreign(self) -> Self {
        Self { foreign: true, ..self }
    }
}

/// All routes.
pub(crate) fn table() -> Vec<Route> {
    let parts = [
        crate::identity::routes(),
        crate::workspace::routes(),
        crate::job::routes(),
        crate::pod::routes(),
        crate::template::routes(),
        crate::volume::routes(),
        crate::port::routes(),
        crate::app::routes(),
        crate::ssh::routes(),
        crate::image::routes(),
        crate::profile::routes(),
        crate::quota::routes(),
        crate::node::routes(),
        crate::account::routes(),
        crate::policy::routes(),
        crate::oversight::routes(),
        crate::stream::routes(),
        crate::audit::routes(),
        crate::issuer::routes(),
        crate::kubeconfig::routes(),
        crate::openapi::routes(),
    ];
    parts.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn routes_have_their_own_names_and_say_what_they_do() {
        let table = table();
        let names: BTreeSet<_> = table.iter().map(|route| route.name).collect();
        assert_eq!(names.len(), table.len(), "two routes have one name");
        for route in &table {
            assert!(!route.summary.is_empty(), "{route:?} does not say what it does");
            assert!(route.method.writes() || route.body.is_none(), "{route:?} reads, and takes a body");
            assert!(!route.foreign || route.target == Target::Public, "{route:?} knows nobody");
            // A WebSocket begins with GET; the guard looks where it comes from.
            let reads = matches!(route.verb, Verb::See | Verb::Read | Verb::Enter);
            assert!(
                route.method.writes() != reads || route.target == Target::Public,
                "{route:?} wants {:?}",
                route.verb
            );
        }
    }
}
