//! Whether the process lives and is ready, told by the loops themselves.
//!
//! Every long-running loop owns a [`Check`] and reports how its last turn went. `/healthz` asks whether all loops still
//! turn: a loop that reports failures is alive, one that reports nothing at all hangs, and only a restart helps.
//! `/readyz` asks whether they also succeed. Both list every check with its reason when something is wrong or
//! `?verbose` is given.

use std::{fmt::Write, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Query, State},
    http::StatusCode,
    response::IntoResponse,
    routing::get,
};
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::time::Instant;

/// All checks of a process. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Health(Arc<Mutex<Vec<Arc<Entry>>>>);

/// How patient a check is.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Failing for no longer than this since the last success still counts as ready.
    pub failing: Duration,
    /// No success for longer than this is a failure, even if nothing was reported.
    pub silence: Duration,
    /// No report of any kind for longer than this means that the loop hangs.
    pub hanging: Duration,
}

/// The reporting end of a check; dropping it takes the check off the list.
#[derive(Debug)]
pub struct Check {
    entry: Arc<Entry>,
    health: Health,
}

#[derive(Debug)]
struct Entry {
    name: String,
    patience: Patience,
    reports: Mutex<Reports>,
}

#[derive(Debug)]
struct Reports {
    registered: Instant,
    last: Option<Instant>,
    last_success: Option<Instant>,
    failing_since: Option<Instant>,
    text: String,
}

/// One line of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Name of the check.
    pub name: String,
    /// The verdict.
    pub ok: bool,
    /// Why, with ages.
    pub reason: String,
}

impl Health {
    /// Adds a check. It is not ready before its first success.
    pub fn check(&self, name: impl Into<String>, patience: Patience) -> Check {
        let reports = Reports {
            registered: Instant::now(),
            last: None,
            last_success: None,
            failing_since: None,
            text: "nothing reported yet".to_owned(),
        };
        let entry = Arc::new(Entry { name: name.into(), patience, reports: Mutex::new(reports) });
        self.0.lock().push(Arc::clone(&entry));
        Check { entry, health: self.clone() }
    }

    /// Whether each loop still turns.
    pub fn alive(&self) -> Vec<Line> {
        self.lines(Entry::alive)
    }

    /// Whether each loop succeeds.
    pub fn ready(&self) -> Vec<Line> {
        self.lines(Entry::ready)
    }

    fn lines(&self, judge: impl Fn(&Entry, Instant) -> Line) -> Vec<Line> {
        let now = Instant::now();
        let mut lines: Vec<Line> = self.0.lock().iter().map(|entry| judge(entry, now)).collect();
        lines.sort_by(|left, right| left.name.cmp(&right.name));
        lines
    }

    /// `/healthz` and `/readyz`.
    pub fn router(&self) -> Router {
        Router::new()
            .route(
                "/healthz",
                get(|State(health): State<Self>, Query(query): Query<Options>| async move {
                    answer("healthz", &health.alive(), &query)
                }),
            )
            .route(
                "/readyz",
                get(|State(health): State<Self>, Query(query): Query<Options>| async move {
                    answer("readyz", &health.ready(), &query)
                }),
            )
            .with_state(self.clone())
    }
}

#[derive(Debug, Deserialize)]
struct Options {
    verbose: Option<String>,
}

fn answer(name: &str, lines: &[Line], options: &Options) -> impl IntoResponse + use<> {
    let ok = lines.iter().all(|line| line.ok);
    if ok && options.verbose.is_none() {
        return (StatusCode::OK, "ok\n".to_owned());
    }
    let mut body = String::new();
    for Line { name, ok, reason } in lines {
        let _ = writeln!(body, "[{}] {name}: {reason}", if *ok { '+' } else { '-' });
    }
    let _ = writeln!(body, "{name} {}", if ok { "passed" } else { "failed" });
    (if ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, body)
}

impl Check {
    /// The last turn of the loop succeeded.
    pub fn ok(&self, text: impl Into<String>) {
        let mut reports = self.entry.reports.lock();
        let now = Instant::now();
        reports.last = Some(now);
        reports.last_success = Some(now);
        reports.failing_since = None;
        reports.text = text.into();
    }

    /// The last turn of the loop failed.
    pub fn fail(&self, text: impl Into<String>) {
        let mut reports = self.entry.reports.lock();
        let now = Instant::now();
        reports.last = Some(now);
        reports.failing_since.get_or_insert(now);
        reports.text = text.into();
    }
}

impl Drop for Check {
    fn drop(&mut self) {
        self.health.0.lock().retain(|entry| !Arc::ptr_eq(entry, &self.entry));
    }
}

impl Entry {
    fn alive(&self, now: Instant) -> Line {
        let reports = self.reports.lock();
        let quiet = now - reports.last.unwrap_or(reports.registered);
        let ok = quiet <= self.patience.hanging;
        let reason = if ok {
            format!("last heard of {} ago", seconds(quiet))
        } else {
            format!(
                "hangs: nothing heard for {} (allowed: {})",
                seconds(quiet),
                seconds(self.patience.hanging)
            )
        };
        Line { name: self.name.clone(), ok, reason }
    }

    fn ready(&self, now: Instant) -> Line {
        let reports = self.reports.lock();
        let text = &reports.text;
        let (ok, reason) = match (reports.last_success, reports.failing_since) {
            (None, None) => (false, text.clone()),
            (None, Some(since)) => {
                (false, format!("{text} (failing for {}, never succeeded)", seconds(now - since)))
            }
            (Some(success), Some(_)) => {
                let failing = now - success;
                let ok = failing <= self.patience.failing;
                (ok, format!("{text} (last success {} ago)", seconds(failing)))
            }
            (Some(success), None) if now - success > self.patience.silence => {
                let silent = seconds(now - success);
                (false, format!("nothing heard for {silent}, before that: {text}"))
            }
            (Some(success), None) => (true, format!("{text} ({} ago)", seconds(now - success))),
        };
        Line { name: self.name.clone(), ok, reason }
    }
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs())
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use tokio::time::advance;
    use tower::ServiceExt;

    use super::*;

    const PATIENCE: Patience = Patience {
        failing: Duration::from_secs(10),
        silence: Duration::from_mins(1),
        hanging: Duration::from_mins(5),
    };

    async fn ask(health: &Health, path: &str) -> (u16, String) {
        let request = http::Request::get(path).body(axum::body::Body::empty()).unwrap();
        let response = health.router().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn readiness_follows_the_reports() {
        let health = Health::default();
        let lease = health.check("lease", PATIENCE);
        let watch = health.check("watch pods", PATIENCE);
        let mut story = Vec::new();
        let mut tell = async |what: &str| {
            let (status, body) = ask(&health, "/readyz").await;
            story.push(format!("## {what}: {status}\n{body}"));
        };
        tell("before any report").await;
        lease.ok("leading, term 3");
        watch.fail("list pods: connection refused");
        advance(Duration::from_secs(7)).await;
        tell("a watch that never worked").await;
        watch.ok("12 objects");
        tell("all well").await;
        advance(Duration::from_secs(5)).await;
        watch.fail("watch pods: 500");
        advance(Duration::from_secs(5)).await;
        tell("failing briefly").await;
        advance(Duration::from_secs(5)).await;
        watch.fail("watch pods: 503");
        tell("failing for too long").await;
        watch.ok("12 objects");
        advance(Duration::from_secs(46)).await;
        tell("a silent lease").await;
        insta::assert_snapshot!(story.join("\n"));
    }

    #[tokio::test(start_paused = true)]
    async fn liveness_notices_only_loops_that_hang() {
        let health = Health::default();
        let lease = health.check("lease", PATIENCE);
        advance(Duration::from_secs(200)).await;
        lease.fail("no answer");
        advance(Duration::from_mins(5)).await;
        assert_eq!(ask(&health, "/healthz").await, (200, "ok\n".to_owned()));
        let verbose = "[+] lease: last heard of 300 s ago\nhealthz passed\n".to_owned();
        assert_eq!(ask(&health, "/healthz?verbose").await, (200, verbose));
        advance(Duration::from_secs(1)).await;
        let hangs = "[-] lease: hangs: nothing heard for 301 s (allowed: 300 s)\nhealthz failed\n".to_owned();
        assert_eq!(ask(&health, "/healthz").await, (503, hangs));
        drop(lease);
        assert_eq!(ask(&health, "/healthz").await.0, 200);
    }
}
