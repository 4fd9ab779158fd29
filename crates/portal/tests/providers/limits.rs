//! How often one may try, at all portals together.

use serde_json::json;

use super::{
    desk::{Desk, FIRST, Jar, another},
    idp::Idp,
};

#[tokio::test]
async fn tries_are_counted_for_all_portals_together() {
    let desk = Desk::new("").await;
    let other = another(&desk.records, "", |_| {});
    let portals = [desk.router.clone(), other];
    let mut refused = Vec::new();
    for round in 0..14 {
        let jar = Jar::new(portals[round % 2].clone());
        let (status, headers, _) =
            jar.raw("POST", "/login", Some(json!({ "name": "Admin", "password": "a guess" }))).await;
        if status == 429 {
            assert!(headers.contains_key("retry-after"));
            refused.push(round);
        }
    }
    assert_eq!(refused, [10, 11, 12, 13], "ten at once, wherever they are made");
    let jar = desk.browser();
    assert_eq!(
        jar.post("/login", json!({ "name": "admin", "password": FIRST })).await.0,
        429,
        "also the right one"
    );
}

#[tokio::test]
async fn who_shows_who_he_is_is_forgiven() {
    let desk = Desk::new("").await;
    for _ in 0..3 {
        for _ in 0..8 {
            let wrong = json!({ "name": "admin", "password": "a guess" });
            assert_eq!(desk.browser().post("/login", wrong).await.0, 401);
        }
        assert_eq!(desk.browser().post("/login", json!({ "name": "admin", "password": FIRST })).await.0, 200);
    }
}

#[tokio::test]
async fn beginning_and_coming_back_are_counted_too() {
    let idp = Idp::start().await;
    let desk = Desk::with(&idp.config(""), |settings| settings.requests_per_second = 100_000).await;
    let jar = Jar { peer: Some("203.0.113.7:9".parse().unwrap()), ..desk.browser() };
    let mut begun = 0;
    for _ in 0..1100 {
        let path = if begun % 2 == 0 { "/login/corp/begin" } else { "/login/corp/callback" };
        if jar.follow(path).await.starts_with("/login?failed=tooMany") {
            break;
        }
        begun += 1;
    }
    assert!((1000..1100).contains(&begun), "{begun}");
    let elsewhere = Jar { peer: Some("203.0.113.8:9".parse().unwrap()), ..desk.browser() };
    assert!(elsewhere.follow("/login/corp/begin").await.starts_with(&idp.issuer));
}
