//! Submitting and showing jobs.

use std::{collections::BTreeMap, sync::Arc};

use axum::body::Body;
use kube::ResourceExt as _;
use maar_api::v1alpha1::{AIJob, JobPhase, JobType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    Why,
    new::{NewJob, plan},
    view::{JobView, detail, object_of, parent_of, pod_view, view},
};
use crate::{
    access::Verb,
    describe::{Subject, describe},
    error::ApiError,
    live::{PodFacts, Work},
    node,
    page::{Page, PageQuery, page},
    pod,
    route::{Answer, Call},
    terminal::{self, Place},
    workspace::place,
};

/// Whether any of `words` has `search` in it, in letters of any case.
pub(crate) fn matches_search(search: &str, words: &[&str]) -> bool {
    let search = search.to_lowercase();
    words.iter().any(|word| word.to_lowercase().contains(&search))
}

/// Which jobs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct JobQuery {
    /// A part of the name or the user.
    search: Option<String>,
    /// Only those that this account pays for.
    account: Option<String>,
    /// Only those in this phase.
    phase: Option<JobPhase>,
    /// Only those of this type.
    #[serde(rename = "type")]
    job_type: Option<JobType>,
    /// Only the own ones.
    #[serde(default)]
    mine: bool,
    /// Only those of this namespace.
    namespace: Option<String>,
    /// Only those that the schedule or the array of this job made.
    parent: Option<String>,
}

fn phase_of(job: &AIJob) -> JobPhase {
    job.status.as_ref().map(|status| status.phase).unwrap_or_default()
}

/// What jobs are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Facet {
    Phase,
    Type,
    Account,
}

impl JobQuery {
    /// Whether a job is asked for, whatever was said of one facet.
    fn wants(&self, job: &AIJob, but: Option<Facet>) -> bool {
        let spec = &job.spec;
        let words = [&job.name_any(), spec.user.as_deref().unwrap_or_default()];
        let open = |facet| but == Some(facet);
        let is =
            |wanted: &Option<String>, found: Option<&str>| wanted.is_none() || wanted.as_deref() == found;
        is(&self.namespace, job.metadata.namespace.as_deref())
            && is(&self.parent, parent_of(job))
            && (open(Facet::Account)
                || self.account.as_deref().is_none_or(|account| account == spec.account()))
            && (open(Facet::Type) || self.job_type.is_none_or(|wanted| wanted == spec.job_type))
            && (open(Facet::Phase) || self.phase.is_none_or(|wanted| wanted == phase_of(job)))
            && self.search.as_deref().is_none_or(|search| matches_search(search, &words))
    }

    /// How many there would be with each value of a facet, were nothing said of it.
    fn count(&self, jobs: &[Arc<AIJob>], facet: Facet) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for job in jobs.iter().filter(|job| self.wants(job, Some(facet))) {
            let value = match facet {
                Facet::Phase => phase_of(job).to_string(),
                // As it is spelled in queries.
                Facet::Type => serde_json::to_value(job.spec.job_type)
                    .ok()
                    .and_then(|value| value.as_str().map(str::to_owned))
                    .unwrap_or_default(),
                Facet::Account => job.spec.account().to_owned(),
            };
            *counts.entry(value).or_default() += 1;
        }
        counts
    }
}

/// Jobs, and how many there are of each sort.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobList {
    #[serde(flatten)]
    page: Page<JobView>,
    /// How many of those that were asked for are in each phase, whichever phase was asked for.
    phases: BTreeMap<String, usize>,
    /// The same for types.
    types: BTreeMap<String, usize>,
    /// The same for accounts.
    accounts: BTreeMap<String, usize>,
}

/// `GET /jobs`.
pub(super) fn list(call: &Call) -> Result<Answer, ApiError> {
    let (person, known) = (call.person()?, &call.portal.live.jobs);
    let bytes = call.portal.job_lists.get(known.version(), call.question()?, || {
        let query: JobQuery = call.query()?;
        let only = (query.mine || !person.sees_others()).then_some(person.namespace.as_str());
        let mut found = known.list(only);
        found.retain(|one| call.may(Verb::See, &object_of(one)));
        let [phases, types, accounts] =
            [Facet::Phase, Facet::Type, Facet::Account].map(|facet| query.count(&found, facet));
        found.retain(|one| query.wants(one, None));
        found.sort_by_cached_key(|one| place(&**one));
        let page = page(found, &call.query::<PageQuery>()?, |one| place(&**one))?.map(|one| view(&one));
        Answer::text(&JobList { page, phases, types, accounts })
    })?;
    Ok(Answer::json_bytes(bytes))
}

/// `POST /jobs`.
pub(super) async fn submit(call: Call) -> Result<Answer, ApiError> {
    let asked: NewJob = call.body()?;
    let person = call.person()?;
    let job = plan(asked, person, &call.portal.settings.profiles)?;
    let (portal, namespace, name) = (&call.portal, &person.namespace, job.name_any());
    let made = portal.namespaces.create(person, &format!("job {name}"), &job).await?;
    portal.live.jobs.seen(namespace, &name).await;
    let after = json!({ "type": job.spec.job_type, "replicas": job.spec.replicas() });
    Ok(Answer::created(&view(&made))?.about(format!("{namespace}/{name}")).change(None, Some(after)))
}

fn pods_of(call: &Call, job: &AIJob) -> Vec<Arc<PodFacts>> {
    let mut pods = call.portal.live.pods.list(Some(&job.namespace().unwrap_or_default()));
    let work = Work::Job(job.name_any());
    pods.retain(|pod| pod.work == work);
    pods
}

fn refs(pods: &[Arc<PodFacts>]) -> Vec<&PodFacts> {
    pods.iter().map(|pod| &**pod).collect()
}

/// `GET /jobs/{namespace}/{name}`.
pub(super) fn get(call: &Call) -> Result<Answer, ApiError> {
    let job = call.job()?;
    let readable = call.may(Verb::Read, &object_of(job));
    Answer::json(&detail(job, &refs(&pods_of(call, job)), readable))
}

/// `GET …/pods`.
pub(super) fn pods(call: &Call) -> Result<Answer, ApiError> {
    let found = page(pods_of(call, call.job()?), &call.query::<PageQuery>()?, |pod| pod.name.clone())?;
    Answer::json(&found.map(|pod| pod_view(&pod)))
}

/// `GET …/why`.
pub(super) fn why(call: &Call) -> Result<Answer, ApiError> {
    let job = call.job()?;
    Answer::json(&Why::of_job(job, &refs(&pods_of(call, job))))
}

/// `GET …/usage`.
pub(super) fn usage(call: &Call) -> Result<Answer, ApiError> {
    node::usage_of(call, refs(&pods_of(call, call.job()?)))
}

/// Which Pod of a job.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct PodQuery {
    /// The Pod; the first of the job if it is not said.
    pod: Option<String>,
}

/// Which container of a Pod.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ContainerQuery {
    /// The container; the one that the Pod itself prefers if it is not said.
    container: Option<String>,
}

/// The Pod that is asked for. Only Pods of this job: access to the job says nothing of others in its namespace.
fn asked_pod(call: &Call, job: &AIJob) -> Result<String, ApiError> {
    let asked = call.query::<PodQuery>()?.pod;
    let pods = pods_of(call, job);
    let pod = pods.iter().find(|pod| asked.as_ref().is_none_or(|asked| *asked == pod.name));
    pod.map(|pod| pod.name.clone()).ok_or_else(|| ApiError::not_found("this Pod of the job"))
}

/// `GET …/terminal`.
pub(super) fn terminal(call: &Call) -> Result<Answer, ApiError> {
    let job = call.job()?;
    let namespace = job.namespace().unwrap_or_default();
    let work = ("job", format!("{namespace}/{}", job.name_any()));
    let (pod, container) = (asked_pod(call, job)?, call.query::<ContainerQuery>()?.container);
    terminal::open(call, Place { pod, container, object: object_of(job), work, namespace })
}

/// `GET …/logs`.
pub(super) async fn logs(call: Call) -> Result<Answer, ApiError> {
    let job = Arc::clone(call.job()?);
    let name = asked_pod(&call, &job)?;
    pod::logs(&call, &job.namespace().unwrap_or_default(), &name, object_of(&job)).await
}

/// `GET …/events`.
pub(super) async fn events(call: Call) -> Result<Answer, ApiError> {
    let job = call.job()?;
    let pods = pods_of(&call, job).into_iter().take(10).map(|pod| ("Pod", pod.name.clone()));
    let names: Vec<(&str, String)> = std::iter::once(("AIJob", job.name_any())).chain(pods).collect();
    pod::events(&call, &job.namespace().unwrap_or_default(), &names).await
}

/// `GET …/describe`.
pub(super) async fn description(call: Call) -> Result<Answer, ApiError> {
    let job = call.job()?;
    let (namespace, client) = (job.namespace().unwrap_or_default(), &call.portal.client);
    let pods: Vec<String> = pods_of(&call, job).into_iter().take(10).map(|pod| pod.name.clone()).collect();
    let names = pods.iter().map(|pod| ("Pod", pod.clone()));
    let names: Vec<(&str, String)> = std::iter::once(("AIJob", job.name_any())).chain(names).collect();
    let events = pod::newest_events(client, &namespace, &names).await?;
    let pods = pod::some(client, &namespace, &pods).await?;
    let object = serde_json::to_value(&**job).unwrap_or_default();
    let text =
        describe(&Subject { kind: "AIJob", object: &object, pods: &pods, events: &events, now: call.now() });
    Ok(Answer::stream("text/plain; charset=utf-8", Body::from(text)))
}

/// `GET …/manifest`: what can be submitted again as it is, by whoever may read it, in his own name.
pub(super) fn manifest(call: &Call) -> Result<Answer, ApiError> {
    let job = call.job()?;
    let mut spec = job.spec.clone();
    spec.user = None;
    let mut labels = job.labels().clone();
    labels.retain(|name, _| !name.starts_with("maar.io/") && name != maar_api::names::LABEL_MANAGED_BY);
    let manifest = json!({
        "apiVersion": maar_api::names::API_VERSION, "kind": "AIJob",
        "metadata": { "name": job.name_any(), "labels": labels }, "spec": spec,
    });
    Answer::json(&manifest)
}

/// `GET …/yaml`.
pub(super) fn yaml(call: &Call) -> Result<Answer, ApiError> {
    Ok(Answer::stream("application/yaml", Body::from(pod::portable(&**call.job()?)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facets_count_as_if_nothing_were_said_of_them() {
        let job = |name: &str, kind: &str, account: &str, phase: &str| -> Arc<AIJob> {
            let job = json!({ "metadata": { "name": name }, "spec": { "type": kind, "account": account, "tasks": [] },
                "status": { "phase": phase, "attempt": 0, "retries": 0, "preemptions": 0 } });
            Arc::new(serde_json::from_value(job).unwrap())
        };
        let jobs = [
            job("a", "PyTorch", "lab", "Running"),
            job("b", "PyTorch", "lab", "Pending"),
            job("c", "Single", "lab", "Running"),
            job("d", "PyTorch", "other", "Running"),
        ];
        let query: JobQuery =
            serde_json::from_value(json!({ "account": "lab", "type": "PyTorch", "phase": "Running" }))
                .unwrap();
        let counts = |pairs: &[(&str, usize)]| -> BTreeMap<String, usize> {
            pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        assert_eq!(query.count(&jobs, Facet::Phase), counts(&[("Pending", 1), ("Running", 1)]));
        assert_eq!(query.count(&jobs, Facet::Type), counts(&[("PyTorch", 1), ("Single", 1)]));
        assert_eq!(query.count(&jobs, Facet::Account), counts(&[("lab", 1), ("other", 1)]));
        assert_eq!(jobs.iter().filter(|job| query.wants(job, None)).count(), 1);
    }
}
