//! `maar cleanup`: the nightly clean-up once, now; for a CronJob, which knows the time zone.

use kube::Client;
use maar_controller::clock::{Clock as _, SystemClock};
use maar_jobs::{Kept, Night, suspend};
use serde::Serialize;

use super::{
    client::ClusterArgs,
    output::{Output, OutputArgs, Table, list, show},
};

/// What `maar cleanup` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// Only say what would be suspended
    #[arg(long, help_heading = None::<&'static str>)]
    dry_run: bool,
}

/// What became of one workspace.
#[derive(Debug, PartialEq, Serialize)]
struct Row {
    namespace: String,
    name: String,
    action: &'static str,
    why: String,
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let connection = arguments.cluster.connect().await?;
    round(&connection.client, arguments.output.output, arguments.dry_run).await
}

async fn round(client: &Client, output: Output, dry_run: bool) -> anyhow::Result<()> {
    let told = suspend(client, SystemClock.now(), dry_run).await?;
    let rows: Vec<Row> =
        told.into_iter().map(|(namespace, name, night)| row(namespace, name, &night)).collect();
    show(output, &table(&rows), &list(&rows))?;
    let failed = rows.iter().filter(|row| row.action == "failed").count();
    anyhow::ensure!(failed == 0, "{failed} workspaces could not be suspended");
    Ok(())
}

fn row(namespace: String, name: String, night: &Night) -> Row {
    let (action, why) = match night {
        Night::Suspended => ("suspend", String::new()),
        Night::Kept(Kept::ForGood) => ("keep", "somebody said that it is to be kept".to_owned()),
        Night::Kept(Kept::Until(time)) => ("keep", format!("protected until {time:.0}")),
        Night::Kept(Kept::Unreadable(text)) => ("keep", format!("locked until {text:?}, which is no time")),
        Night::Failed(why) => ("failed", why.clone()),
    };
    Row { namespace, name, action, why }
}

fn table(rows: &[Row]) -> Table {
    let cells =
        |row: &Row| vec![row.namespace.clone(), row.name.clone(), row.action.to_owned(), row.why.clone()];
    Table {
        titles: vec!["NAMESPACE", "NAME", "ACTION", "WHY"],
        narrow: 4,
        rows: rows.iter().map(cells).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_night_is_told_in_rows() {
        let until = Kept::Until("2026-01-03T00:00:00Z".parse().unwrap());
        let rows = [
            row("user-ada".to_owned(), "desk".to_owned(), &Night::Suspended),
            row("user-ada".to_owned(), "kept".to_owned(), &Night::Kept(until)),
            row("user-eve".to_owned(), "odd".to_owned(), &Night::Failed("it keeps changing".to_owned())),
        ];
        insta::assert_snapshot!(table(&rows).text(true));
    }
}
