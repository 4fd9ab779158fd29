//! Tokens that are right, and every way to be wrong.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::{EncodingKey, Header, encode};
use proptest::prelude::*;
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
};
use serde_json::json;

use super::*;

const NOW: i64 = 1_900_000_000;

struct Signer {
    kid: &'static str,
    algorithm: Algorithm,
    key: EncodingKey,
    public: Value,
}

fn text(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn ed(kid: &'static str) -> Signer {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
    let public = json!({ "kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": kid, "x": text(pair.public_key().as_ref()) });
    Signer { kid, algorithm: Algorithm::EdDSA, key: EncodingKey::from_ed_der(document.as_ref()), public }
}

fn ec(kid: &'static str) -> Signer {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let pair =
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap();
    let point = pair.public_key().as_ref();
    let public = json!({ "kty": "EC", "crv": "P-256", "alg": "ES256", "kid": kid, "x": text(&point[1..33]), "y": text(&point[33..]) });
    Signer { kid, algorithm: Algorithm::ES256, key: EncodingKey::from_ec_der(document.as_ref()), public }
}

impl Signer {
    fn sign(&self, claims: &Value) -> String {
        let header = Header { kid: Some(self.kid.to_owned()), ..Header::new(self.algorithm) };
        encode(&header, claims, &self.key).unwrap()
    }
}

fn keys(signers: &[&Signer]) -> JwkSet {
    let keys: Vec<&Value> = signers.iter().map(|signer| &signer.public).collect();
    serde_json::from_value(json!({ "keys": keys })).unwrap()
}

fn claims() -> Value {
    json!({ "iss": "https://id.example", "aud": "maar", "sub": "248", "nonce": "n", "exp": NOW + 300, "iat": NOW })
}

fn changed(change: &Value) -> Value {
    let mut all = claims();
    for (name, value) in change.as_object().unwrap() {
        match value {
            Value::Null => {
                all.as_object_mut().unwrap().remove(name);
            }
            value => all[name] = value.clone(),
        }
    }
    all
}

fn moment() -> Timestamp {
    Timestamp::from_second(NOW).unwrap()
}

fn verified(token: &str, keys: &JwkSet) -> Result<Map<String, Value>, TokenError> {
    let expected = Expected { issuer: "https://id.example", client: "maar", nonce: "n" };
    verify(token, keys, &expected, moment())
}

#[test]
fn a_token_of_the_provider_for_us_and_now_is_believed() {
    let (one, other) = (ed("a"), ec("b"));
    let keys = keys(&[&one, &other]);
    for signer in [&one, &other] {
        assert_eq!(verified(&signer.sign(&claims()), &keys).unwrap()["sub"], "248");
    }
    for change in [
        json!({ "aud": ["maar"] }),
        json!({ "aud": ["other", "maar"], "azp": "maar" }),
        json!({ "exp": NOW - 59 }),
        json!({ "nbf": NOW + 59 }),
        json!({ "exp": 1_900_000_000.5 }),
    ] {
        assert!(verified(&one.sign(&changed(&change)), &keys).is_ok(), "{change}");
    }
}

#[test]
fn claims_that_are_for_others_or_another_time_are_refused() {
    let signer = ed("a");
    let keys = keys(&[&signer]);
    let table = [
        (json!({ "iss": "https://evil.example" }), TokenError::Claim("iss")),
        (json!({ "iss": "https://id.example/" }), TokenError::Claim("iss")),
        (json!({ "iss": null }), TokenError::Claim("iss")),
        (json!({ "aud": "other" }), TokenError::Claim("aud")),
        (json!({ "aud": null }), TokenError::Claim("aud")),
        (json!({ "aud": [] }), TokenError::Claim("aud")),
        (json!({ "aud": ["maar", "other"] }), TokenError::Claim("azp")),
        (json!({ "azp": "other" }), TokenError::Claim("azp")),
        (json!({ "azp": 7 }), TokenError::Claim("azp")),
        (json!({ "nonce": "other" }), TokenError::Claim("nonce")),
        (json!({ "nonce": null }), TokenError::Claim("nonce")),
        (json!({ "sub": null }), TokenError::Claim("sub")),
        (json!({ "sub": "" }), TokenError::Claim("sub")),
        (json!({ "sub": 248 }), TokenError::Claim("sub")),
        (json!({ "sub": "a\nb" }), TokenError::Claim("sub")),
        (json!({ "sub": "a".repeat(256) }), TokenError::Claim("sub")),
        (json!({ "exp": null }), TokenError::Claim("exp")),
        (json!({ "exp": "soon" }), TokenError::Claim("exp")),
        (json!({ "exp": NOW - 60 }), TokenError::Time),
        (json!({ "nbf": NOW + 61 }), TokenError::Time),
        (json!({ "iat": NOW + 61 }), TokenError::Time),
    ];
    for (change, want) in table {
        assert_eq!(verified(&signer.sign(&changed(&change)), &keys), Err(want), "{change}");
    }
}

#[test]
fn signatures_that_are_none_are_refused() {
    let (signer, stranger) = (ed("a"), ed("a"));
    let keys = keys(&[&signer]);
    let token = signer.sign(&claims());
    let [_, body, signature] = token.split('.').collect::<Vec<_>>().try_into().unwrap();
    let head = |head: Value| text(head.to_string().as_bytes());
    for alg in ["none", "None", "HS256", "HS512", "RS384", "PS256", "ES384", ""] {
        let forged = format!("{}.{body}.{signature}", head(json!({ "alg": alg, "kid": "a" })));
        assert_eq!(verified(&forged, &keys), Err(TokenError::Algorithm), "{alg}");
        let unsigned = format!("{}.{body}.", head(json!({ "alg": alg, "kid": "a" })));
        assert_eq!(verified(&unsigned, &keys), Err(TokenError::Algorithm), "{alg}");
    }
    // The public key as a shared secret.
    let public = EncodingKey::from_secret(signer.public["x"].as_str().unwrap().as_bytes());
    let shared = Header { kid: Some("a".to_owned()), ..Header::new(Algorithm::HS256) };
    assert_eq!(verified(&encode(&shared, &claims(), &public).unwrap(), &keys), Err(TokenError::Algorithm));
    assert_eq!(verified(&stranger.sign(&claims()), &keys), Err(TokenError::Signature));
    let other_claims = text(changed(&json!({ "sub": "1" })).to_string().as_bytes());
    let (first, _) = token.split_once('.').unwrap();
    assert_eq!(verified(&format!("{first}.{other_claims}.{signature}"), &keys), Err(TokenError::Signature));
    for broken in ["", "a.b.c", ".", "..", "e30.e30.e30", &token[..token.len() - 10]] {
        assert!(verified(broken, &keys).is_err(), "{broken}");
    }
}

#[test]
fn keys_are_found_by_name_and_only_for_what_they_are() {
    let (one, other, unknown) = (ed("a"), ed("b"), ed("c"));
    let known = keys(&[&one, &other]);
    assert_eq!(verified(&unknown.sign(&claims()), &known), Err(TokenError::UnknownKey));
    let nameless = encode(&Header::new(Algorithm::EdDSA), &claims(), &one.key).unwrap();
    assert_eq!(verified(&nameless, &known), Err(TokenError::UnknownKey), "which of two?");
    assert!(verified(&nameless, &keys(&[&one])).is_ok(), "there is only one");
    for change in [json!({ "use": "enc" }), json!({ "alg": "ES256" }), json!({ "kty": "oct", "k": "AAAA" })] {
        let mut odd = one.public.clone();
        odd.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let odd: JwkSet = serde_json::from_value(json!({ "keys": [odd] })).unwrap();
        assert_eq!(verified(&one.sign(&claims()), &odd), Err(TokenError::UnknownKey), "{change}");
    }
}

proptest! {
    /// Whatever is said: claims pass only if each of the four that bind the token is exactly ours.
    #[test]
    fn nothing_else_is_for_us(iss in "[a-z:/.]{0,20}", aud in "[a-z]{0,6}", nonce in "[a-z]{0,3}", exp in 0_i64..4_000_000_000) {
        let claims = changed(&json!({ "iss": iss, "aud": aud, "nonce": nonce, "exp": exp }));
        let expected = Expected { issuer: "https://id.example", client: "maar", nonce: "n" };
        let passed = check(claims.as_object().unwrap(), &expected, moment()).is_ok();
        let ours = iss == expected.issuer && aud == expected.client && nonce == expected.nonce && exp > NOW - 60;
        prop_assert_eq!(passed, ours);
    }
}
