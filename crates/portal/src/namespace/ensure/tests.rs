use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Method, Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use serde_json::{Value, json};

use super::*;
use crate::{error::Code, testing::person};

#[test]
fn a_quota_is_counted_when_the_cluster_holds_to_it() {
    let counted = |status: Value| {
        let quota = json!({ "spec": { "hard": { "cpu": "1", "pods": "5" } }, "status": status });
        is_counted(&serde_json::from_value(quota).unwrap())
    };
    let used = json!({ "cpu": "0", "pods": "0" });
    assert!(!counted(json!({})));
    assert!(!counted(json!({ "hard": { "cpu": "1000m", "pods": "5" } })), "nothing was counted");
    assert!(
        !counted(json!({ "hard": { "cpu": "2", "pods": "5" }, "used": used })),
        "it holds to what it was"
    );
    assert!(
        !counted(json!({ "hard": { "cpu": "1", "pods": "5" }, "used": { "cpu": "0" } })),
        "one of them is not counted yet"
    );
    assert!(counted(json!({ "hard": { "cpu": "1000m", "pods": "5" }, "used": used })));
}

/// A cluster that refuses the first so many objects, and how many it was asked for.
fn cluster(refuses: usize, refusal: fn() -> (u16, String)) -> (Namespaces, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let answer = move |request: Request<Body>| {
        let counter = Arc::clone(&counter);
        async move {
            let (head, body) = request.into_parts();
            let sent = body.collect_bytes().await?;
            let (code, body) = match head.method {
                Method::POST if counter.fetch_add(1, Ordering::SeqCst) < refuses => refusal(),
                Method::GET => (200, json!({ "metadata": { "name": QUOTA } }).to_string()),
                _ => (200, String::from_utf8_lossy(&sent).into_owned()),
            };
            Ok::<_, kube::Error>(
                Response::builder().status(code).body(Body::from(body.into_bytes())).unwrap(),
            )
        }
    };
    let client = Client::new(tower::service_fn(answer), "default");
    let limits = (UserLimits::default(), SpecialLimits::default());
    (Namespaces::new(client, limits, Profiles::default()), asked)
}

/// Its quota is not counted yet.
fn uncounted() -> (u16, String) {
    let message = "configmaps \"a\" is forbidden: status unknown for quota: maar-user, resources: pods";
    let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 403,
        "reason": "Forbidden", "message": message });
    (403, status.to_string())
}

/// Others count the same quota.
fn contended() -> (u16, String) {
    let message =
        "Operation cannot be fulfilled on resourcequotas \"maar-user\": the object has been modified";
    let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 409,
        "reason": "Conflict", "message": message, "details": { "name": "maar-user", "kind": "resourcequotas" } });
    (409, status.to_string())
}

/// The object is there already.
fn taken() -> (u16, String) {
    let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 409,
        "reason": "AlreadyExists", "message": "configmaps \"a\" already exists",
        "details": { "name": "a", "kind": "configmaps" } });
    (409, status.to_string())
}

async fn create(namespaces: &Namespaces) -> Result<ConfigMap, ApiError> {
    let object = serde_json::from_value(json!({ "metadata": { "name": "a" } })).unwrap();
    namespaces.create(&person("ada"), "the object", &object).await
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_because_its_quota_was_not_counted_is_tried_again() {
    for (refusal, want) in [(uncounted as fn() -> _, 2), (contended, 2), (taken, 1)] {
        let (namespaces, asked) = cluster(1, refusal);
        // The quota of this cluster never says that it is counted, and the cluster decides all the same.
        namespaces.done.lock().insert(person("ada").namespace, namespaces.wanted(&person("ada")));
        assert_eq!(create(&namespaces).await.is_ok(), want == 2, "{:?}", refusal());
        assert_eq!(asked.load(Ordering::SeqCst), want, "{:?}", refusal());
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_while_the_asker_is_told_when_to_come_again() {
    let (namespaces, _) = cluster(usize::MAX, uncounted);
    let begin = Instant::now();
    let error = create(&namespaces).await.unwrap_err();
    assert_eq!(error.code, Code::Unavailable, "{error}");
    assert!(error.message.contains("does not yet count") && error.retry_after == Some(10), "{error}");
    let took = begin.elapsed();
    assert!(took > PATIENCE / 2 && took <= PATIENCE, "{took:?}");
    assert!(namespaces.done.lock().is_empty(), "it is looked at again next time");
}

/// A cluster whose quota controller does not know the kinds of Maar yet: it counts all but them, and would not look again
/// for minutes. What was counted in its place, by name.
fn fresh_cluster(workspaces: usize) -> (Namespaces, Arc<Mutex<BTreeMap<String, String>>>) {
    let counted = Arc::new(Mutex::new(BTreeMap::from([("pods".to_owned(), "0".to_owned())])));
    let used = Arc::clone(&counted);
    let answer = move |request: Request<Body>| {
        let used = Arc::clone(&used);
        async move {
            let (head, body) = request.into_parts();
            let sent: Value = serde_json::from_slice(&body.collect_bytes().await?).unwrap_or_default();
            let (path, of_quota) = (head.uri.path(), head.uri.path().contains("/resourcequotas/"));
            let kinds = ["count/workspaces.maar.io", "count/aijobs.maar.io"];
            let (code, body) = match head.method {
                Method::PATCH if path.ends_with("/resourcequotas/maar-user/status") => {
                    assert_eq!(sent["metadata"]["resourceVersion"], "7", "only on top of what was read");
                    let said: BTreeMap<String, String> =
                        serde_json::from_value(sent["status"]["used"].clone()).unwrap();
                    used.lock().extend(said);
                    (200, sent)
                }
                Method::GET if of_quota => {
                    let hard = json!({ "pods": "5", kinds[0]: "3", kinds[1]: "3" });
                    let status = json!({ "hard": hard, "used": *used.lock() });
                    (
                        200,
                        json!({ "metadata": { "name": QUOTA, "resourceVersion": "7" },
                        "spec": { "hard": hard }, "status": status }),
                    )
                }
                Method::GET => {
                    let count = if path.ends_with("/workspaces") { workspaces } else { 0 };
                    let one = |number| {
                        json!({ "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
                        "metadata": { "name": format!("w{number}") } })
                    };
                    (
                        200,
                        json!({ "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList",
                        "metadata": {}, "items": (0..count).map(one).collect::<Vec<_>>() }),
                    )
                }
                Method::POST if !kinds.iter().all(|kind| used.lock().contains_key(*kind)) => {
                    (403, serde_json::from_str(&uncounted().1).unwrap())
                }
                _ => (200, sent),
            };
            let body = Body::from(body.to_string().into_bytes());
            Ok::<_, kube::Error>(Response::builder().status(code).body(body).unwrap())
        }
    };
    let client = Client::new(tower::service_fn(answer), "default");
    let limits = (UserLimits::default(), SpecialLimits::default());
    (Namespaces::new(client, limits, Profiles::default()), counted)
}

#[tokio::test(start_paused = true)]
async fn what_a_fresh_cluster_does_not_count_yet_is_counted_for_it() {
    let (namespaces, counted) = fresh_cluster(2);
    let begin = Instant::now();
    assert!(create(&namespaces).await.is_ok());
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    let counted = counted.lock().clone();
    assert_eq!(counted["count/workspaces.maar.io"], "2", "what is there already counts");
    assert_eq!(counted["count/aijobs.maar.io"], "0");
    assert_eq!(counted["pods"], "0", "what the cluster counts is left to it");
}
