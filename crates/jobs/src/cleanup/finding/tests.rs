//! Findings about small worlds.

use serde_json::{Value, json};

use super::*;
use crate::cleanup::Readings;
use crate::job::fixture::start;
use crate::policy::later;

fn hours(count: i64) -> Timestamp {
    later(start(), jiff::SignedDuration::from_hours(count))
}

fn account(name: &str, parent: Option<&str>, cleanup: &Value) -> Arc<Account> {
    let object = json!({ "metadata": { "name": name }, "spec": { "parent": parent, "cleanup": cleanup } });
    Arc::new(serde_json::from_value(object).unwrap())
}

fn lab() -> Vec<Arc<Account>> {
    let rules = json!({
        "longRunning": { "batchHours": 96, "interactiveHours": 48, "warnHours": 24 },
        "idle": { "windowMinutes": 60, "percent": 5, "warnMinutes": 30 },
        "waiting": { "minutes": 60, "warnMinutes": 10 },
    });
    vec![account("lab", None, &rules), account("vision", Some("lab"), &Value::Null)]
}

/// A job that has run since the start, with changes by JSON pointer.
fn job(name: &str, changes: &[(&str, Value)]) -> Arc<AIJob> {
    let mut object = json!({
        "metadata": { "name": name, "namespace": "n", "uid": name, "generation": 1, "annotations": {}, "labels": {} },
        "spec": { "account": "vision", "tasks": [{ "name": "main", "template": {} }] },
        "status": { "phase": "Running", "attemptStartTime": start().to_string() },
    });
    for (pointer, value) in changes {
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        object.pointer_mut(parent).unwrap()[field.replace("~1", "/")] = value.clone();
    }
    Arc::new(serde_json::from_value(object).unwrap())
}

fn pod(owner: &str, cards: &str) -> Arc<Pod> {
    Arc::new(
        serde_json::from_value(json!({
            "metadata": { "name": format!("{owner}-main-0"), "namespace": "n",
                "annotations": { names::ANNOTATION_VISIBLE_CARDS: cards },
                "ownerReferences": [{ "apiVersion": "maar.io/v1alpha1", "kind": "AIJob", "name": owner, "uid": owner }] },
            "status": { "phase": "Running" },
        }))
        .unwrap(),
    )
}

fn uses(pod: &str, cards: &[Option<f64>]) -> Uses {
    let readings = Readings::from([(("n".to_owned(), pod.to_owned()), cards.to_vec())]);
    Uses::from([(60, readings)])
}

fn find(jobs: &[Arc<AIJob>], pods: &[Arc<Pod>], uses: &Uses, hour: i64) -> Vec<(Verdict, String)> {
    let accounts = lab();
    let all = Everything { jobs, workspaces: &[], pods, accounts: &accounts, uses, now: hours(hour) };
    findings(&all).into_iter().map(|finding| (finding.verdict, finding.why)).collect()
}

fn only(jobs: Arc<AIJob>, hour: i64) -> Verdict {
    find(&[jobs], &[], &Uses::new(), hour).remove(0).0
}

#[test]
fn a_policy_reaches_the_accounts_below() {
    let found = find(&[job("a", &[])], &[], &Uses::new(), 72);
    let end = Warning { rule: CleanupRule::LongRunning, end: hours(96) };
    let why = "it has run for 72h; jobs may run for 96h".to_owned();
    assert_eq!(found, [(Verdict::Warn(end), why)]);
    let other = job("b", &[("/spec/account", json!("somebody"))]);
    assert!(find(&[other], &[], &Uses::new(), 999).is_empty(), "no policy, no finding");
}

#[test]
fn every_card_of_every_pod_counts() {
    let (jobs, pods) = ([job("a", &[])], [pod("a", "0,1")]);
    let idle = |cards: &[Option<f64>]| find(&jobs, &pods, &uses("a-main-0", cards), 2).remove(0);
    assert!(matches!(
        idle(&[Some(5.0), Some(0.0)]).0,
        Verdict::Warn(Warning { rule: CleanupRule::Idle, .. })
    ));
    assert_eq!(idle(&[Some(5.1), Some(0.0)]).0, Verdict::Leave);
    let (verdict, why) = idle(&[Some(0.0)]);
    assert_eq!(verdict, Verdict::Leave, "of one card nothing is known");
    assert_eq!(why, "the use of its cards is not known for the whole window");
    let nothing = find(&jobs, &pods, &Uses::new(), 2).remove(0);
    assert_eq!(nothing.0, Verdict::Leave, "Prometheus does not answer");
}

#[test]
fn locks_hold_also_those_of_the_parent_and_also_unreadable_ones() {
    let keep = ("/metadata/annotations/maar.io~1keep", json!("true"));
    assert_eq!(only(job("a", std::slice::from_ref(&keep)), 500), Verdict::Kept(Kept::ForGood));
    let until = |text: &str| ("/metadata/annotations/maar.io~1locked-until", json!(text));
    let locked = job("a", &[until(&hours(600).to_string())]);
    assert_eq!(only(Arc::clone(&locked), 500), Verdict::Kept(Kept::Until(hours(600))));
    assert!(matches!(only(locked, 601), Verdict::Warn(_)));
    let odd = Kept::Unreadable("next week".to_owned());
    assert_eq!(only(job("a", &[until("next week")]), 500), Verdict::Kept(odd));
    let parent = job("a", &[keep, ("/spec/array", json!({ "indices": "0-3" }))]);
    let child = job("a-0", &[("/metadata/labels/maar.io~1parent", json!("a"))]);
    let found = find(&[parent, child], &[], &Uses::new(), 500);
    assert_eq!(found.len(), 1, "a parent runs nothing itself");
    assert_eq!(found[0].0, Verdict::Kept(Kept::ForGood));
}

#[test]
fn what_is_being_ended_is_not_judged_again_and_what_changed_is() {
    let told = |generation: i64| {
        let told = json!({ "rule": "LongRunning", "account": "lab", "endTime": hours(96).to_string(),
            "ending": true, "observedGeneration": generation });
        job("a", &[("/status/cleanup", told), ("/status/phase", json!("Suspended"))])
    };
    assert_eq!(only(told(1), 97), Verdict::End(CleanupRule::LongRunning));
    assert_eq!(only(told(0), 97), Verdict::TakeBack, "it was suspended in the meantime");
}

#[test]
fn a_warning_without_a_policy_is_taken_back() {
    let told = json!({ "rule": "Idle", "account": "lab", "endTime": hours(96).to_string() });
    let job = job("a", &[("/status/cleanup", told), ("/spec/account", json!("free"))]);
    assert_eq!(only(job, 90), Verdict::TakeBack);
}

#[test]
fn waiting_counts_while_no_node_is_found() {
    let pending = |reason: &str| {
        let status = json!({ "phase": "Pending", "reason": reason, "queuedTime": start().to_string() });
        job("a", &[("/status", status)])
    };
    assert!(matches!(
        only(pending("WaitingForNodes"), 1),
        Verdict::Warn(Warning { rule: CleanupRule::Waiting, .. })
    ));
    assert_eq!(only(pending("Starting"), 9), Verdict::Leave);
}

#[test]
fn who_does_not_know_the_use_of_cards_takes_no_warning_back() {
    let told = json!({ "rule": "Idle", "account": "lab", "endTime": hours(3).to_string() });
    let warned = job("a", &[("/status/cleanup", told.clone())]);
    let keep = ("/metadata/annotations/maar.io~1keep", json!("true"));
    let kept = job("b", &[("/status/cleanup", told), keep]);
    let (accounts, uses) = (lab(), Uses::new());
    let (jobs, pods) = ([warned, kept], [pod("a", "0"), pod("b", "0")]);
    let all = Everything {
        jobs: &jobs,
        workspaces: &[],
        pods: &pods,
        accounts: &accounts,
        uses: &uses,
        now: hours(2),
    };
    let found: Vec<Verdict> =
        findings(&all).into_iter().map(|finding| finding.without_card_use().verdict).collect();
    let end = Warning { rule: CleanupRule::Idle, end: hours(3) };
    assert_eq!(found, [Verdict::Warned(end), Verdict::TakeBack]);
}
