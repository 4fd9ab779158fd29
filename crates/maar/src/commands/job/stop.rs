//! `maar job cancel`, `suspend` and `resume`.

use maar_api::v1alpha1::{AIJob, JobPhase};

use super::{
    show::table,
    source::{self, Change},
    wait,
};
use crate::commands::{
    failure::Failure,
    output::{Output, list, show},
    wait::{WaitArgs, tell},
    workspace::Source,
};

/// Which jobs.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The jobs
    #[arg(required = true)]
    names: Vec<String>,
    #[command(flatten)]
    wait: WaitArgs,
}

pub(super) async fn run(
    source: &Source,
    output: Output,
    arguments: &Arguments,
    change: Change,
) -> anyhow::Result<()> {
    let mut changed = Vec::new();
    for name in &arguments.names {
        let job = source::get(source, name).await?;
        changed.push(match (ended(name, &job), change) {
            (None, _) => source::change(source, name, change).await?,
            // What was asked for is so.
            (Some(how), Change::Cancel) => {
                tell(&how);
                job
            }
            (Some(how), Change::Suspend) => {
                return Err(Failure::refused(format!("{how}; there is nothing to suspend")).into());
            }
            (Some(how), Change::Resume) => {
                return Err(Failure::refused(format!("{how}; submit it again to have it run again")).into());
            }
        });
    }
    if arguments.wait.wait {
        for (name, job) in arguments.names.iter().zip(&mut changed) {
            *job = wait::until(source, name, arguments.wait, |phase| has_come(change, phase)).await?;
        }
    }
    show(output, &table(&changed, false), &list(&changed))
}

/// How a job has ended, if it has.
fn ended(name: &str, job: &AIJob) -> Option<String> {
    let status = job.status.as_ref().filter(|status| status.phase.is_final())?;
    let phase = status.phase;
    let why = status.message.as_deref().or(status.reason.as_deref()).filter(|why| !why.is_empty());
    Some(match why {
        Some(why) => format!("job {name} has ended already, {phase}: {why}"),
        None => format!("job {name} has ended already, {phase}"),
    })
}

/// Whether a phase is what was asked for.
fn has_come(change: Change, phase: JobPhase) -> bool {
    match change {
        Change::Cancel => phase.is_final(),
        Change::Suspend => phase.is_final() || phase == JobPhase::Suspended,
        Change::Resume => !matches!(phase, JobPhase::Suspended | JobPhase::Suspending),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_that_has_ended_says_how() {
        let rows = [
            (json!({ "phase": "Running", "message": "two run" }), None),
            (json!({ "phase": "Suspended" }), None),
            (json!({ "phase": "Completed" }), Some("job train has ended already, Completed")),
            (json!({ "phase": "Aborted", "message": "" }), Some("job train has ended already, Aborted")),
            (
                json!({ "phase": "Failed", "reason": "TaskFailed", "message": "main-0 exited with 3" }),
                Some("job train has ended already, Failed: main-0 exited with 3"),
            ),
            (
                json!({ "phase": "Failed", "reason": "Deadline" }),
                Some("job train has ended already, Failed: Deadline"),
            ),
        ];
        for (status, want) in rows {
            let job = json!({ "metadata": { "name": "train" }, "spec": { "tasks": [] }, "status": status });
            let job: AIJob = serde_json::from_value(job).unwrap();
            assert_eq!(ended("train", &job).as_deref(), want, "{status}");
        }
    }
}
