//! Runs a table of cases, a few at a time, and says how each went.

use std::io::Write as _;
use std::pin::Pin;

use futures::{FutureExt as _, StreamExt as _};
use maar_testkit::sample::sample;
use tokio::time::Instant;

use crate::cluster::Maar;
use crate::kubectl::{Kubectl, Program};

/// Cases that run at the same time; kubectl waits more than it works.
const AT_ONCE: usize = 4;

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One thing that people do with kubectl.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) needs_local_node: bool,
    pub(crate) run: fn(Kubectl) -> Running,
}

/// Prints a line that is seen though tests' output is kept back.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Runs every case with one kubectl, or those that are to do after a change; answers what failed.
pub(crate) async fn run(program: &Program, maar: &Maar, cases: &[Case]) -> Vec<String> {
    let begin = Instant::now();
    let all = cases.len();
    let cases: Vec<Case> =
        sample(1..=u64::try_from(all).unwrap()).map(|nth| cases[usize::try_from(nth - 1).unwrap()]).collect();
    let workplaces = Kubectl::workplaces(program, maar, cases.len()).await;
    let running = cases.iter().zip(workplaces).map(|(case, kubectl)| one(program, *case, kubectl));
    let outcomes: Vec<Result<(), String>> =
        futures::stream::iter(running).buffer_unordered(AT_ONCE).collect().await;
    let failed: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
    let (total, seconds) = (cases.len(), begin.elapsed().as_secs_f32());
    say(&format!(
        "kubectl {}: {} of {total} cases passed in {seconds:.1} s{}",
        program.version,
        total - failed.len(),
        if total < all { format!(" (a part of {all}, after a change)") } else { String::new() }
    ));
    failed
}

async fn one(program: &Program, case: Case, kubectl: Kubectl) -> Result<(), String> {
    let begin = Instant::now();
    let outcome = std::panic::AssertUnwindSafe((case.run)(kubectl)).catch_unwind().await;
    let (version, name, seconds) = (&program.version, case.name, begin.elapsed().as_secs_f32());
    let Err(panic) = outcome else {
        say(&format!("ok     kubectl {version} {name} ({seconds:.1} s)"));
        return Ok(());
    };
    let text = panic.downcast_ref::<String>().cloned();
    let text =
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default();
    say(&format!("FAILED kubectl {version} {name} ({seconds:.1} s): {text}"));
    Err(format!("kubectl {version} {name}: {text}"))
}
