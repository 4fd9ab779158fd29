//! OAuth2 with userinfo.

use serde_json::json;

use super::{desk::Desk, idp::Idp};

fn config(idp: &Idp) -> String {
    let issuer = &idp.issuer;
    format!(
        "providers:\n- {{ kind: oauth2, id: forge, authorizeUrl: '{issuer}/authorize', tokenUrl: '{issuer}/token', \
         userinfoUrl: '{issuer}/me', clientId: maar, clientSecretFile: secret, subjectField: id, nameField: login, \
         adminGroups: [root] }}\n"
    )
}

#[tokio::test]
async fn who_it_is_says_the_userinfo_by_a_field_that_does_not_change() {
    let idp = Idp::start().await;
    let desk = Desk::new(&config(&idp)).await;
    let admin = desk.admin().await;
    let signs_in = async || {
        let jar = desk.browser();
        let location = jar.follow("/login/forge/begin?back=/nodes").await;
        let end = jar.follow(&idp.lets_in(&location)).await;
        (jar, end)
    };
    *idp.said.userinfo.lock() =
        json!({ "id": 583_231, "login": "Octo.Cat", "name": "Octo", "groups": ["root"] });
    let (jar, end) = signs_in().await;
    assert_eq!(end, "/nodes");
    let me = jar.me().await;
    assert_eq!((&me["name"], &me["platformAdmin"]), (&json!("octo.cat"), &json!(true)));
    // Another who has taken the name since.
    *idp.said.userinfo.lock() = json!({ "id": 7, "login": "Octo.Cat" });
    let other = signs_in().await.0.me().await;
    assert!(other["id"] != me["id"] && other["platformAdmin"] == false, "{other}");
    // The first, under a new name.
    *idp.said.userinfo.lock() = json!({ "id": 583_231, "login": "renamed", "groups": ["root"] });
    assert_eq!(signs_in().await.0.me().await["id"], me["id"]);
    for odd in
        [json!({ "login": "x" }), json!({ "id": null }), json!({ "id": { "a": 1 } }), json!({ "id": "" })]
    {
        *idp.said.userinfo.lock() = odd.clone();
        let (jar, end) = signs_in().await;
        assert!(end.starts_with("/login?failed=loginRefused") && jar.is_nobody().await, "{odd}");
        assert_eq!(desk.logins(&admin).await[0]["detail"], "the userinfo has no id");
    }
    // The state is that of the browser here as well.
    let jar = desk.browser();
    let back = idp.lets_in(&jar.follow("/login/forge/begin").await);
    assert!(desk.browser().follow(&back).await.starts_with("/login?failed=loginRefused"));
}
