//! Scenarios: tests that are written once and run on three kinds of clusters.
//!
//! [`scenario!`](crate::scenario!) turns one function into three tests: `in_process` (embedded, no socket, paused
//! time), `over_tls` (embedded, a real socket, real time) and `real` (a real API server with its own controllers).
//! The last is ignored unless asked for, so that a run without a real cluster names what it did not run.
//!
//! The function gets a [`Context`] with an [`Arena`] per cluster: a client, a namespace of its own and simulated nodes of
//! its own, which only its own Pods may use. Namespaces and nodes are removed at the end, also after a failure.

mod arena;
mod context;
mod places;
mod wait;

use std::any::Any;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::Pin;

use futures::FutureExt as _;

pub use arena::Arena;
pub use context::Context;
pub use places::On;

/// The body of a scenario, as the macro hands it over.
pub type Body = for<'a> fn(&'a Context) -> Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Runs a scenario on one kind of cluster; what the macro calls.
pub async fn run(on: On, name: &str, clusters: usize, body: Body) {
    let context = match Context::prepare(on, name, clusters).await {
        Ok(context) => context,
        Err(error) => fail(format!("{name}: preparing {on}: {error:#}")),
    };
    let outcome = AssertUnwindSafe(body(&context)).catch_unwind().await;
    let cleaned = context.clean_up().await;
    match (outcome, cleaned) {
        (Err(panic), _) => resume_unwind(panic),
        (Ok(()), Err(error)) => fail(format!("{name}: cleaning up {on}: {error:#}")),
        (Ok(()), Ok(())) => {}
    }
}

/// Ends a test with a sentence.
fn fail(sentence: String) -> ! {
    resume_unwind(Box::new(sentence) as Box<dyn Any + Send>)
}

/// Turns a function into a test on each kind of cluster.
///
/// ```ignore
/// scenario! {
///     async fn a_pod_runs(context) {
///         let arena = context.arena();
///         arena.create(pod("one")).await;
///         arena.wait::<Pod>("the Pod to run", "one", |pod| phase(pod) == "Running").await;
///     }
/// }
/// ```
///
/// `clusters = 2` behind the context asks for several clusters. `in process only` before `async` is for what would
/// take too long in real time.
#[macro_export]
macro_rules! scenario {
    ($(#[$meta:meta])* async fn $name:ident($context:ident $(, clusters = $clusters:expr)?) $body:block) => {
        $crate::scenario!(@tests $(#[$meta])* $name, $context, ($($clusters)?), $body, {
            #[tokio::test]
            async fn over_tls() {
                run(On::Tls).await;
            }

            #[tokio::test]
            #[ignore = "needs a real cluster: make real"]
            async fn real() {
                run(On::Real).await;
            }
        });
    };
    ($(#[$meta:meta])* in process only async fn $name:ident($context:ident $(, clusters = $clusters:expr)?) $body:block) => {
        $crate::scenario!(@tests $(#[$meta])* $name, $context, ($($clusters)?), $body, {});
    };
    (@tests $(#[$meta:meta])* $name:ident, $context:ident, ($($clusters:expr)?), $body:block, { $($more:tt)* }) => {
        $(#[$meta])*
        mod $name {
            use super::*;
            use $crate::scenario::{Context, On};

            fn body<'a>(
                $context: &'a Context,
            ) -> ::std::pin::Pin<Box<dyn ::std::future::Future<Output = ()> + 'a>> {
                Box::pin(async move $body)
            }

            async fn run(on: On) {
                let clusters = [1_usize $(, $clusters)?].into_iter().max().unwrap_or(1);
                $crate::scenario::run(on, stringify!($name), clusters, body).await;
            }

            #[tokio::test(start_paused = true)]
            async fn in_process() {
                run(On::InProcess).await;
            }

            $($more)*
        }
    };
}
