//! Webhooks: programs outside the cluster that may change or refuse what is written.
//!
//! Mutating ones are asked one after another, each about what the one before left; validating ones all at once.
//! `matching` decides who is asked, `review` holds the question and the answer, `connection` carries them.

mod configuration;
mod connection;
mod matching;
mod resolve;
mod review;
mod rewrite;
mod rounds;

use std::sync::Arc;

use maar_machinery::schema::Condition;
use serde_json::{Value, json};

use self::configuration::{Configuration, Webhook};
use self::connection::Way;
use self::matching::{Asked, Place};
use self::review::{Named, Question, Verdict};
pub(super) use self::rounds::Rounds;
use super::{Action, Attributes, Options, Warnings};
use crate::resource::{Resource, Subresource};
use crate::server::Server;
use crate::status::ApiError;

/// What conditions may look at.
pub(crate) const CONDITION_NAMES: [&str; 3] = ["object", "oldObject", "request"];

/// One webhook of a configuration that is in force.
#[derive(Clone, Debug)]
pub(super) struct Hook(Arc<Configuration>, usize);

impl Hook {
    fn webhook(&self) -> &Webhook {
        &self.0.webhooks[self.1]
    }
}

/// A request as webhooks see it: the object is absent on deletion, the old one on creation.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) attributes: &'a Attributes<'a>,
    pub(super) object: Option<&'a Value>,
    pub(super) old: Option<&'a Value>,
}

impl Server {
    /// Whether there is anybody to ask at all.
    pub(crate) fn has_webhooks(&self) -> bool {
        [configuration::MUTATING, configuration::VALIDATING].iter().any(|table| self.store.count(table) > 0)
    }

    /// The mutating webhooks, in the order of their configurations' names.
    pub(super) fn mutating_webhooks(&self, attributes: &Attributes<'_>) -> Vec<Hook> {
        self.hooks(configuration::MUTATING, attributes)
    }

    fn hooks(&self, table: &str, attributes: &Attributes<'_>) -> Vec<Hook> {
        // Otherwise a broken webhook could keep itself from being repaired.
        if matches!(&*attributes.resource.table, configuration::MUTATING | configuration::VALIDATING) {
            return Vec::new();
        }
        let rows = self.store.list(table, None).rows;
        let read = rows.iter().filter_map(|entry| entry.view::<Configuration>());
        read.flat_map(|one| (0..one.webhooks.len()).map(move |index| Hook(Arc::clone(&one), index))).collect()
    }

    /// Asks the mutating webhooks whose turn it is, and lets them change the object.
    pub(super) async fn ask_mutating(
        &self,
        hooks: &[Hook],
        rounds: &mut Rounds,
        attributes: &Attributes<'_>,
        object: Option<&mut Value>,
        old: Option<&Value>,
    ) -> Result<Warnings, ApiError> {
        let mut object = object;
        let mut warnings = Warnings::new();
        for (index, hook) in hooks.iter().enumerate() {
            let webhook = hook.webhook();
            let subject = Subject { attributes, object: object.as_deref(), old };
            if !rounds.is_due(index) {
                continue;
            }
            let Some(place) = self.wanted(webhook, &subject)? else { continue };
            let verdict = self.ask(webhook, &place, &subject, true).await?;
            let mut changed = false;
            if let Some(verdict) = verdict {
                warnings.extend(verdict.warnings);
                if let Some(patch) = verdict.patch {
                    let Some(object) = object.as_deref_mut() else {
                        return Err(ApiError::internal(format_args!(
                            "admission webhook {:?} attempted to modify the object, which is not supported \
                             for this operation",
                            webhook.name
                        )));
                    };
                    let new = rewrite::apply(attributes, &place, &patch, object)?;
                    changed = *object != new;
                    *object = new;
                }
            }
            rounds.asked(index, changed, webhook.is_reinvocable());
        }
        Ok(warnings)
    }

    /// Asks all validating webhooks that are concerned; the first refusal counts.
    pub(super) async fn ask_validating(&self, subject: &Subject<'_>) -> Result<Warnings, ApiError> {
        let hooks = self.hooks(configuration::VALIDATING, subject.attributes);
        if hooks.is_empty() {
            return Ok(Warnings::new());
        }
        let mut asking = Vec::new();
        for hook in &hooks {
            if let Some(place) = self.wanted(hook.webhook(), subject)? {
                asking.push(async move { self.ask(hook.webhook(), &place, subject, false).await });
            }
        }
        let mut warnings = Warnings::new();
        for verdict in futures::future::join_all(asking).await {
            warnings.extend(verdict?.map(|verdict| verdict.warnings).unwrap_or_default());
        }
        Ok(warnings)
    }

    /// The version of the resource in which a webhook wants to hear of the request, if it does.
    fn wanted(&self, webhook: &Webhook, subject: &Subject<'_>) -> Result<Option<Arc<Resource>>, ApiError> {
        let Attributes { resource, subresource, action, .. } = *subject.attributes;
        let subresource = subresource.map_or("", Subresource::name);
        let asked = Asked { operation: action.name(), namespaced: resource.namespaced };
        let registry = self.registry();
        let same: Vec<&Arc<Resource>> =
            registry.iter().filter(|other| other.table == resource.table).collect();
        let places = same.iter().map(|other| place(other, subresource));
        let Some(found) = matching::wanted(webhook, asked, place(resource, subresource), places) else {
            return Ok(None);
        };
        let selected = self.selects_namespace(webhook, subject)
            && matching::selects_object(webhook, subject.object, subject.old);
        if !selected || !self.meets_conditions(webhook, subject)? {
            return Ok(None);
        }
        let mut same = same.into_iter();
        Ok(same.find(|other| other.group == found.group && other.version == found.version).cloned())
    }

    fn selects_namespace(&self, webhook: &Webhook, subject: &Subject<'_>) -> bool {
        let Attributes { resource, namespace, .. } = *subject.attributes;
        if resource.is("namespaces") {
            return subject
                .object
                .or(subject.old)
                .is_none_or(|namespace| matching::selects_as_namespace(webhook, namespace));
        }
        if namespace.is_empty() {
            return true;
        }
        let stored = self.stored("namespaces", "", namespace);
        stored.is_some_and(|entry| matching::selects_namespace(webhook, &entry.meta))
    }

    /// Whether all conditions hold. One that cannot be judged counts as the webhook's failure.
    fn meets_conditions(&self, webhook: &Webhook, subject: &Subject<'_>) -> Result<bool, ApiError> {
        if webhook.match_conditions.is_empty() {
            return Ok(true);
        }
        let question = self.question(subject, subject.attributes.resource);
        let mut request = question.review("v1")["request"].take();
        if let Some(fields) = request.as_object_mut() {
            fields.retain(|field, _| field != "object" && field != "oldObject");
        }
        let values = [
            ("object", subject.object.unwrap_or(&Value::Null)),
            ("oldObject", subject.old.unwrap_or(&Value::Null)),
            ("request", &request),
        ];
        let mut errors = Vec::new();
        for condition in &webhook.match_conditions {
            let held = Condition::parse(&condition.expression, &CONDITION_NAMES)
                .and_then(|parsed| parsed.holds(&values));
            match held {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(why) => {
                    errors.push(format!("expression '{}' resulted in error: {why}", condition.expression));
                }
            }
        }
        match errors.as_slice() {
            [] => Ok(true),
            _ if webhook.fails_open() => Ok(false),
            [one] => Err(subject.attributes.forbidden(one)),
            many => Err(subject.attributes.forbidden(format_args!("[{}]", many.join(", ")))),
        }
    }

    fn question<'a>(&self, subject: &Subject<'a>, place: &Resource) -> Question<'a> {
        let Attributes { caller, resource, namespace, name, subresource, action, dry_run, generated, .. } =
            *subject.attributes;
        let shown =
            |object: Option<&Value>| object.map(|object| rewrite::shown(subject.attributes, place, object));
        Question {
            uid: self.world.uid(),
            named: named(place, subresource),
            requested: named(resource, subresource),
            subresource: subresource.map_or("", Subresource::name),
            operation: action.name(),
            // A Namespace is within itself.
            namespace: if resource.is("namespaces") { name } else { namespace },
            name: if generated { "" } else { name },
            user: &caller.user,
            object: shown(subject.object),
            old: shown(subject.old),
            options: options(subject.attributes),
            dry_run,
        }
    }

    /// Asks one webhook. Nothing if it cannot be asked and that does not matter.
    async fn ask(
        &self,
        webhook: &Webhook,
        place: &Resource,
        subject: &Subject<'_>,
        mutating: bool,
    ) -> Result<Option<Verdict>, ApiError> {
        let name = &webhook.name;
        if subject.attributes.dry_run && !webhook.allows_dry_run() {
            let why = format!("admission webhook {name:?} does not support dry run");
            return Err(ApiError::bad_request(why));
        }
        match self.consult(webhook, place, subject, mutating).await {
            Ok(verdict) if verdict.allowed => Ok(Some(verdict)),
            Ok(verdict) => Err(verdict.refusal(name)),
            Err(why) if webhook.fails_open() => {
                tracing::warn!(webhook.name = %name, %why, "a webhook could not be asked; going on without it");
                Ok(None)
            }
            Err(why) => Err(ApiError::internal(format_args!("failed calling webhook {name:?}: {why}"))),
        }
    }

    async fn consult(
        &self,
        webhook: &Webhook,
        place: &Resource,
        subject: &Subject<'_>,
        mutating: bool,
    ) -> Result<Verdict, String> {
        let version = review::version(webhook)
            .ok_or("webhook does not accept known AdmissionReview versions (v1, v1beta1)")?;
        let question = self.question(subject, place);
        let timeout = webhook.timeout_seconds();
        let address = self.resolve_webhook(&webhook.client_config, timeout)?;
        let dial = self.webhooks.read().clone();
        let way = Way {
            address,
            ca_bundle: webhook.client_config.ca_bundle.as_deref().unwrap_or_default(),
            timeout,
            dial: dial.as_deref(),
            clock: self.world.clock.clone(),
        };
        let answer = connection::ask(&way, question.review(version).to_string()).await?;
        let uid = question.uid;
        Verdict::read(&answer, version, &uid, mutating)
    }
}

fn place<'a>(resource: &'a Resource, subresource: &'a str) -> Place<'a> {
    let Resource { group, version, plural, .. } = resource;
    Place { group, version, resource: plural, subresource }
}

/// What the kind of a request's object is: parts of objects have kinds of their own.
fn named(resource: &Resource, subresource: Option<Subresource>) -> Named {
    let Resource { group, version, kind, plural, .. } = resource;
    let proxy = format!("{kind}ProxyOptions");
    let (kind_group, kind_version, kind) = match subresource {
        Some(Subresource::Exec) => ("", "v1", "PodExecOptions"),
        Some(Subresource::Attach) => ("", "v1", "PodAttachOptions"),
        Some(Subresource::PortForward) => ("", "v1", "PodPortForwardOptions"),
        Some(Subresource::Proxy) => ("", "v1", proxy.as_str()),
        Some(Subresource::Binding) => ("", "v1", "Binding"),
        Some(Subresource::Eviction) => ("policy", "v1", "Eviction"),
        Some(Subresource::Scale) => ("autoscaling", "v1", "Scale"),
        Some(Subresource::Token) => ("authentication.k8s.io", "v1", "TokenRequest"),
        _ => (group.as_str(), version.as_str(), kind.as_str()),
    };
    Named {
        kind: json!({"group": kind_group, "version": kind_version, "kind": kind}),
        resource: json!({"group": group, "version": version, "resource": plural}),
    }
}

/// The options as the object that webhooks know them by.
fn options(attributes: &Attributes<'_>) -> Value {
    let kind = match attributes.action {
        Action::Create => "CreateOptions",
        Action::Update => "UpdateOptions",
        Action::Delete => "DeleteOptions",
        Action::Connect => return Value::Null,
    };
    let mut shown = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
    if attributes.dry_run {
        shown["dryRun"] = json!(["All"]);
    }
    match attributes.options {
        Options::None => {}
        Options::Write(options) => {
            if let Some(manager) = &options.field_manager {
                shown["fieldManager"] = json!(manager);
            }
        }
        Options::Delete(options) => {
            if let Some(seconds) = options.grace_period_seconds {
                shown["gracePeriodSeconds"] = json!(seconds);
            }
            if let Some(policy) = options.propagation_policy {
                shown["propagationPolicy"] = json!(policy);
            }
        }
    }
    shown
}
