//! Headers of a proxy: from it alone.

use serde_json::json;

use super::desk::{Desk, Jar, SECRET};

const CONFIG: &str = "providers:\n- { kind: proxy, id: gate, peers: [10.1.0.0/16], secretFile: s, subjectHeader: X-Subject, \
    nameHeader: X-User, groupsHeader: X-Groups, adminGroups: [root] }\n";

fn by_proxy(desk: &Desk, peer: &str, headers: &[(&'static str, &str)]) -> Jar {
    let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    Jar { peer: Some(peer.parse().unwrap()), headers, ..desk.browser() }
}

#[tokio::test]
async fn headers_are_believed_from_the_proxy_with_its_secret_only() {
    let desk = Desk::new(CONFIG).await;
    let secret = ("x-maar-proxy-secret", SECRET);
    let named = [("x-subject", "7"), ("x-user", "ada")];
    let ada = by_proxy(&desk, "10.1.2.3:999", &[secret, named[0], named[1]]);
    let me = ada.me().await;
    assert_eq!((&me["name"], &me["platformAdmin"]), (&json!("ada"), &json!(false)));
    for (peer, headers) in [
        ("10.2.0.1:999", vec![secret, named[0], named[1]]),
        ("127.0.0.1:999", vec![secret, named[0], named[1]]),
        ("10.1.2.3:999", vec![named[0], named[1]]),
        ("10.1.2.3:999", vec![("x-maar-proxy-secret", "a wrong secret, long"), named[0]]),
        ("10.1.2.3:999", vec![secret, named[1]]),
        ("10.1.2.3:999", vec![secret, named[0], ("x-subject", "8")]),
    ] {
        assert!(by_proxy(&desk, peer, &headers).is_nobody().await, "{peer} {headers:?}");
    }
    let nowhere = Jar { peer: None, ..by_proxy(&desk, "10.1.2.3:999", &[secret, named[0]]) };
    assert!(nowhere.is_nobody().await, "who it is from must be known");
    // The name is a label: who comes with another is the same, and with that of another is not the other.
    let renamed = by_proxy(&desk, "10.1.2.3:999", &[secret, named[0], ("x-user", "admin")]);
    assert_eq!(renamed.me().await["id"], me["id"]);
    let other = by_proxy(&desk, "10.1.2.3:999", &[secret, ("x-subject", "8"), named[1]]);
    assert_ne!(other.me().await["id"], me["id"]);
    let (_, ways) = desk.browser().get("/login/providers").await;
    assert_eq!(ways["providers"], json!([]), "nobody chooses a proxy");
}

#[tokio::test]
async fn who_comes_by_a_proxy_obeys_the_same_rules() {
    let desk = Desk::new(CONFIG).await;
    let admin = desk.admin().await;
    let secret = ("x-maar-proxy-secret", SECRET);
    let ada = by_proxy(&desk, "10.1.2.3:999", &[secret, ("x-subject", "7"), ("x-user", "ada")]);
    let id = ada.me().await["id"].as_str().unwrap().to_owned();
    // A page of another site has the proxy's headers as well, but not ours.
    let mut crossed = by_proxy(&desk, "10.1.2.3:999", &[secret, ("x-subject", "7")]);
    crossed.headers.push(("sec-fetch-site", "cross-site".to_owned()));
    let (status, said) = crossed.call("PUT", "/me/preferences", Some(json!({}))).await;
    assert_eq!((status, &said["code"]), (403, &json!("crossSite")));
    assert_eq!(ada.call("PUT", "/me/preferences", Some(json!({ "theme": "dark" }))).await.0, 200);
    // Groups decide at once, both ways.
    let root = by_proxy(&desk, "10.1.2.3:999", &[secret, ("x-subject", "7"), ("x-groups", "staff, root")]);
    assert_eq!(root.get("/users").await.0, 200);
    assert_eq!(ada.get("/users").await.0, 403);
    let logins = desk.logins(&admin).await;
    let by_gate = logins.iter().filter(|entry| entry["actor"]["via"] == "gate").count();
    assert_eq!(by_gate, 1, "once an hour, not with every request");
    assert_eq!(admin.call("PUT", &format!("/users/{id}"), Some(json!({ "disabled": true }))).await.0, 200);
    assert!(ada.is_nobody().await, "disabled");
    // Who signs in here himself is who he signed in as.
    let both = by_proxy(&desk, "10.1.2.3:999", &[secret, ("x-subject", "8"), ("x-user", "bob")]);
    *both.cookies.lock() = admin.cookies.lock().clone();
    assert_eq!(both.me().await["name"], "admin");
}
