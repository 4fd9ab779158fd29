//! The writes of a workspace's reconcile.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Service};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams},
};
use maar_api::v1alpha1::{Workspace, WorkspacePhase, condition_types, reasons};
use maar_controller::{
    Context, Error,
    apply::Writer,
    error::chain,
    events::{News, Severity},
    pool::Next,
};
use serde_json::json;

use super::{
    plan::{Notice, Plan, View, plan},
    render,
};
use crate::{
    cleanup::ANNOTATION_SUSPENDED_BY,
    error::JobError,
    index::{Index, Key},
    malformed::{self, Told},
    own,
    status::{self, bounded},
};

const MANAGER: &str = "maar-workspaces";
const WRITER: Writer = Writer::new(MANAGER);
/// How Kubernetes says that a quota does not allow a Pod.
const OVER_QUOTA: &str = "exceeded quota";
/// What a workspace that cannot be read is told.
const MALFORMED: Told = Told {
    manager: MANAGER,
    phase: "Failed",
    condition: condition_types::READY,
    conditions: &[condition_types::READY],
    of_others: &["cleanup"],
};

/// What a reconcile needs.
#[derive(Debug, Clone)]
pub(crate) struct Workspaces {
    pub(crate) context: Context,
    pub(crate) index: Index<Workspace>,
    pub(crate) pods: Index<Pod>,
}

impl Workspaces {
    /// Brings one workspace nearer to what is asked for.
    pub(crate) async fn reconcile(self: Arc<Self>, key: Key) -> Result<Next, JobError> {
        let workspace = match self.index.get(&key) {
            None => return Ok(Next::AwaitChange),
            Some(Err(problem)) => {
                malformed::tell::<Workspace>(&self.context, &key, &problem, MALFORMED).await?;
                return Ok(Next::AwaitChange);
            }
            Some(Ok(workspace)) => workspace,
        };
        if workspace.metadata.deletion_timestamp.is_some() {
            return Ok(Next::AwaitChange);
        }
        let pods = self.pods.of(&key);
        let own = pods.iter().find(|pod| own::belongs_to(&***pod, workspace.metadata.uid.as_deref()));
        let now = self.context.environment.clock.now();
        let plan = plan(&View { workspace: &workspace, pod: own.map(AsRef::as_ref), now });
        let written = self.write_status(&workspace, &plan).await?;
        let seen = written.as_ref().unwrap_or(&workspace);
        if let Err(error) = self.carry_out(&key, seen, own.map(AsRef::as_ref), &plan).await {
            let refusal = error.into_refusal()?;
            self.refused(seen, &plan, &refusal).await?;
            return Err(refusal);
        }
        Ok(plan.again.map_or(Next::AwaitChange, Next::After))
    }

    /// Writes the status if it says something new. Returns the workspace as it is then.
    async fn write_status(&self, workspace: &Workspace, plan: &Plan) -> Result<Option<Workspace>, JobError> {
        let before = workspace.status.clone().unwrap_or_default();
        if workspace.status.as_ref() == Some(&plan.status) || is_refusal(&before, plan) {
            return Ok(None);
        }
        let api: Api<Workspace> = self.api(&Key::of(workspace));
        let mut own = plan.status.clone();
        // That of clean-up.
        own.cleanup = None;
        own.conditions.retain(|condition| condition.type_ == condition_types::READY);
        let written = status::write(&api, MANAGER, workspace, &own).await?;
        if plan.status.phase != before.phase {
            let note = plan.status.message.clone().unwrap_or_default();
            let news = News {
                severity: Severity::Normal,
                reason: phase_name(plan.status.phase),
                action: "Reconciling",
                note,
            };
            self.context.recorder.record(workspace, news);
        }
        Ok(Some(written))
    }

    async fn carry_out(
        &self,
        key: &Key,
        workspace: &Workspace,
        pod: Option<&Pod>,
        plan: &Plan,
    ) -> Result<(), JobError> {
        let pods: Api<Pod> = self.api(key);
        if plan.objects {
            self.write_objects(key, workspace).await?;
        }
        if let Some(made) = &plan.create {
            own::create(MANAGER, &pods, made).await?;
        }
        match (pod, &plan.notice) {
            (Some(pod), Notice::Give(stop)) => own::give_notice(MANAGER, &pods, pod, Some(stop)).await?,
            (Some(pod), Notice::TakeBack) => own::give_notice(MANAGER, &pods, pod, None).await?,
            _ => {}
        }
        if let Some(pod) = pod.filter(|_| plan.delete) {
            WRITER.delete_any_version(&pods, pod, DeleteParams::default()).await?;
        }
        if plan.suspend.is_some() || plan.forget_cause {
            self.note_cause(key, workspace, plan).await?;
        }
        Ok(())
    }

    /// Suspends it and says why beside that, or takes away why it was suspended before.
    async fn note_cause(&self, key: &Key, workspace: &Workspace, plan: &Plan) -> Result<(), JobError> {
        let api: Api<Workspace> = self.api(key);
        // On top of what was looked at: somebody may just have given it more time.
        let mut body = json!({ "metadata": {
            "uid": workspace.uid(),
            "resourceVersion": workspace.resource_version(),
            "annotations": { ANNOTATION_SUSPENDED_BY: plan.suspend },
        } });
        if plan.suspend.is_some() {
            body["spec"] = json!({ "state": "Suspended" });
        }
        let result = api.patch(&key.name, &PatchParams::default(), &Patch::Merge(&body)).await;
        result.map_err(|source| Error::in_step(format!("suspend workspace {key}"), source))?;
        Ok(())
    }

    async fn write_objects(&self, key: &Key, workspace: &Workspace) -> Result<(), JobError> {
        let claims: Api<PersistentVolumeClaim> = self.api(key);
        for claim in render::claims(workspace) {
            own::ensure(WRITER, &claims, &claim).await?;
        }
        if let Some(service) = render::service(workspace) {
            own::apply(WRITER, &self.api::<Service>(key), &service).await?;
        }
        Ok(())
    }

    /// What it needs cannot be made: people have to know why. Said on top of the version that the refused write
    /// followed from.
    async fn refused(&self, seen: &Workspace, plan: &Plan, error: &JobError) -> Result<(), JobError> {
        let mut told = plan.clone();
        let why = chain(error);
        // Who has all he may have waits until something of it ends; it is tried again either way.
        told.status.phase =
            if why.contains(OVER_QUOTA) { WorkspacePhase::Pending } else { WorkspacePhase::Failed };
        told.status.reason = Some(reasons::REFUSED.to_owned());
        told.status.message = Some(bounded(&why));
        let known = seen.status.as_ref().and_then(|status| status.message.as_ref());
        if known != told.status.message.as_ref() {
            self.write_status(seen, &told).await?;
        }
        Ok(())
    }

    fn api<K>(&self, key: &Key) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    {
        Api::namespaced(self.context.client.clone(), &key.namespace)
    }
}

/// A refusal stays said until the Pod could be made.
fn is_refusal(before: &maar_api::v1alpha1::WorkspaceStatus, plan: &Plan) -> bool {
    before.reason.as_deref() == Some(reasons::REFUSED)
        && plan.status.reason.as_deref() == Some(reasons::CREATING)
}

fn phase_name(phase: WorkspacePhase) -> &'static str {
    match phase {
        WorkspacePhase::Pending => "Pending",
        WorkspacePhase::Starting => "Starting",
        WorkspacePhase::Running => "Running",
        WorkspacePhase::Stopping => "Stopping",
        WorkspacePhase::Suspended => "Suspended",
        WorkspacePhase::Failed => "Failed",
    }
}
