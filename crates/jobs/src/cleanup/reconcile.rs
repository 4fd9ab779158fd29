//! The rounds of clean-up: everything is looked at, then what differs is written.
//!
//! The status is the memory of what people were told, and it is written on top of the version that was judged: of two
//! processes that believe to lead, or of one with an old view, only what still holds gets through. What `ending` then
//! sets in motion belongs to the controllers of jobs and workspaces.

use std::convert::Infallible;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::api::{Patch, PatchParams};
use kube::{Api, Resource, ResourceExt as _};
use maar_api::names;
use maar_api::v1alpha1::{AIJob, CleanupRule, CleanupStatus, Workspace, condition_types};
use maar_controller::{
    Categorized as _, Category, Context, Error,
    error::chain,
    events::{News, Severity},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::card_use::{CardUse, Uses, uses_of};
use super::finding::{Everything, Finding, Subject, examine};
use crate::metrics::JobsMetrics;
use crate::policy::{Verdict, Warning};
use crate::status::{Say, set_condition, whole};
use crate::views::Views;

/// The field manager of clean-up.
const MANAGER: &str = "maar-cleanup";

/// What the rounds need.
#[derive(Debug, Clone)]
pub(crate) struct Cleanup {
    pub(crate) context: Context,
    pub(crate) views: Views,
    pub(crate) cards: Option<Arc<dyn CardUse>>,
    /// Between two rounds.
    pub(crate) every: Duration,
    pub(crate) metrics: JobsMetrics,
}

/// What can be cleaned up.
trait Cleaned:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Serialize + DeserializeOwned
{
    fn told(&self) -> Option<&CleanupStatus>;
    fn conditions(&self) -> &[Condition];
}

impl Cleaned for AIJob {
    fn told(&self) -> Option<&CleanupStatus> {
        self.status.as_ref()?.cleanup.as_ref()
    }

    fn conditions(&self) -> &[Condition] {
        self.status.as_ref().map_or(&[], |status| &status.conditions)
    }
}

impl Cleaned for Workspace {
    fn told(&self) -> Option<&CleanupStatus> {
        self.status.as_ref()?.cleanup.as_ref()
    }

    fn conditions(&self) -> &[Condition] {
        self.status.as_ref().map_or(&[], |status| &status.conditions)
    }
}

impl Cleanup {
    /// Goes round until it is told to end.
    pub(crate) async fn run(self) -> Result<(), Infallible> {
        let rounds = async {
            self.views.ready().await;
            loop {
                self.round().await;
                sleep(self.every).await;
            }
        };
        tokio::select! {
            biased;
            () = self.context.shutdown.cancelled() => {}
            () = rounds => {}
        }
        Ok(())
    }

    async fn round(&self) {
        let accounts = self.views.accounts.all();
        let now = self.context.environment.clock.now();
        let mut uses = Uses::new();
        if let Some(cards) = &self.cards {
            let (known, problems) = uses_of(&**cards, &accounts, now).await;
            for problem in &problems {
                self.unknown(problem);
            }
            uses = known;
        }
        let (jobs, workspaces) = (self.views.jobs.all(), self.views.workspaces.all());
        let pods = self.views.pods();
        let now = self.context.environment.clock.now();
        let all = Everything {
            jobs: &jobs,
            workspaces: &workspaces,
            pods: &pods,
            accounts: &accounts,
            uses: &uses,
            now,
        };
        for (subject, finding) in examine(&all) {
            let written = match &subject {
                Subject::Job(job) => self.act(&**job, &finding, now).await,
                Subject::Workspace(desk) => self.act(&**desk, &finding, now).await,
            };
            match written {
                Ok(()) => {}
                // It has changed since; the next round judges what it has become.
                Err(error) if matches!(error.category(), Category::Conflict | Category::Missing) => {}
                Err(error) => {
                    self.metrics.cleanup_failures.inc();
                    tracing::warn!(
                        "clean-up of {} {}/{} failed: {}",
                        finding.kind,
                        finding.namespace,
                        finding.name,
                        chain(&error)
                    );
                }
            }
        }
    }

    fn unknown(&self, error: &super::card_use::UseError) {
        self.metrics.card_use_failures.inc();
        tracing::warn!("no job counts as idle for now: {error}");
    }

    /// Writes what the finding asks for, if that is not written already.
    async fn act<K: Cleaned>(&self, seen: &K, finding: &Finding, now: Timestamp) -> Result<(), Error> {
        let namespace = seen.namespace().unwrap_or_default();
        let api: Api<K> = Api::namespaced(self.context.client.clone(), &namespace);
        let told = seen.told();
        let wanted = wanted(finding, told, seen.meta().generation);
        if wanted.as_ref() != told {
            write(&api, seen, wanted.as_ref(), finding, now).await?;
            self.tell(seen, wanted.as_ref(), finding);
        }
        annotate(&api, seen, wanted.as_ref()).await
    }

    fn tell<K: Cleaned>(&self, seen: &K, wanted: Option<&CleanupStatus>, finding: &Finding) {
        let (severity, reason, note) = match (wanted, seen.told()) {
            (Some(now), _) if now.ending => {
                self.metrics.cleaned("ended", now.rule);
                (Severity::Warning, "CleanupEnding", format!("it is ended now: {}", finding.why))
            }
            (Some(now), _) => {
                self.metrics.cleaned("warned", now.rule);
                (Severity::Warning, "CleanupWarning", sentence(now, finding))
            }
            // What was ended and goes on later needs no word.
            (None, Some(before)) if before.ending => return,
            (None, Some(before)) => {
                self.metrics.cleaned("taken-back", before.rule);
                let note = format!("it will not be ended for now: {}", finding.why);
                (Severity::Normal, "CleanupTakenBack", note)
            }
            (None, None) => return,
        };
        self.context.recorder.record(seen, News { severity, reason, action: "CleaningUp", note });
    }
}

/// What the status shall say.
fn wanted(finding: &Finding, told: Option<&CleanupStatus>, generation: Option<i64>) -> Option<CleanupStatus> {
    let status = |rule: CleanupRule, end: Timestamp, ending: bool| CleanupStatus {
        rule,
        account: finding.policy.clone().unwrap_or_default(),
        end_time: Time(whole(end)),
        ending,
        observed_generation: generation,
    };
    let under_way = told.filter(|told| told.ending);
    match &finding.verdict {
        // What has begun goes to its end, whatever the policy has become.
        Verdict::End(_) if under_way.is_some_and(|told| told.observed_generation == generation) => {
            told.cloned()
        }
        _ if finding.dry_run => None,
        Verdict::Leave | Verdict::Kept(_) | Verdict::TakeBack => None,
        Verdict::Warn(Warning { rule, end }) => Some(status(*rule, ceiling(*end), false)),
        Verdict::Warned(_) => told.cloned(),
        Verdict::End(rule) => told.map(|told| status(*rule, told.end_time.0, true)),
    }
}

/// Objects keep whole seconds, and nobody is ended a moment too early.
fn ceiling(time: Timestamp) -> Timestamp {
    if whole(time) == time { time } else { crate::policy::later(whole(time), SignedDuration::from_secs(1)) }
}

fn sentence(status: &CleanupStatus, finding: &Finding) -> String {
    format!(
        "it will be ended at {} by the rule {} of account {}: {}",
        status.end_time.0, status.rule, status.account, finding.why
    )
}

async fn write<K: Cleaned>(
    api: &Api<K>,
    seen: &K,
    wanted: Option<&CleanupStatus>,
    finding: &Finding,
    now: Timestamp,
) -> Result<(), Error> {
    let mut body = json!({});
    if let Some(status) = wanted {
        let is_due = |condition: &&Condition| condition.type_ == condition_types::CLEANUP_DUE;
        let mut conditions: Vec<Condition> = seen.conditions().iter().filter(is_due).cloned().collect();
        let message = sentence(status, finding);
        let reason = status.rule.to_string();
        let say = Say { kind: condition_types::CLEANUP_DUE, holds: true, reason: &reason, message: &message };
        set_condition(&mut conditions, seen.meta().generation, now, &say);
        body = json!({ "cleanup": status, "conditions": conditions });
    }
    crate::status::write(api, MANAGER, seen, &body).await?;
    Ok(())
}

/// Brings the annotations for people to what the status says.
async fn annotate<K: Cleaned>(api: &Api<K>, seen: &K, wanted: Option<&CleanupStatus>) -> Result<(), Error> {
    let is = |name: &str| seen.annotations().get(name).cloned();
    let at = wanted.map(|status| status.end_time.0.to_string());
    let rule = wanted.map(|status| status.rule.to_string());
    if is(names::ANNOTATION_CLEAN_AT) == at && is(names::ANNOTATION_CLEAN_RULE) == rule {
        return Ok(());
    }
    let text = |text: Option<String>| text.map_or(Value::Null, Value::String);
    let body = json!({ "metadata": {
        "uid": seen.uid(),
        "annotations": { names::ANNOTATION_CLEAN_AT: text(at), names::ANNOTATION_CLEAN_RULE: text(rule) },
    } });
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let result = api.patch_metadata(&seen.name_any(), &params, &Patch::Merge(&body)).await;
    let step = || format!("annotate {} {}", K::kind(&()), seen.name_any());
    result.map(drop).map_err(|source| Error::in_step(step(), source))
}
