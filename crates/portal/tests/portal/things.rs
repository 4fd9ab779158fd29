//! Templates, volumes, Pods and what else people have.

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use kube::{Api, api::PostParams};
use serde_json::{Value, json};

use super::{
    lives::reaches,
    world::{World, eventually},
};

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn templates_of_others_are_mended_and_withdrawn_by_administrators_but_not_shared_elsewhere() {
    let world = World::new().await;
    let (ada, carol) = (world.user("ada").await, world.user("carol").await);
    world.account("lab", &[("ada", "Member"), ("carol", "Admin")], &ada).await;
    world.account("shop", &[("carol", "Member")], &carol).await;
    let mut template =
        json!({ "kind": "workspace", "name": "mine", "account": "lab", "body": { "image": "busybox" } });
    let (status, made) = ada.post("/templates", template.clone()).await;
    assert_eq!(status, 201, "{made}");
    let path = format!("/templates/{}", made["id"].as_str().unwrap());
    assert_eq!(carol.put(&path, template.clone()).await.0, 204);
    template["account"] = json!("shop");
    let (status, said) = carol.put(&path, template.clone()).await;
    assert_eq!((status, &said["field"]), (403, &json!("account")), "{said}");
    template["account"] = Value::Null;
    assert_eq!((carol.put(&path, template).await.0, carol.get(&path).await.0), (204, 404));
}

#[tokio::test]
async fn templates_are_saved_shared_cloned_and_carry_no_rights() {
    let world = World::new().await;
    let (ada, bob, eve) = (world.user("ada").await, world.user("bob").await, world.user("eve").await);
    world.account("lab", &[("ada", "Member"), ("bob", "Viewer")], &ada).await;
    let body = json!({ "image": "busybox", "account": "lab", "env": { "A": "1" }, "cpu": "2" });
    let template = json!({ "kind": "workspace", "name": "mine", "body": body });
    let (status, made) = ada.post("/templates", template.clone()).await;
    assert_eq!(status, 201, "{made}");
    assert_eq!(ada.post("/templates", template.clone()).await.0, 409, "a name is taken once");
    let path = format!("/templates/{}", made["id"].as_str().unwrap());
    assert_eq!(bob.get(&path).await.0, 404, "it is not shared");
    assert_eq!(world.admin().await.get(&path).await.0, 404, "not even with administrators");

    let mut shared = template.clone();
    shared["account"] = json!("lab");
    assert_eq!(ada.put(&path, shared.clone()).await.0, 204);
    assert_eq!((bob.get(&path).await.0, eve.get(&path).await.0), (200, 404));
    assert_eq!(names(&bob.get("/templates?kind=workspace").await.1), ["mine"]);
    assert_eq!(names(&bob.get("/templates?kind=job").await.1), Vec::<&str>::new());
    assert_eq!((bob.put(&path, shared.clone()).await.0, bob.delete(&path).await.0), (403, 403));
    let (status, said) = bob.post("/templates", shared.clone()).await;
    assert_eq!((status, &said["field"]), (403, &json!("account")), "a viewer shares nothing");
    let mut bad = template.clone();
    bad["body"]["image"] = json!("a;reboot");
    assert_eq!(ada.post("/templates", bad).await.1["field"], "body.image");

    let id = &made["id"];
    let ask = json!({ "name": "desk", "template": id, "env": { "B": "2" } });
    assert_eq!(
        bob.post("/workspaces", ask.clone()).await.0,
        403,
        "the template's account is not his to spend"
    );
    assert_eq!(eve.post("/workspaces", ask.clone()).await.1["field"], "template", "and hers not to know");
    let (status, said) = ada.post("/jobs", json!({ "metadata": { "name": "x" }, "template": id })).await;
    assert_eq!((status, &said["field"]), (422, &json!("template")), "it makes no job");
    let (status, made) = ada.post("/workspaces", ask).await;
    assert_eq!(status, 201, "{made}");
    let admin = world.admin().await;
    for (actor, outcome) in [("bob", "denied"), ("ada", "done")] {
        let (_, log) = admin.get(&format!("/audit?action=createWorkspace&actor={actor}")).await;
        let entry = &log["items"][0];
        assert_eq!((&entry["outcome"], &entry["account"]), (&json!(outcome), &json!("lab")), "{entry}");
    }
    let (_, desk) = ada.get(&format!("/workspaces/{}/desk", ada.namespace().await)).await;
    assert_eq!((&desk["account"], &desk["resources"]["cpu"]), (&json!("lab"), &json!("2")));
    assert_eq!(desk["spec"]["env"], json!([{ "name": "A", "value": "1" }, { "name": "B", "value": "2" }]));
    assert_eq!(ada.delete(&path).await.0, 204);
    assert_eq!(ada.get(&path).await.0, 404);
}

#[tokio::test]
async fn volumes_outlive_workspaces_and_are_not_deleted_under_them() {
    let world = World::new().await;
    let (ada, eve) = (world.user("ada").await, world.user("eve").await);
    let (status, made) = ada.post("/volumes", json!({ "name": "data", "size": "10Gi" })).await;
    assert_eq!(status, 201, "{made}");
    assert_eq!(ada.post("/volumes", json!({ "name": "data", "size": "10Gi" })).await.0, 409);
    assert_eq!(
        ada.post("/volumes", json!({ "name": "huge", "size": "100Pi" })).await.1["code"],
        "quotaExceeded"
    );
    assert_eq!(names(&eve.get("/volumes").await.1), Vec::<&str>::new());
    assert_eq!(eve.delete("/volumes/data").await.0, 404);
    let more = json!({ "mounts": [{ "path": "/data", "claim": "data" }],
        "volumes": [{ "name": "work", "path": "/work", "size": "1Gi" }] });
    let path = ada.workspace("desk", more).await;
    eventually("the volume of the workspace", async || {
        let (_, list) = ada.get("/volumes").await;
        list["items"].as_array().unwrap().iter().any(|one| one["workspace"] == "desk")
    })
    .await;
    let (_, list) = ada.get("/volumes").await;
    let of = |name: &str| {
        list["items"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap().clone()
    };
    assert_eq!(of("data")["usedBy"], json!(["workspace desk"]));
    let other = names(&list).into_iter().find(|name| *name != "data").unwrap().to_owned();
    let (status, said) = ada.delete(&format!("/volumes/{other}")).await;
    assert!(status == 409 && said["message"].as_str().unwrap().contains("workspace desk"), "{said}");
    let (status, said) = ada.delete("/volumes/data").await;
    assert!(status == 409 && said["message"].as_str().unwrap().contains("workspace desk"), "{said}");
    assert_eq!(ada.delete(&path).await.0, 204);
    eventually("the end of the volume", async || ada.delete("/volumes/data").await.0 == 204).await;
    eventually("its absence", async || !names(&ada.get("/volumes").await.1).contains(&"data")).await;
}

#[tokio::test]
async fn a_volume_is_not_deleted_under_a_job_that_rests_or_waits_for_the_clock() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    assert_eq!(ada.post("/volumes", json!({ "name": "data", "size": "10Gi" })).await.0, 201);
    let container = json!([{ "name": "main", "image": "busybox" }]);
    let volume = json!([{ "name": "data", "persistentVolumeClaim": { "claimName": "data" } }]);
    let job = |name: &str, template: Value, more: Value| {
        let mut spec = json!({ "tasks": [{ "name": "main", "template": { "spec": template } }] });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "metadata": { "name": name }, "spec": spec })
    };
    let mount = json!([{ "path": "/data", "claim": "data" }]);
    let rests = job("rests", json!({ "containers": container }), json!({ "suspend": true, "mounts": mount }));
    let clock = json!({ "schedule": { "cron": "0 3 1 1 *" } });
    let nightly = job("nightly", json!({ "containers": container, "volumes": volume }), clock);
    for body in [rests, nightly] {
        let (status, said) = ada.post("/jobs", body).await;
        assert_eq!(status, 201, "{said}");
    }
    let (status, said) = ada.delete("/volumes/data").await;
    assert_eq!((status, &said["message"]), (409, &json!("it is used by job nightly, job rests")));
    assert_eq!(ada.get("/volumes").await.1["items"][0]["usedBy"], json!(["job nightly", "job rests"]));
    let namespace = ada.namespace().await;
    for name in ["rests", "nightly"] {
        assert_eq!(ada.delete(&format!("/jobs/{namespace}/{name}")).await.0, 204);
    }
    eventually("the end of the volume", async || ada.delete("/volumes/data").await.0 == 204).await;
}

#[tokio::test]
async fn programs_manage_pods_under_the_rules_of_jobs() {
    let world = World::new().await;
    let (ada, eve) = (world.user("ada").await, world.user("eve").await);
    let program = ada.program(&ada.key("ci", &["jobs:read", "jobs:write"]).await.1);
    let pod = |more: Value| {
        let mut spec = json!({ "containers": [{ "name": "main", "image": "busybox", "command": ["sleep", "1d"],
            "resources": { "limits": { "nvidia.com/gpu": "1" } } }] });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "metadata": { "name": "one" }, "spec": spec })
    };
    let (status, said) = program.post("/pods", pod(json!({ "hostPID": true }))).await;
    assert_eq!((status, &said["field"]), (422, &json!("spec.hostPID")));
    let mut foreign = pod(json!({}));
    foreign["account"] = json!("secret");
    assert_eq!(program.post("/pods", foreign).await.0, 403, "nobody pays but whose account it is");
    let (status, made) = program.post("/pods", pod(json!({}))).await;
    assert_eq!(status, 201, "{made}");
    let path = format!("/pods/{}/one", ada.namespace().await);
    let running = reaches(&program, &path, "Running").await;
    assert!(running["cards"].as_str().unwrap().starts_with("nvidia.com/gpu="), "{running}");
    assert_eq!((&running["user"], &running["account"]), (&json!("ada"), &json!("default")));
    assert_eq!(names(&program.get("/pods").await.1), ["one"]);
    assert_eq!(program.get(&format!("{path}/logs")).await.0, 200);
    assert!(program.get(&format!("{path}/yaml")).await.1.as_str().unwrap().contains("kind: Pod"));
    let read = ada.program(&ada.key("read", &["jobs:read"]).await.1);
    assert_eq!(read.delete(&path).await.1["code"], "scopeMissing");
    for (method, path) in [("GET", path.clone()), ("DELETE", path.clone()), ("GET", format!("{path}/logs"))] {
        assert_eq!(eve.call(method, &path, None).await.0, 404, "{method} {path}");
    }
    assert_eq!(program.delete(&path).await.0, 204);
    eventually("the end of the Pod", async || program.get(&path).await.0 == 404).await;
}

#[tokio::test]
async fn what_people_have_is_shown() {
    let world = World::with(|settings| {
        settings.images = vec![("torch:2".to_owned(), "PyTorch".to_owned())];
        settings.limits.workspaces = 7;
    })
    .await;
    let (ada, bob) = (world.user("ada").await, world.user("bob").await);
    assert_eq!(ada.get("/quota").await.1["limits"]["workspaces"], "7", "before anything was made");
    let half = json!({ "cards": { "share": "0.5", "index": 0 }, "command": ["sleep", "1d"] });
    let path = ada.workspace("desk", half.clone()).await;
    let desk = reaches(&ada, &path, "Running").await;
    let other = json!({ "cards": { "share": "0.5", "index": 0 }, "nodes": [desk["node"]] });
    let other = bob.workspace("table", other).await;
    reaches(&bob, &other, "Running").await;
    eventually("one used workspace", async || ada.get("/quota").await.1["used"]["workspaces"] == "1").await;
    let images = ada.get("/images").await.1;
    assert_eq!(images["items"], json!([{ "image": "torch:2", "title": "PyTorch" }, { "image": "busybox" }]));

    let (status, text) = ada.get(&format!("{path}/describe")).await;
    let text = text.as_str().unwrap();
    assert!(
        status == 200 && text.contains("Phase:           Running") && text.contains("Container"),
        "{text}"
    );
    eventually("the other one on the card", async || {
        let (status, near) = ada.get(&format!("{path}/neighbours")).await;
        assert_eq!(status, 200, "{near}");
        let near = near["items"].as_array().unwrap();
        assert!(near.iter().all(|one| one["user"] == "bob" && one.get("name").is_none()), "{near:?}");
        near.len() == 1
    })
    .await;

    let app: Deployment = serde_json::from_value(json!({
        "metadata": { "name": "web" },
        "spec": { "replicas": 2, "selector": { "matchLabels": { "app": "web" } }, "template": {
            "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [{ "name": "main", "image": "nginx" }] } } },
    }))
    .unwrap();
    let apps: Api<Deployment> = Api::namespaced(world.client.clone(), &ada.namespace().await);
    apps.create(&PostParams::default(), &app).await.unwrap();
    eventually("the application", async || names(&ada.get("/apps").await.1) == ["web"]).await;
    let shown = ada.get("/apps").await.1["items"][0].clone();
    assert_eq!(
        (&shown["kind"], &shown["wanted"], &shown["image"]),
        (&json!("Deployment"), &json!(2), &json!("nginx"))
    );
    let set: StatefulSet = serde_json::from_value(json!({
        "metadata": { "name": "store" },
        "spec": { "replicas": 1, "serviceName": "store", "selector": { "matchLabels": { "app": "store" } }, "template": {
            "metadata": { "labels": { "app": "store" } }, "spec": { "containers": [{ "name": "main", "image": "redis" }] } } },
    }))
    .unwrap();
    let sets: Api<StatefulSet> = Api::namespaced(world.client.clone(), &ada.namespace().await);
    sets.create(&PostParams::default(), &set).await.unwrap();
    eventually("the set", async || names(&ada.get("/apps").await.1) == ["store", "web"]).await;
    let shown = ada.get("/apps").await.1["items"][0].clone();
    assert_eq!((&shown["kind"], &shown["image"]), (&json!("StatefulSet"), &json!("redis")));
    assert_eq!(names(&bob.get("/apps").await.1), Vec::<&str>::new());
}

#[tokio::test]
async fn a_job_is_cloned_by_its_manifest() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let job = json!({ "metadata": { "name": "train", "labels": { "team": "a" } }, "spec": { "tasks": [{ "name": "main",
        "template": { "spec": { "containers": [{ "name": "main", "image": "busybox" }] } } }] } });
    assert_eq!(ada.post("/jobs", job).await.0, 201);
    let path = format!("/jobs/{}/train", ada.namespace().await);
    let (status, mut manifest) = ada.get(&format!("{path}/manifest")).await;
    assert_eq!(status, 200, "{manifest}");
    assert_eq!(manifest["metadata"]["labels"], json!({ "team": "a" }));
    assert_eq!(ada.post("/jobs", manifest.clone()).await.0, 409, "its name is taken");
    manifest["metadata"]["name"] = json!("again");
    let (status, made) = ada.post("/jobs", manifest).await;
    assert_eq!(status, 201, "{made}");
    assert!(
        ada.get(&format!("{path}/describe")).await.1.as_str().unwrap().contains("Kind:            AIJob")
    );
}

#[tokio::test]
async fn fifty_at_once_never_exceed_a_quota() {
    let world = World::with(|settings| {
        settings.limits.workspaces = 5;
        settings.requests_per_second = 1000;
    })
    .await;
    let ada = world.user("ada").await;
    let ask = async |number: usize| {
        let (status, said) =
            ada.post("/workspaces", json!({ "name": format!("w{number}"), "image": "busybox" })).await;
        assert!(status == 201 || said["code"] == "quotaExceeded", "{status} {said}");
        status == 201
    };
    let made = futures::future::join_all((0..50).map(ask)).await;
    assert_eq!(made.into_iter().filter(|made| *made).count(), 5);
    assert_eq!(ada.get("/workspaces").await.1["items"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn only_a_profile_lets_a_pod_out_of_its_containers() {
    let profiles = "
profiles:
  - name: fabric
    accounts: [hpc]
    allows: [hostNetwork]
";
    let world =
        World::with(|settings| settings.profiles = maar_portal::Profiles::parse(profiles).unwrap()).await;
    let (ada, eve) = (world.user("ada").await, world.user("eve").await);
    world.account("hpc", &[("ada", "Member")], &ada).await;
    let pod = |account: &str, more: Value| {
        let mut spec = json!({ "hostNetwork": true, "containers": [{ "name": "main", "image": "busybox" }] });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "metadata": { "name": "one" }, "spec": spec, "account": account })
    };
    assert_eq!(ada.post("/pods", pod("hpc", json!({ "hostPID": true }))).await.1["field"], "spec.hostPID");
    assert_eq!(ada.post("/pods", pod("default", json!({}))).await.1["field"], "spec.hostNetwork");
    assert_eq!(eve.post("/pods", pod("default", json!({}))).await.1["field"], "spec.hostNetwork");
    assert_eq!(eve.post("/pods", pod("hpc", json!({}))).await.0, 403, "the account is not hers");
    let (status, made) = ada.post("/pods", pod("hpc", json!({}))).await;
    assert_eq!(status, 201, "{made}");
    eve.workspace("desk", json!({})).await;
    for (who, level) in [(&ada, "privileged"), (&eve, "baseline")] {
        let request = http::Request::get(format!("/api/v1/namespaces/{}", who.namespace().await));
        let found: Value = world.client.request(request.body(Vec::new()).unwrap()).await.unwrap();
        assert_eq!(found["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], level);
    }
}

#[tokio::test]
async fn a_workspace_has_of_a_node_what_its_profile_names() {
    let profiles = "
profiles:
  - { name: scratch, accounts: [hpc], allows: [hostIPC], hostPaths: [{ path: /mnt/data, readOnly: true }, { path: /scratch }] }
";
    let world =
        World::with(|settings| settings.profiles = maar_portal::Profiles::parse(profiles).unwrap()).await;
    let (ada, eve) = (world.user("ada").await, world.user("eve").await);
    world.account("hpc", &[("ada", "Member")], &ada).await;
    let desk = |account: &str, path: &str| {
        json!({ "name": "desk", "image": "busybox", "account": account, "profile": "scratch",
            "hostPaths": [{ "hostPath": path, "path": "/data" }] })
    };
    let field = async |who: &super::browser::Browser, body: Value| {
        who.post("/workspaces", body).await.1["field"].clone()
    };
    assert_eq!(field(&ada, desk("default", "/scratch")).await, "profile", "another account pays");
    assert_eq!(field(&eve, desk("default", "/scratch")).await, "profile");
    assert_eq!(eve.post("/workspaces", desk("hpc", "/scratch")).await.0, 403, "the account is not hers");
    for trick in
        ["/etc", "/mnt/database", "/scratch/../etc", "/mnt/data/..", "//scratch", "/", "/scratch/./x"]
    {
        assert_eq!(field(&ada, desk("hpc", trick)).await, "hostPaths[0].hostPath", "{trick}");
    }
    let (status, made) = ada.post("/workspaces", desk("hpc", "/mnt/data/sets")).await;
    assert_eq!(status, 201, "{made}");
    let pods: Api<k8s_openapi::api::core::v1::Pod> =
        Api::namespaced(world.client.clone(), &ada.namespace().await);
    eventually("its Pod", async || pods.get_opt("desk").await.unwrap().is_some()).await;
    let pod = serde_json::to_value(pods.get("desk").await.unwrap()).unwrap();
    let volumes = pod["spec"]["volumes"].as_array().unwrap();
    let volume = volumes.iter().find(|one| one["hostPath"].is_object()).unwrap();
    assert_eq!(volume["hostPath"]["path"], "/mnt/data", "links below it are followed no further than it");
    let mounts = pod["spec"]["containers"][0]["volumeMounts"].as_array().unwrap();
    let mount = mounts.iter().find(|one| one["mountPath"] == "/data").unwrap();
    assert_eq!((&mount["subPath"], &mount["readOnly"]), (&json!("sets"), &json!(true)));
    assert_eq!((&pod["spec"]["hostIPC"], &pod["spec"]["hostNetwork"]), (&json!(true), &Value::Null));
    let (_, log) = world.admin().await.get("/audit?action=createWorkspace&outcome=done").await;
    assert!(log["items"][0]["after"]["grant"].as_str().unwrap().contains("/mnt/data"), "{log}");
}
