//! What clients get.

use maar_issuer::{Authorized, SignedIn};
use serde_json::json;

use super::world::{LOCAL, SECRET, TOOL, VERIFIER, World, asks, pair, user};

#[tokio::test]
async fn a_client_learns_who_it_is_and_no_more_than_it_asked_for() {
    let world = World::new().await;
    let code = world.code(&asks("inside", TOOL, "openid groups offline_access", &[("nonce", "n")])).await;
    let made = world.spend(&code).await.unwrap();
    let claims = world.checked(made["id_token"].as_str().unwrap(), "inside").await.unwrap();
    assert_eq!((&claims["sub"], &claims["nonce"]), (&json!("u-ada"), &json!("n")));
    assert_eq!(claims["groups"], json!(["maar:account:lab-of-ada"]));
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 600);
    assert!(claims.get("email").is_none() && claims.get("name").is_none() && claims["auth_time"].is_number());
    let told = world.userinfo(made["access_token"].as_str().unwrap()).await.unwrap();
    assert_eq!(told, json!({ "sub": "u-ada", "groups": ["maar:account:lab-of-ada"] }));
    let code = world.code(&asks("inside", TOOL, "openid profile email", &[])).await;
    let made = world.spend(&code).await.unwrap();
    assert!(made.get("refresh_token").is_none(), "it did not ask for one");
    let claims = world.checked(made["id_token"].as_str().unwrap(), "inside").await.unwrap();
    assert_eq!((&claims["preferred_username"], &claims["email_verified"]), (&json!("ada"), &json!(false)));
}

#[tokio::test]
async fn the_way_back_carries_the_state_and_who_answers() {
    let world = World::new().await;
    let Authorized::Go(back) = world.authorize(&asks("inside", TOOL, "openid", &[]), Some(&world.ada)).await
    else {
        panic!("a trusted client is not asked about")
    };
    assert!(back.starts_with(TOOL));
    assert_eq!(pair(&back, "state").as_deref(), Some("a state"));
    assert_eq!(pair(&back, "iss").as_deref(), Some("https://gpu.example"));
}

#[tokio::test]
async fn a_stranger_is_asked_for_consent_and_hears_no() {
    let world = World::new().await;
    let query = asks("tool", TOOL, "openid email", &[]);
    let Authorized::Ask { id, again: false } = world.authorize(&query, Some(&world.ada)).await else {
        panic!("somebody else's client is asked about")
    };
    let question = world.issuer.question(&id, &world.ada).await.unwrap();
    assert_eq!((question.client.as_str(), question.redirect.as_str()), ("The tool", TOOL));
    assert!(question.consent && question.scopes == ["openid", "email"]);
    // Of another user it does not exist.
    let eve = SignedIn { user: user(&world.records, "eve", world.ada.at.unwrap()).await, at: world.ada.at };
    assert_eq!(world.issuer.question(&id, &eve).await.unwrap_err().code, "not_found");
    assert_eq!(world.issuer.answer(&id, &eve, true).await.unwrap_err().code, "not_found");
    let back = world.issuer.answer(&id, &world.ada, false).await.unwrap();
    assert_eq!((pair(&back, "error").as_deref(), pair(&back, "code")), (Some("access_denied"), None));
    assert_eq!(pair(&back, "state").as_deref(), Some("a state"));
    assert_eq!(world.issuer.answer(&id, &world.ada, true).await.unwrap_err().code, "not_found", "once");
}

#[tokio::test]
async fn who_has_not_signed_in_does_first_and_again_where_the_client_wants_it() {
    let world = World::new().await;
    let silent = asks("inside", TOOL, "openid", &[("prompt", "none")]);
    let Authorized::Go(back) = world.authorize(&silent, None).await else { panic!("prompt is none") };
    assert_eq!(pair(&back, "error").as_deref(), Some("login_required"));
    let Authorized::Go(back) =
        world.authorize(&asks("tool", TOOL, "openid", &[("prompt", "none")]), Some(&world.ada)).await
    else {
        panic!("prompt is none")
    };
    assert_eq!(pair(&back, "error").as_deref(), Some("consent_required"));
    let Authorized::Ask { id, again: false } =
        world.authorize(&asks("inside", TOOL, "openid", &[]), None).await
    else {
        panic!("nobody is signed in")
    };
    assert!(!world.issuer.question(&id, &world.ada).await.unwrap().consent);
    assert!(pair(&world.issuer.answer(&id, &world.ada, true).await.unwrap(), "code").is_some());
    for more in [("prompt", "login"), ("max_age", "60")] {
        world.wait(120);
        let query = asks("inside", TOOL, "openid", &[more]);
        let Authorized::Ask { id, again: true } = world.authorize(&query, Some(&world.ada)).await else {
            panic!("{more:?}")
        };
        // The old session does not do, a new one does.
        assert_eq!(world.issuer.answer(&id, &world.ada, true).await.unwrap_err().code, "login_required");
        world.wait(1);
        let at = world.ada.at.map(|at| at + jiff::SignedDuration::from_hours(1));
        let fresh = SignedIn { at, ..world.ada.clone() };
        assert!(pair(&world.issuer.answer(&id, &fresh, true).await.unwrap(), "code").is_some());
    }
}

#[tokio::test]
async fn programs_on_the_own_machine_need_no_secret_but_a_proof() {
    let world = World::new().await;
    let scope = "openid groups offline_access kubeconfig:d-1";
    let code = world.agreed(&asks("kubernetes", LOCAL, scope, &[])).await;
    let spend = [
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("redirect_uri", LOCAL),
        ("client_id", "kubernetes"),
        ("code_verifier", VERIFIER),
    ];
    let made = world.token(&spend).await.unwrap();
    assert!(world.checked(made["id_token"].as_str().unwrap(), "kubernetes").await.is_ok());
    // It ends with the kubeconfig that it is of.
    world.host.revoked.lock().push("kubeconfig:d-1".to_owned());
    let refresh = made["refresh_token"].as_str().unwrap();
    let again = [("grant_type", "refresh_token"), ("refresh_token", refresh), ("client_id", "kubernetes")];
    assert_eq!(world.token(&again).await.unwrap_err().code, "invalid_grant");
    let Authorized::Ask { id, .. } =
        world.authorize(&asks("kubernetes", LOCAL, scope, &[]), Some(&world.ada)).await
    else {
        panic!("it is asked")
    };
    let back = world.issuer.answer(&id, &world.ada, true).await.unwrap();
    assert_eq!(pair(&back, "error").as_deref(), Some("access_denied"));
}

#[tokio::test]
async fn refresh_tokens_rotate_and_end_with_the_grant_and_the_user() {
    let world = World::new().await;
    let query = asks("inside", TOOL, "openid offline_access", &[]);
    let made = world.spend(&world.code(&query).await).await.unwrap();
    let mut token = made["refresh_token"].as_str().unwrap().to_owned();
    for _ in 0..4 {
        world.wait(6 * 24 * 3600);
        let made = world.refresh(&token).await.unwrap();
        assert!(world.checked(made["id_token"].as_str().unwrap(), "inside").await.is_ok());
        let next = made["refresh_token"].as_str().unwrap().to_owned();
        assert_ne!(token, next);
        token = next;
    }
    world.wait(6 * 24 * 3600 + 1);
    assert_eq!(world.refresh(&token).await.unwrap_err().code, "invalid_grant", "thirty days are over");
    let made = world.spend(&world.code(&query).await).await.unwrap();
    world.records.disable(&world.ada.user.id, world.ada.at.unwrap()).await.unwrap();
    let (access, refresh) = (made["access_token"].as_str().unwrap(), made["refresh_token"].as_str().unwrap());
    assert_eq!(world.userinfo(access).await.unwrap_err().code, "invalid_token");
    assert_eq!(world.refresh(refresh).await.unwrap_err().code, "invalid_grant");
}

#[tokio::test]
async fn who_asks_for_less_gets_less_and_may_have_all_again() {
    let world = World::new().await;
    let query = asks("inside", TOOL, "openid email groups offline_access", &[]);
    let made = world.spend(&world.code(&query).await).await.unwrap();
    let refresh = async |token: &serde_json::Value, scope: &str| {
        world
            .token(&[
                ("grant_type", "refresh_token"),
                ("refresh_token", token.as_str().unwrap()),
                ("client_id", "inside"),
                ("client_secret", SECRET),
                ("scope", scope),
            ])
            .await
    };
    let more = refresh(&made["refresh_token"], "openid profile").await.unwrap_err();
    assert_eq!(more.code, "invalid_scope");
    let less = refresh(&made["refresh_token"], "openid email").await.unwrap();
    assert_eq!(less["scope"], "openid email");
    let claims = world.checked(less["id_token"].as_str().unwrap(), "inside").await.unwrap();
    assert!(claims.get("email").is_some() && claims.get("groups").is_none(), "{claims}");
    let told = world.userinfo(less["access_token"].as_str().unwrap()).await.unwrap();
    assert!(told.get("email").is_some() && told.get("groups").is_none(), "{told}");
    let all = refresh(&less["refresh_token"], "").await.unwrap();
    assert_eq!(all["scope"], "openid email groups offline_access");
    let told = world.userinfo(all["access_token"].as_str().unwrap()).await.unwrap();
    assert!(told.get("groups").is_some(), "{told}");
}

#[tokio::test]
async fn a_client_takes_back_what_it_has_and_nothing_of_others() {
    let world = World::new().await;
    let made =
        world.spend(&world.code(&asks("inside", TOOL, "openid offline_access", &[])).await).await.unwrap();
    let (access, refresh) = (made["access_token"].as_str().unwrap(), made["refresh_token"].as_str().unwrap());
    let revoke = async |client: &str, secret: &str, token: &str| {
        let text = format!("client_id={client}&client_secret={}&token={token}", secret.replace(' ', "+"));
        world.issuer.revoke(&maar_issuer::Params::parse(text.as_bytes()), None).await
    };
    revoke("other", SECRET, refresh).await.unwrap();
    assert!(world.userinfo(access).await.is_ok(), "not the other's");
    assert_eq!(revoke("inside", "wrong", refresh).await.unwrap_err().code, "invalid_client");
    revoke("inside", SECRET, "no such token").await.unwrap();
    revoke("inside", SECRET, refresh).await.unwrap();
    assert!(world.userinfo(access).await.is_err() && world.refresh(refresh).await.is_err());
}
