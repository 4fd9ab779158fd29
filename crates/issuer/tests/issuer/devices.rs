//! Programs without a browser.

use maar_issuer::{Params, SignedIn};
use serde_json::Value;

use super::world::{World, user};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

pub(crate) async fn begin(world: &World, client: &str, scope: &str) -> Value {
    let text = format!("client_id={client}&scope={}", scope.replace(' ', "+"));
    world.issuer.device(&Params::parse(text.as_bytes()), None).await.unwrap()
}

pub(crate) async fn poll(world: &World, client: &str, begun: &Value) -> Result<Value, &'static str> {
    let code = begun["device_code"].as_str().unwrap();
    let asked = [("grant_type", GRANT), ("device_code", code), ("client_id", client)];
    world.token(&asked).await.map_err(|refusal| refusal.code)
}

#[tokio::test]
async fn a_device_is_let_in_once_by_whoever_types_its_code() {
    let world = World::new().await;
    let begun = begin(&world, "maar-cli", "openid maar").await;
    let typed = begun["user_code"].as_str().unwrap().replace('-', "").to_lowercase();
    assert_eq!(begun["verification_uri"], "https://gpu.example/device");
    assert_eq!(poll(&world, "maar-cli", &begun).await, Err("authorization_pending"));
    let (question, _) = world.issuer.waiting_device(&typed).await.unwrap();
    assert!(question.consent && question.scopes == ["openid", "maar"], "it is always asked");
    world.issuer.answer_device(&typed, &world.ada, true).await.unwrap();
    assert_eq!(world.issuer.answer_device(&typed, &world.ada, true).await.unwrap_err().code, "not_found");
    world.wait(5);
    assert_eq!(poll(&world, "kubernetes", &begun).await, Err("invalid_grant"), "another client");
    let made = poll(&world, "maar-cli", &begun).await.unwrap();
    assert_eq!(made["access_token"], "maar_key_of_ada_by_maar-cli");
    world.wait(5);
    assert_eq!(poll(&world, "maar-cli", &begun).await, Err("invalid_grant"), "once");
}

#[tokio::test]
async fn a_device_that_asks_too_often_is_slowed_down() {
    let world = World::new().await;
    let begun = begin(&world, "maar-cli", "openid").await;
    assert_eq!(poll(&world, "maar-cli", &begun).await, Err("authorization_pending"));
    world.wait(4);
    assert_eq!(poll(&world, "maar-cli", &begun).await, Err("slow_down"));
    world.wait(9);
    assert_eq!(poll(&world, "maar-cli", &begun).await, Err("slow_down"), "ten seconds by now");
    world.wait(15);
    assert_eq!(poll(&world, "maar-cli", &begun).await, Err("authorization_pending"));
}

#[tokio::test]
async fn a_device_hears_no_and_that_it_is_too_late() {
    let world = World::new().await;
    let begun = begin(&world, "maar-cli", "openid").await;
    world.issuer.answer_device(begun["user_code"].as_str().unwrap(), &world.ada, false).await.unwrap();
    assert_eq!(poll(&world, "maar-cli", &begun).await, Err("access_denied"));
    let begun = begin(&world, "maar-cli", "openid").await;
    world.wait(600);
    assert_eq!(poll(&world, "maar-cli", &begun).await, Err("expired_token"));
    let late = world.issuer.answer_device(begun["user_code"].as_str().unwrap(), &world.ada, true).await;
    assert_eq!(late.unwrap_err().code, "not_found");
}

#[tokio::test]
async fn only_clients_that_may_use_it_do_and_a_grant_is_of_its_user() {
    let world = World::new().await;
    let text = "client_id=inside&client_secret=a+secret+of+the+tool&scope=openid";
    let refused = world.issuer.device(&Params::parse(text.as_bytes()), None).await.unwrap_err();
    assert_eq!(refused.code, "unauthorized_client");
    let eve = SignedIn { user: user(&world.records, "eve", world.ada.at.unwrap()).await, at: None };
    let begun = begin(&world, "kubernetes", "openid kubeconfig:d-1").await;
    world.issuer.answer_device(begun["user_code"].as_str().unwrap(), &eve, true).await.unwrap();
    let made = poll(&world, "kubernetes", &begun).await.unwrap();
    let claims = world.checked(made["id_token"].as_str().unwrap(), "kubernetes").await.unwrap();
    assert_eq!(claims["sub"], "u-eve");
}
