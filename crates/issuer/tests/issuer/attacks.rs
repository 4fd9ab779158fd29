//! What thieves try.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use maar_issuer::{Authorized, Host, Issuer};
use serde_json::{Value, json};
use std::sync::Arc;

use super::world::{LOCAL, SECRET, TOOL, VERIFIER, World, asks, pair, settings};

#[tokio::test]
async fn open_redirect_nobody_is_sent_to_another_site() {
    let world = World::new().await;
    for evil in [
        "https://evil.example/callback",
        "https://tool.example/callback/../evil",
        "https://tool.example@evil.example/callback",
        "https://tool.example/callback?x",
        "javascript:alert(1)",
        "http://127.0.0.1:4321/callback",
    ] {
        let asked = world.authorize(&asks("inside", evil, "openid", &[]), Some(&world.ada)).await;
        assert!(matches!(asked, Authorized::Wrong(_)), "{evil}: {asked:?}");
    }
}

/// Whoever looks at a page that he forwards from a workspace to his own machine has it on a loopback address.
#[tokio::test]
async fn a_page_on_a_loopback_address_gets_no_code_unasked() {
    let world = World::new().await;
    for scope in ["openid maar", "openid maar offline_access"] {
        let asked = world.authorize(&asks("maar-cli", LOCAL, scope, &[]), Some(&world.ada)).await;
        assert!(matches!(asked, Authorized::Wrong(_)), "a key for the API: {asked:?}");
    }
    let query = asks("kubernetes", LOCAL, "openid kubeconfig:d-1", &[]);
    let asked = world.authorize(&query, Some(&world.ada)).await;
    assert!(matches!(asked, Authorized::Ask { .. }), "{asked:?}");
    let silent = asks("kubernetes", LOCAL, "openid kubeconfig:d-1", &[("prompt", "none")]);
    let Authorized::Go(back) = world.authorize(&silent, Some(&world.ada)).await else {
        panic!("prompt is none")
    };
    assert_eq!((pair(&back, "error").as_deref(), pair(&back, "code")), (Some("consent_required"), None));
}

#[tokio::test]
async fn tokens_for_the_cluster_are_tied_to_a_kubeconfig() {
    let world = World::new().await;
    for scope in ["openid groups", "openid kubeconfig:d-1 kubeconfig:d-2"] {
        let asked = world.authorize(&asks("kubernetes", LOCAL, scope, &[]), Some(&world.ada)).await;
        let Authorized::Go(back) = asked else { panic!("the client is told: {asked:?}") };
        assert_eq!((pair(&back, "error").as_deref(), pair(&back, "code")), (Some("invalid_scope"), None));
        let text = form_urlencoded::Serializer::new(String::new())
            .extend_pairs([("client_id", "kubernetes"), ("scope", scope)])
            .finish();
        let refused = world.issuer.device(&maar_issuer::Params::parse(text.as_bytes()), None).await;
        assert_eq!(refused.unwrap_err().code, "invalid_scope", "{scope}");
    }
}

#[tokio::test]
async fn code_replay_revokes_what_the_code_gave() {
    let world = World::new().await;
    let code = world.code(&asks("inside", TOOL, "openid offline_access", &[])).await;
    let made = world.spend(&code).await.unwrap();
    let (access, refresh) = (made["access_token"].as_str().unwrap(), made["refresh_token"].as_str().unwrap());
    assert!(world.userinfo(access).await.is_ok());
    assert_eq!(world.spend(&code).await.unwrap_err().code, "invalid_grant");
    assert_eq!(world.userinfo(access).await.unwrap_err().code, "invalid_token");
    assert_eq!(world.refresh(refresh).await.unwrap_err().code, "invalid_grant");
}

#[tokio::test]
async fn of_many_who_come_with_one_code_at_once_at_most_one_has_it() {
    let world = World::new().await;
    let code = world.code(&asks("inside", TOOL, "openid", &[])).await;
    let all = futures::future::join_all((0..8).map(|_| world.spend(&code))).await;
    assert!(all.iter().filter(|one| one.is_ok()).count() <= 1);
    for made in all.into_iter().flatten() {
        assert!(
            world.userinfo(made["access_token"].as_str().unwrap()).await.is_err(),
            "revoked with the replay"
        );
    }
}

#[tokio::test]
async fn refresh_replay_revokes_the_whole_family() {
    let world = World::new().await;
    let made =
        world.spend(&world.code(&asks("inside", TOOL, "openid offline_access", &[])).await).await.unwrap();
    let first = made["refresh_token"].as_str().unwrap();
    let second = world.refresh(first).await.unwrap();
    assert_eq!(world.refresh(first).await.unwrap_err().code, "invalid_grant");
    // Neither the thief nor the owner goes on: nobody can say who is who.
    let next = second["refresh_token"].as_str().unwrap();
    assert_eq!(world.refresh(next).await.unwrap_err().code, "invalid_grant");
    assert!(world.userinfo(second["access_token"].as_str().unwrap()).await.is_err());
}

#[tokio::test]
async fn wrong_verifier_a_stolen_code_is_worth_nothing_and_is_burnt() {
    let world = World::new().await;
    let other = "another-verifier-that-is-long-enough-to-be-one-of";
    for verifier in [Some(other), None] {
        let code = world.agreed(&asks("kubernetes", LOCAL, "openid kubeconfig:d-1", &[])).await;
        let spend = async |verifier: Option<&str>| {
            let mut pairs = vec![
                ("grant_type", "authorization_code"),
                ("code", code.as_str()),
                ("redirect_uri", LOCAL),
                ("client_id", "kubernetes"),
            ];
            pairs.extend(verifier.map(|verifier| ("code_verifier", verifier)));
            world.token(&pairs).await
        };
        assert_eq!(spend(verifier).await.unwrap_err().code, "invalid_grant");
        assert_eq!(spend(Some(VERIFIER)).await.unwrap_err().code, "invalid_grant");
    }
}

#[tokio::test]
async fn mixed_up_client_a_code_is_for_the_client_and_the_address_it_was_made_for() {
    let world = World::new().await;
    let spend = async |code: &str, client: &str, redirect: &str| {
        world
            .token(&[
                ("grant_type", "authorization_code"),
                ("code", code),
                ("redirect_uri", redirect),
                ("client_id", client),
                ("client_secret", SECRET),
                ("code_verifier", VERIFIER),
            ])
            .await
    };
    let query = asks("inside", TOOL, "openid", &[]);
    let code = world.code(&query).await;
    assert_eq!(spend(&code, "other", TOOL).await.unwrap_err().code, "invalid_grant");
    let code = world.code(&query).await;
    assert_eq!(spend(&code, "inside", "https://tool.example/other").await.unwrap_err().code, "invalid_grant");
    let made = world.spend(&world.code(&query).await).await.unwrap();
    let token = made["id_token"].as_str().unwrap();
    assert!(world.checked(token, "other").await.is_err(), "a token names the client it is for");
    // A refresh token of one is worth nothing at another, who has to show who it is.
    let made =
        world.spend(&world.code(&asks("inside", TOOL, "openid offline_access", &[])).await).await.unwrap();
    let refresh = made["refresh_token"].as_str().unwrap();
    let stolen = |client, secret| {
        [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh),
            ("client_id", client),
            ("client_secret", secret),
        ]
    };
    assert_eq!(world.token(&stolen("other", SECRET)).await.unwrap_err().code, "invalid_grant");
    assert_eq!(world.token(&stolen("inside", "wrong")).await.unwrap_err().code, "invalid_client");
    assert_eq!(world.token(&stolen("inside", SECRET)[..3]).await.unwrap_err().code, "invalid_client");
    assert!(world.refresh(refresh).await.is_ok(), "who has it honestly is not harmed");
}

#[tokio::test]
async fn state_fixation_the_state_comes_back_as_it_was_and_adds_nothing() {
    let world = World::new().await;
    let state = "x&code=stolen#frag\r\nSet-Cookie: a=b";
    let query = asks("inside", TOOL, "openid", &[])
        .replace("a+state", &form_urlencoded::byte_serialize(state.as_bytes()).collect::<String>());
    let Authorized::Go(back) = world.authorize(&query, Some(&world.ada)).await else {
        panic!("it is trusted")
    };
    assert_eq!(pair(&back, "state").as_deref(), Some(state));
    assert_ne!(pair(&back, "code").as_deref(), Some("stolen"));
    assert!(!back.contains(['#', '\r', '\n']) && back.matches("code=").count() == 1, "{back}");
    let twice = format!("{}&state=other", asks("inside", TOOL, "openid", &[]));
    let Authorized::Go(back) = world.authorize(&twice, Some(&world.ada)).await else {
        panic!("the client is told")
    };
    assert_eq!((pair(&back, "error").as_deref(), pair(&back, "code")), (Some("invalid_request"), None));
}

#[tokio::test]
async fn alg_none_and_changed_tokens_are_not_of_ours() {
    let world = World::new().await;
    let made = world.spend(&world.code(&asks("inside", TOOL, "openid", &[])).await).await.unwrap();
    let token = made["id_token"].as_str().unwrap();
    let parts: Vec<&str> = token.split('.').collect();
    let header: Value = serde_json::from_slice(&BASE64.decode(parts[0]).unwrap()).unwrap();
    assert_eq!(header["alg"], "ES256");
    let none = json!({ "alg": "none", "kid": header["kid"] }).to_string();
    let mut claims: Value = serde_json::from_slice(&BASE64.decode(parts[1]).unwrap()).unwrap();
    claims["groups"] = json!(["system:masters"]);
    let changed = BASE64.encode(claims.to_string());
    for forged in [
        format!("{}.{}.", BASE64.encode(&none), parts[1]),
        format!("{}.{}.{}", BASE64.encode(&none), parts[1], parts[2]),
        format!("{}.{changed}.{}", parts[0], parts[2]),
    ] {
        assert!(world.checked(&forged, "inside").await.is_err());
        assert_eq!(world.userinfo(&forged).await.unwrap_err().code, "invalid_token");
    }
    assert_eq!(world.userinfo(token).await.unwrap_err().code, "invalid_token", "it is no access token");
}

#[tokio::test]
async fn expired_codes_tokens_and_questions_are_worth_nothing() {
    let world = World::new().await;
    let code = world.code(&asks("inside", TOOL, "openid", &[])).await;
    world.wait(60);
    assert_eq!(world.spend(&code).await.unwrap_err().code, "invalid_grant");
    let made =
        world.spend(&world.code(&asks("inside", TOOL, "openid offline_access", &[])).await).await.unwrap();
    world.wait(600);
    assert_eq!(
        world.userinfo(made["access_token"].as_str().unwrap()).await.unwrap_err().code,
        "invalid_token"
    );
    world.wait(7 * 24 * 3600);
    assert_eq!(
        world.refresh(made["refresh_token"].as_str().unwrap()).await.unwrap_err().code,
        "invalid_grant"
    );
    let Authorized::Ask { id, .. } =
        world.authorize(&asks("tool", TOOL, "openid", &[]), Some(&world.ada)).await
    else {
        panic!("somebody else's client is asked about")
    };
    world.wait(600);
    assert_eq!(world.issuer.answer(&id, &world.ada, true).await.unwrap_err().code, "not_found");
}

#[tokio::test]
async fn ending_all_sessions_ends_what_clients_have() {
    let world = World::new().await;
    let made =
        world.spend(&world.code(&asks("inside", TOOL, "openid offline_access", &[])).await).await.unwrap();
    world.records.revoke_sessions_of(&world.ada.user.id, None, world.ada.at.unwrap()).await.unwrap();
    assert!(world.userinfo(made["access_token"].as_str().unwrap()).await.is_err());
    assert!(world.refresh(made["refresh_token"].as_str().unwrap()).await.is_err());
}

#[tokio::test]
async fn what_is_kept_is_no_secret_and_survives_a_restart() {
    let world = World::new().await;
    let code = world.code(&asks("inside", TOOL, "openid offline_access", &[])).await;
    let host = Arc::clone(&world.host) as Arc<dyn Host>;
    let restarted = World { issuer: Issuer::new(settings(), world.records.clone(), host), ..world };
    let made = restarted.spend(&code).await.unwrap();
    let again = restarted.refresh(made["refresh_token"].as_str().unwrap()).await.unwrap();
    assert!(restarted.checked(again["id_token"].as_str().unwrap(), "inside").await.is_ok());
    let keys = restarted.records.signing_keys().await.unwrap();
    assert!(keys.len() == 1 && !keys[0].sealed.contains("PRIVATE") && keys[0].public.get("d").is_none());
}
