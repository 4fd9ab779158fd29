use std::sync::Mutex;

use http::Response;

use super::*;

/// What reaches the server, in order: `patch` for a notice, `back` for one that is taken back, `evict`; with the Pod.
type Seen = Arc<Mutex<Vec<(&'static str, String)>>>;

/// A server that takes everything, and somebody who says whether Pods still have to go.
fn means(needed: bool) -> (Means, Seen) {
    let seen = Seen::default();
    let log = Arc::clone(&seen);
    let service = tower::service_fn(move |request: Request<Body>| {
        let log = Arc::clone(&log);
        async move {
            let path = request.uri().path().to_owned();
            let body = request.into_body().collect_bytes().await.expect("a body");
            let what = if path.ends_with("/eviction") {
                "evict"
            } else if body.windows(4).any(|four| four == b"null") {
                "back"
            } else {
                "patch"
            };
            let pod = path.split('/').nth(6).unwrap_or_default().to_owned();
            log.lock().unwrap().push((what, pod));
            // The others get their turn, as they do when an answer takes time.
            tokio::task::yield_now().await;
            Ok::<_, std::convert::Infallible>(Response::new(Body::empty()))
        }
    });
    let (ask, mut questions) = mpsc::channel::<StillNeeded>(4);
    tokio::spawn(async move {
        while let Some(question) = questions.recv().await {
            let _ = question.reply.send(needed);
        }
    });
    let means = Means {
        client: Client::new(service, "n"),
        dice: Dice::seeded(1),
        needed: ask,
        seats: Arc::new(Semaphore::new(2)),
        desks: Arc::new(Semaphore::new(2)),
    };
    (means, seen)
}

/// A Pod that has to go at once for somebody.
fn victim(number: u32) -> Evict {
    let name: Arc<str> = format!("p{number}").into();
    Evict {
        id: PodId(number),
        namespace: "n".into(),
        uid: Arc::clone(&name),
        name,
        claimant: Some(GroupId(1)),
        reason: "Preempted",
        notice: Duration::ZERO,
        at: Timestamp::UNIX_EPOCH,
        told: false,
        read: false,
    }
}

/// How it ends, and what the server saw.
async fn run(needed: bool, one: Evict) -> (Evicted, Vec<&'static str>) {
    let (means, seen) = means(needed);
    let ended = evict(&means, &one).await;
    let seen = seen.lock().unwrap().iter().map(|(what, _)| *what).collect();
    (ended, seen)
}

#[tokio::test(start_paused = true)]
async fn a_notice_is_written_where_there_is_time_or_somebody_reads_it() {
    let rows = [
        ("nobody reads it", victim(1), vec!["evict"]),
        ("its controller does", Evict { read: true, ..victim(1) }, vec!["patch", "evict"]),
        ("its program does", Evict { notice: Duration::from_secs(9), ..victim(1) }, vec!["patch", "evict"]),
        ("its card was another's", Evict { claimant: None, ..victim(1) }, vec!["patch", "evict"]),
        ("it stands there", Evict { read: true, told: true, ..victim(1) }, vec!["evict"]),
    ];
    for (what, one, want) in rows {
        assert_eq!(run(true, one).await, (Evicted::Done, want), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_a_notice_that_stands_is_taken_back() {
    assert_eq!(run(false, victim(1)).await, (Evicted::Withdrawn, vec![]));
    let told = Evict { told: true, ..victim(1) };
    assert_eq!(run(false, told).await, (Evicted::Withdrawn, vec!["back"]));
    let warned = Evict { notice: Duration::from_secs(9), ..victim(1) };
    assert_eq!(run(false, warned).await, (Evicted::Withdrawn, vec!["patch", "back"]));
}

#[tokio::test(start_paused = true)]
async fn the_first_to_go_does_not_wait_until_the_last_is_told() {
    let (means, seen) = means(true);
    let all = (0..100).map(|number| {
        let means = means.clone();
        tokio::spawn(async move { evict(&means, &Evict { read: true, ..victim(number) }).await })
    });
    for ended in futures::future::join_all(all.collect::<Vec<_>>()).await {
        assert_eq!(ended.unwrap(), Evicted::Done);
    }
    let seen = seen.lock().unwrap();
    let first = seen.iter().position(|(what, _)| *what == "evict").unwrap();
    let told = seen[..first].iter().filter(|(what, _)| *what == "patch").count();
    assert!(told < 20, "{told} were told before the first had gone");
    for number in 0..100 {
        let of: Vec<&str> =
            seen.iter().filter(|(_, pod)| *pod == format!("p{number}")).map(|(what, _)| *what).collect();
        assert_eq!(of, ["patch", "evict"]);
    }
}
