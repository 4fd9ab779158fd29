//! The scheduler's core alone, without an API server: what its decisions cost and how good they are.
//!
//! Each file is one workload; [`stage`] is the cluster they share. Binds happen at once, those asked to go go when the
//! workload says so.

mod accounts;
pub(crate) mod gangs;
mod growth;
mod racks;
mod reclaim;
mod stage;
mod unfit;

use crate::report::Report;

/// Runs every workload.
pub(crate) fn run(report: &mut Report) -> anyhow::Result<()> {
    growth::run(report)?;
    accounts::run(report)?;
    gangs::run(report)?;
    reclaim::run(report)?;
    racks::run(report);
    unfit::run(report)
}
