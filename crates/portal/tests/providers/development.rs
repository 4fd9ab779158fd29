//! Development mode, and what one has set for oneself.

use serde_json::json;

use super::desk::{Desk, Jar};

#[tokio::test]
async fn development_lets_anybody_in_says_so_everywhere_and_is_for_this_machine() {
    let desk = Desk::with("", |settings| settings.development = true).await;
    let jar = desk.browser();
    let (_, headers, ways) = jar.raw("GET", "/login/providers", None).await;
    assert_eq!(
        (&ways["development"], &headers["x-maar-development"]),
        (&json!(true), &"true".parse().unwrap())
    );
    let (status, me) = jar.post("/login/development", json!({ "user": "ada" })).await;
    assert_eq!((status, &me["name"]), (200, &json!("ada")));
    let id = jar.me().await["id"].clone();
    let again = desk.browser();
    again.post("/login/development", json!({ "user": "ada" })).await;
    assert_eq!(again.me().await["id"], id);
    for (path, status) in [("/none", 404), ("/me", 200), ("/users", 403)] {
        let (found, headers, _) = jar.raw("GET", path, None).await;
        assert!(found == status && headers.contains_key("x-maar-development"), "{path}: {found}");
    }
    let (status, said) = desk.browser().post("/login/development", json!({ "user": "../x" })).await;
    assert_eq!((status, &said["field"]), (422, &json!("user")));
    let mut led = desk.browser();
    led.headers.push(("x-forwarded-for", "203.0.113.7".to_owned()));
    assert_eq!(led.post("/login/development", json!({ "user": "ada" })).await.0, 403);
    let far = Jar { peer: Some("203.0.113.7:9".parse().unwrap()), ..desk.browser() };
    assert_eq!(far.post("/login/development", json!({ "user": "ada" })).await.0, 403);
    let near = Jar { peer: Some("127.0.0.1:9".parse().unwrap()), ..desk.browser() };
    assert_eq!(near.post("/login/development", json!({ "user": "ada" })).await.0, 200);
}

#[tokio::test]
async fn without_development_nobody_is_let_in_by_name() {
    let desk = Desk::new("").await;
    let jar = desk.browser();
    let (_, headers, ways) = jar.raw("GET", "/login/providers", None).await;
    assert_eq!(ways, json!({ "password": true, "development": false, "providers": [] }));
    assert!(!headers.contains_key("x-maar-development"));
    assert_eq!(jar.post("/login/development", json!({ "user": "admin" })).await.0, 404);
    assert!(jar.is_nobody().await);
}

#[tokio::test]
async fn preferences_are_ones_own_and_have_an_end() {
    let desk = Desk::new("").await;
    let admin = desk.admin().await;
    assert_eq!(admin.get("/me/preferences").await, (200, json!({})));
    let wanted = json!({ "language": "zh", "theme": "dark", "columns": { "jobs": ["name", "state"] } });
    assert_eq!(admin.call("PUT", "/me/preferences", Some(wanted.clone())).await, (200, wanted.clone()));
    assert_eq!(admin.get("/me/preferences").await, (200, wanted.clone()));
    for wrong in [json!([]), json!("x"), json!({ "a": "b".repeat(9000) })] {
        let (status, said) = admin.call("PUT", "/me/preferences", Some(wrong)).await;
        assert_eq!((status, &said["field"]), (422, &json!("body")));
    }
    assert_eq!(admin.get("/me/preferences").await.1, wanted);
    let (_, made) = admin.post("/users", json!({ "name": "bob" })).await;
    let bob = desk.browser();
    bob.post("/login", json!({ "name": "bob", "password": made["password"] })).await;
    assert_eq!(bob.get("/me/preferences").await, (200, json!({})));
    assert_eq!(desk.browser().get("/me/preferences").await.0, 401);
}
