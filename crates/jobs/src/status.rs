//! Writing a status whole.
//!
//! Unlike [`maar_controller::apply::Writer::apply_status`] this also takes fields away that are no longer said, which a
//! job's status needs (a retry that is over, cards that are given back).

use std::fmt::Debug;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{
    Api, Resource, ResourceExt as _,
    api::{Patch, PatchParams},
};
use maar_controller::Error;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

/// Longest message of a phase or condition.
const LONGEST: usize = 1000;

/// Sets the status under `manager`, on top of the version that was seen and no other.
pub(crate) async fn write<K>(
    api: &Api<K>,
    manager: &'static str,
    seen: &K,
    status: &impl Serialize,
) -> Result<K, Error>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let body = json!({
        "apiVersion": K::api_version(&()),
        "kind": K::kind(&()),
        "metadata": { "name": seen.name_any(), "uid": seen.uid(), "resourceVersion": seen.resource_version() },
        "status": status,
    });
    let params = PatchParams::apply(manager).force();
    let step = || format!("write the status of {} {}", K::kind(&()), seen.name_any());
    let result = api.patch_status(&seen.name_any(), &params, &Patch::Apply(&body)).await;
    result.map_err(|source| Error::in_step(step(), source))
}

/// What a condition says.
pub(crate) struct Say<'a> {
    pub(crate) kind: &'static str,
    pub(crate) holds: bool,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
}

/// Sets a condition; its time changes only with its status.
pub(crate) fn set_condition(
    conditions: &mut Vec<Condition>,
    generation: Option<i64>,
    now: Timestamp,
    say: &Say<'_>,
) {
    let status = if say.holds { "True" } else { "False" };
    let old = conditions.iter().position(|condition| condition.type_ == say.kind);
    let since = old.map(|at| &conditions[at]).filter(|old| old.status == status);
    let condition = Condition {
        type_: say.kind.to_owned(),
        status: status.to_owned(),
        observed_generation: generation,
        last_transition_time: since.map_or(Time(whole(now)), |old| old.last_transition_time.clone()),
        reason: say.reason.to_owned(),
        message: bounded(say.message),
    };
    match old {
        Some(at) => conditions[at] = condition,
        None => conditions.push(condition),
    }
}

/// A moment as objects keep it: whole seconds.
pub(crate) fn whole(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

/// A text that is not too long for a status.
pub(crate) fn bounded(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use kube::api::PostParams;
    use maar_api::v1alpha1::{AIJob, AIJobStatus};
    use maar_controller::{Categorized as _, Category};
    use maar_embedded::{Cluster, Config};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_has_seen_an_older_version_writes_nothing() {
        let cluster = Cluster::start(Config::simulated(1)).await.unwrap();
        crate::install(&cluster.client()).await.unwrap();
        let api: Api<AIJob> = Api::namespaced(cluster.client(), "default");
        let job = json!({ "metadata": { "name": "train" }, "spec": { "tasks": [{ "name": "main", "template": {} }] } });
        let seen = api.create(&PostParams::default(), &serde_json::from_value(job).unwrap()).await.unwrap();
        let status = |attempt| AIJobStatus { attempt, ..AIJobStatus::default() };
        let newer = write(&api, "maar-jobs", &seen, &status(1)).await.unwrap();
        let late = write(&api, "maar-jobs", &seen, &status(5)).await.unwrap_err();
        assert_eq!(late.category(), Category::Conflict);
        let kept = write(&api, "maar-jobs", &newer, &status(2)).await.unwrap();
        assert_eq!(kept.status.unwrap().attempt, 2);
        // A namesake that came after the one that was seen is not written to either.
        api.delete("train", &kube::api::DeleteParams::default()).await.unwrap();
        let mut again = seen.clone();
        again.metadata =
            kube::api::ObjectMeta { name: seen.metadata.name.clone(), ..kube::api::ObjectMeta::default() };
        api.create(&PostParams::default(), &again).await.unwrap();
        assert!(write(&api, "maar-jobs", &seen, &status(7)).await.is_err());
        assert_eq!(api.get("train").await.unwrap().status.unwrap_or_default().attempt, 0);
    }
}
