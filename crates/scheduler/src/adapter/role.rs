//! The role `scheduler`.

use std::{convert::Infallible, sync::Arc};

use maar_controller::{Context, Role};

use super::{
    explain::{self, Access},
    run::run,
    settings::Settings,
};
use crate::metrics::SchedulerMetrics;

/// The role, and the router that answers those who may ask why something waits.
///
/// Only the leader reads and decides; others wait for the lease. The router answers that it does not lead until then.
pub fn role(settings: Settings, metrics: SchedulerMetrics, access: Access) -> (Role, axum::Router) {
    let (router, asks) = explain::router(access);
    let role = Role::new("scheduler").leader_task("schedule", move |context: Context| {
        let (settings, metrics, asks) = (settings.clone(), metrics.clone(), Arc::clone(&asks));
        async move { Box::pin(run(context, settings, metrics, asks)).await as Result<(), Infallible> }
    });
    (role, router)
}
