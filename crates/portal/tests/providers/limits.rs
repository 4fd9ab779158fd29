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

/// Somebody who comes over a proxy with what it says of him.
fn over(desk: &Desk, peer: &str, said: &str) -> Jar {
    let headers = vec![("x-forwarded-for", said.to_owned())];
    Jar { peer: Some(peer.parse().unwrap()), headers, ..desk.browser() }
}

/// Asks until it is told that it asks too often.
async fn floods(jar: &Jar) -> bool {
    for _ in 0..40 {
        if jar.get("/openapi.json").await.0 == 429 {
            return true;
        }
    }
    false
}

#[tokio::test]
async fn strangers_behind_one_proxy_keep_only_themselves_out() {
    let desk = Desk::with("", |settings| {
        settings.requests_per_second = 5;
        settings.trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
    })
    .await;
    let (proxy, eve) = ("10.0.0.1:9", "203.0.113.9");
    assert!(floods(&over(&desk, proxy, eve)).await);
    assert_eq!(over(&desk, proxy, "203.0.113.10").get("/openapi.json").await.0, 200, "somebody else");
    let forged = over(&desk, proxy, &format!("203.0.113.11, {eve}"));
    // While one asks, one more may be allowed; who has asked nothing yet could ask more often than this.
    let spent = async |asker: &Jar| {
        let mut all = Vec::new();
        for _ in 0..4 {
            all.push(asker.get("/openapi.json").await.0);
        }
        all.contains(&429)
    };
    assert!(spent(&forged).await, "what she writes herself is not believed");
    assert!(spent(&over(&desk, "10.0.0.2:9", eve)).await, "at another proxy");
    let wrong = || json!({ "name": "admin", "password": "a guess" });
    assert_eq!(
        over(&desk, proxy, eve).post("/login", wrong()).await.0,
        401,
        "and signing in is counted apart"
    );
    assert_ne!(over(&desk, proxy, eve).get("/oauth/keys").await.0, 429, "as are tools of others");
    // Past the proxy nothing that is said counts.
    let mut last = 0;
    for number in 0..40 {
        last = over(&desk, "198.51.100.7:9", &format!("203.0.113.{number}")).get("/openapi.json").await.0;
    }
    assert_eq!(last, 429);
    let admin = desk.admin().await;
    let entry = desk.logins(&admin).await.into_iter().find(|one| one["outcome"] == "denied").unwrap();
    assert_eq!(entry["address"], eve, "{entry}");
}

#[tokio::test]
async fn who_has_many_addresses_is_counted_once() {
    let desk = Desk::with("", |settings| settings.requests_per_second = 5).await;
    let from = |host: usize| {
        let peer = format!("[2001:db8:1:2::{host:x}]:9").parse().unwrap();
        Jar { peer: Some(peer), ..desk.browser() }
    };
    let mut seen = Vec::new();
    for host in 1..40 {
        seen.push(from(host).get("/openapi.json").await.0);
    }
    assert!(seen.starts_with(&[200]) && seen.ends_with(&[429]), "{seen:?}");
    let elsewhere = Jar { peer: Some("[2001:db8:1:3::1]:9".parse().unwrap()), ..desk.browser() };
    assert_eq!(elsewhere.get("/openapi.json").await.0, 200);
}
