//! `maar policy preview`: a dry run of the clean-up policies.

use std::sync::Arc;

use anyhow::Context as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client, Resource, api::ListParams};
use maar_api::{
    names,
    v1alpha1::{AIJob, Account, CleanupRule, Workspace},
};
use maar_controller::clock::{Clock as _, SystemClock};
use maar_jobs::{Everything, Finding, Prometheus, Uses, Verdict, findings, uses_of};
use serde::{Serialize, de::DeserializeOwned};

use crate::commands::{
    client::Connection,
    output::{Output, Table, list, or_dash, show},
};

/// What `maar policy preview` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only work of this account
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// Prometheus with the metrics of the cards; without it nothing is known to be idle
    #[arg(long, value_name = "URL")]
    prometheus: Option<String>,
    /// Also what no rule says anything about
    #[arg(long)]
    all: bool,
}

/// One piece of work, as programs read it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    kind: String,
    namespace: String,
    name: String,
    account: String,
    /// The account whose policy holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<String>,
    dry_run: bool,
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<CleanupRule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<Timestamp>,
    why: String,
}

pub(super) async fn run(
    connection: &Connection,
    output: Output,
    arguments: &Arguments,
) -> anyhow::Result<()> {
    let client = &connection.client;
    let accounts = read::<Account>(client, None).await.context("listing accounts")?;
    let jobs = read::<AIJob>(client, None).await.context("listing jobs")?;
    let workspaces = read::<Workspace>(client, None).await.context("listing workspaces")?;
    let mut pods = Vec::new();
    for label in [names::LABEL_JOB, names::LABEL_VOLCANO_JOB, names::LABEL_WORKSPACE] {
        pods.extend(read::<Pod>(client, Some(label)).await.context("listing Pods")?);
    }
    let now = SystemClock.now();
    let mut uses = Uses::new();
    if let Some(url) = &arguments.prometheus {
        let (known, problems) = uses_of(&Prometheus::new(url)?, &accounts, now).await;
        // Who asks for it by name wants to hear that it does not answer.
        problems.into_iter().next().map_or(Ok(()), Err)?;
        uses = known;
    }
    let all = Everything {
        jobs: &jobs,
        workspaces: &workspaces,
        pods: &pods,
        accounts: &accounts,
        uses: &uses,
        now,
    };
    let mut findings: Vec<Finding> = findings(&all).into_iter().map(Finding::looking_ahead).collect();
    if arguments.prometheus.is_none() {
        findings = findings.into_iter().map(Finding::without_card_use).collect();
    }
    let rows = rows(findings, arguments);
    show(output, &table(&rows), &list(&rows))
}

async fn read<K>(client: &Client, label: Option<&str>) -> Result<Vec<Arc<K>>, kube::Error>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
{
    let api: Api<K> = Api::all(client.clone());
    let params = label.map_or_else(ListParams::default, |label| ListParams::default().labels(label));
    Ok(api.list(&params).await?.items.into_iter().map(Arc::new).collect())
}

fn rows(findings: Vec<Finding>, arguments: &Arguments) -> Vec<Row> {
    findings
        .into_iter()
        .filter(|finding| arguments.account.as_ref().is_none_or(|account| finding.account == *account))
        .filter(|finding| arguments.all || finding.verdict != Verdict::Leave || !finding.why.is_empty())
        .map(row)
        .collect()
}

fn row(finding: Finding) -> Row {
    let (action, rule, end) = finding.verdict.words();
    Row {
        kind: finding.kind.to_string(),
        namespace: finding.namespace,
        name: finding.name,
        account: finding.account,
        policy: finding.policy,
        dry_run: finding.dry_run,
        action,
        rule,
        // Seconds are enough for people, and are what objects keep.
        end: end.and_then(|end| Timestamp::from_second(end.as_second()).ok()),
        why: finding.why,
    }
}

fn table(rows: &[Row]) -> Table {
    let cells = |row: &Row| {
        let action = if row.dry_run { format!("{} (dry run)", row.action) } else { row.action.to_owned() };
        vec![
            row.kind.clone(),
            row.namespace.clone(),
            row.name.clone(),
            row.account.clone(),
            action,
            row.rule.map_or_else(|| "-".to_owned(), |rule| rule.to_string()),
            row.end.map_or_else(|| "-".to_owned(), |end| end.to_string()),
            or_dash(Some(&row.why)),
            or_dash(row.policy.as_deref()),
        ]
    };
    let titles = vec!["KIND", "NAMESPACE", "NAME", "ACCOUNT", "ACTION", "RULE", "END", "WHY", "POLICY-OF"];
    Table { titles, narrow: 8, rows: rows.iter().map(cells).collect() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(name: &str, annotations: &serde_json::Value, started: &str) -> Arc<AIJob> {
        let object = json!({
            "metadata": { "name": name, "namespace": "lab", "uid": name, "annotations": annotations },
            "spec": { "account": "vision", "tasks": [{ "name": "main", "template": {} }] },
            "status": { "phase": "Running", "attemptStartTime": started },
        });
        Arc::new(serde_json::from_value(object).unwrap())
    }

    #[test]
    fn a_preview_says_what_and_why() {
        let rules = json!({ "dryRun": false,
            "longRunning": { "batchHours": 96, "interactiveHours": 48, "warnHours": 24 } });
        let account = json!({ "metadata": { "name": "vision" }, "spec": { "cleanup": rules } });
        let accounts: Vec<Arc<Account>> = vec![Arc::new(serde_json::from_value(account).unwrap())];
        let jobs = [
            job("fresh", &json!({}), "2026-01-04T00:00:00Z"),
            job("kept", &json!({ "maar.io/keep": "true" }), "2026-01-01T00:00:00Z"),
            job("old", &json!({}), "2026-01-01T00:00:00Z"),
        ];
        let all = Everything {
            jobs: &jobs,
            workspaces: &[],
            pods: &[],
            accounts: &accounts,
            uses: &Uses::new(),
            now: "2026-01-04T06:00:00Z".parse().unwrap(),
        };
        let arguments = Arguments { account: None, prometheus: None, all: true };
        let rows = rows(findings(&all), &arguments);
        insta::assert_snapshot!(table(&rows).text(true));
        insta::assert_json_snapshot!(rows);
    }
}
