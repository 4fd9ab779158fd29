//! Clients that others wrote, as people use them, against `maar up`: every kubectl found, and Python's `kubernetes`.
//!
//! A suite is a table of small cases (`cases.rs`). All share one cluster, each has a namespace of its own, and each
//! says in one line how it went. What is not installed here is named, with how many cases that cost.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod absent;
mod cases;
mod cluster;
mod kubectl;
mod program;
mod python;
mod suite;

use cluster::Maar;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_finds_a_kubernetes() {
    let found = kubectl::find().await;
    let missing = found.is_empty().then(|| format!("{} cases not run", cases::all().len()));
    absent::report("kubectl", missing);
    try_them(found.get(..1).unwrap_or_default()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "make real runs it"]
async fn every_other_kubectl_finds_a_kubernetes() {
    try_them(kubectl::find().await.get(1..).unwrap_or_default()).await;
}

async fn try_them(programs: &[kubectl::Program]) {
    if programs.is_empty() {
        return;
    }
    let (cases, maar) = (cases::all(), Maar::up().await);
    let (possible, local): (Vec<_>, Vec<_>) =
        cases.into_iter().partition(|case| maar.has_local_node || !case.needs_local_node);
    absent::report(
        "bubblewrap",
        (!local.is_empty()).then(|| format!("{} cases with kubectl not run", local.len())),
    );
    let mut failed = Vec::new();
    for program in programs {
        failed.extend(suite::run(program, &maar, &possible).await);
    }
    maar.down().await;
    assert!(failed.is_empty(), "{} cases failed:\n{}", failed.len(), failed.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_finds_a_kubernetes() {
    let environment = python::environment().await;
    absent::report(
        "python",
        environment.as_ref().err().map(|why| format!("its client was not tried: {why}")),
    );
    let Ok(interpreter) = environment else { return };
    let maar = Maar::up().await;
    let outcome = python::run(&interpreter, &maar).await;
    maar.down().await;
    if let Err(said) = outcome {
        panic!("the Python client failed:\n{said}");
    }
}
