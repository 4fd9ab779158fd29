//! What is known about a Pod, in words.

use std::fmt::Write as _;

use maar_scheduler::explain::plural;

use super::Found;
use crate::commands::job::queue_words;

/// A few lines about a Pod, with times counted from `now`.
pub(super) fn words(found: &Found, now: i64) -> String {
    // Writing to a String cannot fail, here and below.
    let mut text = format!("Pod {} {}\n", found.pod, state(found));
    if let Some(message) = &found.message {
        let _ = writeln!(text, "  {message}");
    }
    if let Some(explanation) = &found.explanation {
        for line in explanation.lines(now) {
            let _ = writeln!(text, "  {line}");
        }
    } else if let (Some(queue), Some(job)) = (&found.queue, &found.job) {
        let _ = writeln!(text, "  of its job {job} the scheduler says:");
        text.push_str(&queue_words(queue));
    } else if found.waits() && found.message.is_none() {
        text.push_str("  the scheduler has not said anything about it yet\n");
    }
    if let Some(by) = &found.by {
        let _ = writeln!(text, "  ({by})");
    }
    text
}

fn state(found: &Found) -> String {
    match (&found.node, found.phase.as_str()) {
        (_, "Succeeded" | "Failed") => format!("has ended: {}", found.phase),
        (Some(node), _) if found.terminating => format!("is being stopped on node {node}"),
        (None, _) if found.terminating => "is being deleted".to_owned(),
        (Some(node), "Running") => format!("runs on node {node}"),
        (Some(node), phase) => format!("has node {node}, and is {phase} there"),
        (None, _) if !found.gates.is_empty() => {
            let gates = plural(found.gates.len(), "gate", "gates");
            format!("must not be placed yet: it has the scheduling {gates} {}", found.gates.join(", "))
        }
        (None, _) => format!("waits for a node from {}", found.scheduler),
    }
}

#[cfg(test)]
mod tests {
    use maar_scheduler::explain::Explanation;
    use serde_json::json;

    use super::*;

    fn waiting() -> Found {
        Found {
            pod: "train-0".to_owned(),
            namespace: "lab".to_owned(),
            phase: "Pending".to_owned(),
            scheduler: "maar-scheduler".to_owned(),
            ..Found::default()
        }
    }

    fn explanation() -> Explanation {
        serde_json::from_value(json!({"group": "lab/pod:train-0", "account": "vision", "reserved": false,
            "state": {"is": "noRoom", "pods": 1, "fit": 0}, "start": 600_000,
            "queue": {"ahead": 0, "first": [], "share": 0.5, "accounts": []},
            "nodes": {"total": 3, "removed": [{"nodes": 2, "why": "are cordoned"},
                {"nodes": 1, "why": "has too little cpu left"}]}}))
        .unwrap()
    }

    #[test]
    fn pods_in_words() {
        let queue = serde_json::from_value(json!({"position": 2, "message": "no node has room for it",
            "filters": [{"filter": "is cordoned", "nodes": 1}]}))
        .unwrap();
        let refused = "the volume claim data does not exist".to_owned();
        let node = || Some("n1".to_owned());
        let all = [
            Found { explanation: Some(explanation()), ..waiting() },
            Found { queue: Some(queue), job: Some("train".to_owned()), ..waiting() },
            Found { message: Some(refused), ..waiting() },
            waiting(),
            Found { gates: vec!["a/b".to_owned()], ..waiting() },
            Found { gates: vec!["a/b".to_owned(), "c/d".to_owned()], ..waiting() },
            Found { node: node(), ..waiting() },
            Found { node: node(), phase: "Running".to_owned(), ..waiting() },
            Found { node: node(), phase: "Running".to_owned(), terminating: true, ..waiting() },
            Found { terminating: true, ..waiting() },
            Found { node: node(), phase: "Succeeded".to_owned(), ..waiting() },
        ];
        let texts: Vec<String> = all.iter().map(|found| words(found, 0)).collect();
        insta::assert_snapshot!(texts.join("\n"));
    }

    #[test]
    fn a_pod_for_programs() {
        let found = Found { explanation: Some(explanation()), ..waiting() };
        insta::assert_snapshot!(serde_json::to_string_pretty(&found).unwrap());
    }
}
