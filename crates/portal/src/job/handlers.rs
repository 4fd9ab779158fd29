//! Submitting and showing jobs.

use std::{collections::BTreeMap, sync::Arc};

use axum::body::Body;
use kube::{Api, ResourceExt as _, api::PostParams};
use maar_api::v1alpha1::{AIJob, JobPhase, JobType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    Why,
    new::{NewJob, plan},
    view::{JobView, detail, object_of, view},
};
use crate::{
    access::Verb,
    error::ApiError,
    live::{PodFacts, Work},
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
}

fn phase_of(job: &AIJob) -> JobPhase {
    job.status.as_ref().map(|status| status.phase).unwrap_or_default()
}

impl JobQuery {
    /// Without the phase, of which the facets tell.
    fn wants(&self, job: &AIJob) -> bool {
        let spec = &job.spec;
        let words = [&job.name_any(), spec.user.as_deref().unwrap_or_default()];
        self.account.as_deref().is_none_or(|account| account == spec.account())
            && self.job_type.is_none_or(|wanted| wanted == spec.job_type)
            && self.search.as_deref().is_none_or(|search| matches_search(search, &words))
    }
}

/// Jobs, and how many there are in each phase.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobList {
    #[serde(flatten)]
    page: Page<JobView>,
    /// How many of those that were asked for are in each phase.
    phases: BTreeMap<String, usize>,
}

/// `GET /jobs`.
pub(super) fn list(call: &Call) -> Result<Answer, ApiError> {
    let query: JobQuery = call.query()?;
    let person = call.person()?;
    let only = (query.mine || !person.sees_others()).then_some(person.namespace.as_str());
    let mut found = call.portal.live.jobs.list(only);
    found.retain(|one| query.wants(one) && call.may(Verb::See, &object_of(one)));
    let mut phases = BTreeMap::new();
    for job in &found {
        *phases.entry(phase_of(job).to_string()).or_default() += 1;
    }
    found.retain(|one| query.phase.is_none_or(|wanted| wanted == phase_of(one)));
    found.sort_by_cached_key(|one| place(&**one));
    let page = page(found, &call.query::<PageQuery>()?, |one| place(&**one))?.map(|one| view(&one));
    Answer::json(&JobList { page, phases })
}

/// `POST /jobs`.
pub(super) async fn submit(call: Call) -> Result<Answer, ApiError> {
    let asked: NewJob = call.body()?;
    let person = call.person()?;
    let job = plan(asked, person)?;
    let (portal, namespace, name) = (&call.portal, &person.namespace, job.name_any());
    portal.namespaces.ensure(person).await.map_err(|error| ApiError::unavailable("the cluster", error))?;
    let api: Api<AIJob> = Api::namespaced(portal.client.clone(), namespace);
    let made = api.create(&PostParams::default(), &job).await.map_err(|error| {
        portal.namespaces.forget(namespace);
        ApiError::of_cluster(&format!("job {name}"), error)
    })?;
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

/// `GET …/why`.
pub(super) fn why(call: &Call) -> Result<Answer, ApiError> {
    let job = call.job()?;
    Answer::json(&Why::of_job(job, &refs(&pods_of(call, job))))
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
    Answer::json(&pod::events(&call.portal.client, &job.namespace().unwrap_or_default(), &names).await?)
}

/// `GET …/yaml`.
pub(super) fn yaml(call: &Call) -> Result<Answer, ApiError> {
    Ok(Answer::stream("application/yaml", Body::from(pod::portable(&**call.job()?)?)))
}
