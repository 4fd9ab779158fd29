//! What a provider has given away before it ended, and begins again on the same file.

use super::{
    devices::{begin, poll},
    world::{TOOL, World, asks},
};

#[tokio::test]
async fn codes_refresh_tokens_and_devices_outlive_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/records.db", folder.path().display());
    let world = World::on(&url).await;
    let asked = asks("inside", TOOL, "openid offline_access", &[]);
    let (unspent, spent) = (world.code(&asked).await, world.code(&asked).await);
    let made = world.spend(&spent).await.unwrap();
    let (waits, granted) =
        (begin(&world, "maar-cli", "openid").await, begin(&world, "maar-cli", "openid").await);
    let typed = |begun: &serde_json::Value| begun["user_code"].as_str().unwrap().to_owned();
    world.issuer.answer_device(&typed(&granted), &world.ada, true).await.unwrap();

    let world = world.restarted(&url).await;
    let token = made["id_token"].as_str().unwrap();
    assert!(world.checked(token, "inside").await.is_ok(), "the key that signed it is still shown");
    let late = world.spend(&unspent).await.unwrap();
    assert!(late["id_token"].is_string(), "{late}");
    assert!(poll(&world, "maar-cli", &granted).await.is_ok(), "it was let in before");
    world.issuer.answer_device(&typed(&waits), &world.ada, true).await.unwrap();
    assert!(poll(&world, "maar-cli", &waits).await.is_ok());
    let old = made["refresh_token"].as_str().unwrap();
    let renewed = world.refresh(old).await.unwrap();
    assert!(world.userinfo(renewed["access_token"].as_str().unwrap()).await.is_ok());

    // What was used up stays so as well; a code that comes twice was stolen, and ends what came of it.
    let world = world.restarted(&url).await;
    assert!(world.refresh(old).await.is_err(), "it was used");
    assert_eq!(world.spend(&unspent).await.unwrap_err().code, "invalid_grant");
    assert!(world.refresh(late["refresh_token"].as_str().unwrap()).await.is_err());
}
