//! The nightly clean-up: at a time of the day, workspaces that nobody protected are suspended.
//!
//! The role does it by its own clock ([`Nightly`]); a CronJob does it with `maar cleanup`. Both call [`suspend`]. What is
//! protected, locked or kept is left alone, as by every policy; volumes stay, and its owner lets it go on in the morning.
//!
//! A night during which nobody led is made up for, for some hours. Nothing is kept for that: a workspace that has run
//! since before the night, and that the night would have suspended, was missed; whoever was suspended and let it go on
//! has begun to run after the night.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use maar_api::v1alpha1::{Workspace, WorkspacePhase, WorkspaceState, reasons};
use maar_controller::{Context, error::chain};
use serde_json::json;
use tokio::time::sleep;

use super::finding::workspace_work;
use crate::cron::Schedule;
use crate::policy::{Kept, MAKE_UP};

/// Workspace annotation: why it was suspended where its owner did not do it, by a reason such as `CleanedUpNightly`. It goes
/// when the workspace goes on.
pub const ANNOTATION_SUSPENDED_BY: &str = "maar.io/suspended-by";
/// How often the clock is looked at: it may be set, and machines sleep.
const LOOK: Duration = Duration::from_secs(20);
/// How often a workspace is judged again that changes at the same time.
const ATTEMPTS: usize = 3;

/// When the nights are.
#[derive(Debug, Clone)]
pub struct Nightly(Arc<Schedule>);

impl Nightly {
    /// By a cron expression of five fields in a time zone such as `Asia/Shanghai`; the error says what is wrong.
    pub fn parse(cron: &str, zone: &str) -> Result<Self, String> {
        Schedule::new(cron, zone).map(|schedule| Self(Arc::new(schedule)))
    }

    /// The first night after a time.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        self.0.next(after)
    }

    /// The last night up to `now`, if it is not too long ago to be made up for.
    fn missed(&self, now: Timestamp) -> Option<Timestamp> {
        self.0.latest(now.saturating_sub(MAKE_UP).unwrap_or(now), now)
    }
}

/// What becomes of a workspace at night.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Night {
    /// It is suspended, or would be.
    Suspended,
    /// It is left alone, because.
    Kept(Kept),
    /// It could not be suspended, because.
    Failed(String),
}

/// What becomes of a workspace now, if the night says anything of it.
fn judge(desk: &Workspace, now: Timestamp) -> Option<Night> {
    let phase = desk.status.as_ref().map(|status| status.phase).unwrap_or_default();
    let runs = desk.spec.state == WorkspaceState::Running && phase != WorkspacePhase::Failed;
    if !runs || desk.metadata.deletion_timestamp.is_some() {
        return None;
    }
    Some(workspace_work(desk, now).kept.map_or(Night::Suspended, Night::Kept))
}

/// What becomes now of a workspace that a night may have missed.
fn judge_later(desk: &Workspace, night: Timestamp) -> Option<Night> {
    let began = desk.status.as_ref().and_then(|status| status.start_time.as_ref());
    // Protection that ended since then held in the night.
    judge(desk, night).filter(|_| began.is_some_and(|began| began.0 < night))
}

/// Suspends all workspaces that nobody protected; says of each that runs what became of it. Safe to repeat.
pub async fn suspend(
    client: &Client,
    now: Timestamp,
    dry_run: bool,
) -> Result<Vec<(String, String, Night)>, kube::Error> {
    suspend_if(client, dry_run, |desk| judge(desk, now)).await
}

async fn suspend_if(
    client: &Client,
    dry_run: bool,
    judge: impl Fn(&Workspace) -> Option<Night>,
) -> Result<Vec<(String, String, Night)>, kube::Error> {
    let all: Api<Workspace> = Api::all(client.clone());
    let mut told = Vec::new();
    for desk in all.list(&ListParams::default()).await?.items {
        let Some(mut night) = judge(&desk) else { continue };
        let (namespace, name) = (desk.namespace().unwrap_or_default(), desk.name_any());
        if night == Night::Suspended && !dry_run {
            night = suspend_one(client, desk, &judge).await;
        }
        told.push((namespace, name, night));
    }
    Ok(told)
}

async fn suspend_one(
    client: &Client,
    mut desk: Workspace,
    judge: impl Fn(&Workspace) -> Option<Night>,
) -> Night {
    let api: Api<Workspace> = Api::namespaced(client.clone(), &desk.namespace().unwrap_or_default());
    for _ in 0..ATTEMPTS {
        // On top of what was judged: who protects it at this moment wins.
        let patch = json!({
            "metadata": {
                "uid": desk.uid(),
                "resourceVersion": desk.resource_version(),
                "annotations": { ANNOTATION_SUSPENDED_BY: reasons::CLEANED_UP_NIGHTLY },
            },
            "spec": { "state": WorkspaceState::Suspended },
        });
        match api.patch(&desk.name_any(), &PatchParams::default(), &Patch::Merge(&patch)).await {
            Ok(_) => return Night::Suspended,
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Night::Failed(chain(&error)),
        }
        match api.get(&desk.name_any()).await {
            Ok(newer) => desk = newer,
            Err(error) => return Night::Failed(chain(&error)),
        }
        match judge(&desk) {
            Some(Night::Suspended) => {}
            Some(other) => return other,
            // Somebody else has ended it.
            None => return Night::Suspended,
        }
    }
    Night::Failed("it keeps changing".to_owned())
}

/// Suspends at every night until it is told to end. It begins with a night that nobody was there for, and tries a night
/// again that failed.
pub(crate) async fn run(context: Context, nightly: Option<Nightly>) -> Result<(), Infallible> {
    let Some(nightly) = nightly else {
        context.shutdown.cancelled().await;
        return Ok(());
    };
    let nights = async {
        let clock = &context.environment.clock;
        let mut next = nightly.next(clock.now());
        let mut missed = nightly.missed(clock.now());
        loop {
            if let Some(night) = missed {
                missed = pass(&context.client, night).await.err().and(nightly.missed(clock.now()));
            }
            sleep(LOOK).await;
            if let Some(night) = next.filter(|night| *night <= clock.now()) {
                // Also what began in the few seconds since then.
                next = nightly.next(clock.now());
                missed = tell(suspend(&context.client, clock.now(), false).await).err().map(|()| night);
            }
        }
    };
    tokio::select! {
        biased;
        () = context.shutdown.cancelled() => {}
        () = nights => {}
    }
    Ok(())
}

/// Makes up for a night.
async fn pass(client: &Client, night: Timestamp) -> Result<(), ()> {
    tell(suspend_if(client, false, |desk| judge_later(desk, night)).await)
}

fn tell(told: Result<Vec<(String, String, Night)>, kube::Error>) -> Result<(), ()> {
    match told {
        Ok(told) => {
            let count = told.iter().filter(|(_, _, night)| *night == Night::Suspended).count();
            tracing::info!(
                workspaces.suspended = count,
                workspaces.looked_at = told.len(),
                "a night has passed"
            );
            Ok(())
        }
        Err(error) => {
            tracing::warn!("the nightly clean-up failed: {}", chain(&error));
            Err(())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn desk(spec: Value, annotations: &Value) -> Workspace {
        let mut spec = spec;
        spec["image"] = json!("busybox");
        serde_json::from_value(
            json!({ "metadata": { "name": "desk", "annotations": annotations }, "spec": spec }),
        )
        .unwrap()
    }

    #[test]
    fn what_is_protected_stays_and_what_is_suspended_is_not_looked_at() {
        let now: Timestamp = "2026-01-02T22:00:00Z".parse().unwrap();
        let none = json!({});
        assert_eq!(judge(&desk(json!({}), &none), now), Some(Night::Suspended));
        assert_eq!(judge(&desk(json!({ "state": "Suspended" }), &none), now), None);
        let later = desk(json!({ "protectedUntil": "2026-01-03T00:00:00Z" }), &none);
        assert_eq!(
            judge(&later, now),
            Some(Night::Kept(Kept::Until("2026-01-03T00:00:00Z".parse().unwrap())))
        );
        let over = desk(json!({ "protectedUntil": "2026-01-02T21:59:59Z" }), &none);
        assert_eq!(judge(&over, now), Some(Night::Suspended));
        let kept = desk(json!({}), &json!({ "maar.io/keep": "true" }));
        assert_eq!(judge(&kept, now), Some(Night::Kept(Kept::ForGood)));
    }

    #[test]
    fn what_a_night_has_missed_ran_before_it_and_was_not_protected_then() {
        let night: Timestamp = "2026-01-02T22:00:00Z".parse().unwrap();
        let with = |spec: Value, began: Option<&str>| {
            let mut desk = desk(spec, &json!({}));
            let status = json!({ "phase": "Running", "startTime": began, "restarts": 0 });
            desk.status = serde_json::from_value(status).unwrap();
            judge_later(&desk, night)
        };
        assert_eq!(with(json!({}), Some("2026-01-02T09:00:00Z")), Some(Night::Suspended));
        assert_eq!(with(json!({}), Some("2026-01-02T22:30:00Z")), None, "its owner let it go on");
        assert_eq!(with(json!({}), None), None, "it does not run");
        let until = json!({ "protectedUntil": "2026-01-02T23:00:00Z" });
        assert!(matches!(with(until, Some("2026-01-02T09:00:00Z")), Some(Night::Kept(_))));
        let nightly = Nightly::parse("0 22 * * *", "UTC").unwrap();
        let missed = |now: &str| nightly.missed(now.parse().unwrap());
        assert_eq!(missed("2026-01-03T03:59:59Z"), Some(night));
        assert_eq!(missed("2026-01-03T04:00:01Z"), None, "people are at work again");
    }

    #[test]
    fn nights_are_in_the_zone_of_the_people() {
        let nightly = Nightly::parse("0 23 * * *", "Asia/Shanghai").unwrap();
        let next = nightly.next("2026-01-02T16:00:00Z".parse().unwrap()).unwrap();
        assert_eq!(next.to_string(), "2026-01-03T15:00:00Z");
        // The clocks of Berlin go forward in the night to 29 March 2026.
        let nightly = Nightly::parse("30 23 * * *", "Europe/Berlin").unwrap();
        let winter = nightly.next("2026-03-28T12:00:00Z".parse().unwrap()).unwrap();
        assert_eq!(nightly.next(winter).unwrap().duration_since(winter).as_hours(), 23);
        assert!(
            Nightly::parse("0 23 * * *", "Moon/Tranquility").is_err()
                && Nightly::parse("daily", "UTC").is_err()
        );
    }
}
