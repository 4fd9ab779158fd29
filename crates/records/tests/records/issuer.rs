//! What the OpenID provider keeps, and kubeconfigs.

use maar_records::{
    Code, DeviceState, Error, Interaction, KeyId, Kubeconfig, KubeconfigId, NewDevice, NewGrant, NewKey,
    NewToken, Page, SigningKey, Spent, TokenHash, TokenKind, User,
};
use serde_json::json;

use crate::support::{World, at, user};

fn grant(user: &User, id: &str, scopes: &[&str]) -> NewGrant {
    NewGrant {
        id: id.to_owned(),
        user: user.id.clone(),
        generation: user.generation,
        client: "tool".to_owned(),
        scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
        signed_in_at: Some(at(0)),
        expires_at: at(1000),
    }
}

fn token_of(grant: &str, token: &str, kind: TokenKind) -> NewToken {
    NewToken { token: hash(token), kind, grant: grant.to_owned(), scopes: None, expires_at: at(60) }
}

fn hash(text: &str) -> TokenHash {
    TokenHash::new(format!("hash of {text}"))
}

on_both!(a_grant_holds_until_it_or_its_user_does_not, async |world: World| {
    let records = &world.records;
    let ada = user(records, "ada").await;
    for id in ["a", "b", "c"] {
        records.create_grant(&grant(&ada, id, &["openid", "kubeconfig:d-1"]), at(0)).await.unwrap();
    }
    let holds = async |id: &str, seconds| records.live_grant(id, at(seconds)).await.unwrap().is_some();
    let (kept, owner) = records.live_grant("a", at(1)).await.unwrap().unwrap();
    assert_eq!((kept.scopes, owner), (vec!["openid".to_owned(), "kubeconfig:d-1".to_owned()], ada.clone()));
    assert!(holds("a", 999).await && !holds("a", 1000).await && !holds("none", 1).await);
    records.revoke_grant("a", at(2)).await.unwrap();
    assert!(!holds("a", 3).await && holds("b", 3).await);
    assert_eq!(records.revoke_grants_with(&ada.id, "kubeconfig:d-2", at(3)).await.unwrap(), 0);
    assert_eq!(records.revoke_grants_with(&ada.id, "kubeconfig:d-1", at(3)).await.unwrap(), 2);
    assert!(!holds("b", 4).await);
    for pattern in ["%", "kubeconfig:_", "a b"] {
        let error = records.revoke_grants_with(&ada.id, pattern, at(3)).await.unwrap_err();
        assert!(matches!(error, Error::Invalid { field: "scope", .. }), "{error}");
    }
    records.create_grant(&grant(&ada, "d", &["openid"]), at(4)).await.unwrap();
    records.revoke_sessions_of(&ada.id, None, at(5)).await.unwrap();
    assert!(!holds("d", 6).await, "it was of another generation");
});

on_both!(codes_and_refresh_tokens_are_used_once_and_that_is_noticed, async |world: World| {
    let records = &world.records;
    let ada = user(records, "ada").await;
    records.create_grant(&grant(&ada, "g", &["openid"]), at(0)).await.unwrap();
    let code = Code {
        grant: "g".to_owned(),
        redirect: "https://tool.example/".to_owned(),
        challenge: Some("c".to_owned()),
        nonce: None,
        expires_at: at(60),
    };
    records.create_code(&hash("code"), &code).await.unwrap();
    assert_eq!(records.spend_code(&hash("none"), at(1)).await.unwrap(), Spent::Unknown);
    let token = hash("code");
    let spent = futures::future::join_all((0..5).map(|_| records.spend_code(&token, at(1)))).await;
    let first =
        |one: &maar_records::Result<Spent<Code>>| matches!(one, Ok(Spent::First(found)) if *found == code);
    assert_eq!(spent.iter().filter(|one| first(one)).count(), 1, "{spent:?}");
    assert_eq!(records.spend_code(&hash("code"), at(99)).await.unwrap(), Spent::Again(code.clone()));
    records.create_code(&hash("late"), &code).await.unwrap();
    assert_eq!(records.spend_code(&hash("late"), at(60)).await.unwrap(), Spent::Unknown);

    let first = [token_of("g", "r", TokenKind::Refresh), token_of("g", "a", TokenKind::Access)];
    records.create_tokens(&first).await.unwrap();
    let replace = async |token: &str, seconds| {
        records.replace_refresh_token(&hash(token), &[], at(seconds)).await.unwrap()
    };
    assert_eq!(replace("a", 1).await, Spent::Unknown, "another kind");
    assert_eq!(records.access_token(&hash("r"), at(1)).await.unwrap(), None, "another kind");
    assert_eq!(records.access_token(&hash("a"), at(59)).await.unwrap(), Some(("g".to_owned(), None)));
    assert_eq!(records.access_token(&hash("a"), at(60)).await.unwrap(), None);
    assert_eq!(replace("r", 1).await, Spent::First("g".to_owned()));
    assert_eq!(replace("r", 2).await, Spent::Again("g".to_owned()));
    records.end_access_token(&hash("a"), at(3)).await.unwrap();
    assert_eq!(records.access_token(&hash("a"), at(4)).await.unwrap(), None);
    let found = records.grant_of_token(&hash("a")).await.unwrap();
    assert_eq!(found, Some(("g".to_owned(), TokenKind::Access)));
    records.purge(at(61), at(61)).await.unwrap();
    assert_eq!(records.grant_of_token(&hash("a")).await.unwrap(), None);
});

on_both!(a_refresh_token_is_replaced_or_still_there, async |world: World| {
    let records = &world.records;
    let ada = user(records, "ada").await;
    records.create_grant(&grant(&ada, "g", &["openid", "email"]), at(0)).await.unwrap();
    records.create_tokens(&[token_of("g", "r", TokenKind::Refresh)]).await.unwrap();
    // What cannot be kept leaves all as it was: the client tries again.
    let twice = [token_of("g", "x", TokenKind::Access), token_of("g", "x", TokenKind::Refresh)];
    assert!(records.replace_refresh_token(&hash("r"), &twice, at(1)).await.is_err());
    assert_eq!(records.grant_of_token(&hash("x")).await.unwrap(), None);
    let less = NewToken { scopes: Some(vec!["openid".to_owned()]), ..token_of("g", "a", TokenKind::Access) };
    let by = [less, token_of("g", "n", TokenKind::Refresh)];
    let spent = records.replace_refresh_token(&hash("r"), &by, at(2)).await.unwrap();
    assert_eq!(spent, Spent::First("g".to_owned()));
    let told = records.access_token(&hash("a"), at(3)).await.unwrap();
    assert_eq!(told, Some(("g".to_owned(), Some(vec!["openid".to_owned()]))));
});

on_both!(an_api_key_of_a_grant_ends_with_it, async |world: World| {
    let records = &world.records;
    let ada = user(records, "ada").await;
    let key = |name: &str| NewKey {
        id: KeyId::new(format!("k-{name}")),
        token: hash(name),
        user: ada.id.clone(),
        name: name.to_owned(),
        scopes: Vec::new(),
        expires_at: None,
    };
    let works = async |name: &str| records.authenticate_key(&hash(name), at(5)).await.unwrap().is_some();
    let tells = async |name: &str| records.access_token(&hash(name), at(5)).await.unwrap().is_some();
    for (id, name) in [("g", "by-grant"), ("h", "by-token"), ("i", "on-the-pages")] {
        records.create_grant(&grant(&ada, id, &["maar"]), at(0)).await.unwrap();
        records.create_key(&key(name), at(0)).await.unwrap();
        records.create_tokens(&[token_of(id, name, TokenKind::Access)]).await.unwrap();
        assert!(works(name).await && tells(name).await);
    }
    records.create_key(&key("of-nobody"), at(0)).await.unwrap();
    records.end_access_token(&hash("of-nobody"), at(1)).await.unwrap();
    records.revoke_grant("g", at(1)).await.unwrap();
    assert!(!works("by-grant").await && works("by-token").await && works("of-nobody").await);
    records.end_access_token(&hash("by-token"), at(2)).await.unwrap();
    assert!(!works("by-token").await && !tells("by-token").await);
    records.revoke_key(&KeyId::new("k-on-the-pages"), at(3)).await.unwrap();
    assert!(!tells("on-the-pages").await, "and tells nobody who its owner is");
});

on_both!(a_device_is_answered_once_and_heard_once, async |world: World| {
    let records = &world.records;
    let ada = user(records, "ada").await;
    records.create_grant(&grant(&ada, "g", &["openid"]), at(0)).await.unwrap();
    let device = |token: &str, code: &str| NewDevice {
        token: hash(token),
        user_code: code.to_owned(),
        client: "tool".to_owned(),
        scopes: vec!["openid".to_owned()],
        interval: 5,
        expires_at: at(600),
    };
    records.create_device(&device("one", "BCDF-GHJK")).await.unwrap();
    let error = records.create_device(&device("two", "BCDF-GHJK")).await.unwrap_err();
    assert!(matches!(&error, Error::Conflict { field } if field == "user_code"), "{error}");
    let poll =
        async |client: &str, seconds| records.poll_device(&hash("one"), client, at(seconds)).await.unwrap();
    assert_eq!(poll("other", 1).await, DeviceState::Unknown);
    assert_eq!(poll("tool", 1).await, DeviceState::Pending);
    assert_eq!(poll("tool", 3).await, DeviceState::TooFast);
    assert!(records.waiting_device("BCDF-GHJK", at(4)).await.unwrap().is_some());
    assert!(records.answer_device("BCDF-GHJK", Some("g"), at(4)).await.unwrap());
    assert!(!records.answer_device("BCDF-GHJK", None, at(5)).await.unwrap());
    assert!(records.waiting_device("BCDF-GHJK", at(5)).await.unwrap().is_none());
    assert_eq!(poll("tool", 13).await, DeviceState::Granted("g".to_owned()));
    assert_eq!(poll("tool", 30).await, DeviceState::Unknown);
});

on_both!(questions_and_keys_are_kept, async |world: World| {
    let records = &world.records;
    let ada = user(records, "ada").await;
    let asked = Interaction {
        id: "i".to_owned(),
        user: Some(ada.id.clone()),
        request: json!({ "a": 1 }),
        created_at: at(0),
        expires_at: at(60),
    };
    records.create_interaction(&asked).await.unwrap();
    assert_eq!(records.interaction("i", at(59)).await.unwrap(), Some(asked));
    assert_eq!(records.interaction("i", at(60)).await.unwrap(), None);
    assert!(records.end_interaction("i", at(1)).await.unwrap());
    assert!(!records.end_interaction("i", at(1)).await.unwrap());
    assert_eq!(records.interaction("i", at(2)).await.unwrap(), None);
    let key = |id: &str, seconds| SigningKey {
        id: id.to_owned(),
        sealed: "sealed".to_owned(),
        public: json!({ "kid": id }),
        created_at: at(seconds),
    };
    assert!(records.add_signing_key(&key("a", 1), None).await.unwrap());
    assert!(!records.add_signing_key(&key("b", 2), None).await.unwrap(), "somebody was faster");
    assert!(records.add_signing_key(&key("b", 2), Some(at(1))).await.unwrap());
    assert_eq!(records.signing_keys().await.unwrap(), [key("a", 1), key("b", 2)]);
    records.remove_signing_key("a").await.unwrap();
    assert_eq!(records.signing_keys().await.unwrap(), [key("b", 2)]);
});

on_both!(kubeconfigs_are_listed_and_revoked, async |world: World| {
    let records = &world.records;
    let ada = user(records, "ada").await;
    let one = |id: &str, seconds| Kubeconfig {
        id: KubeconfigId::new(id),
        user: ada.id.clone(),
        mode: "certificate".to_owned(),
        device: "laptop".to_owned(),
        created_at: at(seconds),
        expires_at: at(100),
        revoked_at: None,
    };
    records.create_kubeconfig(&one("a", 1)).await.unwrap();
    records.create_kubeconfig(&one("b", 2)).await.unwrap();
    assert!(matches!(records.create_kubeconfig(&one("a", 3)).await, Err(Error::Conflict { .. })));
    let listed = records.kubeconfigs_of(&ada.id, &Page::first(10).unwrap()).await.unwrap().items;
    assert_eq!(listed, [one("b", 2), one("a", 1)]);
    records.revoke_kubeconfig(&KubeconfigId::new("a"), at(5)).await.unwrap();
    records.revoke_kubeconfig(&KubeconfigId::new("a"), at(6)).await.unwrap();
    assert_eq!(records.kubeconfig(&KubeconfigId::new("a")).await.unwrap().revoked_at, Some(at(5)));
    assert_eq!(records.live_kubeconfigs(&ada.id, at(7)).await.unwrap(), [one("b", 2)]);
    assert_eq!(records.live_kubeconfigs(&ada.id, at(100)).await.unwrap(), []);
    let eve = user(records, "eve").await;
    let hers = Kubeconfig { user: eve.id, expires_at: at(50), ..one("c", 3) };
    records.create_kubeconfig(&hers).await.unwrap();
    assert_eq!(records.ended_kubeconfigs(at(49)).await.unwrap(), []);
    assert_eq!(records.ended_kubeconfigs(at(99)).await.unwrap(), std::slice::from_ref(&hers));
    assert_eq!(records.ended_kubeconfigs(at(100)).await.unwrap(), [hers, one("b", 2)], "of everybody");
    let error = records.revoke_kubeconfig(&KubeconfigId::new("none"), at(5)).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { what: "kubeconfig" }), "{error}");
});
