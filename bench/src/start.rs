//! How long a test waits for its cluster.

use maar_embedded::{Cluster, Config};
use serde_json::json;
use tokio::time::Instant;

use crate::process;
use crate::report::Report;
use crate::statistics::{Rounds, short};

const ROUNDS: u32 = 20;
const PROMISED: f64 = 10.0;

/// Starts clusters as tests do: in this process, controllers and all, until the first answer.
pub(crate) async fn run(report: &mut Report) -> anyhow::Result<()> {
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    Report::say(&format!("==> start of a test cluster, {build} build"));
    let mut all = Rounds::default();
    let mut first = 0.0;
    let own = [std::process::id()];
    let cpu = process::cpu_seconds(&own)?;
    for seed in 0..ROUNDS {
        let start = Instant::now();
        let cluster = Cluster::start(Config::simulated(seed.into())).await?;
        cluster.client().apiserver_version().await?;
        let took = start.elapsed().as_secs_f64() * 1e3;
        if seed == 0 {
            first = took;
        } else {
            all.push(took);
        }
        cluster.stop().await;
    }
    // The clock of a busy machine says little; CPU time does not care who else is running.
    let cpu = (process::cpu_seconds(&own)? - cpu) * 1e3 / f64::from(ROUNDS);
    Report::say(&format!(
        "    first in a process {} ms, then {all} ms; CPU {} ms each",
        short(first),
        short(cpu)
    ));
    report.figure(&format!("cluster start, {build}, ms"), json!({"first": first, "later": all, "cpu": cpu}));
    // A debug build is shown, because tests are one, but it says more about the compiler than about the cluster.
    if !cfg!(debug_assertions) {
        report.under("start of a test cluster", all.median(), PROMISED, " ms");
    }
    Ok(())
}
