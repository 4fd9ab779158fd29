//! The code flow of OIDC, and every way to cheat in it.

use std::sync::atomic::Ordering;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::{
    desk::{Desk, Jar},
    idp::{Forge, Idp},
};

const REFUSED: &str = "/login?failed=loginRefused";

/// A browser that went to the provider and was sent back, and where to.
async fn sent_back(desk: &Desk, idp: &Idp) -> (Jar, String) {
    let jar = desk.browser();
    let location = jar.follow("/login/corp/begin?back=/jobs%3Fmine%3Dtrue").await;
    let back = idp.lets_in(&location);
    (jar, back)
}

async fn signs_in(desk: &Desk, idp: &Idp) -> Jar {
    let (jar, back) = sent_back(desk, idp).await;
    assert_eq!(jar.follow(&back).await, "/jobs?mine=true");
    jar
}

/// What the audit log says of the last login.
async fn last_why(desk: &Desk, admin: &Jar) -> String {
    let entry = desk.logins(admin).await.remove(0);
    assert_eq!((&entry["outcome"], &entry["actor"]["via"]), (&json!("denied"), &json!("corp")), "{entry}");
    entry["detail"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn somebody_comes_back_as_the_same_user_whatever_he_is_called_now() {
    let idp = Idp::start().await;
    let desk = Desk::new(&idp.config("adminGroups: [root]")).await;
    let (_, ways) = desk.browser().get("/login/providers").await;
    assert_eq!(ways["providers"], json!([{ "id": "corp", "kind": "oidc", "title": "Corp SSO" }]));
    let first = signs_in(&desk, &idp).await;
    let me = first.me().await;
    assert_eq!(
        (&me["name"], &me["displayName"], &me["email"], &me["platformAdmin"]),
        (&json!("ada"), &json!("Ada Lovelace"), &json!("ada@corp.example"), &json!(false))
    );
    assert!(!first.cookies.lock().contains_key("maar-login"), "what the login needed is forgotten");
    assert_eq!(first.get("/me/sessions").await.1["items"][0]["provider"], "corp");
    *idp.said.claims.lock() = json!({ "preferred_username": "admin", "name": "Countess", "email": "x@y.example", "groups": ["root"] });
    let again = signs_in(&desk, &idp).await.me().await;
    assert_eq!(
        (&again["id"], &again["name"], &again["namespace"]),
        (&me["id"], &me["name"], &me["namespace"])
    );
    assert_eq!((&again["displayName"], &again["platformAdmin"]), (&json!("Countess"), &json!(true)));
    *idp.said.claims.lock() = json!({ "groups": "others" });
    let later = signs_in(&desk, &idp).await.me().await;
    assert_eq!((&later["id"], &later["platformAdmin"]), (&me["id"], &json!(false)), "out of the group");
    let logins = desk.logins(&desk.admin().await).await;
    let by_corp = |entry: &&Value| entry["actor"]["via"] == "corp" && entry["outcome"] == "done";
    assert_eq!(logins.iter().filter(by_corp).count(), 3, "{logins:?}");
}

#[tokio::test]
async fn the_name_or_address_of_another_makes_nobody_that_other() {
    let idp = Idp::start().await;
    let desk = Desk::new(&idp.config("")).await;
    let admin = desk.admin().await;
    let taken = json!({ "name": "ada", "email": "ada@corp.example", "platformAdmin": true });
    assert_eq!(admin.post("/users", taken).await.0, 201);
    let me = signs_in(&desk, &idp).await.me().await;
    assert!(me["name"].as_str().unwrap().starts_with("ada-"), "{me}");
    assert_eq!(me["platformAdmin"], false);
    *idp.said.claims.lock() = json!({ "sub": "249" });
    let other = signs_in(&desk, &idp).await.me().await;
    assert!(other["id"] != me["id"] && other["name"] != me["name"] && other["namespace"] != me["namespace"]);
    *idp.said.claims.lock() = json!({ "sub": "250", "preferred_username": "admin" });
    let third = signs_in(&desk, &idp).await.me().await;
    assert!(
        third["name"].as_str().unwrap().starts_with("admin-") && third["platformAdmin"] == false,
        "{third}"
    );
}

#[tokio::test]
async fn tokens_that_are_wrong_let_nobody_in_and_the_log_says_why() {
    let idp = Idp::start().await;
    let desk = Desk::new(&idp.config("")).await;
    let admin = desk.admin().await;
    let second = super::desk::now().as_second();
    let table = [
        (json!({ "nonce": "another" }), "the claim nonce of the ID token is wrong"),
        (json!({ "nonce": null }), "the claim nonce of the ID token is wrong"),
        (json!({ "aud": "another" }), "the claim aud of the ID token is wrong"),
        (json!({ "aud": ["maar", "another"] }), "the claim azp of the ID token is wrong"),
        (json!({ "iss": "https://evil.example" }), "the claim iss of the ID token is wrong"),
        (json!({ "exp": second - 61 }), "the ID token has expired, or is not valid yet"),
        (json!({ "nbf": second + 90 }), "the ID token has expired, or is not valid yet"),
        (json!({ "sub": null }), "the claim sub of the ID token is wrong"),
    ];
    for (claims, why) in table {
        *idp.said.claims.lock() = claims.clone();
        let (jar, back) = sent_back(&desk, &idp).await;
        assert!(jar.follow(&back).await.starts_with(REFUSED), "{claims}");
        assert!(jar.is_nobody().await, "{claims}");
        assert_eq!(last_why(&desk, &admin).await, why, "{claims}");
    }
    *idp.said.claims.lock() = json!({});
    let forgeries: [(Forge, &str); 3] = [
        (unsigned, "the ID token is not signed by RS256, ES256 or EdDSA"),
        (|token| token.replace('.', ""), "the ID token is none"),
        (|token| format!("{}AAAA", &token[..token.len() - 4]), "the signature of the ID token is wrong"),
    ];
    for (forge, why) in forgeries {
        *idp.said.forge.lock() = Some(forge);
        let (jar, back) = sent_back(&desk, &idp).await;
        assert!(jar.follow(&back).await.starts_with(REFUSED), "{why}");
        assert!(jar.is_nobody().await, "{why}");
        assert_eq!(last_why(&desk, &admin).await, why);
    }
}

/// The same claims, signed by nobody.
fn unsigned(token: &str) -> String {
    let head = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"none","kid":"first"}"#);
    format!("{head}.{}.", token.split('.').nth(1).unwrap())
}

#[tokio::test]
async fn keys_that_the_provider_does_not_show_are_not_believed_and_do_not_make_us_ask_on_and_on() {
    let idp = Idp::start().await;
    let desk = Desk::new(&idp.config("")).await;
    let admin = desk.admin().await;
    for kid in ["second", "third", "first"] {
        idp.hide_key(kid);
        let (jar, back) = sent_back(&desk, &idp).await;
        assert!(jar.follow(&back).await.starts_with(REFUSED) && jar.is_nobody().await);
        let why = if kid == "first" {
            "the signature of the ID token is wrong"
        } else {
            "the ID token is signed with a key that the provider does not show"
        };
        assert_eq!(last_why(&desk, &admin).await, why);
    }
    assert_eq!(idp.said.keys_read.load(Ordering::Relaxed), 1, "at most once a minute");
}

#[tokio::test]
async fn a_login_belongs_to_the_browser_that_began_it_and_is_used_once() {
    let idp = Idp::start().await;
    let desk = Desk::new(&idp.config("")).await;
    let admin = desk.admin().await;
    // Somebody else is given the way back: he would be signed in as the one who made it.
    let (_, back) = sent_back(&desk, &idp).await;
    let victim = desk.browser();
    assert!(victim.follow(&back).await.starts_with(REFUSED) && victim.is_nobody().await);
    assert_eq!(last_why(&desk, &admin).await, "this browser did not begin a login, or has finished it");
    // With a login of his own under way.
    victim.follow("/login/corp/begin").await;
    assert!(victim.follow(&back).await.starts_with(REFUSED) && victim.is_nobody().await);
    assert_eq!(last_why(&desk, &admin).await, "the state is not that of this browser and provider");
    // The same way back twice, with the cookies of before.
    let (jar, back) = sent_back(&desk, &idp).await;
    let copy = jar.copy();
    jar.follow(&back).await;
    assert_eq!(jar.get("/me").await.0, 200);
    assert!(copy.follow(&back).await.starts_with(REFUSED) && copy.is_nobody().await);
    assert_eq!(last_why(&desk, &admin).await, "this login was finished before");
    // A state that was made up, and none.
    for query in ["code=x&state=made-up", "code=x", ""] {
        let (jar, _) = sent_back(&desk, &idp).await;
        assert!(jar.follow(&format!("/login/corp/callback?{query}")).await.starts_with(REFUSED), "{query}");
        assert!(jar.is_nobody().await);
    }
    // A code that was given to somebody else.
    let (jar, back) = sent_back(&desk, &idp).await;
    let (_, other) = sent_back(&desk, &idp).await;
    let code = |way: &str| way.split("code=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    assert!(jar.follow(&back.replace(&code(&back), &code(&other))).await.starts_with(REFUSED));
    assert!(last_why(&desk, &admin).await.ends_with("answers 400: invalid_grant"));
}

#[tokio::test]
async fn providers_do_not_answer_for_each_other() {
    let (idp, evil) = (Idp::start().await, Idp::start().await);
    let second = evil.config("").replace("corp", "evil").replace("providers:\n", "");
    let desk = Desk::new(&format!("{}{second}", idp.config(""))).await;
    let admin = desk.admin().await;
    // The login began at one, and comes back as if at the other.
    let (jar, back) = sent_back(&desk, &idp).await;
    assert!(
        jar.follow(&back.replace("/corp/", "/evil/")).await.starts_with(REFUSED) && jar.is_nobody().await
    );
    // The one that answers says that it is another.
    let (jar, back) = sent_back(&desk, &idp).await;
    let mixed: String = back.split("&iss=").next().unwrap().to_owned() + "&iss=https%3A%2F%2Fevil.example";
    assert!(jar.follow(&mixed).await.starts_with(REFUSED) && jar.is_nobody().await);
    assert_eq!(last_why(&desk, &admin).await, "another provider than asked has answered");
    // The same subject at two providers is two people.
    let one = signs_in(&desk, &idp).await.me().await;
    let jar = desk.browser();
    let location = jar.follow("/login/evil/begin").await;
    jar.follow(&evil.lets_in(&location)).await;
    assert_ne!(jar.me().await["id"], one["id"]);
}

#[tokio::test]
async fn nobody_is_led_to_another_site() {
    let idp = Idp::start().await;
    let desk = Desk::new(&idp.config("")).await;
    for evil in [
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "https://evil.example",
        "https:evil.example",
        "javascript:alert(1)",
        "/\t/evil.example",
        "/a\r\nSet-Cookie:x=y",
        "",
        "/api/v1/logout",
    ] {
        let jar = desk.browser();
        let back: String = form_urlencoded::byte_serialize(evil.as_bytes()).collect();
        let location = jar.follow(&format!("/login/corp/begin?back={back}")).await;
        assert_eq!(jar.follow(&idp.lets_in(&location)).await, "/", "{evil:?}");
    }
    // What is escaped once more is a path of ours with odd letters.
    let jar = desk.browser();
    let location = jar.follow("/login/corp/begin?back=/%2509/evil.example").await;
    assert_eq!(jar.follow(&idp.lets_in(&location)).await, "/%09/evil.example");
}

#[tokio::test]
async fn who_is_disabled_stays_out_and_a_provider_that_refuses_is_believed() {
    let idp = Idp::start().await;
    let desk = Desk::new(&idp.config("")).await;
    let admin = desk.admin().await;
    let ada = signs_in(&desk, &idp).await;
    let id = ada.me().await["id"].as_str().unwrap().to_owned();
    let disable = Some(json!({ "disabled": true }));
    assert_eq!(admin.call("PUT", &format!("/users/{id}"), disable).await.0, 200);
    assert!(ada.is_nobody().await);
    let (jar, back) = sent_back(&desk, &idp).await;
    assert!(jar.follow(&back).await.starts_with(REFUSED) && jar.is_nobody().await);
    assert_eq!(last_why(&desk, &admin).await, "the user is disabled or expired");
    let jar = desk.browser();
    let asked = idp.asked(&jar.follow("/login/corp/begin").await);
    let refused = format!("/login/corp/callback?error=access_denied%0A&state={}", asked["state"]);
    assert!(jar.follow(&refused).await.starts_with(REFUSED));
    assert_eq!(last_why(&desk, &admin).await, "the provider says access_denied");
}

#[tokio::test]
async fn what_the_userinfo_adds_is_of_the_same_person() {
    let idp = Idp::start().await;
    let desk = Desk::new(&idp.config("userinfo: true, adminGroups: [root]")).await;
    let admin = desk.admin().await;
    *idp.said.userinfo.lock() = json!({ "sub": "1", "groups": ["root"] });
    let (jar, back) = sent_back(&desk, &idp).await;
    assert!(jar.follow(&back).await.starts_with(REFUSED) && jar.is_nobody().await);
    assert_eq!(last_why(&desk, &admin).await, "the userinfo is of somebody else");
    *idp.said.userinfo.lock() = json!({ "sub": "248", "groups": ["root"], "preferred_username": "eve" });
    let me = signs_in(&desk, &idp).await.me().await;
    assert_eq!((&me["name"], &me["platformAdmin"]), (&json!("ada"), &json!(true)), "what is signed stays");
}

#[tokio::test]
async fn a_provider_that_is_away_or_another_is_told_apart_from_a_refusal() {
    let away = "providers:\n- { kind: oidc, id: corp, issuer: 'http://127.0.0.1:1', clientId: maar }\n";
    let desk = Desk::new(away).await;
    assert!(
        desk.browser().follow("/login/corp/begin").await.starts_with("/login?failed=unavailable&request=")
    );
    let entry = desk.logins(&desk.admin().await).await.pop().unwrap();
    assert_eq!((&entry["outcome"], &entry["actor"]["via"]), (&json!("failed"), &json!("corp")), "{entry}");
    let idp = Idp::start().await;
    let desk = Desk::new(&idp.config("").replace("127.0.0.1", "localhost")).await;
    assert!(desk.browser().follow("/login/corp/begin").await.starts_with(REFUSED), "its issuer is another");
    let entry = desk.logins(&desk.admin().await).await.pop().unwrap();
    assert_eq!((&entry["outcome"], &entry["actor"]["name"]), (&json!("denied"), &json!("nobody")), "{entry}");
    assert!(entry["detail"].as_str().is_some_and(|why| !why.is_empty()), "{entry}");
    for path in ["/login/none/begin", "/login/none/callback"] {
        assert_eq!(desk.browser().get(path).await.0, 404, "{path}");
    }
    let body = json!({ "name": "ada", "password": "x" });
    assert_eq!(desk.browser().post("/login/corp", body).await.0, 404, "it takes no passwords");
}
