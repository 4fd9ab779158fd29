//! Apps below paths of one origin, where there is no domain for them: a listener of their own, a word in the path that
//! nobody can guess, and a cookie for that path.

use maar_portal::{Apps, Settings};
use serde_json::json;

use super::{
    apps::{Visitor, desk, program, status},
    browser::Browser,
    world::{ORIGIN, World},
};

pub(crate) fn settings(settings: &mut Settings) {
    super::apps::settings(settings);
    settings.apps = Some(Apps::by_path("http://gpu-apps.test", &[ORIGIN.to_owned()]).unwrap());
}

/// Somebody at an app, and what stands before its paths.
pub(crate) async fn opened(world: &World, browser: &Browser, path: &str, port: u16) -> (Visitor, String) {
    let (code, said) = browser.post(&format!("{path}/ports/{port}/open"), json!({})).await;
    assert_eq!(code, 200, "{said}");
    let url = said["url"].as_str().unwrap();
    let begins = format!("http://gpu-apps.test/apps/{port}--desk--");
    assert!(url.starts_with(&begins) && url.contains("/.maar/enter?secret="), "{url}");
    let (answer, visitor) = Visitor::follows(world.apps, url).await;
    assert_eq!(status(&answer), 303, "{answer}");
    let place = answer.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
    let prefix = place.strip_suffix('/').unwrap().to_owned();
    assert!(answer.contains(&format!("; Path={prefix}/; HttpOnly; SameSite=Lax")), "{answer}");
    (visitor, prefix)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_below_a_path_is_seen_by_who_has_both_the_path_and_the_cookie() {
    let Some(world) = World::local_with(settings).await else { return };
    let (ada, port, second) = (world.user("ada").await, program().await, program().await);
    let path = desk(&ada, json!({})).await;
    let (visitor, prefix) = opened(&world, &ada, &path, port).await;
    let shown = visitor.get(&format!("{prefix}/lab?a=b")).await;
    assert!(status(&shown) == 200 && shown.contains("GET /lab?a=b HTTP/1.1"), "{shown}");
    assert!(
        shown.contains(&format!("x-forwarded-prefix: {prefix}\r\n")),
        "what stands before is told: {shown}"
    );
    assert!(!shown.contains("maar-app"), "{shown}");

    // The path is another each time, and neither half of one visit goes with that of another.
    let (again, other) = opened(&world, &ada, &path, port).await;
    assert_ne!(prefix, other);
    assert_eq!(again.status(&format!("{other}/")).await, 200);
    assert_eq!(visitor.status(&format!("{other}/")).await, 401, "the cookie of another visit");
    let nobody = Visitor { cookie: None, ..visitor.at(world.apps) };
    assert_eq!(nobody.status(&format!("{prefix}/")).await, 401, "whoever knows the path alone");
    let (_, elsewhere) = opened(&world, &ada, &path, second).await;
    assert_eq!(visitor.status(&format!("{elsewhere}/")).await, 401, "another app");
    let (label, key) = (elsewhere.rsplit_once('/').unwrap().0, prefix.rsplit_once('/').unwrap().1);
    assert_eq!(visitor.status(&format!("{label}/{key}/")).await, 401, "this key at another app");
    for climbs in ["/../", "/%2e%2e/", "/a/..%2f../"] {
        assert_eq!(visitor.status(&format!("{prefix}{climbs}")).await, 400, "{climbs}");
    }

    // Neither listener serves what is the other's, by whatever name it is found.
    assert_eq!(visitor.status("/api/v1/me").await, 404, "no portal is here");
    let shown = visitor.at(world.address).get(&format!("{prefix}/lab")).await;
    assert!(!shown.contains("GET /lab"), "{shown}");
    let posing = Visitor { host: "portal.test".to_owned(), ..visitor.at(world.apps) };
    assert_eq!(posing.status(&format!("{prefix}/")).await, 404, "by the portal's name there is no app");

    assert_eq!(ada.call("POST", "/logout", None).await.0, 204);
    super::world::eventually("the end of the visit", async || {
        visitor.status(&format!("{prefix}/")).await == 401
    })
    .await;
}
