//! The writes of a workspace's reconcile.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Secret, Service};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use maar_api::{
    names,
    v1alpha1::{StopStatus, Workspace, WorkspacePhase, condition_types, reasons},
};
use maar_controller::{
    Categorized as _, Category, Context, Error,
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
    error::JobError,
    index::{Index, Key},
    key::Entropy,
    malformed::{self, Told},
    status::{self, bounded},
};

const MANAGER: &str = "maar-workspaces";
const WRITER: Writer = Writer::new(MANAGER);
/// What a workspace that cannot be read is told.
const MALFORMED: Told = Told { manager: MANAGER, phase: "Failed", condition: condition_types::READY };

/// What a reconcile needs.
#[derive(Debug, Clone)]
pub(crate) struct Workspaces {
    pub(crate) context: Context,
    pub(crate) index: Index<Workspace>,
    pub(crate) pods: Index<Pod>,
    pub(crate) entropy: Entropy,
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
        let own = pods.iter().find(|pod| {
            pod.owner_references().iter().any(|owner| Some(&owner.uid) == workspace.metadata.uid.as_ref())
        });
        let now = self.context.environment.clock.now();
        let plan = plan(&View { workspace: &workspace, pod: own.map(AsRef::as_ref), now });
        self.write_status(&workspace, &plan).await?;
        match self.carry_out(&key, &workspace, own.map(AsRef::as_ref), &plan).await {
            Err(JobError::Cluster(error))
                if matches!(error.category(), Category::Denied | Category::Invalid) =>
            {
                self.refused(&workspace, &plan, &error).await?;
                Err(JobError::Refused(error))
            }
            Err(error) => Err(error),
            Ok(()) => Ok(plan.again.map_or(Next::AwaitChange, Next::After)),
        }
    }

    async fn write_status(&self, workspace: &Workspace, plan: &Plan) -> Result<(), JobError> {
        let before = workspace.status.clone().unwrap_or_default();
        if workspace.status.as_ref() == Some(&plan.status) || is_refusal(&before, plan) {
            return Ok(());
        }
        let api: Api<Workspace> = self.api(&Key::of(workspace));
        let mut own = plan.status.clone();
        // That of clean-up.
        own.cleanup = None;
        own.conditions.retain(|condition| condition.type_ == condition_types::READY);
        status::write(&api, MANAGER, workspace, &own).await?;
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
        Ok(())
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
            let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
            match pods.create(&params, made).await {
                Err(kube::Error::Api(status)) if status.is_already_exists() => {}
                result => drop(result.map_err(|source| Error::in_step(format!("create Pod {key}"), source))?),
            }
        }
        match (pod, &plan.notice) {
            (Some(pod), Notice::Give(stop)) => annotate(&pods, pod, Some(stop)).await?,
            (Some(pod), Notice::TakeBack) => annotate(&pods, pod, None).await?,
            _ => {}
        }
        if let Some(pod) = pod.filter(|_| plan.delete) {
            WRITER.delete_any_version(&pods, pod, DeleteParams::default()).await?;
        }
        if plan.suspend {
            let api: Api<Workspace> = self.api(key);
            let body = json!({ "metadata": { "uid": workspace.uid() }, "spec": { "state": "Suspended" } });
            let result = api.patch(&key.name, &PatchParams::default(), &Patch::Merge(&body)).await;
            result.map_err(|source| Error::in_step(format!("suspend workspace {key}"), source))?;
        }
        Ok(())
    }

    async fn write_objects(&self, key: &Key, workspace: &Workspace) -> Result<(), JobError> {
        let claims: Api<PersistentVolumeClaim> = self.api(key);
        for claim in render::claims(workspace) {
            WRITER.ensure(&claims, &claim).await?;
        }
        if let Some(service) = render::service(workspace) {
            WRITER.apply(&self.api::<Service>(key), &service).await?;
        }
        if render::has_secret(workspace) {
            let secret = render::secret(workspace, &self.entropy);
            let secret = secret.ok_or_else(|| JobError::NoEntropy(key.to_string()))?;
            WRITER.ensure(&self.api::<Secret>(key), &secret).await?;
        }
        Ok(())
    }

    /// The cluster refuses the Pod, or what it needs: people have to know why.
    async fn refused(&self, workspace: &Workspace, plan: &Plan, error: &Error) -> Result<(), JobError> {
        let mut told = plan.clone();
        told.status.phase = WorkspacePhase::Failed;
        told.status.reason = Some(reasons::REFUSED.to_owned());
        told.status.message = Some(bounded(&chain(error)));
        let api: Api<Workspace> = self.api(&Key::of(workspace));
        let step = || format!("read workspace {}", workspace.name_any());
        let fresh = api.get(&workspace.name_any()).await.map_err(|source| Error::in_step(step(), source))?;
        let known = fresh.status.as_ref().and_then(|status| status.message.as_ref());
        if known == told.status.message.as_ref() {
            return Ok(());
        }
        self.write_status(&fresh, &told).await
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

async fn annotate(pods: &Api<Pod>, pod: &Pod, notice: Option<&StopStatus>) -> Result<(), Error> {
    let body = json!({ "metadata": {
        "uid": pod.uid(),
        "annotations": {
            names::ANNOTATION_STOP_AT: notice.map(|stop| stop.at.0.to_string()),
            names::ANNOTATION_STOP_REASON: notice.map(|stop| stop.reason.clone()),
        },
    } });
    match pods.patch_metadata(&pod.name_any(), &PatchParams::default(), &Patch::Merge(&body)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        Err(source) => Err(Error::in_step(format!("give notice to Pod {}", pod.name_any()), source)),
    }
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
