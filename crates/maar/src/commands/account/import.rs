//! `maar account import-volcano`.

use std::io::Write as _;

use anyhow::Context as _;
use kube::{
    Api, ResourceExt as _,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams},
};
use maar_api::v1alpha1::Account;
use maar_controller::apply::Writer;
use maar_jobs::{Imported, accounts_from_queues};

use super::{Usage, show::table};
use crate::commands::{
    client::Connection,
    failure::Failure,
    output::{Output, list, show},
};

const WRITER: Writer = Writer::new("maar-import");

/// What `maar account import-volcano` can be told.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Print the accounts and do not make them
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn run(
    connection: &Connection,
    output: Output,
    arguments: &Arguments,
) -> anyhow::Result<()> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("scheduling.volcano.sh", "v1beta1", "Queue"));
    let api: Api<DynamicObject> = Api::all_with(connection.client.clone(), &resource);
    let queues = match api.list(&ListParams::default()).await {
        Err(kube::Error::Api(status)) if status.code == 404 => {
            let message =
                "this cluster does not serve scheduling.volcano.sh/v1beta1: Volcano is not installed";
            return Err(Failure::not_found(message).into());
        }
        result => result.context("listing the Queues of Volcano")?.items,
    };
    let queues: Vec<_> = queues.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
    let Imported { accounts, left_out } = accounts_from_queues(&queues)?;
    for sentence in left_out {
        // Beside what programs read.
        let _ = std::io::stderr().write_all(format!("left out: {sentence}\n").as_bytes());
    }
    let made = if arguments.dry_run { accounts } else { make(connection, accounts).await? };
    show(output, &table(&made, &Usage::default()), &list(&made))
}

/// Applies them, so that importing twice is importing once.
async fn make(connection: &Connection, accounts: Vec<Account>) -> anyhow::Result<Vec<Account>> {
    let api: Api<Account> = Api::all(connection.client.clone());
    let mut made = Vec::new();
    for account in accounts {
        let applied = WRITER.apply(&api, &account).await;
        made.push(applied.with_context(|| format!("making account {}", account.name_any()))?);
    }
    Ok(made)
}
