//! `maar account list` and `get`.

use anyhow::Context as _;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, ResourceExt as _, api::ListParams};
use maar_api::{names, v1alpha1::Account};

use super::usage::{Usage, words};
use crate::commands::{
    client::Connection,
    output::{Output, Table, list as listing, or_dash, print, show},
};

/// All accounts, and what they hold.
pub(crate) async fn read(connection: &Connection) -> anyhow::Result<(Vec<Account>, Usage)> {
    let accounts: Api<Account> = Api::all(connection.client.clone());
    let accounts = accounts.list(&ListParams::default()).await.context("listing accounts")?.items;
    let pods: Api<Pod> = Api::all(connection.client.clone());
    let params = ListParams::default().labels(names::LABEL_ACCOUNT);
    let pods = pods.list(&params).await.context("listing the Pods of accounts")?.items;
    Ok((accounts, Usage::of(&pods)))
}

pub(super) async fn list(connection: &Connection, output: Output) -> anyhow::Result<()> {
    let (accounts, usage) = read(connection).await?;
    show(output, &table(&accounts, &usage), &listing(&accounts))
}

/// Accounts as a table. Accounts that Pods name and nobody made are there too: they are used.
pub(crate) fn table(accounts: &[Account], usage: &Usage) -> Table {
    let mut rows: Vec<Vec<String>> = accounts
        .iter()
        .map(|account| {
            let held = usage.with_children(&account.name_any(), accounts);
            let spec = &account.spec;
            vec![
                account.name_any(),
                or_dash(spec.parent.as_deref()),
                held.running.to_string(),
                held.waiting.to_string(),
                words(&held.used),
                words(&spec.deserved),
                words(&spec.guaranteed),
                words(&spec.capability),
                spec.weight.to_string(),
                spec.members.len().to_string(),
            ]
        })
        .collect();
    let known = |name: &str| accounts.iter().any(|account| account.name_any() == name);
    for (name, held) in usage.accounts.iter().filter(|(name, _)| !known(name)) {
        let counts = [held.running.to_string(), held.waiting.to_string(), words(&held.used)];
        rows.push([name.clone(), "-".to_owned()].into_iter().chain(counts).collect());
    }
    let titles = vec![
        "NAME",
        "PARENT",
        "PODS",
        "WAITING",
        "USED",
        "DESERVED",
        "GUARANTEED",
        "CAPABILITY",
        "WEIGHT",
        "MEMBERS",
    ];
    Table { titles, narrow: 6, rows }
}

pub(super) async fn get(connection: &Connection, output: Output, name: &str) -> anyhow::Result<()> {
    let api: Api<Account> = Api::all(connection.client.clone());
    let account = api.get(name).await.with_context(|| format!("reading account {name}"))?;
    if !matches!(output, Output::Table | Output::Wide) {
        return show(output, &Table::default(), &account);
    }
    let (accounts, usage) = read(connection).await?;
    print(&table(std::slice::from_ref(&account), &Usage::default()).text(true));
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
