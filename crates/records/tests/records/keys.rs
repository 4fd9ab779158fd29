//! API keys: what works, and what no more.

use maar_records::{Error, KeyId, NewKey, Page, Records, TokenHash, User};

use crate::support::{World, at, user};

fn new_key(user: &User, name: &str) -> NewKey {
    NewKey {
        id: KeyId::new(format!("key-{name}")),
        token: token(name),
        user: user.id.clone(),
        name: name.to_owned(),
        scopes: vec!["jobs:read".to_owned(), "jobs:\"write\"".to_owned()],
        expires_at: Some(at(100)),
    }
}

fn token(name: &str) -> TokenHash {
    TokenHash::new(format!("hash of {name}"))
}

async fn works(records: &Records, name: &str, seconds: i64) -> bool {
    records.authenticate_key(&token(name), at(seconds)).await.unwrap().is_some()
}

on_both!(a_key_works_until_it_expires_or_its_owner_may_not, async |world: World| {
    let records = &world.records;
    let alice = user(records, "alice").await;
    let new = new_key(&alice, "ci");
    records.create_key(&new, at(0)).await.unwrap();
    let (key, owner) = records.authenticate_key(&token("ci"), at(1)).await.unwrap().unwrap();
    assert_eq!((key.scopes, &owner), (new.scopes, &alice));
    assert!(works(records, "ci", 99).await && !works(records, "ci", 100).await);
    records.disable(&alice.id, at(5)).await.unwrap();
    assert!(!works(records, "ci", 6).await);
    records.enable(&alice.id, at(7)).await.unwrap();
    assert!(works(records, "ci", 8).await, "keys come back with their owner");
    records.set_expiry(&alice.id, Some(at(10)), at(8)).await.unwrap();
    assert!(!works(records, "ci", 10).await);
});

on_both!(a_revoked_key_frees_its_name, async |world: World| {
    let records = &world.records;
    let (alice, bob) = (user(records, "alice").await, user(records, "bob").await);
    records.create_key(&new_key(&alice, "ci"), at(0)).await.unwrap();
    let other =
        |user: &User| NewKey { id: KeyId::new("other"), token: token("other"), ..new_key(user, "ci") };
    let error = records.create_key(&other(&alice), at(1)).await.unwrap_err();
    assert!(matches!(&error, Error::Conflict { field } if field == "name"), "{error}");
    records.revoke_key(&KeyId::new("key-ci"), at(2)).await.unwrap();
    records.revoke_key(&KeyId::new("key-ci"), at(3)).await.unwrap();
    assert!(!works(records, "ci", 4).await);
    assert_eq!(records.key(&token("ci")).await.unwrap().unwrap().revoked_at, Some(at(2)));
    records.create_key(&other(&alice), at(5)).await.unwrap();
    let bobs = NewKey { id: KeyId::new("bobs"), token: token("bobs"), ..new_key(&bob, "ci") };
    records.create_key(&bobs, at(5)).await.unwrap();
    let error = records.revoke_key(&KeyId::new("none"), at(5)).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { what: "key" }), "{error}");
});

on_both!(a_key_that_makes_no_sense_is_refused, async |world: World| {
    let records = &world.records;
    let alice = user(records, "alice").await;
    let past = NewKey { expires_at: Some(at(0)), ..new_key(&alice, "a") };
    let many = NewKey { scopes: vec!["x".to_owned(); 65], ..new_key(&alice, "a") };
    let unnamed = NewKey { name: String::new(), ..new_key(&alice, "a") };
    for (key, want) in [(past, "expires_at"), (many, "scopes"), (unnamed, "name")] {
        let error = records.create_key(&key, at(0)).await.unwrap_err();
        assert!(matches!(&error, Error::Invalid { field, .. } if *field == want), "{error}");
    }
});

on_both!(use_of_a_key_is_noted_with_its_place, async |world: World| {
    let records = &world.records;
    let alice = user(records, "alice").await;
    records.create_key(&new_key(&alice, "ci"), at(0)).await.unwrap();
    let id = KeyId::new("key-ci");
    let used = async |address, seconds| {
        let before = records.key_by_id(&id).await.unwrap();
        records.touch_key(&id, Some(address), at(seconds)).await.unwrap();
        let key = records.key_by_id(&id).await.unwrap();
        assert_eq!(before.wants_touch(Some(address), at(seconds)), before != key);
        (key.last_used_address.unwrap(), key.last_used_at.unwrap())
    };
    assert_eq!(used("a", 1).await, ("a".to_owned(), at(1)));
    assert_eq!(used("a", 60).await, ("a".to_owned(), at(1)));
    assert_eq!(used("b", 60).await, ("b".to_owned(), at(60)), "another place counts at once");
    assert_eq!(used("b", 120).await, ("b".to_owned(), at(120)));
});

on_both!(keys_are_listed_newest_first, async |world: World| {
    let records = &world.records;
    let (alice, bob) = (user(records, "alice").await, user(records, "bob").await);
    for (seconds, (name, user)) in [("a", &alice), ("b", &bob), ("c", &alice)].into_iter().enumerate() {
        records.create_key(&new_key(user, name), at(i64::try_from(seconds).unwrap())).await.unwrap();
    }
    let page = Page::first(10).unwrap();
    let names = |items: Vec<maar_records::Key>| -> String { items.into_iter().map(|key| key.name).collect() };
    assert_eq!(names(records.keys_of(&alice.id, &page).await.unwrap().items), "ca");
    assert_eq!(names(records.keys(&page).await.unwrap().items), "cba");
});
