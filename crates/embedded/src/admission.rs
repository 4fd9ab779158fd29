//! What stands between a well-formed request and the store: rules that look beyond the object itself.
//!
//! The order is the real server's. A write is decoded and defaulted, then
//!
//! 1. mutating plugins fill in what the cluster knows better, mutating webhooks what others do (`Server::mutate`),
//! 2. the kind's own rules validate the result (`verbs`),
//! 3. validating plugins and webhooks may refuse it (`Server::review`),
//! 4. ResourceQuotas are charged, in the transaction that stores the object ([`quota::Charge`]).
//!
//! A dry run goes through all of it and charges nothing. Each plugin is a file: pure functions that take the object
//! and the facts, and answer a change or a refusal. This file reads the facts from the store.

mod attributes;
mod connect;
mod default_class;
mod json;
mod limit_range;
mod namespace;
mod node_taint;
mod pod_security;
mod priority;
mod quota;
mod resize;
mod service_account;
mod storage_protection;
mod tolerations;
mod topology;
mod webhook;

use std::sync::Arc;

use serde_json::Value;

pub(crate) use attributes::{Action, Attributes, Options};
pub(crate) use quota::Charge;
pub(crate) use webhook::CONDITION_NAMES;

use self::webhook::{Rounds, Subject};
use crate::resource::Subresource;
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Entry, Key};

/// Which plugins run, where that is a choice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Whether Pods need a service account. A cluster without controllers has nobody who makes the accounts, as
    /// test servers commonly are, and then Pods do without.
    pub(crate) service_accounts: bool,
}

/// What the client should know, sent as `Warning` headers.
pub(crate) type Warnings = Vec<String>;

/// What the mutating side of admission did besides changing the object.
#[derive(Debug, Default)]
pub(crate) struct Mutated {
    pub(crate) warnings: Warnings,
    /// Whether a webhook changed the object, so that nothing about it can be taken for granted.
    pub(crate) rewritten: bool,
}

impl Server {
    /// Lets the mutating plugins at an object that is to be created or changed.
    pub(crate) async fn mutate(
        &self,
        attributes: &Attributes<'_>,
        object: &mut Value,
        old: Option<&Value>,
    ) -> Result<Mutated, ApiError> {
        self.check_namespace(attributes)?;
        self.run_mutating_plugins(attributes, object, old).await?;
        if asks_for_itself(attributes.subresource) {
            return Ok(Mutated::default());
        }
        let hooks = self.mutating_webhooks(attributes);
        if hooks.is_empty() {
            return Ok(Mutated::default());
        }
        let mut rounds = Rounds::default();
        let mut warnings =
            self.ask_mutating(&hooks, &mut rounds, attributes, Some(&mut *object), old).await?;
        if rounds.changed() {
            let before = object.clone();
            self.run_mutating_plugins(attributes, object, old).await?;
            rounds.begin_second(*object != before);
            warnings
                .extend(self.ask_mutating(&hooks, &mut rounds, attributes, Some(&mut *object), old).await?);
        }
        Ok(Mutated { warnings, rewritten: rounds.changed() })
    }

    /// Asks the webhooks about something sent to a part of an object that is not the object: a binding, a scale, the
    /// request for a token, the options of a stream. On deletion there is no object, only the old one.
    pub(crate) async fn admit_part(
        &self,
        attributes: &Attributes<'_>,
        mut object: Option<&mut Value>,
        old: Option<&Value>,
    ) -> Result<Warnings, ApiError> {
        let mut warnings = Warnings::new();
        let hooks = self.mutating_webhooks(attributes);
        if !hooks.is_empty() {
            let mut rounds = Rounds::default();
            let given = object.as_deref_mut();
            warnings = self.ask_mutating(&hooks, &mut rounds, attributes, given, old).await?;
        }
        let subject = Subject { attributes, object: object.as_deref(), old };
        warnings.extend(self.ask_validating(&subject).await?);
        Ok(warnings)
    }

    async fn run_mutating_plugins(
        &self,
        attributes: &Attributes<'_>,
        object: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), ApiError> {
        if attributes.subresource.is_some() {
            return Ok(());
        }
        match (&*attributes.resource.table, attributes.action) {
            ("pods", Action::Create) => {
                limit_range::default_pod(object, &self.limit_ranges(attributes.namespace));
                self.give_service_account(attributes, object).await?;
                self.give_priority(attributes, object)?;
                tolerations::add_defaults(object);
                self.label_by_node(object);
            }
            ("pods", Action::Update) => {
                priority::keep(object, old);
                tolerations::add_defaults(object);
                self.label_by_node(object);
            }
            ("nodes", Action::Create) => node_taint::add(object),
            ("persistentvolumeclaims", Action::Create) => {
                default_class::of_claim(object, &self.store.list(default_class::STORAGE_CLASSES, None).rows);
                storage_protection::add(object, storage_protection::CLAIM);
            }
            ("persistentvolumes", Action::Create) => {
                storage_protection::add(object, storage_protection::VOLUME);
            }
            ("ingresses.networking.k8s.io", Action::Create) => {
                default_class::of_ingress(
                    object,
                    &self.store.list(default_class::INGRESS_CLASSES, None).rows,
                );
            }
            _ => {}
        }
        Ok(())
    }

    /// Asks the validating plugins and webhooks about a valid object.
    pub(crate) async fn review(
        &self,
        attributes: &Attributes<'_>,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<Warnings, ApiError> {
        let mut warnings = Warnings::new();
        let part = attributes.subresource;
        if part.is_none() || part == Some(Subresource::Resize) {
            self.run_validating_plugins(attributes, object, old).await?;
        }
        // What can give a Pod other containers, or change those it has.
        if matches!(part, None | Some(Subresource::Resize | Subresource::EphemeralContainers)) {
            warnings = self.check_pod_security(attributes, object, old)?;
        }
        if !asks_for_itself(attributes.subresource) {
            let subject = Subject { attributes, object: Some(object), old };
            warnings.extend(self.ask_validating(&subject).await?);
        }
        Ok(warnings)
    }

    async fn run_validating_plugins(
        &self,
        attributes: &Attributes<'_>,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<(), ApiError> {
        match (&*attributes.resource.table, attributes.action) {
            ("pods", Action::Create) => {
                limit_range::check_pod(object, &self.limit_ranges(attributes.namespace))
                    .map_err(|why| attributes.forbidden(why))?;
                self.check_service_account(attributes, object).await
            }
            ("pods", Action::Update) if attributes.subresource == Some(Subresource::Resize) => {
                limit_range::check_pod(object, &self.limit_ranges(attributes.namespace))
                    .map_err(|why| attributes.forbidden(why))
            }
            ("persistentvolumeclaims", Action::Create | Action::Update) => {
                if !old.is_some_and(|old| old["metadata"]["deletionTimestamp"].is_string()) {
                    limit_range::check_claim(object, &self.limit_ranges(attributes.namespace))
                        .map_err(|why| attributes.forbidden(why))?;
                }
                let class = |name: &str| self.stored(default_class::STORAGE_CLASSES, "", name);
                resize::check(object, old, class).map_err(|why| attributes.forbidden(why))
            }
            (priority::TABLE, Action::Create | Action::Update) => {
                let classes = self.store.list(priority::TABLE, None).rows;
                priority::check_class(object, attributes.action, &classes)
                    .map_err(|why| attributes.forbidden(why))
            }
            _ => Ok(()),
        }
    }

    /// Asks plugins and webhooks whether an object may go.
    pub(crate) async fn admit_deletion(
        &self,
        attributes: &Attributes<'_>,
        object: &Value,
    ) -> Result<Warnings, ApiError> {
        match &*attributes.resource.table {
            "namespaces" => namespace::check_deletion(attributes)?,
            priority::TABLE => priority::check_deletion(attributes)?,
            _ => {}
        }
        self.admit_part(attributes, None, Some(object)).await
    }

    fn limit_ranges(&self, namespace: &str) -> Vec<Value> {
        self.store.list("limitranges", Some(namespace)).rows.iter().map(|entry| entry.value()).collect()
    }

    /// A stored object by the name of its table.
    fn stored(&self, table: &str, namespace: &str, name: &str) -> Option<Arc<Entry>> {
        self.store.get(&Key::new(&table.into(), namespace, name))
    }
}

/// Whether webhooks hear of a request before it becomes a change of the object: what is sent is of another kind.
fn asks_for_itself(subresource: Option<Subresource>) -> bool {
    matches!(subresource, Some(Subresource::Binding | Subresource::Scale))
}
