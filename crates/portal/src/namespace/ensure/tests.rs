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

/// A cluster that refuses the first so many objects because their quota is not counted, and how many it was asked for.
fn cluster(refuses: usize) -> (Namespaces, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let answer = move |request: Request<Body>| {
        let counter = Arc::clone(&counter);
        async move {
            let (head, body) = request.into_parts();
            let sent = body.collect_bytes().await?;
            let (code, body) = match head.method {
                Method::POST if counter.fetch_add(1, Ordering::SeqCst) < refuses => (403, refusal()),
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

fn refusal() -> String {
    let message = "configmaps \"a\" is forbidden: status unknown for quota: maar-user, resources: pods";
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 403,
        "reason": "Forbidden", "message": message })
    .to_string()
}

async fn create(namespaces: &Namespaces) -> Result<ConfigMap, ApiError> {
    let object = serde_json::from_value(json!({ "metadata": { "name": "a" } })).unwrap();
    namespaces.create(&person("ada"), "the object", &object).await
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_because_nothing_was_counted_yet_is_tried_again() {
    let (namespaces, asked) = cluster(1);
    // The quota of this cluster never says that it is counted, and the cluster decides all the same.
    namespaces.done.lock().insert(person("ada").namespace, namespaces.wanted(&person("ada")));
    assert!(create(&namespaces).await.is_ok());
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn after_a_while_the_asker_is_told_when_to_come_again() {
    let (namespaces, _) = cluster(usize::MAX);
    let begin = Instant::now();
    let error = create(&namespaces).await.unwrap_err();
    assert_eq!(error.code, Code::Unavailable, "{error}");
    assert!(error.message.contains("does not yet count") && error.retry_after == Some(10), "{error}");
    let took = begin.elapsed();
    assert!(took > PATIENCE / 2 && took <= PATIENCE, "{took:?}");
    assert!(namespaces.done.lock().is_empty(), "it is looked at again next time");
}
