//! The holes of other portals, each tried here. The table is in docs/operations/security.md.

use std::net::SocketAddr;

use axum::{body::Body, extract::ConnectInfo};
use http::Request;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use maar_portal::{Profiles, Providers, SpecialLimits};
use serde_json::{Value, json};

use super::world::{PASSWORD, World, eventually};

#[tokio::test]
async fn headers_that_name_a_user_are_not_believed() {
    let world = World::new().await;
    for header in
        ["x-auth-request-user", "x-auth-request-preferred-username", "x-forwarded-user", "remote-user"]
    {
        let request = Request::get("/api/v1/users").header(header, "admin").body(Body::empty()).unwrap();
        assert_eq!(world.browser().send(request).await.0, 401, "{header}");
    }
    let request = Request::get("/api/v1/me?user=admin").body(Body::empty()).unwrap();
    assert_eq!(world.browser().send(request).await.0, 401);
}

/// Two proxies: people choose their names at the one at 10.0.0.1, and those who run the one at 10.0.0.2 give them.
fn naming_proxies() -> Providers {
    let proxies = "providers:\n\
        - { kind: proxy, id: any, peers: [10.0.0.1], secretFile: s, subjectHeader: X-Subject, nameHeader: X-User }\n\
        - { kind: proxy, id: hr, peers: [10.0.0.2], secretFile: s, subjectHeader: X-Subject, nameHeader: X-User, \
            trustNames: true }\n";
    Providers::parse(proxies, &|_| Ok("a secret of the proxy".to_owned())).unwrap()
}

/// Who comes from `peer` as `subject` with this name, as the portal sees him.
async fn named(world: &World, peer: &str, subject: &str, name: &str) -> Value {
    let request = Request::get("/api/v1/me")
        .header("x-maar-proxy-secret", "a secret of the proxy")
        .header("x-subject", subject)
        .header("x-user", name)
        .extension(ConnectInfo(peer.parse::<SocketAddr>().unwrap()));
    world.browser().send(request.body(Body::empty()).unwrap()).await.2
}

#[tokio::test]
async fn a_name_that_a_profile_or_a_limit_lists_is_not_for_the_first_who_chooses_it() {
    let profiles = "profiles: [{ name: kernel, users: [ada], allows: [privileged] }]";
    let limits = "users: { bob: { workspaces: 1000 } }";
    let world = World::with(|settings| {
        settings.providers = naming_proxies();
        settings.profiles = Profiles::parse(profiles).unwrap();
        settings.special_limits = SpecialLimits::parse(limits).unwrap();
    })
    .await;
    for name in ["ada", "bob"] {
        let chosen = named(&world, "10.0.0.1:9", &format!("eve as {name}"), name).await;
        assert!(chosen["name"].as_str().unwrap().starts_with(&format!("{name}-")), "{chosen}");
        let given = named(&world, "10.0.0.2:9", name, name).await;
        assert_eq!(given["name"], name, "{given}");
    }
    let chosen = named(&world, "10.0.0.1:9", "3", "carl").await;
    assert_eq!(chosen["name"], "carl", "a name that is given nothing is free");
}

#[tokio::test]
async fn a_name_that_an_account_lists_is_not_for_the_first_who_chooses_it() {
    let world = World::with(|settings| settings.providers = naming_proxies()).await;
    let admin = world.admin().await;
    world.account("lab", &[("ada", "Admin")], &admin).await;
    let me = async |peer: &str, subject: &str| named(&world, peer, subject, "ada").await;
    let chosen = me("10.0.0.1:9", "1").await;
    assert!(chosen["name"].as_str().unwrap().starts_with("ada-"), "{chosen}");
    assert!(chosen["accounts"].get("lab").is_none(), "{chosen}");
    // Where names are given by those who run the provider, the one who has it is meant.
    let given = me("10.0.0.2:9", "1").await;
    assert_eq!((&given["name"], &given["accounts"]["lab"]), (&json!("ada"), &json!("admin")));
}

#[tokio::test]
async fn pages_of_other_sites_neither_read_nor_write() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let evil = "https://evil.example";
    let request = ada.request("GET", "/workspaces").header("origin", evil).body(Body::empty()).unwrap();
    let (_, headers, _) = ada.send(request).await;
    assert!(headers.keys().all(|name| !name.as_str().starts_with("access-control")), "{headers:?}");
    let preflight = Request::options("/api/v1/workspaces")
        .header("origin", evil)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "x-maar-request")
        .body(Body::empty())
        .unwrap();
    let (status, headers, _) = ada.send(preflight).await;
    assert!(status == 405 && headers.get("access-control-allow-origin").is_none(), "{status} {headers:?}");

    let body = r#"{"name":"x","image":"busybox"}"#;
    let write = || Request::post("/api/v1/workspaces").header("content-type", "application/json");
    let cookie = ada.request("GET", "/me").body(()).unwrap().headers()["cookie"].clone();
    let ways = [
        write(),
        write().header("origin", evil).header("x-maar-request", "1"),
        write().header("origin", "null").header("x-maar-request", "1"),
        write().header("sec-fetch-site", "cross-site").header("x-maar-request", "1"),
    ];
    for way in ways {
        let (status, _, said) =
            ada.send(way.header("cookie", cookie.clone()).body(Body::from(body)).unwrap()).await;
        assert_eq!((status, &said["code"]), (403, &json!("crossSite")));
    }
    // What a form can send without asking first.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let request =
            ada.request("POST", "/workspaces").header("content-type", kind).body(Body::from(body)).unwrap();
        assert_eq!(ada.send(request).await.0, 422, "{kind}");
    }
    // Signing somebody in as somebody else is a write, too.
    let login =
        Request::post("/api/v1/login").header("content-type", "application/json").header("origin", evil);
    let body = json!({ "name": "ada", "password": PASSWORD }).to_string();
    assert_eq!(world.browser().send(login.body(Body::from(body)).unwrap()).await.0, 403);
    assert_eq!(ada.get("/workspaces").await.1["items"], json!([]), "nothing was made");
}

#[tokio::test]
async fn names_of_images_are_no_commands() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    for image in ["busybox;reboot", "$(id)", "a`id`", "a|b", "a\nb", "../../x", "-v"] {
        let (status, said) = ada.post("/workspaces", json!({ "name": "x", "image": image })).await;
        assert_eq!((status, &said["field"]), (422, &json!("image")), "{image}");
    }
}

#[tokio::test]
async fn pods_of_workspaces_are_ordinary() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let path = ada.workspace("desk", json!({ "cards": { "count": 1 } })).await;
    let pods: Api<Pod> = Api::namespaced(world.client.clone(), path.split('/').nth(2).unwrap());
    eventually("its Pod", async || pods.get_opt("desk").await.unwrap().is_some()).await;
    let spec = pods.get("desk").await.unwrap().spec.unwrap();
    let text = serde_json::to_string(&spec).unwrap();
    for word in
        ["privileged", "hostPath", "\"hostNetwork\":true", "\"hostPID\":true", "SYS_ADMIN", "hostPort"]
    {
        assert!(!text.contains(word), "{word}: {text}");
    }
    assert!(!text.contains("serviceaccount"), "no token of the cluster is mounted: {text}");
}

fn job(spec: &Value) -> Value {
    json!({ "metadata": { "name": "train" }, "spec": { "tasks": [{ "name": "main", "template": { "spec": spec } }] } })
}

#[tokio::test]
async fn jobs_by_key_obey_the_same_rules_as_pages() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let (_, secret) = ada.key("ci", &["jobs:read", "jobs:write"]).await;
    let program = ada.program(&secret);
    let container = |more: Value| {
        let mut one = json!({ "name": "main", "image": "busybox" });
        one.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!([one])
    };
    let ways = [
        json!({ "containers": container(json!({})), "hostNetwork": true }),
        json!({ "containers": container(json!({})), "hostPID": true }),
        json!({ "containers": container(json!({})), "nodeName": "gpu-0" }),
        json!({ "containers": container(json!({})), "volumes": [{ "name": "root", "hostPath": { "path": "/" } }] }),
        json!({ "containers": container(json!({ "securityContext": { "privileged": true } })) }),
        json!({ "containers": container(json!({ "securityContext": { "capabilities": { "add": ["SYS_ADMIN"] } } })) }),
        json!({ "containers": container(json!({ "env": [{ "name": "NVIDIA_VISIBLE_DEVICES", "value": "all" }] })) }),
    ];
    for spec in ways {
        let (status, said) = program.post("/jobs", job(&spec)).await;
        assert_eq!((status, &said["code"]), (422, &json!("invalid")), "{spec}: {said}");
        assert!(said["field"].as_str().unwrap().starts_with("spec.tasks[0].template.spec."), "{said}");
    }
    let plain = job(&json!({ "containers": container(json!({})) }));
    let mut elsewhere = plain.clone();
    elsewhere["metadata"]["namespace"] = json!("kube-system");
    assert_eq!(program.post("/jobs", elsewhere).await.1["field"], "metadata.namespace");
    let mut for_another = plain.clone();
    for_another["spec"]["user"] = json!("admin");
    assert_eq!(program.post("/jobs", for_another).await.1["field"], "spec.user");
    let mut paid_by_others = plain;
    paid_by_others["spec"]["account"] = json!("rich");
    let (status, said) = program.post("/jobs", paid_by_others).await;
    assert_eq!((status, &said["code"]), (403, &json!("forbidden")), "an account one has no part in");
}

/// What gets more than others, or more than the account may have, without leading out of a container.
#[tokio::test]
async fn no_template_goes_past_accounts_and_the_scheduler() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let exists = |key: &str| json!({ "tolerations": [{ "key": key, "operator": "Exists" }] });
    let alone =
        json!({ "topologyKey": "kubernetes.io/hostname", "labelSelector": {}, "namespaceSelector": {} });
    let probe = json!({ "httpGet": { "host": "169.254.169.254", "port": 80 } });
    let ways = [
        (json!({ "priority": 1_000_000 }), "priority"),
        (json!({ "priorityClassName": "system-node-critical" }), "priorityClassName"),
        (json!({ "preemptionPolicy": "PreemptLowerPriority" }), "preemptionPolicy"),
        (json!({ "schedulerName": "default-scheduler" }), "schedulerName"),
        (json!({ "nodeName": "test-gpu-0" }), "nodeName"),
        (json!({ "runtimeClassName": "nvidia" }), "runtimeClassName"),
        (json!({ "resourceClaims": [{ "name": "gpu", "resourceClaimName": "all" }] }), "resourceClaims"),
        (json!({ "overhead": { "cpu": "1" } }), "overhead"),
        (json!({ "terminationGracePeriodSeconds": 31_536_000 }), "terminationGracePeriodSeconds"),
        (exists("maar.io/account"), "tolerations[0]"),
        (exists("node.kubernetes.io/unschedulable"), "tolerations[0]"),
        (json!({ "tolerations": [{ "operator": "Exists" }] }), "tolerations[0]"),
        (
            json!({ "affinity": { "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [alone] } } }),
            "affinity",
        ),
        (
            json!({ "containers": [{ "name": "main", "image": "busybox", "livenessProbe": probe }] }),
            "containers[0].livenessProbe.httpGet.host",
        ),
    ];
    for (more, field) in ways {
        let mut spec = json!({ "containers": [{ "name": "main", "image": "busybox" }] });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (status, said) = ada.post("/jobs", job(&spec)).await;
        let place = format!("spec.tasks[0].template.spec.{field}");
        assert_eq!((status, &said["field"]), (422, &json!(place)), "{said}");
        let (status, said) = ada.post("/pods", json!({ "metadata": { "name": "one" }, "spec": spec })).await;
        assert_eq!((status, &said["field"]), (422, &json!(format!("spec.{field}"))), "{said}");
    }
    let plain = json!({ "containers": [{ "name": "main", "image": "busybox" }] });
    // Devices by an annotation that container runtimes obey.
    let words = json!({ "annotations": { "cdi.k8s.io/mine": "nvidia.com/gpu=all" } });
    let (_, said) = ada
        .post(
            "/pods",
            json!({ "metadata": { "name": "one", "annotations": words["annotations"] }, "spec": plain }),
        )
        .await;
    assert_eq!(said["field"], "metadata", "{said}");
    let mut devices = job(&plain);
    devices["spec"]["tasks"][0]["template"]["metadata"] = words;
    assert_eq!(ada.post("/jobs", devices).await.1["field"], "spec.tasks[0].template.metadata");
    // The queue of another account, at another scheduler.
    let mut elsewhere = job(&plain);
    elsewhere["spec"]["backend"] = json!("Volcano");
    assert_eq!(ada.post("/jobs", elsewhere).await.1["field"], "spec.backend");
    let mut queue = job(&plain);
    queue["metadata"]["annotations"] = json!({ "scheduling.volcano.sh/queue-name": "rich" });
    assert_eq!(ada.post("/jobs", queue).await.1["field"], "metadata.annotations");
    assert_eq!(ada.get("/jobs").await.1["items"], json!([]), "nothing was made");
}

#[tokio::test]
async fn mounts_stay_inside_their_volumes() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    for path in ["../bob", "user/../../bob", "/etc", "a/./b", "a//b", ".."] {
        let mounts = json!([{ "path": "/data", "claim": "home", "subPath": path }]);
        let (status, said) =
            ada.post("/workspaces", json!({ "name": "x", "image": "busybox", "mounts": mounts })).await;
        assert_eq!((status, &said["field"]), (422, &json!("mounts[0].subPath")), "{path}: {said}");
    }
    let hosts = json!([{ "path": "/data", "hostPath": "/etc" }]);
    assert_eq!(
        ada.post("/workspaces", json!({ "name": "x", "image": "busybox", "mounts": hosts })).await.0,
        422
    );
}

#[tokio::test]
async fn logs_and_pods_of_others_are_closed_also_by_the_name_of_a_pod() {
    let world = World::new().await;
    let (ada, eve) = (world.user("ada").await, world.user("eve").await);
    let path = ada.workspace("desk", json!({})).await;
    for part in ["logs", "logs?previous=true", "events", "yaml", "why"] {
        assert_eq!(eve.get(&format!("{path}/{part}")).await.0, 404, "{part}");
    }
    // A job of one's own is no way to the log of another Pod of the namespace.
    let spec = json!({ "containers": [{ "name": "main", "image": "busybox" }] });
    assert_eq!(ada.post("/jobs", job(&spec)).await.0, 201);
    let own = format!("/jobs/{}/train", ada.namespace().await);
    assert_eq!(ada.get(&format!("{own}/logs?pod=desk")).await.0, 404);
}

#[tokio::test]
async fn names_become_neither_paths_nor_the_namespace_of_another() {
    let world = World::new().await;
    let admin = world.admin().await;
    for name in ["../admin", "a/b", "A", "a b", "", "user-x\u{200b}"] {
        let (status, said) = admin.post("/users", json!({ "name": name })).await;
        assert_eq!((status, &said["field"]), (422, &json!("name")), "{name}");
    }
    let (one, other) = (world.user("a-b").await, world.user("a.b").await);
    assert_ne!(one.namespace().await, other.namespace().await);
    assert_eq!(admin.post("/users", json!({ "name": "a-b" })).await.0, 409);
}

#[tokio::test]
async fn who_is_disabled_or_expired_is_out_at_once() {
    let world = World::new().await;
    let (admin, ada) = (world.admin().await, world.user("ada").await);
    let (_, secret) = ada.key("ci", &["workspaces:read"]).await;
    let program = ada.program(&secret);
    let id = ada.get("/me").await.1["id"].as_str().unwrap().to_owned();
    for (out, back) in [
        (json!({ "disabled": true }), json!({ "disabled": false })),
        (json!({ "expires": "2001-01-01T00:00:00Z" }), json!({ "expires": "" })),
    ] {
        assert_eq!(admin.put(&format!("/users/{id}"), out.clone()).await.0, 200);
        assert_eq!((ada.get("/me").await.0, program.get("/workspaces").await.0), (401, 401), "{out}");
        let (status, said) = world.browser().login("ada", PASSWORD).await;
        assert_eq!((status, &said["code"]), (401, &json!("wrongPassword")), "and learns nothing of why");
        assert_eq!(admin.put(&format!("/users/{id}"), back).await.0, 200);
        ada.login("ada", PASSWORD).await;
    }
}

#[tokio::test]
async fn passwords_cannot_be_tried_for_ever_and_unknown_users_look_like_known_ones() {
    const GUESS: &str = "a guess that fails";
    let world = World::new().await;
    world.user("ada").await;
    let guess = world.browser();
    let (known, unknown) = (guess.login("ada", GUESS).await, guess.login("nobody", GUESS).await);
    assert_eq!((known.0, &known.1["message"]), (unknown.0, &unknown.1["message"]));
    let mut last = 0;
    for _ in 0..12 {
        last = guess.login("ada", GUESS).await.0;
    }
    assert_eq!(last, 429);
    assert_eq!(guess.login("ada", PASSWORD).await.0, 429, "even the right one waits");
    let (_, log) = world.admin().await.get("/audit?action=login&actor=ada&limit=500").await;
    let denied = log["items"].as_array().unwrap().iter().filter(|one| one["outcome"] == "denied").count();
    assert!(denied >= 10, "{log}");
    assert!(!log.to_string().contains(GUESS), "no password is kept");
}

#[tokio::test]
async fn secrets_are_kept_as_hashes_only() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let (_, secret) = ada.key("ci", &["jobs:read"]).await;
    let user = world.records.user_by_name("ada").await.unwrap().unwrap();
    let kept = user.password_hash.unwrap();
    assert!(kept.as_str().starts_with("$argon2id$") && !kept.as_str().contains(PASSWORD));
    let log = world.admin().await.get("/audit?limit=500").await.1.to_string();
    assert!(!log.contains(&secret) && !log.contains(PASSWORD), "{log}");
}

#[tokio::test]
async fn what_was_sent_in_the_wrong_shape_is_not_in_the_audit_log() {
    const HIDDEN: &str = "hunter2-hunter2";
    let world = World::new().await;
    let ada = world.user("ada").await;
    let env = json!({ "name": "x", "image": "busybox", "env": format!("TOKEN={HIDDEN}") });
    let container = json!([{ "name": "main", "image": "busybox", "env": HIDDEN }]);
    let ways = [
        ("PUT", "/me/password", json!(HIDDEN)),
        ("PUT", "/me/password", json!({ "current": { "is": HIDDEN }, HIDDEN: "" })),
        ("POST", "/workspaces", env),
        ("POST", "/jobs", job(&json!({ "containers": container }))),
        ("POST", "/pods", json!({ "metadata": { "name": "x" }, "spec": { "containers": HIDDEN } })),
        ("POST", "/templates", json!({ "kind": "workspace", "name": "x", "body": { "env": HIDDEN } })),
        ("POST", "/me/keys", json!({ "name": "ci", "scopes": HIDDEN })),
    ];
    for (method, path, body) in ways {
        let (status, said) = ada.call(method, path, Some(body)).await;
        assert_eq!((status, &said["code"]), (422, &json!("invalid")), "{path}: {said}");
    }
    let (_, log) = world.admin().await.get("/audit?actor=ada&outcome=failed&limit=500").await;
    assert!(!log.to_string().contains(HIDDEN), "{log}");
    let written = log["items"].as_array().unwrap();
    assert_eq!(written.len(), 7, "{log}");
    assert!(written.iter().all(|one| one["detail"].as_str().unwrap().contains("body")), "{log}");
}

#[tokio::test]
async fn denied_writes_are_in_the_audit_log() {
    let world = World::new().await;
    let (ada, eve) = (world.user("ada").await, world.user("eve").await);
    let path = ada.workspace("desk", json!({})).await;
    let (_, said) = eve.delete(&path).await;
    let (_, log) =
        world.admin().await.get(&format!("/audit?request={}", said["requestId"].as_str().unwrap())).await;
    let entry = &log["items"][0];
    assert_eq!(
        (&entry["action"], &entry["outcome"], &entry["actor"]["name"]),
        (&json!("deleteWorkspace"), &json!("denied"), &json!("eve"))
    );
    assert!(path.ends_with(entry["objectName"].as_str().unwrap()), "{entry}");
}

#[tokio::test]
async fn nobody_floods_the_portal_and_bodies_have_an_end() {
    let world = World::with(|settings| settings.requests_per_second = 5).await;
    let nobody = world.browser();
    let mut seen = Vec::new();
    for _ in 0..40 {
        seen.push(nobody.get("/openapi.json").await.0);
    }
    assert!(seen.contains(&200) && seen.contains(&429), "{seen:?}");
    // Nor by asking for what is not for strangers.
    let world = World::with(|settings| settings.requests_per_second = 5).await;
    let nobody = world.browser();
    let mut seen = Vec::new();
    for _ in 0..40 {
        seen.push(nobody.get("/workspaces").await.0);
    }
    assert!(seen.contains(&401) && seen.contains(&429), "{seen:?}");
    let world = World::new().await;
    let ada = world.user("ada").await;
    let (status, said) = ada.post("/workspaces", json!({ "name": "x", "image": "a".repeat(2 << 20) })).await;
    assert_eq!((status, &said["code"]), (413, &json!("tooLarge")));
}

#[tokio::test]
async fn a_change_of_a_portal_that_died_is_in_the_log() {
    let world = World::new().await;
    let (ada, admin) = (world.user("ada").await, world.admin().await);
    let ended = async || world.records.close_audit(jiff::Timestamp::MAX).await.unwrap();
    assert_eq!(ended().await, 0, "what has ended is in the log and nowhere else");
    let body = json!({ "name": "desk", "image": "busybox", "env": { "T": "hidden" } });
    // It goes on until the cluster is asked, and no further: its portal is gone.
    let stop = world.stops_at("POST", "/workspaces");
    tokio::select! {
        () = stop.reached() => {}
        said = ada.post("/workspaces", body) => panic!("it was not held up: {said:?}"),
    }
    assert_eq!(ended().await, 1, "it was noted before");
    let (_, log) = admin.get("/audit?action=createWorkspace").await;
    let entry = &log["items"][0];
    let name = format!("{}/desk", ada.namespace().await);
    assert_eq!((&entry["outcome"], &entry["objectName"]), (&json!("unknown"), &json!(name)), "{entry}");
    assert_eq!((&entry["actor"]["name"], log["items"].as_array().unwrap().len()), (&json!("ada"), 1));
    assert!(!log.to_string().contains("hidden"), "{log}");
}
