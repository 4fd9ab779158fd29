//! Every route, asked by those who may not.

use maar_portal::openapi;
use maar_records::{Kubeconfig, KubeconfigId, UserId};
use serde_json::{Value, json};

use super::{
    browser::Browser,
    world::{World, clock_now, eventually},
};

/// All operations of the document: method, path, whether everyone may.
fn operations() -> Vec<(String, String, bool)> {
    let document = openapi();
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let public = operation["security"].as_array().unwrap().is_empty();
            all.push((method.to_uppercase(), path.clone(), public));
        }
    }
    all
}

#[tokio::test]
async fn nobody_reaches_anything_but_what_is_public() {
    let world = World::new().await;
    let nobody = world.browser();
    let mut public = Vec::new();
    for (method, path, open) in operations() {
        let path = path.replace(['{', '}'], "");
        let (status, said) = nobody.call(&method, &path, (method != "GET").then(|| json!({}))).await;
        if open {
            public.push(format!("{method} {path}"));
        } else {
            assert_eq!((status, &said["code"]), (401, &json!("signedOut")), "{method} {path}");
            assert!(said["requestId"].is_string(), "{said}");
        }
    }
    public.sort();
    let want = [
        "GET /.well-known/openid-configuration",
        "GET /api/docs",
        "GET /api/v1/login/provider/begin",
        "GET /api/v1/login/provider/callback",
        "GET /api/v1/login/providers",
        "GET /api/v1/openapi.json",
        "GET /oauth/authorize",
        "GET /oauth/keys",
        "GET /oauth/userinfo",
        "POST /api/v1/login",
        "POST /api/v1/login/development",
        "POST /api/v1/login/provider",
        "POST /oauth/authorize",
        "POST /oauth/device",
        "POST /oauth/revoke",
        "POST /oauth/token",
        "POST /oauth/userinfo",
    ];
    assert_eq!(public, want);
}

/// A public key of nobody's.
const SSH_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGUOuKJS5J6ClsgDv4U0QYARjWPg9rv4Yl//ovOPlzcD";

/// What belongs to ada, by the parameters of paths. `account` pays for her work.
async fn belongings(world: &World, ada: &Browser, account: &str) -> Vec<(&'static str, String)> {
    let workspace = ada.workspace("desk", json!({ "account": account })).await;
    let namespace = workspace.split('/').nth(2).unwrap().to_owned();
    let job = json!({ "metadata": { "name": "desk" }, "spec": { "account": account, "tasks": [{ "name": "main",
        "template": { "spec": { "containers": [{ "name": "main", "image": "busybox" }] } } }] } });
    let id = |(status, made): (u16, Value)| {
        assert_eq!(status, 201, "{made}");
        made["id"].as_str().unwrap_or_default().to_owned()
    };
    id(ada.post("/jobs", job).await);
    id(ada.post("/volumes", json!({ "name": "desk", "size": "1Gi" })).await);
    let (key, _) = ada.key("ci", &["jobs:read"]).await;
    let ssh_key = id(ada.post("/me/ssh-keys", json!({ "title": "desk", "key": SSH_KEY })).await);
    let session = ada.get("/me/sessions").await.1["items"][0]["id"].as_str().unwrap().to_owned();
    let user = ada.get("/me").await.1["id"].as_str().unwrap().to_owned();
    let template = json!({ "kind": "workspace", "name": "desk", "body": { "image": "busybox" } });
    let shared = json!({ "kind": "workspace", "name": "shared desk", "account": account, "body": { "image": "busybox" } });
    let template = id(ada.post("/templates", template).await);
    let shared = id(ada.post("/templates", shared).await);
    let kubeconfig = Kubeconfig {
        id: KubeconfigId::new("d-0123456789abcdef01234567"),
        user: UserId::new(&user),
        mode: "token".to_owned(),
        device: "desk".to_owned(),
        created_at: clock_now(),
        expires_at: clock_now() + jiff::SignedDuration::from_hours(1),
        revoked_at: None,
    };
    world.records.create_kubeconfig(&kubeconfig).await.unwrap();
    let policy = json!({ "longRunning": { "batchHours": 96, "interactiveHours": 48, "warnHours": 24 } });
    assert_eq!(world.admin().await.put(&format!("/policies/{account}"), policy).await.0, 200);
    eventually("the Pod of the workspace", async || {
        ada.get(&format!("/pods/{namespace}/desk")).await.0 == 200
    })
    .await;
    vec![
        ("namespace", namespace),
        ("name", "desk".to_owned()),
        ("account", account.to_owned()),
        ("key", key),
        ("ssh-key", ssh_key),
        ("session", session),
        ("user", user),
        ("template", template),
        ("shared", shared),
        ("kubeconfig", kubeconfig.id.to_string()),
    ]
}

fn fill(path: &str, things: &[(&'static str, String)]) -> String {
    let thing = |name: &str| things.iter().find(|(key, _)| *key == name).unwrap().1.clone();
    let kinds = [
        ("/ssh-keys/", "ssh-key"),
        ("/keys/", "key"),
        ("/kubeconfigs/", "kubeconfig"),
        ("/templates/", "template"),
        ("/sessions/{id}", "session"),
    ];
    let id = kinds.iter().find(|(part, _)| path.contains(part)).map_or("user", |(_, kind)| *kind);
    let of_account = path.contains("/accounts/") || path.contains("/policies/");
    let name = thing(if of_account { "account" } else { "name" });
    path.replace("{namespace}", &thing("namespace"))
        .replace("{name}", &name)
        .replace("{id}", &thing(id))
        .replace("{port}", "8888")
}

#[tokio::test]
async fn a_stranger_reaches_nothing_of_another_and_learns_of_nothing() {
    let world = World::new().await;
    let (ada, eve) = (world.user("ada").await, world.user("eve").await);
    world.account("secret", &[("ada", "Admin")], &ada).await;
    let things = belongings(&world, &ada, "secret").await;
    let nothing: Vec<(&str, String)> = things.iter().map(|(kind, _)| (*kind, "none".to_owned())).collect();
    eventually("the job", async || {
        ada.get("/jobs").await.1["items"].as_array().is_some_and(|all| !all.is_empty())
    })
    .await;
    // Nodes are nobody's; see nodes.rs for who changes them.
    let named =
        operations().into_iter().filter(|(_, path, _)| path.contains('{') && !path.contains("/nodes/"));
    for (method, path, _) in named {
        let filled = fill(&path, &things);
        let body = (method != "GET").then(|| json!({}));
        let (status, said) = eve.call(&method, &filled, body.clone()).await;
        assert_eq!((status, &said["code"]), (404, &json!("notFound")), "{method} {path}: {said}");
        // Word for word what is said of something that does not exist.
        let missing = fill(&path, &nothing);
        let (status, other) = eve.call(&method, &missing, body).await;
        assert_eq!((status, &other["message"]), (404, &said["message"]), "{method} {path}");
    }
    for path in [
        "/pods",
        "/templates",
        "/volumes",
        "/apps",
        "/images",
        "/quota",
        "/workspaces",
        "/jobs",
        "/accounts",
        "/me/keys",
        "/me/sessions",
        "/me/kubeconfigs",
    ] {
        let text = eve.get(path).await.1.to_string();
        assert!(!text.contains("desk") && !text.contains("secret"), "{path}: {text}");
    }
    for path in ["/users", "/audit", "/audit/export"] {
        assert_eq!(eve.get(path).await.0, 403, "{path}");
    }
    assert_eq!(eve.post("/users", json!({ "name": "mallory" })).await.0, 403);
    let still: Value = ada.get("/workspaces").await.1;
    assert_eq!(still["items"][0]["name"], "desk", "nothing was done");
}

/// A row of the report of permissions, with what it says for each column.
struct Row {
    method: String,
    path: String,
    thing: String,
    cells: Vec<(String, String)>,
}

fn report() -> Vec<Row> {
    const REPORT: &str =
        include_str!("../../src/route/snapshots/maar_portal__route__matrix__the_matrix_of_permissions.snap");
    const WIDTH: usize = 9;
    let mut lines = REPORT.lines().skip_while(|line| !line.starts_with("route, thing"));
    let heads: Vec<&str> = lines.next().unwrap()["route, thing".len()..].split_whitespace().collect();
    let row = |line: &str| {
        let (label, cells) = line.split_at(line.len() - heads.len() * WIDTH);
        let mut words = label.trim().splitn(3, ' ').map(str::to_owned);
        let cell = |at: usize| cells[at * WIDTH..(at + 1) * WIDTH].trim().to_owned();
        let cells = heads.iter().enumerate().map(|(at, head)| ((*head).to_owned(), cell(at)));
        let mut next = || words.next().unwrap_or_default();
        Row { method: next(), path: next(), thing: next(), cells: cells.collect() }
    };
    lines.map(row).collect()
}

/// Those who ask, by the heads of the report's columns.
async fn askers(world: &World) -> Vec<(&'static str, Browser)> {
    let admin = world.admin().await;
    let (status, made) = admin.post("/users", json!({ "name": "nora", "platformAdmin": true })).await;
    assert_eq!(status, 201, "{made}");
    let new = world.browser();
    assert_eq!(new.login("nora", made["password"].as_str().unwrap()).await.0, 200);
    let kim = world.user("kim").await;
    let id = kim.get("/me").await.1["id"].as_str().unwrap().to_owned();
    assert_eq!(admin.put(&format!("/users/{id}"), json!({ "platformAdmin": true })).await.0, 200);
    let (_, read) = kim.key("read", &["workspaces:read", "jobs:read", "cluster:read"]).await;
    let all = ["workspaces:read", "workspaces:write", "jobs:read", "jobs:write", "cluster:read", "admin"];
    let (_, full) = kim.key("full", &all).await;
    vec![
        ("nobody", world.browser()),
        ("outsider", world.user("eve").await),
        ("viewer", world.user("vic").await),
        ("member", world.user("mel").await),
        ("accadmin", world.user("amy").await),
        ("platform", admin),
        ("new", new),
        ("readkey", kim.program(&read)),
        ("fullkey", kim.program(&full)),
    ]
}

/// What is answered where a cell of the report says something else than yes.
fn wanted(cell: &str, path: &str) -> (u16, &'static str) {
    match cell {
        "sign in" => (401, "signedOut"),
        "password" => (403, "passwordChangeRequired"),
        "scope" => (403, "scopeMissing"),
        // Lists and things that are yet to be made are no secret, and those of others are.
        "hidden" if path.contains('{') => (404, "notFound"),
        "no" | "hidden" => (403, "forbidden"),
        other => panic!("the report says {other}"),
    }
}

/// Every cell of the report that refuses is asked, and every one that lets somebody read. What lets somebody change
/// something is in the tests of that.
#[tokio::test]
async fn over_http_everybody_may_what_the_report_says() {
    let world = World::with(|settings| settings.requests_per_second = 1_000_000).await;
    let askers = askers(&world).await;
    let ada = world.user("ada").await;
    let parts =
        [("ada", "Member"), ("vic", "Viewer"), ("mel", "Member"), ("amy", "Admin"), ("kim", "Member")];
    world.account("lab", &parts, &ada).await;
    world.account("other", &[], &world.admin().await).await;
    let things = belongings(&world, &ada, "lab").await;
    let node = ada.get("/nodes").await.1["items"][0]["name"].as_str().unwrap().to_owned();
    let shared = things.iter().find(|(key, _)| *key == "shared").unwrap().1.clone();
    let (mut asked, mut wrong) = (0, Vec::new());
    for Row { method, path, thing, cells } in report() {
        // Things of the asker himself are no different from those of ada for him; a stream would not end.
        if thing == "own" || path == "/changes" {
            continue;
        }
        let mut things = things.clone();
        let mut set = |key: &'static str, value: &str| {
            things.iter_mut().filter(|(name, _)| *name == key).for_each(|one| value.clone_into(&mut one.1));
        };
        match thing.as_str() {
            "other" => set("account", "other"),
            "shared" => set("template", &shared),
            _ if path.starts_with("/nodes/") => set("name", &node),
            _ => {}
        }
        let account = thing.strip_prefix("for ").unwrap_or("lab");
        let body = json!({ "account": account, "spec": { "account": account } });
        let filled = fill(&path, &things).replace("{user}", "ada");
        for (head, cell) in cells {
            if cell == "yes" && method != "GET" {
                continue;
            }
            let (_, browser) = askers.iter().find(|(name, _)| *name == head).unwrap();
            let content = (method != "GET").then(|| body.clone());
            let (status, said) = browser.call(&method, &filled, content).await;
            let code = said["code"].as_str().unwrap_or_default();
            let refused = ["signedOut", "passwordChangeRequired", "scopeMissing", "forbidden"];
            let right = if cell == "yes" {
                // Who may answer such a question is asked by its handler.
                !refused.contains(&code)
                    || ["/oauth/", "/consents/", "/device/"].iter().any(|own| path.starts_with(own))
            } else {
                (status, code) == wanted(&cell, &path)
            };
            asked += 1;
            if !right {
                wrong.push(format!("{method} {path} {thing} by {head}: {cell}, and {status} {said}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {asked}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(asked > 900, "{asked}");
    assert_eq!(ada.get("/workspaces").await.1["items"][0]["name"], "desk", "nothing was done");
}
