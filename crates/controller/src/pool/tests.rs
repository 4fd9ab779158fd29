//! The pool with paused time.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
};

use tokio::time::sleep;

use super::*;

#[derive(Debug, thiserror::Error)]
#[error("work failed")]
struct Failure(Category);

impl Categorized for Failure {
    fn category(&self) -> Category {
        self.0
    }
}

fn pool(workers: usize) -> Pool {
    Pool {
        name: "test",
        workers,
        backoff: Backoff { first: Duration::from_secs(1), most: Duration::from_mins(1), jitter: 0.0 },
        environment: Environment::for_tests(),
    }
}

/// Runs a pool for `time` and returns the start times, in milliseconds, of each key.
async fn starts<F, Work>(
    pool: Pool,
    queue: WorkQueue<&'static str>,
    time: Duration,
    work: Work,
) -> BTreeMap<&'static str, Vec<u128>>
where
    F: Future<Output = Result<Next, Failure>> + Send + 'static,
    Work: Fn(&'static str, usize) -> F,
{
    let shutdown = CancellationToken::new();
    let begun = Instant::now();
    let seen = Mutex::new(BTreeMap::<_, Vec<u128>>::new());
    let stop = shutdown.clone();
    let run = pool.run(queue, shutdown, |key| {
        let mut seen = seen.lock();
        let times = seen.entry(key).or_default();
        times.push(begun.elapsed().as_millis());
        work(key, times.len())
    });
    let (result, ()) = tokio::join!(run, async {
        sleep(time).await;
        stop.cancel();
    });
    result.unwrap();
    seen.into_inner()
}

#[tokio::test(start_paused = true)]
async fn no_more_than_the_bound_run_at_once_and_never_two_on_one_key() {
    static RUNNING: AtomicUsize = AtomicUsize::new(0);
    let queue = WorkQueue::new();
    for key in ["a", "b", "c", "d", "e"] {
        queue.add(key);
    }
    let again = queue.clone();
    let seen = starts(pool(2), queue, Duration::from_mins(1), move |key, times| {
        let again = again.clone();
        async move {
            assert!(RUNNING.fetch_add(1, Ordering::SeqCst) < 2);
            if times == 1 {
                again.add(key);
            }
            sleep(Duration::from_secs(1)).await;
            RUNNING.fetch_sub(1, Ordering::SeqCst);
            Ok(Next::AwaitChange)
        }
    })
    .await;
    // Two at a time; each ran again after everything that had been waiting before it.
    assert_eq!(seen["a"], [0, 2000]);
    assert_eq!(seen["b"], [0, 3000]);
    assert_eq!(seen["e"], [2000, 4000]);
    assert!(seen.values().all(|times| times.len() == 2), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn failures_back_off_by_category() {
    let rows = [
        (Category::Transient, vec![0, 1000, 3000, 7000]),
        (Category::Conflict, vec![0, 0, 0, 0, 8000]),
        (Category::Invalid, vec![0]),
        (Category::NotLeader, vec![0]),
    ];
    for (category, want) in rows {
        let queue = WorkQueue::new();
        queue.add("a");
        let seen = starts(pool(1), queue, Duration::from_millis(10_500), move |_, _| async move {
            Err(Failure(category))
        });
        assert_eq!(seen.await["a"], want, "{}", category.as_str());
    }
}

#[tokio::test(start_paused = true)]
async fn a_success_resets_the_back_off() {
    let queue = WorkQueue::new();
    queue.add("a");
    let seen = starts(pool(1), queue, Duration::from_secs(9), |_, times| async move {
        if times == 3 { Ok(Next::After(Duration::from_secs(2))) } else { Err(Failure(Category::Transient)) }
    });
    assert_eq!(seen.await["a"], [0, 1000, 3000, 5000, 6000, 8000]);
}

#[tokio::test(start_paused = true)]
async fn a_change_interrupts_the_back_off() {
    let queue = WorkQueue::new();
    queue.add_after("a", Duration::from_secs(3));
    let nudge = queue.clone();
    let seen = starts(pool(1), queue, Duration::from_secs(9), move |_, times| {
        let nudge = nudge.clone();
        async move {
            if times == 1 {
                sleep(Duration::from_secs(1)).await;
                nudge.add("a");
                return Err(Failure(Category::Transient));
            }
            Ok(Next::AwaitChange)
        }
    });
    assert_eq!(seen.await["a"], [3000, 4000]);
}

#[tokio::test(start_paused = true)]
async fn shutdown_waits_for_running_work_and_starts_none() {
    let queue = WorkQueue::new();
    queue.add("a");
    queue.add("b");
    let finished = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&finished);
    let seen = starts(pool(1), queue, Duration::from_secs(1), move |_, _| {
        let counter = Arc::clone(&counter);
        async move {
            sleep(Duration::from_secs(5)).await;
            counter.fetch_add(1, Ordering::SeqCst);
            Ok(Next::AwaitChange)
        }
    });
    assert_eq!(seen.await.keys().collect::<Vec<_>>(), [&"a"]);
    assert_eq!(finished.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_panic_ends_the_pool_and_names_the_key() {
    let queue = WorkQueue::new();
    queue.add("team-a/job-1");
    let result = pool(1)
        .run(queue, CancellationToken::new(), |_| async {
            if true { panic!("no plan") } else { Ok::<_, Failure>(Next::AwaitChange) }
        })
        .await;
    assert_eq!(result.unwrap_err().to_string(), "work on team-a/job-1 in pool test panicked: no plan");
}

#[tokio::test(start_paused = true)]
async fn numbers_tell_depth_results_and_latency() {
    let pool = pool(1);
    let metrics = Arc::clone(&pool.environment.metrics);
    let queue = WorkQueue::new();
    queue.add("a");
    queue.add("b");
    starts(pool, queue, Duration::from_secs(3), |key, _| async move {
        sleep(Duration::from_secs(1)).await;
        if key == "a" { Ok(Next::AwaitChange) } else { Err(Failure(Category::Invalid)) }
    })
    .await;
    let body = metrics.encode();
    for line in [
        "maar_pool_depth{pool=\"test\"} 0",
        "maar_pool_running{pool=\"test\"} 0",
        "maar_pool_results_total{pool=\"test\",result=\"done\"} 1",
        "maar_pool_results_total{pool=\"test\",result=\"invalid\"} 1",
        "maar_pool_wait_seconds_sum{pool=\"test\"} 1.0",
        "maar_pool_work_seconds_sum{pool=\"test\"} 2.0",
    ] {
        assert!(body.contains(line), "{line} is missing in\n{body}");
    }
}
