//! Looks after the portal itself from time to time: counts what is open and held, tells of changes that another portal
//! began and did not live to tell of, takes away what kubeconfigs have left that ended, and once a day what the records
//! need not keep any longer. Portals on one database all do it; who comes second finds nothing left.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio::time::{MissedTickBehavior, interval};

use crate::{kubeconfig::sweep, metrics::CacheLabel, portal::Portal};

/// No change lasts this long, so what began before this was left behind. Whoever drains a node is answered at its begin.
const LONGEST: SignedDuration = SignedDuration::from_mins(5);

/// Between two times that old records are taken out.
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Looks for ever.
pub(crate) async fn watch(portal: Arc<Portal>) {
    let mut ticks = interval(portal.settings.look_after);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut known, mut pruned) = (Vec::new(), None);
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
        if pruned.is_none_or(|last: Timestamp| now.duration_since(last) >= DAY) && prune(&portal, now).await {
            pruned = Some(now);
        }
    }
}

/// Takes out what the records need not keep any longer; whether it could.
async fn prune(portal: &Portal, now: Timestamp) -> bool {
    let id = format!("prune-{}", portal.request_id());
    match portal.records.prune(portal.settings.keep, ("maar portal", &id), now).await {
        Ok((purged, entries)) => {
            tracing::info!(sessions = purged.sessions, audit = entries, "old records were taken out");
            true
        }
        Err(error) => {
            tracing::warn!("old records cannot be taken out: {error}");
            false
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

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::atomic::{AtomicI64, AtomicUsize, Ordering},
        time::Duration,
    };

    use futures::TryStreamExt as _;
    use maar_controller::clock::Clock;
    use maar_records::{Actor, AuditFilter, AuditId, Entry, Keep, Records};

    use super::*;
    use crate::{Entropy, Settings};

    /// Shows hours after 1970, as they are set.
    #[derive(Debug, Default)]
    struct Moved {
        hour: AtomicI64,
        looks: AtomicUsize,
    }

    impl Clock for Moved {
        fn now(&self) -> Timestamp {
            self.looks.fetch_add(1, Ordering::SeqCst);
            Timestamp::from_second(3600 * self.hour.load(Ordering::SeqCst)).unwrap()
        }
    }

    /// Nothing is in this cluster.
    fn nowhere() -> kube::Client {
        let service = tower::service_fn(async |_: http::Request<kube::client::Body>| {
            let answer = http::Response::builder().status(404).body(kube::client::Body::empty());
            Ok::<_, Infallible>(answer.unwrap())
        });
        kube::Client::new(service, "default")
    }

    async fn actions(records: &Records) -> Vec<String> {
        let all: Vec<_> = records.export_audit(AuditFilter::default()).try_collect().await.unwrap();
        all.into_iter().map(|one| one.entry.action).collect()
    }

    async fn until(records: &Records, want: &[&str]) {
        for _ in 0..5000 {
            if actions(records).await == want {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        assert_eq!(actions(records).await, want);
    }

    #[tokio::test]
    async fn old_records_go_once_a_day_by_themselves() {
        let records = Records::open("sqlite::memory:").await.unwrap();
        let clock = Arc::new(Moved::default());
        let hour = |hour: i64| clock.hour.store(hour, Ordering::SeqCst);
        let write = async |hour: i64, action: &str| {
            let at = Timestamp::from_second(3600 * hour).unwrap();
            let entry = Entry::new(AuditId::new(action), at, Actor::system("test"), action, ("Test", "x"));
            records.append_audit(&entry).await.unwrap();
        };
        let days = |days: i64| SignedDuration::from_hours(24 * days);
        write(1, "first").await;
        write(24 * 5, "second").await;
        hour(24 * 11);
        let mut settings = Settings::at(vec!["http://portal.test".to_owned()]);
        settings.look_after = Duration::from_millis(1);
        settings.keep = Keep { audit: Some(days(10)), ended: days(30) };
        let shared = Arc::clone(&clock);
        let portal = Portal::new(settings, nowhere(), records.clone(), shared, Entropy::system()).unwrap();
        let watching = tokio::spawn(watch(portal));
        until(&records, &["second", "audit.retain"]).await;
        // It looks all the time, and takes nothing out before the day has passed, though it is old enough.
        hour(24 * 11 + 23);
        write(2, "late").await;
        let seen = clock.looks.load(Ordering::SeqCst);
        while clock.looks.load(Ordering::SeqCst) < seen + 40 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(actions(&records).await, ["second", "audit.retain", "late"]);
        hour(24 * 12);
        until(&records, &["second", "audit.retain", "audit.retain"]).await;
        hour(24 * 16);
        until(&records, &["audit.retain", "audit.retain", "audit.retain"]).await;
        watching.abort();
    }
}
