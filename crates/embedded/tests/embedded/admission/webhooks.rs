//! Webhooks over TLS.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::caller::{Caller, PODS, pod};
use super::hooks::{Hooks, Reply, webhook};

const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

async fn caller(hooks: &Hooks) -> Caller {
    let caller = Caller::bare().await;
    caller.cluster.set_webhooks(hooks.dialer());
    caller
}

async fn install(caller: &Caller, path: &str, name: &str, webhooks: Value) {
    caller.post(path, &json!({"metadata": {"name": name}, "webhooks": webhooks})).await.object();
}

fn label(request: &Value, name: &str) -> Value {
    let labels = &request["object"]["metadata"]["labels"];
    let place =
        if labels.is_object() { format!("/metadata/labels/{name}") } else { "/metadata/labels".into() };
    let value = if labels.is_object() { json!("yes") } else { json!({name: "yes"}) };
    json!([{"op": "add", "path": place, "value": value}])
}

#[tokio::test(start_paused = true)]
async fn webhooks_change_an_object_one_after_another() {
    let hooks = Hooks::new(|path, request| Reply::patch(&label(request, path.trim_matches('/'))));
    let caller = caller(&hooks).await;
    let again = json!({"reinvocationPolicy": "IfNeeded"});
    install(&caller, MUTATING, "second", json!([webhook(&hooks, "/c", &json!({}))])).await;
    install(
        &caller,
        MUTATING,
        "first",
        json!([webhook(&hooks, "/a", &again), webhook(&hooks, "/b", &json!({}))]),
    )
    .await;
    let pod = caller.post(PODS, &pod("p")).await.object();
    assert_eq!(pod["metadata"]["labels"], json!({"a": "yes", "b": "yes", "c": "yes"}));
    assert_eq!(
        hooks.paths(),
        ["/a", "/b", "/c", "/a"],
        "who wants to is asked again after others changed it"
    );
    let owned = pod["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"].clone();
    assert_eq!(owned, Value::Null, "labels that webhooks add are not the client's");
    let last = hooks.last();
    assert_eq!(last["userInfo"]["username"], "kubernetes-admin");
    assert_eq!(
        (&last["operation"], &last["name"], &last["namespace"]),
        (&json!("CREATE"), &json!("p"), &json!("default"))
    );
    assert_eq!(last["object"]["metadata"]["labels"]["c"], "yes");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_has_the_code_and_words_of_the_webhook() {
    let hooks = Hooks::new(|_, request| match request["object"]["metadata"]["name"].as_str() {
        Some("coffee") => Reply::Says(
            json!({"allowed": false, "status": {"code": 418, "message": "short and stout", "reason": "Teapot"}}),
        ),
        Some("bare") => Reply::Says(json!({"allowed": false})),
        _ => Reply::Says(json!({"allowed": true, "warnings": ["it is late"]})),
    });
    let caller = caller(&hooks).await;
    install(&caller, VALIDATING, "v", json!([webhook(&hooks, "/v", &json!({}))])).await;
    let refused = caller.post(PODS, &pod("coffee")).await;
    assert_eq!((refused.code, &refused.body["reason"]), (418, &json!("Teapot")));
    assert_eq!(
        refused.message(),
        "admission webhook \"v.example.com.test\" denied the request: short and stout"
    );
    assert!(
        caller
            .post(PODS, &pod("bare"))
            .await
            .refused(400)
            .ends_with("denied the request without explanation")
    );
    let accepted = caller.post(PODS, &pod("tea")).await;
    assert_eq!(
        (accepted.code, accepted.warnings.as_slice()),
        (201, ["299 - \"it is late\"".to_owned()].as_slice())
    );
}

/// It may be that something else is there already or is not; the object itself is as it was.
#[tokio::test(start_paused = true)]
async fn an_apply_that_a_webhook_refuses_is_not_tried_again() {
    let hooks = Hooks::new(|_, request| {
        let created = request["operation"] == "CREATE";
        let (code, reason) = if created { (409, "AlreadyExists") } else { (404, "NotFound") };
        Reply::Says(json!({"allowed": false, "status": {"code": code, "message": "no", "reason": reason}}))
    });
    let caller = caller(&hooks).await;
    caller.post(PODS, &pod("old")).await.object();
    let rules =
        json!([{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]);
    install(&caller, VALIDATING, "v", json!([webhook(&hooks, "/v", &json!({"rules": rules}))])).await;
    let pods: kube::Api<k8s_openapi::api::core::v1::Pod> =
        kube::Api::default_namespaced(caller.client.clone());
    for (name, code) in [("new", 409), ("old", 404)] {
        let mut applied = pod(name);
        (applied["apiVersion"], applied["kind"]) = (json!("v1"), json!("Pod"));
        applied["metadata"]["labels"] = json!({"a": "b"});
        let refused = pods.patch(name, &PatchParams::apply("me").force(), &Patch::Apply(applied)).await;
        assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == code), "{name}");
    }
    assert_eq!(hooks.paths(), ["/v", "/v"]);
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_cannot_be_asked_counts_as_its_policy_says() {
    let other = Hooks::new(|_, _| Reply::yes());
    let patch = json!([{"op": "remove", "path": "/spec/nothing/here"}]);
    let hooks = Hooks::new(move |path, _| match path {
        "/silent" => Reply::Silence,
        "/broken" => Reply::Text("<html>"),
        "/patch" => Reply::patch(&patch),
        _ => Reply::yes(),
    });
    let wrong =
        json!({"clientConfig": {"service": {"namespace": "tools", "name": "hooks"}, "caBundle": other.ca}});
    let nowhere =
        json!({"clientConfig": {"service": {"namespace": "tools", "name": "gone"}, "caBundle": hooks.ca}});
    let rows = [
        ("/silent", json!({"timeoutSeconds": 3}), "/silent?timeout=3s\": context deadline exceeded"),
        ("/broken", json!({}), "received invalid webhook response"),
        ("/wrong", wrong, "tls: "),
        ("/nowhere", nowhere, "service \"gone\" not found"),
    ];
    for (path, more, message) in rows {
        let caller = caller(&hooks).await;
        let mut hook = webhook(&hooks, path, &more);
        install(&caller, MUTATING, "m", json!([hook])).await;
        let refused = caller.post(PODS, &pod("a")).await.refused(500);
        let start =
            format!("Internal error occurred: failed calling webhook {:?}: ", hook["name"].as_str().unwrap());
        assert!(refused.starts_with(&start) && refused.contains(message), "{path}: {refused}");
        hook["failurePolicy"] = json!("Ignore");
        caller.merge(&format!("{MUTATING}/m"), &json!({"webhooks": [hook]})).await.object();
        caller.post(PODS, &pod("a")).await.object();
    }
    let caller = caller(&hooks).await;
    let hook = webhook(&hooks, "/patch", &json!({"failurePolicy": "Ignore"}));
    install(&caller, MUTATING, "m", json!([hook])).await;
    let refused = caller.post(PODS, &pod("a")).await;
    assert_eq!(
        refused.code, 500,
        "an answer that makes no sense is not the network's fault: {}",
        refused.body
    );
}

#[tokio::test(start_paused = true)]
async fn rules_selectors_and_conditions_say_who_is_asked() {
    let hooks = Hooks::new(|_, _| Reply::yes());
    let caller = caller(&hooks).await;
    let labelled = json!({"objectSelector": {"matchLabels": {"look": "yes"}}});
    let elsewhere = json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}});
    let condition =
        json!({"matchConditions": [{"name": "big", "expression": "object.spec.containers.size() > 1"}]});
    let any = json!({"rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]});
    let all = [("/labelled", labelled), ("/elsewhere", elsewhere), ("/big", condition), ("/any", any)];
    let all: Vec<Value> = all.iter().map(|(path, more)| webhook(&hooks, path, more)).collect();
    install(&caller, VALIDATING, "v", json!(all)).await;
    assert_eq!(hooks.paths(), [""; 0], "nobody is asked about webhooks");
    caller.post(PODS, &pod("plain")).await.object();
    assert_eq!(hooks.paths(), ["/any"]);
    let mut large = pod("large");
    large["metadata"]["labels"] = json!({"look": "yes"});
    large["spec"]["containers"] = json!([{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]);
    caller.post(PODS, &large).await.object();
    let mut asked = hooks.paths().split_off(1);
    asked.sort();
    assert_eq!(asked, ["/any", "/big", "/labelled"]);
    let wrong = webhook(
        &hooks,
        "/x",
        &json!({"matchConditions": [{"name": "c", "expression": "authorizer.path('/')"}]}),
    );
    let refused = caller.post(VALIDATING, &json!({"metadata": {"name": "w"}, "webhooks": [wrong]})).await;
    assert_eq!(refused.code, 422, "{}", refused.body);
}

#[tokio::test(start_paused = true)]
async fn deletions_streams_scales_and_bindings_are_asked_about_too() {
    let hooks = Hooks::new(|_, request| match request["operation"].as_str() {
        Some("CREATE" | "UPDATE") if request["subResource"].is_null() => Reply::yes(),
        _ => Reply::Says(json!({"allowed": false, "status": {"message": "no", "code": 403}})),
    });
    let caller = caller(&hooks).await;
    caller.post(PODS, &pod("p")).await.object();
    let deployment = json!({"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}}});
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    caller.post(deployments, &deployment).await.object();
    let any = json!({"rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]});
    install(&caller, VALIDATING, "v", json!([webhook(&hooks, "/v", &any)])).await;
    caller.call("DELETE", &format!("{PODS}/p"), &Value::Null).await.refused(403);
    let asked = hooks.last();
    assert_eq!((&asked["operation"], &asked["object"]), (&json!("DELETE"), &Value::Null));
    assert_eq!(asked["oldObject"]["metadata"]["name"], "p");
    caller.merge(&format!("{deployments}/d/scale"), &json!({"spec": {"replicas": 5}})).await.refused(403);
    let asked = hooks.last();
    assert_eq!((&asked["kind"]["kind"], &asked["subResource"]), (&json!("Scale"), &json!("scale")));
    assert_eq!(
        (&asked["object"]["spec"]["replicas"], &asked["oldObject"]["spec"]["replicas"]),
        (&json!(5), &json!(1))
    );
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
    caller.post(&format!("{PODS}/p/binding"), &binding).await.refused(403);
    assert_eq!(hooks.last()["object"]["target"]["name"], "n");
    let eviction = json!({"metadata": {"name": "p"}});
    caller.post(&format!("{PODS}/p/eviction"), &eviction).await.refused(403);
    assert_eq!(hooks.last()["kind"], json!({"group": "policy", "version": "v1", "kind": "Eviction"}));
    let account = json!({"metadata": {"name": "a"}});
    caller.post("/api/v1/namespaces/default/serviceaccounts", &account).await.object();
    let token = "/api/v1/namespaces/default/serviceaccounts/a/token";
    caller.post(token, &json!({"spec": {"audiences": ["them"]}})).await.refused(403);
    let asked = hooks.last();
    let kind = json!({"group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest"});
    assert_eq!(
        (&asked["kind"], &asked["subResource"], &asked["name"]),
        (&kind, &json!("token"), &json!("a"))
    );
    assert_eq!(asked["object"]["spec"]["audiences"], json!(["them"]));
    assert_eq!(asked["object"]["status"]["token"], "", "who is asked does not get it");
    let status = json!({"status": {"phase": "Running"}});
    caller.merge(&format!("{PODS}/p/status"), &status).await.refused(403);
    caller.call("GET", &format!("{PODS}/p"), &Value::Null).await.object();
}

#[tokio::test(start_paused = true)]
async fn a_generated_name_is_not_known_before_it_is_made() {
    let hooks = Hooks::new(|_, _| Reply::yes());
    let caller = caller(&hooks).await;
    install(&caller, MUTATING, "m", json!([webhook(&hooks, "/m", &json!({}))])).await;
    let mut many = pod("");
    many["metadata"] = json!({"generateName": "many-"});
    let made = caller.post(&format!("{PODS}?dryRun=All"), &many).await.object();
    assert!(made["metadata"]["name"].as_str().unwrap().starts_with("many-"));
    let asked = hooks.last();
    assert_eq!((asked.get("name"), asked["object"]["metadata"].get("name")), (None, None));
    assert_eq!(asked["dryRun"], true);
}

#[tokio::test]
async fn webhooks_are_found_on_the_network() {
    let hooks = Hooks::new(|_, _| Reply::yes());
    let address = hooks.listen().await;
    let caller = Caller::bare().await;
    let by_url = json!({"clientConfig": {"url": format!("https://{address}/url"), "caBundle": hooks.ca}});
    let service = json!({"namespace": "tools", "name": "hooks", "path": "/service", "port": address.port()});
    let by_service = json!({"clientConfig": {"service": service, "caBundle": hooks.ca}});
    let both = json!([webhook(&hooks, "/url", &by_url), webhook(&hooks, "/service", &by_service)]);
    install(&caller, VALIDATING, "v", both).await;
    caller.post("/api/v1/namespaces", &json!({"metadata": {"name": "tools"}})).await.object();
    let services = "/api/v1/namespaces/tools/services";
    let empty = json!({"metadata": {"name": "hooks"}, "spec": {"ports": [{"port": address.port()}]}});
    caller.post(services, &empty).await.object();
    let refused = caller.post(PODS, &pod("early")).await.refused(500);
    assert!(refused.contains("no endpoints available for service \"hooks\""), "{refused}");
    caller.call("DELETE", &format!("{services}/hooks"), &Value::Null).await.object();
    let outside =
        json!({"metadata": {"name": "hooks"}, "spec": {"type": "ExternalName", "externalName": "localhost"}});
    caller.post(services, &outside).await.object();
    caller.post(PODS, &pod("p")).await.object();
    let mut paths = hooks.paths();
    paths.sort();
    assert_eq!(paths, ["/service", "/url", "/url"]);
}
