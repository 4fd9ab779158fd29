//! What the policies say of everything there is.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use maar_api::{
    names,
    v1alpha1::{
        AIJob, Account, Backend, CleanupRule, CleanupSpec, CleanupStatus, JobPhase, JobType, Workspace,
        WorkspacePhase, WorkspaceType, reasons,
    },
};

use super::{card_use::Uses, words};
use crate::{
    card, family,
    index::Key,
    policy::{Kept, Verdict, Warning, Work, judge, policy_of, tonight},
};

/// All that is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Everything<'a> {
    /// All jobs.
    pub jobs: &'a [Arc<AIJob>],
    /// All workspaces.
    pub workspaces: &'a [Arc<Workspace>],
    /// Pods of both.
    pub pods: &'a [Arc<Pod>],
    /// All accounts.
    pub accounts: &'a [Arc<Account>],
    /// How much cards are used.
    pub uses: &'a Uses,
    /// The present moment.
    pub now: Timestamp,
}

/// A kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A job.
    AIJob,
    /// A workspace.
    Workspace,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

/// What a policy says of one piece of work.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What it is.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who pays for it.
    pub account: String,
    /// The account whose policy holds; none if no policy does (any more).
    pub policy: Option<String>,
    /// The policy only says what it would do.
    pub dry_run: bool,
    /// What people were told before.
    pub warned: Option<Warning>,
    /// What is to be done.
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub why: String,
    /// What the next night does, where nothing is to be done now.
    tonight: Option<Warning>,
}

impl Finding {
    /// For previews: what the next night does counts as if it were warned of now.
    pub fn looking_ahead(self) -> Self {
        match self.tonight {
            Some(night) if self.verdict == Verdict::Leave => {
                Self { verdict: Verdict::Warn(night), why: words::NIGHT.to_owned(), ..self }
            }
            _ => self,
        }
    }

    /// For who does not know how much cards are used: a warning about idle cards stands for as long as it is not taken
    /// back by who does.
    pub fn without_card_use(self) -> Self {
        let idle = self.warned.filter(|warned| warned.rule == CleanupRule::Idle);
        if let Some(warned) = idle.filter(|_| self.verdict == Verdict::TakeBack && self.why == words::GONE) {
            let why = "its cards were idle when it was warned; their use is not known here".to_owned();
            return Self { verdict: Verdict::Warned(warned), why, ..self };
        }
        self
    }
}

/// The object that a finding is about.
#[derive(Debug, Clone)]
pub(super) enum Subject {
    Job(Arc<AIJob>),
    Workspace(Arc<Workspace>),
}

/// What the policies say of all work that any policy is about, in the order of the names.
pub fn findings(all: &Everything<'_>) -> Vec<Finding> {
    examine(all).into_iter().map(|(_, finding)| finding).collect()
}

pub(super) fn examine(all: &Everything<'_>) -> Vec<(Subject, Finding)> {
    let pods = by_owner(all.pods);
    let jobs: BTreeMap<Key, &Arc<AIJob>> = all.jobs.iter().map(|job| (Key::of(&**job), job)).collect();
    let jobs = jobs.iter().filter(|(_, job)| is_work(job)).map(|(key, job)| {
        let parent = job.labels().get(names::LABEL_PARENT).and_then(|name| jobs.get(&key.beside(name)));
        let status = job.status.as_ref();
        let about = About {
            kind: Kind::AIJob,
            key,
            account: job.spec.account(),
            told: status.and_then(|status| status.cleanup.as_ref()),
            pods: pods.get(&owner_of(key, job)).map_or(&[], Vec::as_slice),
        };
        let work = job_work(job, parent.map(|parent| &***parent), all.now);
        about.find(all, work, is_being_ended(job)).map(|finding| (Subject::Job(Arc::clone(job)), finding))
    });
    let desks: BTreeMap<Key, &Arc<Workspace>> =
        all.workspaces.iter().map(|one| (Key::of(&**one), one)).collect();
    let desks = desks.iter().map(|(key, desk)| {
        let about = About {
            kind: Kind::Workspace,
            key,
            account: desk.spec.account(),
            told: desk.status.as_ref().and_then(|status| status.cleanup.as_ref()),
            pods: desk.uid().and_then(|uid| pods.get(&uid)).map_or(&[], Vec::as_slice),
        };
        let work = workspace_work(desk, all.now);
        let finding = about.find(all, work, is_being_suspended(desk));
        finding.map(|finding| (Subject::Workspace(Arc::clone(desk)), finding))
    });
    jobs.flatten().chain(desks.flatten()).collect()
}

/// What is the same of jobs and workspaces.
struct About<'a> {
    kind: Kind,
    key: &'a Key,
    account: &'a str,
    told: Option<&'a CleanupStatus>,
    pods: &'a [&'a Pod],
}

impl About<'_> {
    fn find(&self, all: &Everything<'_>, mut work: Work, ending: bool) -> Option<Finding> {
        let policy = policy_of(self.account, all.accounts);
        let tonight = policy.and_then(|(_, rules)| tonight(rules, &work, all.now));
        let finding = |verdict: Verdict, why: String| Finding {
            tonight,
            kind: self.kind,
            namespace: self.key.namespace.clone(),
            name: self.key.name.clone(),
            account: self.account.to_owned(),
            policy: policy.map(|(name, _)| name.to_owned()),
            dry_run: policy.is_some_and(|(_, policy)| policy.dry_run),
            warned: self.told.map(|told| Warning { rule: told.rule, end: told.end_time.0 }),
            verdict,
            why,
        };
        if let Some(told) = self.told.filter(|_| ending) {
            return Some(finding(Verdict::End(told.rule), words::ending(told.rule)));
        }
        work.warned = self.told.map(|told| Warning { rule: told.rule, end: told.end_time.0 });
        let Some((_, rules)) = policy else {
            // The policy is gone, and with it the reason of the warning.
            return work.warned.map(|_| finding(Verdict::TakeBack, "no policy holds for it".to_owned()));
        };
        work.cards = self.cards(rules, all.uses);
        let verdict = judge(rules, &work, all.now);
        let why = words::why(rules, &work, &verdict, all.now);
        Some(finding(verdict, why))
    }

    /// The use of all its cards over the window of the rule.
    fn cards(&self, rules: &CleanupSpec, uses: &Uses) -> Vec<Option<f64>> {
        let Some(rule) = &rules.idle else { return Vec::new() };
        let readings = uses.get(&rule.window_minutes);
        let of = |pod: &&Pod| {
            let key = (pod.namespace().unwrap_or_default(), pod.name_any());
            let mut known = readings.and_then(|all| all.get(&key)).cloned().unwrap_or_default();
            let count = card_count(pod);
            known.resize(known.len().max(count), None);
            if count == 0 { Vec::new() } else { known }
        };
        self.pods.iter().flat_map(of).collect()
    }
}

/// Pods that may hold cards, by the uid of what owns them.
fn by_owner(pods: &[Arc<Pod>]) -> BTreeMap<String, Vec<&Pod>> {
    let mut all: BTreeMap<String, Vec<&Pod>> = BTreeMap::new();
    let over = |pod: &Pod| {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        matches!(phase, Some("Succeeded" | "Failed"))
    };
    for pod in pods.iter().filter(|pod| !over(pod)) {
        for owner in pod.owner_references() {
            let theirs = owner.api_version.starts_with("batch.volcano.sh/");
            let key = Key { namespace: pod.namespace().unwrap_or_default(), name: owner.name.clone() };
            let owner = if theirs { volcano_owner(&key) } else { owner.uid.clone() };
            all.entry(owner).or_default().push(pod);
        }
    }
    all
}

/// Under what [`by_owner`] has the Pods of a job. Those that Volcano runs belong to its Job of the same name.
fn owner_of(key: &Key, job: &AIJob) -> String {
    match job.spec.backend {
        Backend::Maar => job.uid().unwrap_or_default(),
        Backend::Volcano => volcano_owner(key),
    }
}

fn volcano_owner(key: &Key) -> String {
    format!("volcano:{key}")
}

/// How many cards a Pod holds, whole or in part.
fn card_count(pod: &Pod) -> usize {
    if let Some(numbers) = pod.annotations().get(names::ANNOTATION_VISIBLE_CARDS) {
        return numbers.split(',').filter(|number| !number.is_empty()).count();
    }
    let shared = usize::from(pod.annotations().contains_key(names::ANNOTATION_CARD_SHARE));
    shared + card::asked(pod).into_iter().map(|(_, count)| count).sum::<usize>()
}

/// Parents run nothing, and what is over is over.
fn is_work(job: &AIJob) -> bool {
    let over = job.status.as_ref().is_some_and(|status| status.phase.is_final());
    !over && !family::is_parent(&job.spec) && job.metadata.deletion_timestamp.is_none()
}

/// A job that a rule ends is not judged again, unless its spec has changed before anything was done.
fn is_being_ended(job: &AIJob) -> bool {
    let Some(status) = &job.status else { return false };
    let stopping = status.stop.as_ref().is_some_and(|stop| CleanupRule::of_reason(&stop.reason).is_some());
    stopping || is_fresh(status.cleanup.as_ref(), job.metadata.generation)
}

/// The same of a workspace, which is only suspended and may go on later.
fn is_being_suspended(desk: &Workspace) -> bool {
    let Some(status) = &desk.status else { return false };
    let stopping = status.phase == WorkspacePhase::Stopping
        && status.reason.as_deref().and_then(CleanupRule::of_reason).is_some();
    stopping || is_fresh(status.cleanup.as_ref(), desk.metadata.generation)
}

/// Whether the end of exactly this spec was decided.
pub(crate) fn is_fresh(told: Option<&CleanupStatus>, generation: Option<i64>) -> bool {
    told.is_some_and(|told| told.ending && told.observed_generation == generation)
}

fn job_work(job: &AIJob, parent: Option<&AIJob>, now: Timestamp) -> Work {
    let status = job.status.clone().unwrap_or_default();
    let running = matches!(status.phase, JobPhase::Running | JobPhase::Restarting);
    let waits = matches!(status.phase, JobPhase::Prequeue | JobPhase::Pending | JobPhase::Preempted)
        && status.reason.as_deref() != Some(reasons::STARTING);
    let own = lock(job.annotations(), now);
    Work {
        interactive: matches!(job.spec.job_type, JobType::Jupyter | JobType::CodeServer),
        job_type: Some(job.spec.job_type),
        running_since: status.attempt_start_time.filter(|_| running).map(|time| time.0),
        waiting_since: status.queued_time.filter(|_| waits).map(|time| time.0),
        kept: own.or_else(|| lock(parent?.annotations(), now)),
        ..Work::default()
    }
}

pub(super) fn workspace_work(desk: &Workspace, now: Timestamp) -> Work {
    let status = desk.status.clone().unwrap_or_default();
    let waits = status.phase == WorkspacePhase::Pending
        && status.reason.as_deref() == Some(reasons::WAITING_FOR_NODES);
    let protected = desk.spec.protected_until.as_ref().map(|time| time.0).filter(|until| *until > now);
    let running = status.phase == WorkspacePhase::Running;
    Work {
        interactive: true,
        job_type: match desk.spec.workspace_type {
            WorkspaceType::Terminal => None,
            WorkspaceType::Jupyter => Some(JobType::Jupyter),
            WorkspaceType::CodeServer => Some(JobType::CodeServer),
        },
        running_since: status.start_time.filter(|_| running).map(|time| time.0),
        waiting_since: status.last_transition_time.filter(|_| waits).map(|time| time.0),
        kept: lock(desk.annotations(), now).or(protected.map(Kept::Until)),
        resumes: true,
        ..Work::default()
    }
}

/// What annotations say against every rule.
fn lock(annotations: &BTreeMap<String, String>, now: Timestamp) -> Option<Kept> {
    if annotations.get(names::ANNOTATION_KEEP).is_some_and(|text| text == "true") {
        return Some(Kept::ForGood);
    }
    let text = annotations.get(names::ANNOTATION_LOCKED_UNTIL)?;
    match text.parse::<Timestamp>() {
        Ok(until) => (until > now).then_some(Kept::Until(until)),
        Err(_) => Some(Kept::Unreadable(text.clone())),
    }
}

#[cfg(test)]
mod tests;
