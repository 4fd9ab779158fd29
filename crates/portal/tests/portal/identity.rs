//! Signing in, and what ends it.

use serde_json::json;

use super::world::{FIRST, PASSWORD, World};

#[tokio::test]
async fn the_first_administrator_does_nothing_before_his_password_is_his_own() {
    let world = World::new().await;
    let admin = world.browser();
    let (status, me) = admin.login("admin", FIRST).await;
    assert_eq!((status, &me["mustChangePassword"]), (200, &json!(true)));
    for path in ["/workspaces", "/users", "/nodes", "/audit", "/me/keys"] {
        let (status, said) = admin.get(path).await;
        assert_eq!((status, &said["code"]), (403, &json!("passwordChangeRequired")), "{path}");
    }
    let same = admin.put("/me/password", json!({ "current": FIRST, "new": FIRST })).await;
    assert_eq!((same.0, &same.1["field"]), (422, &json!("new")));
    let wrong = admin.put("/me/password", json!({ "current": "wrong", "new": PASSWORD })).await;
    assert_eq!((wrong.0, &wrong.1["field"]), (422, &json!("current")));
    admin.changes_password(FIRST, PASSWORD).await;
    assert_eq!(admin.get("/users").await.0, 200);
    assert_eq!(world.browser().login("admin", FIRST).await.0, 401);
}

#[tokio::test]
async fn sessions_are_listed_revoked_and_end_with_the_password() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let other = world.browser();
    assert_eq!(other.login("ada", PASSWORD).await.0, 200);
    let (_, sessions) = ada.get("/me/sessions").await;
    let live: Vec<_> =
        sessions["items"].as_array().unwrap().iter().filter(|one| one["revoked"] == false).collect();
    assert_eq!(live.len(), 2, "{sessions}");
    let theirs = live.iter().find(|one| one["current"] == false).unwrap()["id"].as_str().unwrap().to_owned();
    assert_eq!(ada.delete(&format!("/sessions/{theirs}")).await.0, 204);
    assert_eq!(other.get("/me").await.0, 401);
    assert_eq!(other.login("ada", PASSWORD).await.0, 200);
    ada.changes_password(PASSWORD, "another long password").await;
    assert_eq!((ada.get("/me").await.0, other.get("/me").await.0), (200, 401), "others end, this one stays");
    let copy = ada.stolen();
    assert_eq!(ada.post("/logout", json!({})).await.0, 204);
    assert_eq!(copy.get("/me").await.0, 401, "a copied cookie is worth nothing after signing out");
}

#[tokio::test]
async fn an_administrator_resets_and_ends_and_never_locks_everyone_out() {
    let world = World::new().await;
    let (admin, ada) = (world.admin().await, world.user("ada").await);
    let id = ada.get("/me").await.1["id"].as_str().unwrap().to_owned();
    let (status, made) = admin.call("POST", &format!("/users/{id}/password"), None).await;
    assert_eq!(status, 200, "{made}");
    assert_eq!(ada.get("/me").await.0, 401, "a reset ends all sessions");
    let (status, me) = ada.login("ada", made["password"].as_str().unwrap()).await;
    assert_eq!((status, &me["mustChangePassword"]), (200, &json!(true)));
    let own = admin.get("/me").await.1["id"].as_str().unwrap().to_owned();
    for change in [
        json!({ "disabled": true }),
        json!({ "platformAdmin": false }),
        json!({ "expires": "2001-01-01T00:00:00Z" }),
        json!({ "platformAdmin": true, "disabled": true, "expires": "2099-01-01T00:00:00Z" }),
    ] {
        let (status, said) = admin.put(&format!("/users/{own}"), change.clone()).await;
        assert_eq!((status, &said["code"]), (409, &json!("conflict")), "{change}");
    }
    let (_, users) = admin.get("/users?search=admin").await;
    let still = users["items"].as_array().unwrap().iter().find(|one| one["id"] == json!(own)).unwrap();
    assert!(still.get("expires").is_none() && still["disabled"] == false, "a part of it was done: {still}");
}

#[tokio::test]
async fn keys_do_what_they_are_made_for_until_they_are_revoked() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let (id, secret) = ada.key("ci", &["workspaces:read", "workspaces:write"]).await;
    let program = ada.program(&secret);
    // A program sends neither a cookie nor the header against other sites.
    let (status, made) = program.post("/workspaces", json!({ "name": "by-key", "image": "busybox" })).await;
    assert_eq!(status, 201, "{made}");
    let (status, said) = program.get("/jobs").await;
    assert_eq!((status, &said["code"]), (403, &json!("scopeMissing")));
    for path in ["/me/keys", "/me/sessions", "/users"] {
        assert_eq!(program.get(path).await.0, 403, "{path} is for people");
    }
    assert_eq!(
        program.post("/me/keys", json!({ "name": "more", "scopes": ["admin"], "days": 1 })).await.0,
        403
    );
    let (_, listed) = ada.get("/me/keys").await;
    assert!(!listed.to_string().contains(&secret), "a secret is shown once");
    assert_eq!(ada.delete(&format!("/keys/{id}")).await.0, 204);
    assert_eq!(program.get("/workspaces").await.0, 401);
}
