//! ResourceQuotas: never exceeded, and equal to what counting anew gives.

use serde_json::{Value, json};

use super::caller::{Answer, Caller, PODS, call, pod};

const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";

fn asking(name: &str, cpu: &str) -> Value {
    let mut pod = pod(name);
    pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": cpu}, "limits": {"cpu": cpu}});
    pod
}

/// A quota whose status is known, as the controller would leave it.
async fn quota(caller: &Caller, name: &str, hard: &Value) {
    let quota = json!({"metadata": {"name": name}, "spec": {"hard": hard}});
    caller.post(QUOTAS, &quota).await.object();
    let none: Value = hard.as_object().unwrap().keys().map(|name| (name.clone(), json!("0"))).collect();
    let status = json!({"status": {"hard": hard, "used": none}});
    caller.merge(&format!("{QUOTAS}/{name}/status"), &status).await.object();
}

async fn used(caller: &Caller, name: &str) -> Value {
    caller.get(&format!("{QUOTAS}/{name}")).await["status"]["used"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_at_once_never_exceed_a_quota() {
    let caller = Caller::bare().await;
    quota(&caller, "cpu", &json!({"requests.cpu": "10", "pods": "100"})).await;
    quota(&caller, "pods", &json!({"count/pods": "30"})).await;
    let creating: Vec<_> = (0..200)
        .map(|number| {
            let client = caller.client.clone();
            let pod = asking(&format!("p{number}"), if number % 2 == 0 { "500m" } else { "250m" });
            tokio::spawn(async move { call(&client, "POST", PODS, &pod).await })
        })
        .collect();
    let answers: Vec<Answer> =
        futures::future::join_all(creating).await.into_iter().map(Result::unwrap).collect();
    let accepted = answers.iter().filter(|answer| answer.code == 201).count();
    let refused =
        answers.iter().filter(|answer| answer.code == 403 && answer.message().contains("exceeded quota"));
    assert_eq!(accepted + refused.count(), 200, "everyone is told clearly");
    let pods = caller.get(PODS).await["items"].as_array().unwrap().clone();
    assert_eq!(pods.len(), accepted);
    let millis: i64 =
        pods.iter()
            .map(|pod| {
                if pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "500m" { 500 } else { 250 }
            })
            .sum();
    assert!(millis <= 10_000 && accepted <= 30, "{millis} millicores in {accepted} Pods");
    let charged = used(&caller, "cpu").await;
    let cpu = charged["requests.cpu"].as_str().unwrap();
    let cpu = cpu
        .strip_suffix('m')
        .map_or_else(|| cpu.parse::<i64>().unwrap() * 1000, |text| text.parse().unwrap());
    assert_eq!(cpu, millis, "what is charged is what is there");
    assert_eq!(charged["pods"], accepted.to_string());
    assert_eq!(used(&caller, "pods").await["count/pods"], accepted.to_string());
    // As full as it can be: another small Pod fits in neither or was the number that ran out.
    assert!(accepted == 30 || millis > 9_500);
}

#[tokio::test(start_paused = true)]
async fn counting_anew_finds_what_was_charged() {
    let caller = Caller::whole().await;
    let hard = json!({"requests.cpu": "10", "limits.cpu": "20", "pods": "10", "services": "5", "services.nodeports": "3",
        "count/configmaps": "50", "requests.storage": "10Gi", "gold.storageclass.storage.k8s.io/requests.storage": "4Gi",
        "requests.nvidia.com/gpu": "4"});
    caller.post(QUOTAS, &json!({"metadata": {"name": "all"}, "spec": {"hard": hard}})).await.object();
    caller.wait("the first count", async |caller| used(caller, "all").await.is_object()).await;
    for number in 0..3 {
        let mut pod = asking(&format!("p{number}"), "1");
        for list in ["requests", "limits"] {
            pod["spec"]["containers"][0]["resources"][list]["nvidia.com/gpu"] = json!("1");
        }
        caller.post(PODS, &pod).await.object();
    }
    let service = json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}});
    let services = "/api/v1/namespaces/default/services";
    caller.post(services, &service).await.object();
    caller.merge(&format!("{services}/s"), &json!({"spec": {"type": "NodePort"}})).await.object();
    let claim = json!({"metadata": {"name": "c"}, "spec": {"storageClassName": "gold", "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "3Gi"}}}});
    let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    caller.post(claims, &claim).await.object();
    let second = json!({"metadata": {"name": "d"}, "spec": claim["spec"]});
    assert!(
        caller
            .post(claims, &second)
            .await
            .refused(403)
            .contains("requested: gold.storageclass.storage.k8s.io/requests.storage=3Gi")
    );
    let charged = used(&caller, "all").await;
    assert_eq!(charged["services.nodeports"], "1");
    assert_eq!(charged["requests.nvidia.com/gpu"], "3");
    assert_eq!(charged["requests.storage"], "3Gi");
    // A new limit makes the controller count everything.
    caller.merge(&format!("{QUOTAS}/all"), &json!({"spec": {"hard": {"secrets": "7"}}})).await.object();
    caller.wait("the next count", async |caller| used(caller, "all").await.get("secrets").is_some()).await;
    let mut counted = used(&caller, "all").await;
    counted.as_object_mut().unwrap().remove("secrets");
    assert_eq!(counted, charged);
    caller.call("DELETE", &format!("{PODS}/p0"), &json!({"gracePeriodSeconds": 0})).await.object();
    caller.wait("what a Pod gives back", async |caller| used(caller, "all").await["pods"] == "2").await;
    assert_eq!(used(&caller, "all").await["requests.cpu"], "2");
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_is_checked_and_not_charged() {
    let caller = Caller::bare().await;
    quota(&caller, "q", &json!({"pods": "1"})).await;
    let dry = format!("{PODS}?dryRun=All");
    caller.post(&dry, &pod("a")).await.object();
    assert_eq!(used(&caller, "q").await["pods"], "0");
    caller.post(PODS, &pod("a")).await.object();
    assert_eq!(used(&caller, "q").await["pods"], "1");
    let want = "pods \"b\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1";
    assert_eq!(caller.post(&dry, &pod("b")).await.refused(403), want);
}

#[tokio::test(start_paused = true)]
async fn containers_must_say_what_a_quota_counts() {
    let caller = Caller::bare().await;
    quota(&caller, "q", &json!({"limits.cpu": "1", "requests.memory": "1Gi"})).await;
    assert_eq!(
        caller.post(PODS, &pod("a")).await.refused(403),
        "pods \"a\" is forbidden: failed quota: q: must specify limits.cpu for: c; requests.memory for: c"
    );
    assert_eq!(caller.cluster.store().count("pods"), 0);
}
