//! Keys: made, shown, and forgotten when no token of theirs can be left.

use std::sync::Arc;

use maar_issuer::{Host, Issuer, Sealer, Settings};

use super::world::{TOOL, World, asks, settings};

const DAY: i64 = 24 * 3600;

async fn shown(world: &World) -> usize {
    world.issuer.jwks().await.unwrap()["keys"].as_array().unwrap().len()
}

#[tokio::test]
async fn keys_rotate_and_old_ones_are_shown_until_their_tokens_have_ended() {
    let world = World::new().await;
    let query = asks("inside", TOOL, "openid", &[]);
    let token = async || {
        let made = world.spend(&world.code(&query).await).await.unwrap();
        made["id_token"].as_str().unwrap().to_owned()
    };
    let kid = |token: &str| jsonwebtoken::decode_header(token).unwrap().kid.unwrap();
    let first = token().await;
    assert_eq!(shown(&world).await, 1);
    world.wait(30 * DAY);
    assert_eq!((kid(&token().await), shown(&world).await), (kid(&first), 2), "shown before it signs");
    world.wait(DAY - 1);
    let last = token().await;
    assert_eq!(kid(&last), kid(&first));
    world.wait(1);
    assert_ne!(kid(&token().await), kid(&first));
    world.wait(599);
    assert!(world.checked(&last, "inside").await.is_ok(), "its last token has a second left");
    world.wait(3601);
    token().await;
    assert_eq!(shown(&world).await, 1);
    assert!(world.checked(&last, "inside").await.is_err());
}

#[tokio::test]
async fn another_secret_makes_new_keys_and_shows_the_old_ones() {
    let world = World::new().await;
    let query = asks("inside", TOOL, "openid", &[]);
    let made = world.spend(&world.code(&query).await).await.unwrap();
    world.wait(1);
    let other = Settings { sealer: Sealer::new(&[8; 32]).unwrap(), ..settings() };
    let host = Arc::clone(&world.host) as Arc<dyn Host>;
    let world = World { issuer: Issuer::new(other, world.records.clone(), host), ..world };
    let again = world.spend(&world.code(&query).await).await.unwrap();
    assert_eq!(shown(&world).await, 2);
    for token in [&made, &again] {
        assert!(world.checked(token["id_token"].as_str().unwrap(), "inside").await.is_ok());
    }
}

#[tokio::test]
async fn many_who_begin_at_once_have_one_key() {
    let world = World::new().await;
    let sets = futures::future::join_all((0..6).map(|_| world.issuer.jwks())).await;
    assert!(sets.into_iter().all(|set| set.is_ok()));
    assert_eq!(shown(&world).await, 1);
    let made = world.spend(&world.code(&asks("inside", TOOL, "openid", &[])).await).await.unwrap();
    assert!(world.checked(made["id_token"].as_str().unwrap(), "inside").await.is_ok());
}
