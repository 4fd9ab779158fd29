//! `maar records backup`.

use std::path::PathBuf;

use anyhow::Context as _;
use maar_records::Records;

use super::DatabaseArgs;
use crate::commands::output::print;

/// What `maar records backup` can be told.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    database: DatabaseArgs,
    /// File to write, which must not exist
    file: PathBuf,
}

pub(super) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    // As it is: a backup before an upgrade must not be the upgrade.
    let records = Records::open_as_is(&arguments.database.records).await.context("opening the records")?;
    records.backup(&arguments.file).await.context("copying the records")?;
    print(&format!("{} holds the records as they are now\n", arguments.file.display()));
    Ok(())
}
