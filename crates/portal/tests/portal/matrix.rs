//! Every route, asked by those who may not.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use kube::{
    Api,
    api::{ObjectMeta, PostParams},
};
use maar_api::v1alpha1::{AIJob, Workspace};
use maar_portal::openapi;
use maar_records::{Kubeconfig, KubeconfigId, NewSession, NewSshKey, SessionId, SshKeyId, TokenHash, UserId};
use serde_json::{Value, json};

use super::{
    browser::Browser,
    world::{ORIGIN, World, clock_now, eventually},
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

/// Somebody who asks, by the head of his column in the report.
struct Asker {
    head: &'static str,
    browser: Browser,
    /// What is his own: as if the account had let him once, whatever his part is now.
    own: Things,
}

type Things = Vec<(&'static str, String)>;

/// A number that was not there before.
fn another() -> usize {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    MADE.fetch_add(1, Ordering::Relaxed)
}

/// Things that the records keep and that a test may use up: each time another.
async fn recorded(world: &World, user: &str) -> Things {
    let number = another();
    let (user, now) = (UserId::new(user), clock_now());
    let end = now + jiff::SignedDuration::from_hours(1);
    let records = &world.records;
    let generation = records.user(&user).await.unwrap().generation;
    let session = NewSession {
        id: SessionId::new(format!("s-{number}")),
        token: TokenHash::new(format!("hash of {number}")),
        user: user.clone(),
        generation,
        provider: "local".to_owned(),
        address: None,
        agent: None,
        expires_at: end,
    };
    records.create_session(&session, now).await.unwrap();
    let ssh_key = NewSshKey {
        id: SshKeyId::new(format!("h-{number}")),
        user: user.clone(),
        title: "desk".to_owned(),
        kind: "ssh-ed25519".to_owned(),
        fingerprint: format!("SHA256:{number}"),
        line: format!("ssh-ed25519 {number}"),
        expires_at: None,
    };
    records.create_ssh_key(&ssh_key, now).await.unwrap();
    let kubeconfig = Kubeconfig {
        id: KubeconfigId::new(format!("d-{number:024}")),
        user,
        mode: "token".to_owned(),
        device: "desk".to_owned(),
        created_at: now,
        expires_at: end,
        revoked_at: None,
    };
    records.create_kubeconfig(&kubeconfig).await.unwrap();
    vec![
        ("session", session.id.to_string()),
        ("ssh-key", ssh_key.id.to_string()),
        ("kubeconfig", kubeconfig.id.to_string()),
    ]
}

/// Keys and templates, made by whose they are.
async fn made(by: &Browser, account: Option<&str>) -> Things {
    let name = format!("desk {}", another());
    let (key, _) = by.key(&name, &["jobs:read"]).await;
    let mut body = json!({ "kind": "workspace", "name": name, "body": { "image": "busybox" } });
    if let Some(account) = account {
        body["account"] = json!(account);
    }
    let (status, template) = by.post("/templates", body).await;
    assert_eq!(status, 201, "{template}");
    vec![("key", key), ("template", template["id"].as_str().unwrap().to_owned())]
}

fn put(things: &mut Things, more: Things) {
    for (kind, thing) in more {
        things.retain(|(one, _)| *one != kind);
        things.push((kind, thing));
    }
}

/// The same work that `ada` has, of somebody else: the account has paid for it, whatever his part in it is.
async fn own_things(world: &World, asker: &Browser, ada: &Things) -> Things {
    let me = asker.get("/me").await.1;
    let (namespace, name) = (me["namespace"].as_str().unwrap(), me["name"].as_str().unwrap());
    let (status, said) = asker.post("/volumes", json!({ "name": "desk", "size": "1Gi" })).await;
    assert_eq!(status, 201, "{said}");
    let from = &ada.iter().find(|(kind, _)| *kind == "namespace").unwrap().1;
    let metadata = |labels| ObjectMeta { name: Some("desk".to_owned()), labels, ..ObjectMeta::default() };
    let mut workspace = Api::<Workspace>::namespaced(world.client.clone(), from).get("desk").await.unwrap();
    workspace.metadata = metadata(workspace.metadata.labels);
    workspace.spec.user = Some(name.to_owned());
    let mut job = Api::<AIJob>::namespaced(world.client.clone(), from).get("desk").await.unwrap();
    job.metadata = metadata(job.metadata.labels);
    job.spec.user = Some(name.to_owned());
    let how = PostParams::default();
    Api::namespaced(world.client.clone(), namespace).create(&how, &workspace).await.unwrap();
    Api::namespaced(world.client.clone(), namespace).create(&how, &job).await.unwrap();
    for kind in ["workspaces", "jobs", "pods"] {
        let path = format!("/{kind}/{namespace}/desk");
        eventually("the work", async || asker.get(&path).await.0 == 200).await;
    }
    let mut things = ada.clone();
    let user = me["id"].as_str().unwrap();
    put(&mut things, vec![("namespace", namespace.to_owned()), ("user", user.to_owned())]);
    put(&mut things, recorded(world, user).await);
    put(&mut things, made(asker, None).await);
    things
}

/// Everybody, with what is his own.
async fn askers(world: &World, ada: &Things) -> Vec<Asker> {
    let admin = world.admin().await;
    let mut all = vec![Asker { head: "nobody", browser: world.browser(), own: ada.clone() }];
    for (head, name) in [("outsider", "eve"), ("viewer", "vic"), ("member", "mel"), ("accadmin", "amy")] {
        let browser = world.user(name).await;
        let own = own_things(world, &browser, ada).await;
        all.push(Asker { head, browser, own });
    }
    let own = own_things(world, &admin, ada).await;
    all.push(Asker { head: "platform", browser: world.admin().await, own });
    // Who has all that others have, until his password is set by somebody else.
    let nora = world.user("nora").await;
    let own = own_things(world, &nora, ada).await;
    let id = &own.iter().find(|(kind, _)| *kind == "user").unwrap().1;
    let path = format!("/users/{id}");
    assert_eq!(admin.put(&path, json!({ "platformAdmin": true })).await.0, 200);
    let (status, set) = admin.post(&format!("{path}/password"), json!({})).await;
    assert_eq!(status, 200, "{set}");
    let browser = world.browser();
    assert_eq!(browser.login("nora", set["password"].as_str().unwrap()).await.0, 200);
    all.push(Asker { head: "new", browser, own });
    let kim = world.user("kim").await;
    let own = own_things(world, &kim, ada).await;
    let id = &own.iter().find(|(kind, _)| *kind == "user").unwrap().1;
    assert_eq!(admin.put(&format!("/users/{id}"), json!({ "platformAdmin": true })).await.0, 200);
    let (_, read) = kim.key("read", &["workspaces:read", "jobs:read", "cluster:read"]).await;
    let scopes = ["workspaces:read", "workspaces:write", "jobs:read", "jobs:write", "cluster:read", "admin"];
    let (_, full) = kim.key("full", &scopes).await;
    all.push(Asker { head: "readkey", browser: kim.program(&read), own: own.clone() });
    all.push(Asker { head: "fullkey", browser: kim.program(&full), own });
    all
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

/// Whether an answer is that of a handler: then the guard has let it pass.
fn let_in(row: &Row, status: u16, code: &str) -> bool {
    // Who may answer such a question is asked by its handler.
    if ["/oauth/", "/.well-known/", "/consents/", "/device/"].iter().any(|own| row.path.starts_with(own)) {
        return true;
    }
    // There is no such provider, no policy and no member there, no app and no kubeconfig here; nor a day's history of a card.
    let nothing_there = row.path.starts_with("/login/")
        || row.thing == "other" && ["/policies/", "/members/"].iter().any(|part| row.path.contains(part))
        || ["/ports", "/me/kubeconfigs", "/history"].iter().any(|part| row.path.contains(part));
    let refused = ["signedOut", "passwordChangeRequired", "scopeMissing", "forbidden", "crossSite"];
    !refused.contains(&code) && status != 405 && (code != "notFound" || nothing_there)
}

/// Every cell of the report is asked, those that let somebody change something as well: the cluster takes no change
/// meanwhile, and what the records keep is made anew for each.
#[tokio::test]
async fn over_http_everybody_may_what_the_report_says() {
    let world = World::with(|settings| settings.requests_per_second = 1_000_000).await;
    let ada = world.user("ada").await;
    let parts =
        [("ada", "Member"), ("vic", "Viewer"), ("mel", "Member"), ("amy", "Admin"), ("kim", "Member")];
    world.account("lab", &parts, &ada).await;
    world.account("other", &[], &world.admin().await).await;
    let theirs = belongings(&world, &ada, "lab").await;
    let askers = askers(&world, &theirs).await;
    let node = ada.get("/nodes").await.1["items"][0]["name"].as_str().unwrap().to_owned();
    let tom = world.user("tom").await.get("/me").await.1["id"].as_str().unwrap().to_owned();
    world.freeze();
    let (mut asked, mut wrong) = (0, Vec::new());
    // Who signs out is not asked again.
    let (last, rows): (Vec<Row>, Vec<Row>) = report().into_iter().partition(|row| row.path == "/logout");
    for row in rows.into_iter().chain(last) {
        // A stream would not end; see lives.rs.
        if row.path == "/changes" {
            continue;
        }
        for (head, cell) in &row.cells {
            let who = askers.iter().find(|one| one.head == head).unwrap();
            let mut things = if row.thing == "own" { who.own.clone() } else { theirs.clone() };
            let uses_up = cell == "yes" && row.method == "DELETE";
            if uses_up && row.path.ends_with("/{id}") {
                let user =
                    |things: &Things| things.iter().find(|(kind, _)| *kind == "user").unwrap().1.clone();
                let owner = user(if row.thing == "own" { &who.own } else { &theirs });
                let more = recorded(&world, &owner).await;
                put(&mut things, more);
                // Whoever asks with a key has made his things before, in a session.
                let by_key = row.thing == "own" && *head == "fullkey";
                if !by_key && ["/keys/", "/templates/"].iter().any(|kind| row.path.starts_with(kind)) {
                    let maker = if row.thing == "own" { &who.browser } else { &ada };
                    put(&mut things, made(maker, (row.thing == "shared").then_some("lab")).await);
                }
            } else if row.thing == "shared" {
                let shared = things.iter().find(|(kind, _)| *kind == "shared").unwrap().1.clone();
                put(&mut things, vec![("template", shared)]);
            }
            match row.thing.as_str() {
                "other" => put(&mut things, vec![("account", "other".to_owned())]),
                _ if row.path.starts_with("/nodes/") => put(&mut things, vec![("name", node.clone())]),
                _ if row.path.starts_with("/users/") => put(&mut things, vec![("user", tom.clone())]),
                _ => {}
            }
            let account = row.thing.strip_prefix("for ").unwrap_or("lab");
            let body = json!({ "account": account, "spec": { "account": account } });
            let filled = fill(&row.path, &things).replace("{user}", "ada");
            // As a page of the portal asks, also for a WebSocket.
            let request =
                who.browser.request(&row.method, &filled).header("content-type", "application/json");
            let request = if row.method == "GET" { request.header("origin", ORIGIN) } else { request };
            let content = if row.method == "GET" { Body::empty() } else { Body::from(body.to_string()) };
            let (status, _, said) = who.browser.send(request.body(content).unwrap()).await;
            let code = said["code"].as_str().unwrap_or_default();
            let right = if cell == "yes" {
                let_in(&row, status, code)
            } else {
                (status, code) == wanted(cell, &row.path)
            };
            asked += 1;
            if !right {
                let Row { method, path, thing, .. } = &row;
                wrong.push(format!("{method} {path} {thing} by {head}: {cell}, and {status} {said}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {asked}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(asked > 1500, "{asked}");
    assert_eq!(ada.get("/workspaces").await.1["items"][0]["name"], "desk", "nothing was done");
}
