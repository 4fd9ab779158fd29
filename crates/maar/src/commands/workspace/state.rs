//! `maar workspace stop`, `resume` and `delete`, and waiting for what comes of them.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{show::one, source::Source};
use crate::commands::{
    failure::{Failure, is_missing},
    output::Output,
    wait::{News, WaitArgs, stand, tell},
};

/// How often it is looked.
const PACE: Duration = Duration::from_millis(500);
/// How long a workspace that had failed before may go on to say so, until it was tried again.
const ANOTHER_TRY: Duration = Duration::from_secs(30);

/// What these can be told.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The workspace
    name: String,
    #[command(flatten)]
    wait: WaitArgs,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    Running,
    Suspended,
}

impl Goal {
    const fn phase(self) -> &'static str {
        match self {
            Self::Running => "Running",
            Self::Suspended => "Suspended",
        }
    }
}

/// What a look at a workspace says to somebody who waits.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Done,
    NotYet,
    Failed,
}

/// Whether the goal is reached. `before` is what it was when it was resumed: a failure of then says nothing about now,
/// until it was tried again.
fn judge(goal: Goal, before: Option<&Value>, now: &Value, waited: Duration) -> Verdict {
    // A phase of what was wished before is none of what is wished now.
    let known = now["observedGeneration"].as_i64() >= now["generation"].as_i64();
    let wished = now["state"].as_str().is_none_or(|state| state == goal.phase());
    if !known || !wished {
        return Verdict::NotYet;
    }
    let failed = |one: &Value| one["phase"] == "Failed";
    let same = |before: &Value| failed(before) && before["message"] == now["message"];
    if now["phase"] == goal.phase() {
        Verdict::Done
    } else if goal == Goal::Running && failed(now) && !(before.is_some_and(same) && waited < ANOTHER_TRY) {
        Verdict::Failed
    } else {
        Verdict::NotYet
    }
}

pub(super) async fn stop(source: &Source, output: Output, arguments: &Arguments) -> anyhow::Result<()> {
    source.set_running(&arguments.name, false).await?;
    reach(source, output, &arguments.name, (Goal::Suspended, None), arguments.wait).await
}

pub(super) async fn resume(source: &Source, output: Output, arguments: &Arguments) -> anyhow::Result<()> {
    let before = source.get(&arguments.name).await?;
    source.set_running(&arguments.name, true).await?;
    reach(source, output, &arguments.name, (Goal::Running, Some(&before)), arguments.wait).await
}

pub(super) async fn delete(source: &Source, arguments: &Arguments) -> anyhow::Result<()> {
    let (name, news) = (&arguments.name, News::default());
    source.delete(name).await?;
    if !arguments.wait.wait {
        tell(&format!("workspace {name} is being deleted"));
        return Ok(());
    }
    let gone = async {
        loop {
            match source.get(name).await {
                Ok(found) => {
                    let phase = found["phase"].as_str().unwrap_or("there");
                    news.tell(format!("{name} is being deleted and still {phase}"));
                    sleep(PACE).await;
                }
                Err(error) if is_missing(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    };
    arguments.wait.within(&news, gone).await?;
    tell(&format!("workspace {name} is deleted"));
    Ok(())
}

/// Waits for what is wanted, if it is to be waited for, telling what happens meanwhile, and shows what came of it.
pub(super) async fn reach(
    source: &Source,
    output: Output,
    name: &str,
    (goal, before): (Goal, Option<&Value>),
    wait: WaitArgs,
) -> anyhow::Result<()> {
    if !wait.wait {
        return one(output, &source.get(name).await?);
    }
    let (news, begin) = (News::default(), Instant::now());
    let come = async {
        loop {
            let found = source.get(name).await?;
            let verdict = judge(goal, before, &found, begin.elapsed());
            if verdict == Verdict::Done {
                return Ok(found);
            }
            let phase = found["phase"].as_str().unwrap_or_default();
            // Of what waits the scheduler knows more than that it waits.
            let known = if phase == "Pending" { source.why(name).await? } else { None };
            let why = known.or_else(|| found["message"].as_str().map(str::to_owned));
            let words = stand(name, phase, why.as_deref());
            if verdict == Verdict::Failed {
                return Err(Failure::failed(words).into());
            }
            news.tell(words);
            sleep(PACE).await;
        }
    };
    one(output, &wait.within(&news, come).await?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn look(state: &str, phase: &str, (generation, observed): (i64, i64), message: &str) -> Value {
        json!({ "state": state, "phase": phase, "generation": generation, "observedGeneration": observed,
            "message": message })
    }

    #[test]
    fn a_phase_counts_when_it_is_of_what_is_wished_now() {
        let verdict = |goal, now: &Value| judge(goal, None, now, Duration::ZERO);
        let stopped = look("Suspended", "Suspended", (3, 3), "");
        assert_eq!(verdict(Goal::Suspended, &stopped), Verdict::Done);
        let older = look("Suspended", "Suspended", (3, 1), "");
        assert_eq!(verdict(Goal::Suspended, &older), Verdict::NotYet, "it was suspended before, and resumed");
        let unseen = look("Running", "Suspended", (2, 2), "");
        assert_eq!(
            verdict(Goal::Suspended, &unseen),
            Verdict::NotYet,
            "the portal has not heard of the wish"
        );
        let lost = look("Running", "Failed", (1, 1), "no such claim");
        assert_eq!(verdict(Goal::Running, &lost), Verdict::Failed);
        assert_eq!(verdict(Goal::Running, &look("Running", "Starting", (1, 1), "")), Verdict::NotYet);
        let uncounted = json!({ "phase": "Running" });
        assert_eq!(verdict(Goal::Running, &uncounted), Verdict::Done, "a portal that counts nothing");
    }

    #[test]
    fn a_workspace_that_had_failed_is_given_another_try() {
        let before = look("Running", "Failed", (1, 1), "no such claim");
        let verdict = |now: &Value, waited| judge(Goal::Running, Some(&before), now, waited);
        assert_eq!(verdict(&before, Duration::from_secs(1)), Verdict::NotYet, "that is what it was");
        assert_eq!(verdict(&before, ANOTHER_TRY), Verdict::Failed, "and it stays so");
        let other = look("Running", "Failed", (1, 1), "over quota");
        assert_eq!(verdict(&other, Duration::from_secs(1)), Verdict::Failed, "tried, and failed otherwise");
        assert_eq!(verdict(&look("Running", "Running", (1, 1), ""), Duration::ZERO), Verdict::Done);
    }
}
