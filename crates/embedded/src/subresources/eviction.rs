//! Deleting a Pod if its disruption budget allows.

use axum::response::Response;
use http::StatusCode;
use maar_machinery::selector::LabelSelector;
use serde_json::{Value, json};

use crate::admission::{Action, Attributes};
use crate::request::WriteOptions;
use crate::resource::{Resource, Subresource};
use crate::server::{Call, Caller, Server, respond_value};
use crate::status::ApiError;
use crate::store::{Entry, Key};
use crate::verbs::{Changed, DeleteOptions, decode_body};

impl Server {
    pub(super) async fn on_eviction(&self, call: &Call<'_>, body: &[u8]) -> Result<Response, ApiError> {
        let eviction = decode_body(body)?;
        let named = eviction["metadata"]["name"].as_str().unwrap_or_default();
        if named != call.target.name {
            return Err(ApiError::bad_request("name in URL does not match name in Eviction object"));
        }
        let mut options: DeleteOptions = match eviction.get("deleteOptions") {
            None | Some(Value::Null) => DeleteOptions::default(),
            Some(options) => serde_json::from_value(options.clone())
                .map_err(|error| ApiError::bad_request(format!("deleteOptions: {error}")))?,
        };
        let attributes = Attributes::of_call(call, Subresource::Eviction, Action::Create)?;
        self.admit_part(&attributes, Some(&mut eviction.clone()), None).await?;
        if WriteOptions::parse(call.query)?.dry_run {
            options.dry_run = vec!["All".to_owned()];
        }
        self.evict(call.caller, &call.resource, &call.key(), &options).await?;
        let status =
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
        Ok(respond_value(StatusCode::CREATED, &status))
    }

    async fn evict(
        &self,
        caller: &Caller,
        pods: &Resource,
        key: &Key,
        options: &DeleteOptions,
    ) -> Result<(), ApiError> {
        let entry = self.get(pods, key)?;
        let pod = entry.value();
        let phase = pod["status"]["phase"].as_str().unwrap_or_default();
        // Pods that do not run, or are going already, disturb nobody.
        let harmless = matches!(phase, "Succeeded" | "Failed" | "Pending") || entry.meta.deleting;
        if !harmless {
            let write = WriteOptions { dry_run: !options.dry_run.is_empty(), ..WriteOptions::default() };
            self.take_disruption(caller, key, (&entry, &pod), &write).await?;
        }
        let precondition = DeleteOptions::of_uid(&entry.meta.uid).preconditions;
        let mut options = DeleteOptions {
            preconditions: options.preconditions.clone().or(precondition),
            ..options.clone()
        };
        if options.dry_run.is_empty() {
            self.mark_evicted(caller, pods, key, &mut options).await?;
        }
        // Webhooks were asked about the eviction; that it is a deletion they need not hear too.
        self.remove(pods, key, &options)?;
        Ok(())
    }

    /// Notes in the Pod why it goes, for whoever sees it before it has gone.
    async fn mark_evicted(
        &self,
        caller: &Caller,
        pods: &Resource,
        key: &Key,
        options: &mut DeleteOptions,
    ) -> Result<(), ApiError> {
        let now = self.world.now_text();
        let wanted = options.clone();
        let change = |old: &Value| {
            let text = |field: &str| old["metadata"][field].as_str().unwrap_or_default();
            wanted.check(pods, key, text("uid"), text("resourceVersion"))?;
            let mut object = old.clone();
            set_disrupted(&mut object, &now);
            Ok(Changed { object, warnings: Vec::new(), fields_settled: false })
        };
        let part = Some(Subresource::Status);
        let written = self.modify(caller, pods, key, part, &change, &WriteOptions::default()).await?;
        // The revision that was asked for is not the current one any more, by our own doing.
        if let Some(revision) =
            options.preconditions.as_mut().and_then(|wanted| wanted.resource_version.as_mut())
        {
            *revision = written.entry.revision.to_string();
        }
        Ok(())
    }

    /// Uses up one disruption of the Pod's budget, or refuses.
    async fn take_disruption(
        &self,
        caller: &Caller,
        key: &Key,
        (entry, pod): (&Entry, &Value),
        write: &WriteOptions,
    ) -> Result<(), ApiError> {
        let budgets = self.resource("policy", "v1", "poddisruptionbudgets")?;
        let mut found = Vec::new();
        for budget in self.store.list(&budgets.table, Some(key.namespace())).rows {
            let value = budget.value();
            let selects = LabelSelector::from_object(&value["spec"]["selector"])
                .is_ok_and(|selector| value["spec"]["selector"].is_object() && selector.matches(&entry.meta));
            if selects {
                found.push((budget.meta.name.to_string(), value));
            }
        }
        let (name, budget) = match found.as_slice() {
            [] => return Ok(()),
            [one] => one,
            _ => {
                return Err(ApiError::internal(
                    "this pod has more than one PodDisruptionBudget, which the eviction subresource does not support",
                ));
            }
        };
        if always_allowed(budget, pod) {
            return Ok(());
        }
        let budget_key = Key::new(&budgets.table, key.namespace(), name);
        let now = self.world.now_text();
        let change = |old: &Value| {
            let mut object = old.clone();
            let allowed = old["status"]["disruptionsAllowed"].as_i64().unwrap_or(0);
            let observed = old["status"]["observedGeneration"].as_i64().unwrap_or(0);
            if observed < old["metadata"]["generation"].as_i64().unwrap_or(0) || allowed <= 0 {
                return Err(refused(name, old));
            }
            object["status"]["disruptionsAllowed"] = json!(allowed - 1);
            object["status"]["disruptedPods"][key.name()] = json!(now);
            Ok(Changed { object, warnings: Vec::new(), fields_settled: false })
        };
        let part = Some(Subresource::Status);
        self.modify(caller, &budgets, &budget_key, part, &change, write).await?;
        Ok(())
    }
}

/// The condition that tells an eviction from an end of the Pod's own.
fn set_disrupted(pod: &mut Value, now: &str) {
    let status = &mut pod["status"];
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(conditions) = status["conditions"].as_array_mut() else { return };
    let before = conditions.iter().position(|condition| condition["type"] == "DisruptionTarget");
    let since = match before.map(|at| conditions.remove(at)) {
        Some(before) if before["status"] == "True" => before["lastTransitionTime"].clone(),
        _ => json!(now),
    };
    conditions.push(json!({
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "lastProbeTime": null,
        "lastTransitionTime": since,
    }));
}

/// A Pod that is not healthy counts for no budget if the budget says so, or if enough others are.
fn always_allowed(budget: &Value, pod: &Value) -> bool {
    let ready = pod["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    if ready {
        return false;
    }
    let count = |field: &str| budget["status"][field].as_i64().unwrap_or(0);
    budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
        || (count("currentHealthy") >= count("desiredHealthy") && count("desiredHealthy") > 0)
}

fn refused(name: &str, budget: &Value) -> ApiError {
    let status = &budget["status"];
    let mut error = ApiError::new(
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
    );
    let message = format!(
        "The disruption budget {name} needs {} healthy pods and has {} currently",
        status["desiredHealthy"].as_i64().unwrap_or(0),
        status["currentHealthy"].as_i64().unwrap_or(0)
    );
    error.details = Some(json!({"causes": [{"reason": "DisruptionBudget", "message": message}]}));
    error
}
