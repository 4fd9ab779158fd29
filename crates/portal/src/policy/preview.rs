//! What policies would do.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, ResourceExt as _, api::ListParams};
use maar_api::{
    names,
    v1alpha1::{Account, CleanupRule, CleanupSpec},
};
use maar_jobs::{Everything, Finding, Readings, Uses, Verdict, findings, uses_of};
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::{
    cards::{CardSource, Cards},
    error::ApiError,
    live::PodFacts,
    node::given,
    page::{Page, PageQuery, page},
    portal::Portal,
};

/// What a policy would do with one piece of work.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FindingView {
    /// `AIJob` or `Workspace`.
    kind: String,
    namespace: String,
    name: String,
    account: String,
    /// `warn`, `warned`, `end`, `keep` or `take-back`.
    pub(super) action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<CleanupRule>,
    /// When it would be ended.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<Timestamp>,
    /// Why, in a sentence.
    why: String,
}

/// What a policy would do now.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Preview {
    /// What was previewed.
    pub(super) hash: String,
    /// Whether it is known how much cards are used, for as long as the policy looks back; if not, nothing counts as idle
    /// here.
    card_use_known: bool,
    /// What it would do with what, by namespace; a page of it.
    pub(super) findings: Vec<FindingView>,
    /// Asks for the next page, as `cursor`; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// How much it would do something with, on all pages.
    pub(super) total: usize,
    /// How much it leaves alone.
    left_alone: usize,
}

impl Preview {
    /// The page of it that is asked for.
    pub(super) fn paged(mut self, query: &PageQuery) -> Result<Self, ApiError> {
        let place = |one: &FindingView| (one.namespace.clone(), one.kind.clone(), one.name.clone());
        self.findings.sort_by_cached_key(place);
        let Page { items, next } = page(self.findings, query, place)?;
        Ok(Self { findings: items, next, ..self })
    }
}

/// Tells policies apart by what they say, switched on or not.
pub(super) fn hash(policy: &CleanupSpec) -> String {
    let plain = CleanupSpec { dry_run: false, ..policy.clone() };
    let text = serde_json::to_vec(&plain).unwrap_or_default();
    crate::identity::hex(&Sha256::digest(text)[..16])
}

/// All that `policy` would do for `account` and those below it that have none of their own.
pub(super) async fn preview(
    portal: &Portal,
    account: &str,
    policy: &CleanupSpec,
    now: Timestamp,
) -> Result<Preview, ApiError> {
    let accounts: Vec<Arc<Account>> = portal
        .live
        .accounts
        .list(None)
        .into_iter()
        .map(|one| {
            if one.name_any() != account {
                return one;
            }
            let mut changed = (*one).clone();
            changed.spec.cleanup = Some(policy.clone());
            Arc::new(changed)
        })
        .collect();
    let window = policy.idle.as_ref().map(|rule| rule.window_minutes);
    let (uses, known) = uses(portal, &accounts, window, now).await;
    let (jobs, workspaces) = (portal.live.jobs.list(None), portal.live.workspaces.list(None));
    let pods = pods(portal).await?;
    let all = Everything {
        jobs: &jobs,
        workspaces: &workspaces,
        pods: &pods,
        accounts: &accounts,
        uses: &uses,
        now,
    };
    let found = findings(&all).into_iter().filter(|one| one.policy.as_deref() == Some(account));
    let found = found.map(|one| if known { one } else { one.without_card_use() }.looking_ahead());
    let (left, touched): (Vec<Finding>, Vec<Finding>) = found.partition(|one| one.verdict == Verdict::Leave);
    Ok(Preview {
        hash: hash(policy),
        card_use_known: known,
        total: touched.len(),
        findings: touched.into_iter().map(view).collect(),
        next: None,
        left_alone: left.len(),
    })
}

fn view(finding: Finding) -> FindingView {
    let (action, rule, end) = finding.verdict.words();
    FindingView {
        kind: finding.kind.to_string(),
        namespace: finding.namespace,
        name: finding.name,
        account: finding.account,
        action,
        rule,
        end: end.and_then(|end| Timestamp::from_second(end.as_second()).ok()),
        why: finding.why,
    }
}

/// Whole Pods of all work: the portal keeps less of each.
async fn pods(portal: &Portal) -> Result<Vec<Arc<Pod>>, ApiError> {
    let api: Api<Pod> = Api::all(portal.client.clone());
    let mut all = Vec::new();
    for label in [names::LABEL_JOB, names::LABEL_VOLCANO_JOB, names::LABEL_WORKSPACE] {
        let found = api.list(&ListParams::default().labels(label)).await;
        let found = found.map_err(|error| ApiError::of_cluster("the Pods", error))?;
        all.extend(found.items.into_iter().map(Arc::new));
    }
    Ok(all)
}

/// How much cards are used over the windows of the rules, and whether it is known over that of the one that is previewed.
async fn uses(
    portal: &Portal,
    accounts: &[Arc<Account>],
    window: Option<i64>,
    now: Timestamp,
) -> (Uses, bool) {
    match &portal.settings.cards {
        CardSource::Nothing => (Uses::new(), false),
        CardSource::Prometheus(prometheus) => {
            let (uses, problems) = uses_of(prometheus, accounts, now).await;
            for problem in &problems {
                tracing::warn!("a preview does without the use of cards: {problem}");
            }
            (uses, problems.is_empty())
        }
        CardSource::Nodes => {
            let rules = accounts.iter().filter_map(|account| account.spec.cleanup.as_ref()?.idle.as_ref());
            let pods = portal.live.pods.list(None);
            let uses = rules.map(|rule| {
                let window = rule.window_minutes;
                (window, seen(&portal.cards, &pods, window, now))
            });
            let reaches = |window| portal.cards.with_history(|all| all.reaches(window, now.as_second()));
            (uses.collect(), window.is_none_or(reaches))
        }
    }
}

/// The highest use of the cards of each Pod as the portal has seen it itself, for a day. What is not seen is not idle.
fn seen(cards: &Cards, pods: &[Arc<PodFacts>], minutes: i64, now: Timestamp) -> Readings {
    let mut readings = Readings::new();
    for pod in pods.iter().filter(|pod| pod.holds()) {
        let (Some(node), Some(text)) = (&pod.node, &pod.cards) else { continue };
        let kinds: BTreeMap<&str, Vec<u32>> = text
            .split(';')
            .filter_map(|part| part.split_once('='))
            .map(|(kind, _)| (kind, given(text, kind).into_iter().map(|(index, _)| index).collect()))
            .collect();
        let uses = kinds.iter().flat_map(|(kind, all)| all.iter().map(move |index| (*kind, *index)));
        let uses = uses.map(|(kind, index)| cards.highest(node, (kind, index), minutes, now).map(f64::from));
        readings.insert((pod.namespace.clone(), pod.name.clone()), uses.collect());
    }
    readings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_policy_is_the_same_switched_on_and_off_and_another_with_another_number() {
        let policy = |hours: i64, dry: bool| -> CleanupSpec {
            let rule = json!({ "batchHours": hours, "interactiveHours": 48, "warnHours": 24 });
            serde_json::from_value(json!({ "dryRun": dry, "longRunning": rule })).unwrap()
        };
        assert_eq!(hash(&policy(96, true)), hash(&policy(96, false)));
        assert_ne!(hash(&policy(96, true)), hash(&policy(95, true)));
    }
}
