//! `maar account list` and `get`.

use anyhow::Context as _;
use k8s_openapi::{
    api::core::v1::{Namespace, Pod},
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kube::{Api, ResourceExt as _, api::ListParams};
use maar_api::v1alpha1::{AIJob, Account, AccountStatus, condition_types};

use super::usage::{Held, Named, Usage, words};
use crate::commands::{
    client::Connection,
    output::{Output, Table, list as listing, or_dash, print, show},
};

/// All accounts, and what they hold.
pub(crate) async fn read(connection: &Connection) -> anyhow::Result<(Vec<Account>, Usage)> {
    let accounts = all::<Account>(connection, "").await.context("listing accounts")?;
    let over = "status.phase!=Succeeded,status.phase!=Failed";
    let pods = all::<Pod>(connection, over).await.context("listing the Pods of accounts")?;
    let jobs = all::<AIJob>(connection, "").await.context("listing jobs")?;
    let namespaces = all::<Namespace>(connection, "").await.context("listing namespaces")?;
    Ok((accounts, Usage::of(&pods, &Named::new(&jobs, &namespaces))))
}

async fn all<K>(connection: &Connection, fields: &str) -> Result<Vec<K>, kube::Error>
where
    K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let api: Api<K> = Api::all(connection.client.clone());
    let field_selector = Some(fields.to_owned()).filter(|fields| !fields.is_empty());
    Ok(api.list(&ListParams { field_selector, ..ListParams::default() }).await?.items)
}

pub(super) async fn list(connection: &Connection, output: Output) -> anyhow::Result<()> {
    let (accounts, usage) = read(connection).await?;
    show(output, &table(&accounts, &usage), &listing(&accounts))
}

/// Accounts as a table. Accounts that Pods name and nobody made are there too: they are used.
pub(crate) fn table(accounts: &[Account], usage: &Usage) -> Table {
    let held = |account: &Account| usage.with_children(&account.name_any(), accounts);
    let mut rows: Vec<Vec<String>> = accounts.iter().map(|account| row(account, &held(account))).collect();
    let known = |name: &str| accounts.iter().any(|account| account.name_any() == name);
    for (name, held) in usage.accounts.iter().filter(|(name, _)| !known(name)) {
        let counts = [held.running.to_string(), held.waiting.to_string(), words(&held.used)];
        let dash = || "-".to_owned();
        rows.push([name.clone(), dash(), dash()].into_iter().chain(counts).collect());
    }
    with_titles(rows)
}

/// The same by what stands in their status, for those who may not see all Pods.
pub(crate) fn table_by_status(accounts: &[Account]) -> Table {
    let held = |account: &Account| {
        let status = account.status.clone().unwrap_or_default();
        let count = |pods: i32| usize::try_from(pods).unwrap_or(0);
        Held { used: status.used, running: count(status.running_pods), waiting: count(status.pending_pods) }
    };
    with_titles(accounts.iter().map(|account| row(account, &held(account))).collect())
}

fn row(account: &Account, held: &Held) -> Vec<String> {
    let spec = &account.spec;
    let status = account.status.clone().unwrap_or_default();
    vec![
        account.name_any(),
        or_dash(spec.parent.as_deref()),
        ready(&status),
        held.running.to_string(),
        held.waiting.to_string(),
        words(&held.used),
        words(&spec.deserved),
        words(&status.borrowed),
        words(&spec.guaranteed),
        words(&status.kept_free),
        words(&spec.capability),
        words(&status.pending),
        spec.weight.to_string(),
        spec.members.len().to_string(),
        status.children.to_string(),
    ]
}

fn with_titles(rows: Vec<Vec<String>>) -> Table {
    let titles = vec![
        "NAME",
        "PARENT",
        "READY",
        "PODS",
        "WAITING",
        "USED",
        "DESERVED",
        "BORROWED",
        "GUARANTEED",
        "KEPT-FREE",
        "CAPABILITY",
        "PENDING",
        "WEIGHT",
        "MEMBERS",
        "CHILDREN",
    ];
    Table { titles, narrow: 8, rows }
}

/// Whether it makes sense, or why not.
fn ready(status: &AccountStatus) -> String {
    match condition(status) {
        None => "-".to_owned(),
        Some(condition) if condition.status == "True" => "yes".to_owned(),
        Some(condition) => condition.reason.clone(),
    }
}

fn condition(status: &AccountStatus) -> Option<&Condition> {
    status.conditions.iter().find(|condition| condition.type_ == condition_types::READY)
}

pub(super) async fn get(connection: &Connection, output: Output, name: &str) -> anyhow::Result<()> {
    let api: Api<Account> = Api::all(connection.client.clone());
    let account = api.get(name).await.with_context(|| format!("reading account {name}"))?;
    if !matches!(output, Output::Table | Output::Wide) {
        return show(output, &Table::default(), &account);
    }
    let (accounts, usage) = read(connection).await?;
    print(&table(std::slice::from_ref(&account), &usage).text(true));
    let problem = account.status.as_ref().and_then(condition).filter(|condition| condition.status != "True");
    if let Some(condition) = problem {
        print(&format!("\n{}: {}\n", condition.reason, condition.message));
    }
    let held = usage.with_children(name, &accounts);
    print(&format!(
        "\nused with all below: {} by {} Pods, {} wait\n\n",
        words(&held.used),
        held.running,
        held.waiting
    ));
    print(&members(&account, &usage).text(true));
    Ok(())
}

fn members(account: &Account, usage: &Usage) -> Table {
    let name = account.name_any();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let row = |user: &str, role: String, most: String| {
        let held = usage.users.get(&(name.clone(), user.to_owned())).cloned().unwrap_or_default();
        vec![
            or_dash(Some(user)),
            role,
            held.running.to_string(),
            held.waiting.to_string(),
            words(&held.used),
            most,
        ]
    };
    for member in &account.spec.members {
        rows.push(row(&member.user, format!("{:?}", member.role), words(&member.capability)));
    }
    let known = |user: &str| account.spec.members.iter().any(|member| member.user == user);
    for (_, user) in usage.users.keys().filter(|(account, user)| *account == name && !known(user)) {
        rows.push(row(user, "-".to_owned(), words(&account.spec.member_capability)));
    }
    let titles = vec!["USER", "ROLE", "PODS", "WAITING", "USED", "CAPABILITY"];
    Table { narrow: titles.len(), titles, rows }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn accounts_with_what_they_borrow_and_what_is_wrong() {
        let condition = |status: &str, reason: &str| {
            json!([{ "type": "Ready", "status": status, "reason": reason, "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z" }])
        };
        let accounts: Vec<Account> = [
            json!({ "metadata": { "name": "vision" }, "spec": { "deserved": { "nvidia.com/gpu": "4" } },
                "status": { "borrowed": { "nvidia.com/gpu": "2" }, "children": 1,
                    "conditions": condition("True", "AsAsked") } }),
            json!({ "metadata": { "name": "lost" }, "spec": { "parent": "nobody" },
                "status": { "conditions": condition("False", "ParentMissing") } }),
            json!({ "metadata": { "name": "new" }, "spec": {} }),
        ]
        .map(|object| serde_json::from_value(object).unwrap())
        .into();
        insta::assert_snapshot!(table(&accounts, &Usage::default()).text(true));
    }
}
