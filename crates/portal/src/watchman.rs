//! Looks after the portal itself from time to time: counts what is open and held, tells of changes that another portal
//! began and did not live to tell of, and takes away what kubeconfigs have left that ended.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio::time::{MissedTickBehavior, interval};

use crate::{kubeconfig::sweep, metrics::CacheLabel, portal::Portal};

/// No change lasts this long, so what began before this was left behind. Whoever drains a node is answered at its begin.
const LONGEST: SignedDuration = SignedDuration::from_mins(5);

/// Looks for ever.
pub(crate) async fn watch(portal: Arc<Portal>) {
    let mut ticks = interval(portal.settings.look_after);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut known = Vec::new();
    loop {
        ticks.tick().await;
        let now = portal.clock.now();
        caches(&portal, &mut known, now);
        match portal.records.count_sessions(now).await {
            Ok(count) => drop(portal.metrics.sessions.set(count)),
            Err(error) => tracing::warn!("sessions cannot be counted: {error}"),
        }
        close(&portal, now).await;
        match sweep(&portal).await {
            Ok(0) => {}
            Ok(count) => tracing::info!(kubeconfigs = count, "kubeconfigs that have ended were taken away"),
            Err(error) => tracing::warn!("kubeconfigs that have ended cannot be found: {error}"),
        }
    }
}

/// Tells how much the caches hold, and when each has last changed. `known` is what they were at the last look.
fn caches(portal: &Portal, known: &mut Vec<u64>, now: Timestamp) {
    let sizes = portal.live.sizes();
    known.resize(sizes.len(), 0);
    for (known, (cache, version, count)) in known.iter_mut().zip(sizes) {
        let label = CacheLabel { cache };
        portal.metrics.cache_objects.get_or_create(&label).set(count);
        if *known != version {
            *known = version;
            portal.metrics.cache_time.get_or_create(&label).set(now.as_second());
        }
    }
}

async fn close(portal: &Portal, now: Timestamp) {
    let before = now.saturating_sub(LONGEST).unwrap_or(Timestamp::MIN);
    match portal.records.close_audit(before).await {
        Ok(0) => {}
        Ok(count) => {
            portal.metrics.lost.inc_by(count);
            tracing::warn!(changes = count, "a portal ended before it could tell how changes ended");
        }
        Err(error) => tracing::warn!("changes without an end cannot be told: {error}"),
    }
}
