//! The writes of a reconcile, in an order that bears being cut off anywhere.
//!
//! The status goes first, on top of the version that was looked at: it holds the decision, and whoever comes next acts
//! on it. Then what Pods need, then Pods. Pods are created, not applied: an apply could reach a Pod of the same name that
//! is on its way out.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures::{
    FutureExt as _, StreamExt as _, TryFutureExt as _, TryStreamExt as _, future::BoxFuture, stream,
};
use k8s_openapi::{
    api::core::v1::{ConfigMap, Pod, Secret, Service},
    apimachinery::pkg::apis::meta::v1::Time,
};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams},
    core::ApiResource,
};
use maar_api::{
    names,
    v1alpha1::{AIJob, AIJobStatus, Backend, JobPhase, condition_types, reasons},
};
use maar_controller::{
    Context, Error,
    apply::Writer,
    error::chain,
    events::{News, Severity},
    pool::Next,
};
use serde_json::json;

use super::{Plan, View, plan, problems, volcano};
use crate::{
    error::JobError,
    family::{self, FamilyPlan, FamilyView},
    index::{Index, Key},
    key::Entropy,
    malformed::{self, Told},
    name, object, own,
    status::{self, Say, bounded, set_condition, whole},
    template::{sentence, unknown_fields},
};

/// The field manager of this controller.
pub(crate) const MANAGER: &str = "maar-jobs";
pub(super) const WRITER: Writer = Writer::new(MANAGER);
/// Pods written at a time.
const PARALLEL: usize = 16;
/// Conditions that this controller looks after.
const CONDITIONS: [&str; 6] = [
    condition_types::VALID,
    condition_types::BACKEND_READY,
    condition_types::SCHEDULED,
    condition_types::RUNNING,
    condition_types::FINISHED,
    condition_types::TEMPLATE_UNDERSTOOD,
];
/// What a job that cannot be read is told.
const MALFORMED: Told = Told {
    manager: MANAGER,
    phase: "Prequeue",
    condition: condition_types::VALID,
    conditions: &CONDITIONS,
    of_others: &["queue", "cleanup"],
};

/// One write of many that do not depend on each other.
type Write<'a> = BoxFuture<'a, Result<(), JobError>>;

/// What a reconcile needs.
#[derive(Debug, Clone)]
pub(crate) struct Jobs {
    pub(crate) context: Context,
    pub(crate) index: Index<AIJob>,
    pub(crate) pods: Index<Pod>,
    /// Pods of Volcano's Jobs.
    pub(crate) volcano_pods: Index<Pod>,
    pub(crate) entropy: Entropy,
    /// Between two looks at a Job of Volcano.
    pub(crate) volcano_every: Duration,
}

impl Jobs {
    /// Brings one job nearer to what is asked for.
    pub(crate) async fn reconcile(self: Arc<Self>, key: Key) -> Result<Next, JobError> {
        let job = match self.index.get(&key) {
            None => return Ok(Next::AwaitChange),
            Some(Err(problem)) => {
                malformed::tell::<AIJob>(&self.context, &key, &problem, MALFORMED).await?;
                return Ok(Next::AwaitChange);
            }
            Some(Ok(job)) => job,
        };
        if job.metadata.deletion_timestamp.is_some() {
            return Ok(Next::AwaitChange);
        }
        let over = job.status.as_ref().is_some_and(|status| status.phase.is_final());
        // What makes no sense any more can still be cancelled.
        if !over && !job.spec.cancel {
            let problems = problems(&job);
            if !problems.is_empty() {
                return self.invalid(&job, &problems.join("; ")).await;
            }
        }
        if family::is_parent(&job.spec) {
            return self.reconcile_family(&key, &job).await;
        }
        if job.spec.backend == Backend::Volcano {
            return volcano::reconcile(&self, &job).await;
        }
        self.reconcile_pods(&key, &job).await
    }

    async fn reconcile_pods(&self, key: &Key, job: &AIJob) -> Result<Next, JobError> {
        let now = self.context.environment.clock.now();
        let pods = owned(job, self.pods.of(key).iter().map(|pod| (**pod).clone()).collect());
        self.fresh_enough(key, job, &pods).await?;
        let mut next = plan(&View { job, pods: &pods, now });
        if next.doubtful {
            let pods = owned(job, self.read_pods(key).await?);
            self.fresh_enough(key, job, &pods).await?;
            next = plan(&View { job, pods: &pods, now });
        }
        let written = self.write_status(job, &next.status).await?;
        if let Err(error) = self.carry_out(key, job, &next).await {
            let refusal = error.into_refusal()?;
            self.refused(written.as_ref().unwrap_or(job), &next.status, &refusal).await?;
            return Err(refusal);
        }
        Ok(next.again.map_or(Next::AwaitChange, Next::After))
    }

    /// A view of the job from before its present attempt is no ground to act on. If it is the newest there is, the Pod
    /// does not tell the truth, and is replaced as any other that does not belong.
    async fn fresh_enough(&self, key: &Key, job: &AIJob, pods: &[Pod]) -> Result<(), JobError> {
        if !pods.iter().any(|pod| is_ahead(job, pod)) {
            return Ok(());
        }
        let newest = self.job_api(key).get_metadata(&key.name).await;
        let newest = newest.map_err(|source| Error::in_step(format!("read job {key}"), source))?;
        if newest.resource_version() == job.resource_version() {
            return Ok(());
        }
        Err(JobError::Stale(key.to_string()))
    }

    /// Reads the Pods from the server itself.
    async fn read_pods(&self, key: &Key) -> Result<Vec<Pod>, Error> {
        let params = ListParams::default().labels(&format!("{}={}", names::LABEL_JOB, key.name));
        let list = self.pod_api(key).list(&params).await;
        Ok(list.map_err(|source| Error::in_step(format!("list the Pods of job {key}"), source))?.items)
    }

    async fn carry_out(&self, key: &Key, job: &AIJob, plan: &Plan) -> Result<(), JobError> {
        let pods = self.pod_api(key);
        if plan.objects {
            self.write_objects(key, job).await?;
        }
        let mut writes: Vec<Write<'_>> = Vec::new();
        for pod in &plan.notify {
            writes.push(own::give_notice(MANAGER, &pods, pod, plan.status.stop.as_ref()).boxed());
        }
        for pod in &plan.calm {
            writes.push(own::give_notice(MANAGER, &pods, pod, None).boxed());
        }
        for pod in &plan.delete {
            writes.push(WRITER.delete_any_version(&pods, pod, DeleteParams::default()).err_into().boxed());
        }
        for pod in &plan.create {
            writes.push(own::create(MANAGER, &pods, pod).boxed());
        }
        stream::iter(writes).buffer_unordered(PARALLEL).try_collect::<()>().await?;
        if plan.expired {
            WRITER.delete(&self.job_api(key), job, DeleteParams::background()).await?;
        }
        Ok(())
    }

    async fn write_objects(&self, key: &Key, job: &AIJob) -> Result<(), JobError> {
        let client = &self.context.client;
        let services: Api<Service> = Api::namespaced(client.clone(), &key.namespace);
        own::apply(WRITER, &services, &object::service(job)).await?;
        self.write_belongings(key, job).await
    }

    /// Files and keys of the job, which are the same whoever makes its Pods.
    pub(super) async fn write_belongings(&self, key: &Key, job: &AIJob) -> Result<(), JobError> {
        let client = &self.context.client;
        if let Some(files) = object::files(job) {
            let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &key.namespace);
            own::apply(WRITER, &maps, &files).await?;
        }
        self.write_secret(key, job).await
    }

    /// Makes the Secret once; it is never changed.
    async fn write_secret(&self, key: &Key, job: &AIJob) -> Result<(), JobError> {
        if object::has_secret(job) {
            let secrets: Api<Secret> = Api::namespaced(self.context.client.clone(), &key.namespace);
            let secret =
                object::secret(job, &self.entropy).ok_or_else(|| JobError::NoEntropy(key.to_string()))?;
            own::ensure(WRITER, &secrets, &secret).await?;
        }
        Ok(())
    }

    async fn reconcile_family(&self, key: &Key, job: &AIJob) -> Result<Next, JobError> {
        let children = self.index.of(key);
        let own = children.iter().filter(|child| own::belongs_to(&***child, job.metadata.uid.as_deref()));
        let children: Vec<AIJob> = own.map(|child| (**child).clone()).collect();
        let now = self.context.environment.clock.now();
        let view = FamilyView { job, children: &children, on_server: None, now };
        let mut plan = family::plan(&view);
        if plan.doubtful {
            let on_server = self.read_indices(key, job).await?;
            plan = family::plan(&FamilyView { on_server: Some(&on_server), ..view });
        }
        let valid = Say { kind: condition_types::VALID, holds: true, reason: reasons::AS_ASKED, message: "" };
        set_condition(&mut plan.status.conditions, job.metadata.generation, now, &valid);
        let result = self.carry_out_family(key, job, &plan).await;
        if let Err(error) = result {
            let refusal = error.into_refusal()?;
            plan.status.reason = Some(reasons::REFUSED.to_owned());
            plan.status.message = Some(bounded(&chain(&refusal)));
            self.write_status(job, &plan.status).await?;
            return Err(refusal);
        }
        self.write_status(job, &plan.status).await?;
        Ok(plan.again.map_or(Next::AwaitChange, Next::After))
    }

    /// The indices of an array for which the server has a child.
    async fn read_indices(&self, key: &Key, job: &AIJob) -> Result<BTreeSet<u32>, Error> {
        let params = ListParams::default().labels(&format!("{}={}", names::LABEL_PARENT, key.name));
        let list = self.job_api(key).list_metadata(&params).await;
        let list = list.map_err(|source| Error::in_step(format!("list the jobs of {key}"), source))?;
        let own = list.items.iter().filter(|child| own::belongs_to(*child, job.metadata.uid.as_deref()));
        Ok(own.filter_map(family::index).collect())
    }

    async fn carry_out_family(&self, key: &Key, job: &AIJob, plan: &FamilyPlan) -> Result<(), JobError> {
        let api = self.job_api(key);
        for child in &plan.cancel {
            change_spec(&api, child, json!({ "cancel": true })).await?;
        }
        for (child, suspend) in &plan.suspend {
            change_spec(&api, child, json!({ "suspend": suspend })).await?;
        }
        for child in &plan.create {
            own::ensure(WRITER, &api, child).await?;
        }
        for child in &plan.delete {
            WRITER.delete_any_version(&api, child, DeleteParams::background()).await?;
        }
        if plan.expired {
            WRITER.delete(&api, job, DeleteParams::background()).await?;
        }
        Ok(())
    }

    /// Writes the status if it says something new, and tells people of a new phase. Returns the job as it is then.
    pub(crate) async fn write_status(
        &self,
        job: &AIJob,
        wanted: &AIJobStatus,
    ) -> Result<Option<AIJob>, JobError> {
        let before = job.status.clone().unwrap_or_default();
        let mut wanted = wanted.clone();
        if !wanted.phase.is_final() {
            self.look_at_templates(job, &mut wanted).await?;
        }
        if job.status.as_ref() == Some(&wanted) {
            return Ok(None);
        }
        let mut own = wanted.clone();
        // The scheduler's, and that of clean-up.
        own.queue = None;
        own.cleanup = None;
        own.conditions.retain(|condition| CONDITIONS.contains(&condition.type_.as_str()));
        let written = status::write(&self.job_api(&Key::of(job)), MANAGER, job, &own).await?;
        if wanted.phase != before.phase {
            self.tell(job, &wanted);
        }
        Ok(Some(written))
    }

    fn tell(&self, job: &AIJob, status: &AIJobStatus) {
        let bad = matches!(status.phase, JobPhase::Failed | JobPhase::Restarting | JobPhase::Preempted);
        let severity = if bad { Severity::Warning } else { Severity::Normal };
        let note = status.message.clone().unwrap_or_default();
        let news = News { severity, reason: phase_name(status.phase), action: "Reconciling", note };
        self.context.recorder.record(job, news);
    }

    async fn invalid(&self, job: &AIJob, problem: &str) -> Result<Next, JobError> {
        let mut status = job.status.clone().unwrap_or_default();
        let now = self.context.environment.clock.now();
        status.observed_generation = job.metadata.generation;
        status.reason = Some(reasons::INVALID.to_owned());
        status.message = Some(bounded(problem));
        status.last_transition_time.get_or_insert(Time(whole(now)));
        let say =
            Say { kind: condition_types::VALID, holds: false, reason: reasons::INVALID, message: problem };
        set_condition(&mut status.conditions, job.metadata.generation, now, &say);
        self.write_status(job, &status).await?;
        Ok(Next::AwaitChange)
    }

    /// Says what is refused, on top of the version that the refused write followed from. A job that runs says so, and
    /// what is refused beside that is an event.
    async fn refused(&self, seen: &AIJob, wanted: &AIJobStatus, error: &JobError) -> Result<(), JobError> {
        let note = bounded(&chain(error));
        let at_work = wanted.tasks.iter().any(|task| task.starting + task.running > 0);
        if at_work || wanted.stop.is_some() || wanted.phase.is_final() {
            let severity = Severity::Warning;
            let news = News { severity, reason: reasons::REFUSED, action: "Reconciling", note };
            self.context.recorder.record(seen, news);
            return Ok(());
        }
        let mut status = wanted.clone();
        status.phase = JobPhase::Prequeue;
        status.reason = Some(reasons::REFUSED.to_owned());
        status.message = Some(note);
        if seen.status.as_ref().and_then(|status| status.message.as_ref()) != status.message.as_ref() {
            self.write_status(seen, &status).await?;
        }
        Ok(())
    }

    /// Says whether all of the templates was understood; once for each version of the spec, because the templates have
    /// to be read as they were written for it.
    async fn look_at_templates(&self, job: &AIJob, status: &mut AIJobStatus) -> Result<(), JobError> {
        let kind = condition_types::TEMPLATE_UNDERSTOOD;
        let generation = job.metadata.generation;
        let known = status.conditions.iter().find(|condition| condition.type_ == kind);
        if known.is_some_and(|condition| condition.observed_generation == generation) {
            return Ok(());
        }
        let resource = ApiResource::erase::<AIJob>(&());
        let namespace = job.namespace().unwrap_or_default();
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.context.client.clone(), &namespace, &resource);
        let found = api.get(name::of(job)).await;
        let found = found.map_err(|source| Error::in_step(format!("read job {}", name::of(job)), source))?;
        if found.metadata.generation != generation {
            // The next look is at the new one.
            return Ok(());
        }
        let fields = unknown_fields(&found.data);
        let message = if fields.is_empty() { String::new() } else { sentence(&fields) };
        let reason = if fields.is_empty() { reasons::AS_ASKED } else { reasons::UNKNOWN_FIELDS };
        let say = Say { kind, holds: fields.is_empty(), reason, message: &message };
        set_condition(&mut status.conditions, generation, self.context.environment.clock.now(), &say);
        if !fields.is_empty() {
            let severity = Severity::Warning;
            let news = News { severity, reason: reasons::UNKNOWN_FIELDS, action: "Reading", note: message };
            self.context.recorder.record(job, news);
        }
        Ok(())
    }

    pub(crate) fn job_api(&self, key: &Key) -> Api<AIJob> {
        Api::namespaced(self.context.client.clone(), &key.namespace)
    }

    fn pod_api(&self, key: &Key) -> Api<Pod> {
        Api::namespaced(self.context.client.clone(), &key.namespace)
    }
}

/// Pods that this very job owns: a namesake's may still be on their way out.
fn owned(job: &AIJob, pods: Vec<Pod>) -> Vec<Pod> {
    pods.into_iter().filter(|pod| own::belongs_to(pod, job.metadata.uid.as_deref())).collect()
}

/// Whether a Pod says that it is of a later attempt than the job knows of.
fn is_ahead(job: &AIJob, pod: &Pod) -> bool {
    let attempt = job.status.as_ref().map_or(0, |status| status.attempt);
    let label = pod.labels().get(names::LABEL_ATTEMPT).and_then(|text| text.parse::<i32>().ok());
    label.is_some_and(|of| of > attempt)
}

async fn change_spec(api: &Api<AIJob>, child: &AIJob, spec: serde_json::Value) -> Result<(), Error> {
    let body = json!({ "metadata": { "uid": child.uid() }, "spec": spec });
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    match api.patch(name::of(child), &params, &Patch::Merge(&body)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(source) => Err(Error::in_step(format!("change job {}", name::of(child)), source)),
    }
}

/// Reasons of events are constants.
fn phase_name(phase: JobPhase) -> &'static str {
    match phase {
        JobPhase::Prequeue => "Prequeue",
        JobPhase::Pending => "Pending",
        JobPhase::Running => "Running",
        JobPhase::Restarting => "Restarting",
        JobPhase::Completing => "Completing",
        JobPhase::Completed => "Completed",
        JobPhase::Terminating => "Terminating",
        JobPhase::Failed => "Failed",
        JobPhase::Aborting => "Aborting",
        JobPhase::Aborted => "Aborted",
        JobPhase::Preempted => "Preempted",
        JobPhase::Suspending => "Suspending",
        JobPhase::Suspended => "Suspended",
        JobPhase::Scheduled => "Scheduled",
    }
}
