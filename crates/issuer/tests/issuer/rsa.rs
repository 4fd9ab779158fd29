//! Tokens by RS256, for clients that take nothing else, with a key that the real openssl makes.

use std::{path::Path, process::Command, sync::Arc};

use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header, jwk::JwkSet};
use maar_issuer::{Clients, Host, Issuer, KUBERNETES, RsaKey, Settings};
use serde_json::{Value, json};

use super::{
    absent::absent,
    world::{ISSUER, LOCAL, SECRET, TOOL, VERIFIER, World, asks, settings},
};

fn key() -> Option<String> {
    let words = ["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"];
    let made = Command::new("openssl").args(words).output().ok()?;
    made.status.success().then(|| String::from_utf8(made.stdout).unwrap())
}

#[tokio::test]
async fn a_client_that_wants_rs256_has_it_and_old_keys_are_still_shown() {
    let (Some(new), Some(old)) = (key(), key()) else { return absent("openssl") };
    let rsa = vec![RsaKey::from_pem(&new).unwrap(), RsaKey::from_pem(&old).unwrap()];
    let file = json!({ "clients": [
        { "id": "inside", "secretFile": "s", "redirects": [TOOL], "trusted": true, "algorithm": "RS256" },
    ] });
    let read = |_: &Path| Ok(SECRET.to_owned());
    let clients = Clients::new(serde_json::from_value(file).unwrap(), true, &read).unwrap();
    let world = World::new().await;
    let host = Arc::clone(&world.host) as Arc<dyn Host>;
    let told = Settings { rsa, clients, ..settings() };
    let world = World { issuer: Issuer::new(told, world.records.clone(), host), ..world };
    let made = world.spend(&world.code(&asks("inside", TOOL, "openid", &[])).await).await.unwrap();
    let token = made["id_token"].as_str().unwrap();
    let shown: JwkSet = serde_json::from_value(world.issuer.jwks().await.unwrap()).unwrap();
    assert_eq!(shown.keys.len(), 3, "one of P-256, and both");
    let header = decode_header(token).unwrap();
    assert_eq!(header.alg, Algorithm::RS256);
    let key = DecodingKey::from_jwk(shown.find(&header.kid.unwrap()).unwrap()).unwrap();
    let mut rules = Validation::new(Algorithm::RS256);
    rules.set_audience(&["inside"]);
    rules.set_issuer(&[ISSUER]);
    rules.validate_exp = false;
    assert_eq!(decode::<Value>(token, &key, &rules).unwrap().claims["sub"], "u-ada");
    let told = world.issuer.discovery();
    assert_eq!(told["id_token_signing_alg_values_supported"], json!(["ES256", "RS256"]));
}

/// An API server may take RS256 alone; there is no file in which its client could say so.
#[tokio::test]
async fn tokens_for_the_cluster_are_signed_by_the_key_that_was_brought() {
    let Some(key) = key() else { return absent("openssl") };
    let world = World::new().await;
    let asked = asks(KUBERNETES, LOCAL, "openid kubeconfig:d-1", &[]);
    let signed = async |world: &World| {
        let code = world.agreed(&asked).await;
        let made = world
            .token(&[
                ("grant_type", "authorization_code"),
                ("code", &code),
                ("redirect_uri", LOCAL),
                ("client_id", KUBERNETES),
                ("code_verifier", VERIFIER),
            ])
            .await
            .unwrap();
        decode_header(made["id_token"].as_str().unwrap()).unwrap()
    };
    assert_eq!(signed(&world).await.alg, Algorithm::ES256, "nobody has brought a key");
    let host = Arc::clone(&world.host) as Arc<dyn Host>;
    let told = Settings { rsa: vec![RsaKey::from_pem(&key).unwrap()], ..settings() };
    let world = World { issuer: Issuer::new(told, world.records.clone(), host), ..world };
    let header = signed(&world).await;
    assert_eq!(header.alg, Algorithm::RS256);
    let shown: JwkSet = serde_json::from_value(world.issuer.jwks().await.unwrap()).unwrap();
    assert!(shown.find(&header.kid.unwrap()).is_some(), "{shown:?}");
    // Others have what they are told to have.
    let made = world.spend(&world.code(&asks("inside", TOOL, "openid", &[])).await).await.unwrap();
    assert_eq!(decode_header(made["id_token"].as_str().unwrap()).unwrap().alg, Algorithm::ES256);
}
