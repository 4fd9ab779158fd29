//! `maar workspace stop`, `resume` and `delete`, and waiting for what comes of them.

use std::time::Duration;

use tokio::time::sleep;

use super::{show::one, source::Source, tell};
use crate::commands::{failure::Failure, output::Output};

/// How often it is looked.
const PACE: Duration = Duration::from_millis(500);

/// What these can be told.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The workspace
    name: String,
    /// Wait until it is done
    #[arg(long)]
    wait: bool,
}

pub(super) async fn stop(source: &Source, output: Output, arguments: &Arguments) -> anyhow::Result<()> {
    source.set_running(&arguments.name, false).await?;
    let wanted = if arguments.wait { Some("Suspended") } else { None };
    reach(source, output, &arguments.name, wanted).await
}

pub(super) async fn resume(source: &Source, output: Output, arguments: &Arguments) -> anyhow::Result<()> {
    source.set_running(&arguments.name, true).await?;
    let wanted = if arguments.wait { Some("Running") } else { None };
    reach(source, output, &arguments.name, wanted).await
}

pub(super) async fn delete(source: &Source, arguments: &Arguments) -> anyhow::Result<()> {
    let name = &arguments.name;
    source.delete(name).await?;
    if !arguments.wait {
        tell(&format!("workspace {name} is being deleted"));
        return Ok(());
    }
    loop {
        match source.get(name).await {
            Ok(_) => sleep(PACE).await,
            Err(error) if crate::commands::failure::is_missing(&error) => break,
            Err(error) => return Err(error),
        }
    }
    tell(&format!("workspace {name} is deleted"));
    Ok(())
}

/// Waits for a phase, if one is wanted, telling what happens meanwhile, and shows what came of it.
pub(super) async fn reach(
    source: &Source,
    output: Output,
    name: &str,
    wanted: Option<&str>,
) -> anyhow::Result<()> {
    let mut last = String::new();
    loop {
        let found = source.get(name).await?;
        let phase = found["phase"].as_str().unwrap_or_default();
        let Some(wanted) = wanted.filter(|wanted| *wanted != phase) else { return one(output, &found) };
        let message = match found["message"].as_str() {
            Some(message) => Some(message.to_owned()),
            None if phase == "Pending" => source.why(name).await?,
            None => None,
        };
        let now = format!("{name} is {phase}{}", message.map(|text| format!(": {text}")).unwrap_or_default());
        if phase == "Failed" && wanted == "Running" {
            return Err(Failure::failed(now).into());
        }
        if now != last {
            tell(&now);
            last = now;
        }
        sleep(PACE).await;
    }
}
