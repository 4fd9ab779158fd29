//! `maar workspace list` and `maar workspace get`.

use maar_controller::clock::{Clock as _, SystemClock};
use serde_json::Value;

use super::source::Source;
use crate::commands::output::{Output, Table, age, or_dash, show};

/// What `maar workspace list` can be told.
#[derive(Debug, clap::Args)]
pub(super) struct ListArguments {
    /// All that you may see, not only those of your namespace
    #[arg(long, short)]
    all: bool,
}

pub(super) async fn list(source: &Source, output: Output, arguments: &ListArguments) -> anyhow::Result<()> {
    let found = source.list(arguments.all).await?;
    show(output, &table(&found), &serde_json::json!({ "items": found }))
}

pub(super) async fn get(source: &Source, output: Output, name: &str) -> anyhow::Result<()> {
    let found = source.get(name).await?;
    one(output, &found)
}

/// One workspace, as asked.
pub(super) fn one(output: Output, workspace: &Value) -> anyhow::Result<()> {
    show(output, &table(std::slice::from_ref(workspace)), workspace)
}

/// Workspaces as a table.
pub(super) fn table(workspaces: &[Value]) -> Table {
    let titles =
        vec!["NAME", "PHASE", "CARDS", "NODE", "ACCOUNT", "AGE", "USER", "IMAGE", "CPU", "MEMORY", "MESSAGE"];
    Table { titles, narrow: 6, rows: workspaces.iter().map(row).collect() }
}

fn row(workspace: &Value) -> Vec<String> {
    let text = |pointer: &str| or_dash(workspace.pointer(pointer).and_then(Value::as_str));
    let created = workspace["created"].as_str().and_then(|time| time.parse().ok());
    let asked = || {
        let cards = &workspace["cards"];
        let amount = ["count", "share", "memory"].into_iter().find_map(|field| cards.get(field));
        amount.map(|amount| amount.as_str().map_or_else(|| amount.to_string(), str::to_owned))
    };
    let cards = workspace["givenCards"].as_str().map(str::to_owned).or_else(asked);
    vec![
        text("/name"),
        text("/phase"),
        or_dash(cards.as_deref()),
        text("/node"),
        text("/account"),
        age(created, SystemClock.now()),
        text("/user"),
        text("/image"),
        text("/resources/cpu"),
        text("/resources/memory"),
        text("/message"),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn workspaces_in_rows() {
        let running = json!({ "name": "desk", "phase": "Running", "givenCards": "nvidia.com/gpu=2,3", "node": "gpu-1",
            "account": "lab", "user": "ada", "image": "busybox", "resources": { "cpu": "1", "memory": "4Gi" } });
        let waiting = json!({ "name": "table", "phase": "Pending", "cards": { "count": 2 }, "account": "lab", "message": "waits" });
        insta::assert_snapshot!(table(&[running, waiting]).text(true));
    }
}
