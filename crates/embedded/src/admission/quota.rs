//! ResourceQuotas: what is created is charged to them, in the transaction that stores it.
//!
//! A quota is enforced as far as its status goes: `status.hard` is what holds, `status.used` what is taken. Charges
//! only ever add; what is given back is counted anew by the quota controller.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use maar_quantities::ResourceList;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::json::items;
use super::{Action, Attributes};
use crate::quota;
use crate::request::WriteOptions;
use crate::resource::Subresource;
use crate::server::{Caller, Server};
use crate::status::ApiError;
use crate::store::{self, Expect, Key, Operation};

const TABLE: &str = "resourcequotas";

/// What a Pod's containers must say if a quota counts it.
const REQUIRED: [&str; 6] =
    ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];

/// The changes of quotas that go into one transaction with an object.
#[derive(Debug, Default)]
pub(crate) struct Charge(Vec<Operation>);

impl Charge {
    /// The transaction: the object's own change first.
    pub(crate) fn with(self, own: Operation) -> Vec<Operation> {
        let mut operations = vec![own];
        operations.extend(self.0);
        operations
    }

    /// Whether a row that moved under the transaction was a quota, so that charging anew may help.
    pub(crate) fn concerns(stale: &Key, own: &Key) -> bool {
        &*stale.table == TABLE && stale != own
    }
}

impl Server {
    /// Charges an object to the quotas of its namespace, or refuses it. A dry run is only checked.
    pub(crate) fn charge(
        &self,
        attributes: &Attributes<'_>,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<Charge, ApiError> {
        if attributes.namespace.is_empty() || !is_counted(attributes, object, old) {
            return Ok(Charge::default());
        }
        let entries = self.store.list(TABLE, Some(attributes.namespace)).rows;
        if entries.is_empty() {
            return Ok(Charge::default());
        }
        let quotas: Vec<Value> = entries.iter().map(|entry| entry.value()).collect();
        let resource = &*attributes.resource.table;
        let now = self.world.clock.now();
        let charged =
            charged(&quotas, resource, object, old, now).map_err(|why| attributes.forbidden(why))?;
        if attributes.dry_run {
            return Ok(Charge::default());
        }
        let mut operations = Vec::new();
        for ((entry, before), used) in entries.iter().zip(&quotas).zip(charged) {
            let Some(used) = used else { continue };
            let key = Key::new(&TABLE.into(), &entry.meta.namespace, &entry.meta.name);
            operations.push(self.put_used(key, entry.revision, before, &used)?);
        }
        Ok(Charge(operations))
    }

    fn put_used(
        &self,
        key: Key,
        revision: u64,
        before: &Value,
        used: &ResourceList,
    ) -> Result<Operation, ApiError> {
        let quotas = self.resource("", "v1", TABLE)?;
        let mut after = before.clone();
        after["status"]["used"] = json!(used);
        let (server, options) = (Caller::component("kube-apiserver"), WriteOptions::default());
        let part = Some(Subresource::Status);
        self.own_fields(&server, &quotas, Some(before), &mut after, part, &options);
        Ok(store::put(key, &after, quotas.fields_of(&after), Expect::Revision(revision)))
    }
}

/// Whether the write can take something of a quota.
fn is_counted(attributes: &Attributes<'_>, object: &Value, old: Option<&Value>) -> bool {
    if attributes.subresource == Some(Subresource::Resize) {
        return true;
    }
    // Events come and go by themselves.
    if attributes.subresource.is_some() || &*attributes.resource.table == "events" {
        return false;
    }
    match (attributes.action, &*attributes.resource.table) {
        (Action::Create, _) | (Action::Update, "services" | "persistentvolumeclaims") => true,
        // Of a Pod only its deadline can change what it counts for.
        (Action::Update, "pods") => {
            let ends = |pod: &Value| pod["spec"]["activeDeadlineSeconds"].is_number();
            old.is_some_and(|old| ends(old) != ends(object))
        }
        _ => false,
    }
}

/// For each quota what is used with the object, where that changes; or why the object does not fit.
fn charged(
    quotas: &[Value],
    resource: &str,
    object: &Value,
    old: Option<&Value>,
    now: Timestamp,
) -> Result<Vec<Option<ResourceList>>, String> {
    let mut restricted = Vec::with_capacity(quotas.len());
    for quota in quotas {
        restricted.push(restrictions(quota, resource, object)?);
    }
    let usage = quota::usage(resource, object, now);
    let mut all = Vec::with_capacity(quotas.len());
    for (quota, names) in quotas.iter().zip(restricted) {
        if names.is_empty() {
            all.push(None);
            continue;
        }
        let before = old.filter(|old| quota::matches_scopes(quota, resource, old));
        let before = before.map(|old| quota::usage(resource, old, now)).unwrap_or_default();
        let mut more = ResourceList::new();
        for name in names {
            let Some(amount) = usage.get(&name) else { continue };
            let delta = *amount - before.get(&name).copied().unwrap_or_default();
            if !delta.is_zero() && !delta.is_negative() {
                more.insert(name, delta);
            }
        }
        all.push(added(quota, &more)?);
    }
    Ok(all)
}

/// The names by which a quota limits the object, none if it is not concerned.
fn restrictions(quota: &Value, resource: &str, object: &Value) -> Result<Vec<String>, String> {
    let hard = quota["status"]["hard"].as_object().into_iter().flatten();
    let names: Vec<String> =
        hard.map(|(name, _)| name.clone()).filter(|name| quota::tracks(resource, name)).collect();
    if names.is_empty() || !quota::matches_scopes(quota, resource, object) {
        return Ok(Vec::new());
    }
    let own = name(quota);
    if resource == "pods" {
        check_containers(object, &names).map_err(|why| format!("failed quota: {own}: {why}"))?;
    }
    if names.iter().any(|name| quota["status"]["used"].get(name).is_none()) {
        return Err(format!("status unknown for quota: {own}, resources: {}", names.join(",")));
    }
    Ok(names)
}

fn name(quota: &Value) -> &str {
    quota["metadata"]["name"].as_str().unwrap_or_default()
}

/// A quota on CPU or memory asks every container to say how much it takes.
fn check_containers(pod: &Value, names: &[String]) -> Result<(), String> {
    let set = |value: &Value| value.as_object().is_some_and(|map| !map.is_empty());
    let whole = &pod["spec"]["resources"];
    if set(&whole["requests"]) || set(&whole["limits"]) {
        return Ok(());
    }
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for list in ["containers", "initContainers"] {
        for container in items(&pod["spec"], list) {
            let says = |part: &str, name: &str| container["resources"][part].get(name).is_some();
            for name in names.iter().map(String::as_str).filter(|name| REQUIRED.contains(name)) {
                let said = match name.split_once('.') {
                    Some((part, name)) => says(part, name),
                    None => says("requests", name),
                };
                if !said {
                    let who = container["name"].as_str().unwrap_or_default();
                    missing.entry(name).or_default().insert(who);
                }
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let each = missing.into_iter().map(|(name, containers)| {
        format!("{name} for: {}", containers.into_iter().collect::<Vec<_>>().join(","))
    });
    Err(format!("must specify {}", each.collect::<Vec<_>>().join("; ")))
}

/// What is used once `more` is added, or that it is too much.
fn added(quota: &Value, more: &ResourceList) -> Result<Option<ResourceList>, String> {
    if more.is_empty() {
        return Ok(None);
    }
    let read = |field: &str| ResourceList::deserialize(&quota["status"][field]).unwrap_or_default();
    let (hard, before) = (read("hard"), read("used"));
    let mut used = before.clone();
    used += more;
    let exceeded: Vec<&String> =
        more.iter().map(|(name, _)| name).filter(|name| used.get(name) > hard.get(name)).collect();
    if exceeded.is_empty() {
        return Ok(Some(used));
    }
    let show = |list: &ResourceList| {
        let each = exceeded.iter().map(|name| format!("{name}={}", list.get(name)));
        each.collect::<Vec<_>>().join(",")
    };
    Err(format!(
        "exceeded quota: {}, requested: {}, used: {}, limited: {}",
        name(quota),
        show(more),
        show(&before),
        show(&hard)
    ))
}

#[cfg(test)]
mod tests;
