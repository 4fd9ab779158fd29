//! The OpenID provider over HTTP: who is asked what, and who gets nothing.

use axum::body::Body;
use http::{HeaderMap, Request, header};
use maar_portal::{IssuerSettings, ProofKey};
use serde_json::{Value, json};

use super::{
    browser::Browser,
    world::{ORIGIN, PASSWORD, World},
};

const TOOL: &str = "https://tool.example/callback";
const LOCAL: &str = "http://127.0.0.1:4321/callback";
const SECRET: &str = "a secret of the tool";

async fn world() -> World {
    let clients = format!(
        "clients:\n- {{ id: tool, name: The tool, secretFile: s, redirects: ['{TOOL}'] }}\n\
         - {{ id: inside, secretFile: s, redirects: ['{TOOL}'], trusted: true }}\n"
    );
    let issuer = IssuerSettings::new(&[7; 32]).unwrap();
    let issuer = issuer.with_clients(&clients, &|_| Ok(SECRET.to_owned())).unwrap();
    World::with(|settings| settings.issuer = Some(issuer)).await
}

fn proof() -> ProofKey {
    ProofKey::new([9; 32])
}

fn query(client: &str, redirect: &str, more: &[(&str, &str)]) -> String {
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("client_id", client),
            ("redirect_uri", redirect),
            ("response_type", "code"),
            ("state", "a state"),
            ("nonce", "n"),
            ("code_challenge", &proof().challenge),
            ("code_challenge_method", "S256"),
        ])
        .extend_pairs(more)
        .finish();
    format!("/oauth/authorize?{query}")
}

async fn visit(browser: &Browser, path: &str) -> (u16, HeaderMap, Value) {
    browser.send(browser.request("GET", path).body(Body::empty()).unwrap()).await
}

/// Where a visit leads to.
async fn leads(browser: &Browser, path: &str) -> String {
    let (status, headers, said) = visit(browser, path).await;
    assert_eq!(status, 303, "{path}: {said}");
    headers[header::LOCATION].to_str().unwrap().to_owned()
}

fn pair(address: &str, name: &str) -> Option<String> {
    let query = address.split_once('?')?.1;
    form_urlencoded::parse(query.as_bytes())
        .find(|(found, _)| found == name)
        .map(|(_, value)| value.into_owned())
}

/// A program that knows no cookies and no headers of ours.
async fn form(world: &World, path: &str, pairs: &[(&str, &str)]) -> (u16, Value) {
    let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    let request = Request::post(path).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    let (status, _, said) = world.browser().send(request.body(Body::from(text)).unwrap()).await;
    (status, said)
}

async fn spend(world: &World, client: &str, code: &str) -> (u16, Value) {
    let verifier = proof().verifier;
    let mut pairs = vec![("grant_type", "authorization_code"), ("code", code), ("client_id", client)];
    pairs.push(("code_verifier", &verifier));
    pairs.extend([("redirect_uri", TOOL), ("client_secret", SECRET)]);
    form(world, "/oauth/token", &pairs).await
}

async fn userinfo(world: &World, token: &Value) -> (u16, HeaderMap, Value) {
    let bearer = format!("Bearer {}", token.as_str().unwrap());
    let request = Request::get("/oauth/userinfo").header(header::AUTHORIZATION, bearer);
    world.browser().send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn a_tool_learns_who_somebody_is_after_he_agreed() {
    let world = world().await;
    let ada = world.user("ada").await;
    world.account("lab", &[("ada", "Admin")], &ada).await;
    let (_, _, told) = visit(&world.browser(), "/.well-known/openid-configuration").await;
    assert_eq!(
        (&told["issuer"], &told["jwks_uri"]),
        (&json!(ORIGIN), &json!(format!("{ORIGIN}/oauth/keys")))
    );
    let asked = query("tool", TOOL, &[("scope", "openid profile groups offline_access")]);
    let place = leads(&ada, &asked).await;
    let id = place.strip_prefix("/consent/").unwrap();
    let (_, question) = ada.get(&format!("/consents/{id}")).await;
    assert_eq!((&question["client"], &question["needed"]), (&json!("The tool"), &json!(true)));
    // Somebody else neither sees nor answers it, and a page of another site does not answer it either.
    let eve = world.user("eve").await;
    assert_eq!(eve.get(&format!("/consents/{id}")).await.0, 404);
    assert_eq!(eve.post(&format!("/consents/{id}"), json!({ "approve": true })).await.0, 404);
    let foreign = ada.request("POST", &format!("/consents/{id}")).header("sec-fetch-site", "cross-site");
    let foreign = foreign.header("content-type", "application/json").body(Body::from(r#"{"approve":true}"#));
    assert_eq!(ada.send(foreign.unwrap()).await.0, 403);
    let (status, way) = ada.post(&format!("/consents/{id}"), json!({ "approve": true })).await;
    assert_eq!(status, 200, "{way}");
    let back = way["redirect"].as_str().unwrap();
    assert!(back.starts_with(TOOL) && pair(back, "state").as_deref() == Some("a state"), "{back}");
    let (status, made) = spend(&world, "tool", &pair(back, "code").unwrap()).await;
    assert_eq!(status, 200, "{made}");
    let (status, _, who) = userinfo(&world, &made["access_token"]).await;
    assert_eq!((status, &who["preferred_username"]), (200, &json!("ada")));
    assert_eq!(who["groups"], json!(["maar:account:lab", "maar:account:lab:admin"]));
    let (_, log) = world.admin().await.get("/audit?action=answerConsent").await;
    assert_eq!(
        (&log["items"][0]["objectName"], &log["items"][0]["actor"]["name"]),
        (&json!("The tool"), &json!("ada"))
    );
}

#[tokio::test]
async fn open_redirects_and_unknown_clients_end_at_the_portal() {
    let world = world().await;
    let ada = world.user("ada").await;
    for asked in [
        query("inside", "https://evil.example/callback", &[("scope", "openid")]),
        query("unknown", TOOL, &[("scope", "openid")]),
        format!("{}&redirect_uri=https://evil.example/", query("inside", TOOL, &[("scope", "openid")])),
    ] {
        let (status, headers, said) = visit(&ada, &asked).await;
        assert!(status == 400 && headers.get(header::LOCATION).is_none(), "{asked}: {status} {said}");
        assert!(headers[header::CONTENT_TYPE].to_str().unwrap().starts_with("text/plain"));
    }
    // A form leads to the same questions; it cannot carry a cookie of another site.
    let text = query("inside", "https://evil.example/", &[]).split_once('?').unwrap().1.to_owned();
    let request =
        Request::post("/oauth/authorize").header("content-type", "application/x-www-form-urlencoded");
    let (status, headers, _) = world.browser().send(request.body(Body::from(text)).unwrap()).await;
    assert!(status == 303 && headers[header::LOCATION].to_str().unwrap().starts_with("/oauth/authorize?"));
}

#[tokio::test]
async fn a_replayed_code_takes_everything_back_over_http_too() {
    let world = world().await;
    let ada = world.user("ada").await;
    let back = leads(&ada, &query("inside", TOOL, &[("scope", "openid offline_access")])).await;
    let code = pair(&back, "code").unwrap();
    let (_, made) = spend(&world, "inside", &code).await;
    assert_eq!(userinfo(&world, &made["access_token"]).await.0, 200);
    let (status, said) = spend(&world, "inside", &code).await;
    assert_eq!((status, &said["error"]), (400, &json!("invalid_grant")));
    let (status, headers, _) = userinfo(&world, &made["access_token"]).await;
    assert!(status == 401 && headers[header::WWW_AUTHENTICATE].to_str().unwrap().contains("invalid_token"));
    let (_, log) = world.admin().await.get("/audit?action=issueToken&outcome=denied").await;
    assert_eq!(log["items"][0]["objectName"], "inside", "{log}");
}

#[tokio::test]
async fn who_is_not_signed_in_or_has_no_password_of_his_own_is_asked_first() {
    let world = world().await;
    let asked = query("inside", TOOL, &[("scope", "openid")]);
    let stranger = world.browser();
    let place = leads(&stranger, &asked).await;
    assert!(place.starts_with("/consent/"), "{place}");
    let silent = leads(&stranger, &format!("{asked}&prompt=none")).await;
    assert_eq!(pair(&silent, "error").as_deref(), Some("login_required"));
    let ada = world.user("ada").await;
    let (_, question) = ada.get(&place.replace("/consent/", "/consents/")).await;
    assert_eq!(question["needed"], false, "it is trusted");
    // The client wants to see him sign in anew: only a new session answers. The old one is his until then.
    let place = leads(&ada, &format!("{asked}&prompt=login")).await.replace("/consent/", "/consents/");
    assert_eq!(ada.get("/me").await.0, 200, "any site can lead here");
    let (status, said) = ada.get(&place).await;
    assert_eq!((status, &said["code"]), (401, &json!("signedOut")));
    assert_eq!(ada.post(&place, json!({ "approve": true })).await.0, 401);
    let (_, before) = ada.get("/me/sessions").await;
    assert_eq!(ada.login("ada", PASSWORD).await.0, 200);
    let (_, after) = ada.get("/me/sessions").await;
    let open =
        |all: &Value| all["items"].as_array().unwrap().iter().filter(|one| one["revoked"] == false).count();
    assert_eq!(open(&before), open(&after), "the new one takes the place of the old");
    let (status, way) = ada.post(&place, json!({ "approve": true })).await;
    assert_eq!(status, 200, "{way}");
    assert_eq!(
        spend(&world, "inside", &pair(way["redirect"].as_str().unwrap(), "code").unwrap()).await.0,
        200
    );
    // A key of a program is not its owner.
    let (_, key) = ada.key("ci", &["workspaces:read", "workspaces:write"]).await;
    let program = ada.program(&key);
    assert_eq!(visit(&program, &asked).await.0, 403);
    assert_eq!(program.get(&place).await.0, 403);
}

/// A page of an app, or one that is forwarded from a workspace, is on the machine of its visitor or near it.
#[tokio::test]
async fn pages_that_frame_or_fetch_get_no_code_and_no_page_gets_a_key() {
    let world = world().await;
    let ada = world.user("ada").await;
    let asked = query("inside", TOOL, &[("scope", "openid")]);
    let by = async |dest: &str| {
        let request = ada.request("GET", &asked).header("sec-fetch-dest", dest);
        ada.send(request.body(Body::empty()).unwrap()).await
    };
    assert_eq!(by("document").await.0, 303);
    for dest in ["iframe", "frame", "empty", "image", "embed"] {
        let (status, headers, _) = by(dest).await;
        assert!(status == 403 && headers.get(header::LOCATION).is_none(), "{dest}: {status}");
    }
    let (status, headers, _) = visit(&ada, &query("maar-cli", LOCAL, &[("scope", "openid maar")])).await;
    assert!(status == 400 && headers.get(header::LOCATION).is_none(), "the command has no address to go to");
    let place = leads(&ada, &query("kubernetes", LOCAL, &[("scope", "openid kubeconfig:d-1")])).await;
    let (_, question) = ada.get(&place.replace("/consent/", "/consents/")).await;
    assert_eq!(question["needed"], true, "anything can listen on a loopback address");
}

#[tokio::test]
async fn a_machine_without_a_browser_gets_a_key_and_guessing_codes_ends() {
    let world = world().await;
    let ada = world.user("ada").await;
    let asked = [("client_id", "maar-cli"), ("scope", "openid maar")];
    let (status, begun) = form(&world, "/oauth/device", &asked).await;
    assert_eq!(status, 200, "{begun}");
    let code = begun["device_code"].as_str().unwrap().to_owned();
    let poll = async || {
        let grant = "urn:ietf:params:oauth:grant-type:device_code";
        form(
            &world,
            "/oauth/token",
            &[("grant_type", grant), ("device_code", &code), ("client_id", "maar-cli")],
        )
        .await
    };
    let path = format!("/device/{}", begun["user_code"].as_str().unwrap());
    assert_eq!(ada.get(&path).await.1["client"], "The maar command");
    assert_eq!(ada.post(&path, json!({ "approve": true })).await.0, 204);
    let (status, made) = poll().await;
    assert_eq!(status, 200, "{made}");
    let program = ada.program(made["access_token"].as_str().unwrap());
    assert_eq!(program.get("/me").await.1["name"], "ada");
    assert_eq!(program.get("/workspaces").await.0, 200);
    assert_eq!(program.get("/users").await.0, 403);
    // Who the key is of is told, and the client takes it back as any token.
    assert_eq!(userinfo(&world, &made["access_token"]).await.0, 200);
    let key = made["access_token"].as_str().unwrap();
    let (status, _) = form(&world, "/oauth/revoke", &[("client_id", "maar-cli"), ("token", key)]).await;
    assert_eq!((status, program.get("/me").await.0), (200, 401), "the key has ended");
    assert_eq!(userinfo(&world, &made["access_token"]).await.0, 401);
    let both = [("client_id", "maar-cli"), ("scope", "openid maar offline_access")];
    assert_eq!(form(&world, "/oauth/device", &both).await.1["error"], "invalid_scope");
    let mut last = 0;
    for _ in 0..25 {
        last = ada.get("/device/BCDF-GHJK").await.0;
    }
    assert_eq!(last, 429);
}

#[tokio::test]
async fn without_a_secret_there_is_no_provider() {
    let world = World::new().await;
    for path in ["/.well-known/openid-configuration", "/oauth/keys", "/oauth/authorize"] {
        let (status, _, said) = visit(&world.browser(), path).await;
        assert_eq!((status, &said["code"]), (404, &json!("notFound")), "{path}");
    }
}
