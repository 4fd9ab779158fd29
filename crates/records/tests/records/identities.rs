//! Identities: one user per name a provider gives.

use maar_records::{Error, Identity, NewUser, Page, UserId};

use crate::support::{World, at, new_user, user};

on_both!(a_user_comes_with_an_identity_or_not_at_all, async |world: World| {
    let records = &world.records;
    let new = |name: &str| NewUser { identity: Some(Identity::new("oidc", "42")), ..new_user(name) };
    let alice = records.create_user(&new("alice"), at(0)).await.unwrap();
    assert_eq!(records.user_by_identity("oidc", "42").await.unwrap(), Some(alice));
    assert_eq!(records.user_by_identity("ldap", "42").await.unwrap(), None);
    let error = records.create_user(&new("mallory"), at(1)).await.unwrap_err();
    assert!(matches!(&error, Error::Conflict { field } if field == "subject"), "{error}");
    assert_eq!(records.user_by_name("mallory").await.unwrap(), None, "nothing of it is left");
});

on_both!(linking_again_changes_nothing_and_anothers_is_refused, async |world: World| {
    let records = &world.records;
    let (alice, bob) = (user(records, "alice").await, user(records, "bob").await);
    let identity = Identity::new("ldap", "uid=alice");
    records.link_identity(&alice.id, &identity, at(1)).await.unwrap();
    records.link_identity(&alice.id, &identity, at(2)).await.unwrap();
    let error = records.link_identity(&bob.id, &identity, at(3)).await.unwrap_err();
    assert!(matches!(&error, Error::Conflict { field } if field == "subject"), "{error}");
    let error = records.link_identity(&UserId::new("x"), &Identity::new("a", "b"), at(3)).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { what: "user" }), "{error}");
    records.unlink_identity(&bob.id, &identity).await.unwrap();
    assert!(records.user_by_identity("ldap", "uid=alice").await.unwrap().is_some(), "it is not bob's");
    records.unlink_identity(&alice.id, &identity).await.unwrap();
    records.link_identity(&bob.id, &identity, at(4)).await.unwrap();
});

on_both!(identities_of_a_user_are_paged, async |world: World| {
    let records = &world.records;
    let alice = user(records, "alice").await;
    let mut want: Vec<_> = [("b", "1"), ("a", "2"), ("a", "1")].map(|(a, b)| Identity::new(a, b)).to_vec();
    for identity in &want {
        records.link_identity(&alice.id, identity, at(0)).await.unwrap();
    }
    want.sort();
    let first = records.identities_of(&alice.id, &Page::first(2).unwrap()).await.unwrap();
    let next = Page::first(2).unwrap().after(first.next.unwrap());
    let second = records.identities_of(&alice.id, &next).await.unwrap();
    assert_eq!([first.items, second.items].concat(), want);
    assert_eq!(second.next, None);
});
