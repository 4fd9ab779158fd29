//! Why something waits, over HTTP: to those who may know.

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::PostParams;
use maar_api::v1alpha1::AIJob;
use maar_testkit::build::object;
use maar_testkit::read::phase;
use maar_testkit::scenario;
use maar_testkit::scenario::Arena;
use serde_json::json;

use super::gangs::{define, job, worker};
use super::setup::{ours, start};

/// An account of the cluster that may read these resources in the scenario's namespace; its token.
async fn account(arena: &Arena, name: &str, group: &str, resources: &[&str]) -> String {
    arena.create(object::<ServiceAccount>(name, json!({}))).await;
    let namespace = arena.namespace();
    let rules = json!([{"apiGroups": [group], "resources": resources, "verbs": ["get"]}]);
    let role: Role =
        serde_json::from_value(json!({"metadata": {"name": name}, "rules": rules})).expect("a role");
    let binding: RoleBinding = serde_json::from_value(json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }))
    .expect("a binding");
    if !resources.is_empty() {
        arena.api::<Role>().create(&PostParams::default(), &role).await.expect("a role can be made");
        arena.api::<RoleBinding>().create(&PostParams::default(), &binding).await.expect("and bound");
    }
    let request = TokenRequest { spec: Some(TokenRequestSpec::default()), ..TokenRequest::default() };
    let request =
        arena.api::<ServiceAccount>().create_token_request(name, &PostParams::default(), &request).await;
    request.expect("a token").status.expect("a token").token.expect("a token")
}

scenario! {
    async fn why_a_job_waits_is_told_to_those_who_may_see_it(context) {
        let arena = context.arena();
        define(arena).await;
        let scheduler = start(arena, arena.client(), "only");
        arena.create(object::<AIJob>("large", job(7, 7))).await;
        for number in 0..7 {
            arena.create(worker(arena, "large", number)).await;
        }
        arena.create(ours(arena, "small")).await;
        arena.wait("the other to run", "small", |pod: &Pod| phase(pod) == "Running").await;
        let reader = account(arena, "reader", "maar.io", &["aijobs"]).await;
        let stranger = account(arena, "stranger", "", &[]).await;
        let path = format!("{}/large", arena.namespace());
        let answer = arena.until("an answer", async || {
            match scheduler.explain(&path, Some(&reader)).await {
                (200, answer) if answer["explanation"]["state"]["is"] == "neverFits" => Ok(answer),
                other => Err(format!("{other:?}")),
            }
        }).await;
        assert_eq!(answer["group"], path);
        assert_eq!(answer["explanation"]["state"]["pods"], 7);
        let (code, refused) = scheduler.explain(&path, None).await;
        assert_eq!((code, &refused["kind"], &refused["reason"]), (401, &json!("Status"), &json!("Unauthorized")));
        assert_eq!(refused["code"], 401, "clients read it as they read the API server's");
        assert_eq!(scheduler.explain(&path, Some("made-up")).await.0, 401);
        assert_eq!(scheduler.explain(&path, Some(&stranger)).await.0, 403);
        // Who may see jobs may not therefore see Pods, nor find out which there are.
        assert_eq!(scheduler.explain(&format!("{}/small", arena.namespace()), Some(&reader)).await.0, 403);
        assert_eq!(scheduler.explain(&format!("{}/nothing", arena.namespace()), Some(&stranger)).await.0, 403);
        assert_eq!(scheduler.explain(&format!("{}/nothing", arena.namespace()), Some(&reader)).await.0, 404);
        assert_eq!(scheduler.explain("kube-system/large", Some(&reader)).await.0, 403);
        scheduler.stop().await;
    }
}

scenario! {
    async fn why_a_pod_waits_is_told_of_its_own_and_of_its_jobs_reasons(context) {
        let arena = context.arena();
        define(arena).await;
        let scheduler = start(arena, arena.client(), "only");
        arena.create(object::<AIJob>("large", job(7, 7))).await;
        for number in 0..7 {
            arena.create(worker(arena, "large", number)).await;
        }
        arena.create(ours(arena, "giant").request("cpu", "99")).await;
        let volumes = json!([{"name": "data", "persistentVolumeClaim": {"claimName": "missing"}}]);
        arena.create(ours(arena, "homeless").pod_set("/spec/volumes", volumes)).await;
        let reader = account(arena, "reader", "", &["pods"]).await;
        let jobs_only = account(arena, "jobs-only", "maar.io", &["aijobs"]).await;
        let path = |name: &str| format!("{}/{name}?kind=pod", arena.namespace());
        let explained = async |name: &str, wanted: fn(&serde_json::Value) -> bool| {
            arena.until("an answer", async || match scheduler.explain(&path(name), Some(&reader)).await {
                (200, answer) if wanted(&answer) => Ok(answer),
                other => Err(format!("{other:?}")),
            }).await
        };
        let never = |answer: &serde_json::Value| answer["explanation"]["state"]["is"] == "neverFits";
        assert_eq!(explained("giant", never).await["explanation"]["state"]["pods"], 1);
        let of_job = explained("large-3", never).await;
        assert_eq!(of_job["group"], format!("{}/large", arena.namespace()), "it waits with its job");
        let held = explained("homeless", |answer| answer["pods"][0]["pod"] == "homeless").await;
        assert_eq!(held["pods"][0]["reason"], "the volume claim missing does not exist");
        assert_eq!(scheduler.explain(&path("giant"), Some(&jobs_only)).await.0, 403);
        assert_eq!(scheduler.explain(&path("large-3"), Some(&jobs_only)).await.0, 403);
        assert_eq!(scheduler.explain(&path("large"), Some(&reader)).await.0, 404, "that is a job");
        let other = format!("{}/giant?kind=node", arena.namespace());
        assert_eq!(scheduler.explain(&other, Some(&reader)).await.0, 400);
        scheduler.stop().await;
    }
}
