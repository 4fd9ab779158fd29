//! `postStart` and `preStop`.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, LifecycleHandler};

use super::{exec::Entrance, probe, process};
use crate::lifecycle::Report;

/// A hook may take long; the deadline of the container ends it.
const PATIENCE: Duration = Duration::from_hours(1);

/// Runs the hook of a container that has started; if it fails the container is killed, as Kubernetes does.
pub(super) async fn after_start(
    entrance: &Entrance,
    container: &Container,
    sandbox: u32,
    tell: impl Fn(Report),
) {
    let Some(handler) = container.lifecycle.as_ref().and_then(|lifecycle| lifecycle.post_start.as_ref())
    else {
        return;
    };
    if let Err(error) = handle(entrance, container, handler).await {
        let message = format!("PostStartHook failed: {error}");
        tell(Report::Note { reason: "FailedPostStartHook", message });
        process::kill_sandbox(sandbox);
    }
}

/// Runs the hook of a container that is about to be stopped; whatever it does, the container is stopped.
pub(super) async fn before_stop(entrance: &Entrance, container: &Container, tell: impl Fn(Report)) {
    let Some(handler) = container.lifecycle.as_ref().and_then(|lifecycle| lifecycle.pre_stop.as_ref()) else {
        return;
    };
    if let Err(error) = handle(entrance, container, handler).await {
        tell(Report::Note { reason: "FailedPreStopHook", message: format!("PreStopHook failed: {error}") });
    }
}

async fn handle(
    entrance: &Entrance,
    container: &Container,
    handler: &LifecycleHandler,
) -> Result<(), String> {
    if let Some(sleep) = &handler.sleep {
        tokio::time::sleep(Duration::from_secs(u64::try_from(sleep.seconds).unwrap_or(0))).await;
    }
    if let Some(exec) = &handler.exec {
        let said = entrance.ask(exec.command.as_deref().unwrap_or_default(), PATIENCE).await;
        let said = said.map_err(|error| error.to_string())?;
        if said.code != 0 {
            return Err(format!("exit code {}: {}", said.code, said.text));
        }
    }
    if let Some(http) = &handler.http_get {
        probe::hook(container, http, PATIENCE).await?;
    }
    Ok(())
}
