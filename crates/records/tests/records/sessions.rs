//! Sessions: who is let in, and who no more.

use maar_records::{
    Cursor, Error, NewSession, Page, PasswordHash, Records, SessionId, TokenHash, User, UserId,
};

use crate::support::{World, at, user};

fn new_session(user: &User, name: &str) -> NewSession {
    NewSession {
        id: SessionId::new(name),
        token: token(name),
        user: user.id.clone(),
        generation: user.generation,
        provider: "password".to_owned(),
        address: Some("192.0.2.1".to_owned()),
        agent: Some("browser".repeat(99)),
        expires_at: at(1000),
    }
}

fn token(name: &str) -> TokenHash {
    TokenHash::new(format!("hash of {name}"))
}

async fn session(records: &Records, user: &User, name: &str) -> SessionId {
    records.create_session(&new_session(user, name), at(0)).await.unwrap();
    SessionId::new(name)
}

async fn let_in(records: &Records, name: &str, seconds: i64) -> bool {
    records.authenticate_session(&token(name), at(seconds)).await.unwrap().is_some()
}

on_both!(a_session_lets_its_user_in_until_it_ends, async |world: World| {
    let records = &world.records;
    let alice = user(records, "alice").await;
    session(records, &alice, "one").await;
    let (found, owner) = records.authenticate_session(&token("one"), at(1)).await.unwrap().unwrap();
    assert_eq!((found.id.as_str(), &owner), ("one", &alice));
    assert_eq!(found.agent.unwrap().len(), 256);
    assert!(let_in(records, "one", 999).await);
    assert!(!let_in(records, "one", 1000).await);
    assert!(!let_in(records, "two", 1).await);
});

on_both!(a_session_of_nobody_or_with_a_known_token_is_refused, async |world: World| {
    let records = &world.records;
    let alice = user(records, "alice").await;
    session(records, &alice, "one").await;
    let again = NewSession { id: SessionId::new("two"), ..new_session(&alice, "one") };
    let error = records.create_session(&again, at(0)).await.unwrap_err();
    assert!(matches!(&error, Error::Conflict { field } if field == "token_hash"), "{error}");
    let nobodys = NewSession { user: UserId::new("nobody"), ..new_session(&alice, "three") };
    let error = records.create_session(&nobodys, at(0)).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { what: "user" }), "{error}");
});

on_both!(a_revoked_session_is_not_let_in, async |world: World| {
    let records = &world.records;
    let alice = user(records, "alice").await;
    let one = session(records, &alice, "one").await;
    records.revoke_session(&one, at(5)).await.unwrap();
    records.revoke_session(&one, at(6)).await.unwrap();
    assert!(!let_in(records, "one", 7).await);
    assert_eq!(records.session(&token("one")).await.unwrap().unwrap().revoked_at, Some(at(5)));
    let error = records.revoke_session(&SessionId::new("x"), at(5)).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { what: "session" }), "{error}");
});

on_both!(a_disabled_or_expired_user_is_not_let_in, async |world: World| {
    let records = &world.records;
    let alice = user(records, "alice").await;
    session(records, &alice, "one").await;
    records.set_expiry(&alice.id, Some(at(10)), at(1)).await.unwrap();
    assert!(let_in(records, "one", 9).await);
    assert!(!let_in(records, "one", 10).await);
    records.set_expiry(&alice.id, None, at(1)).await.unwrap();
    records.disable(&alice.id, at(11)).await.unwrap();
    assert!(!let_in(records, "one", 12).await);
    records.enable(&alice.id, at(13)).await.unwrap();
    assert!(!let_in(records, "one", 14).await, "they log in again");
});

on_both!(a_new_password_ends_the_other_sessions, async |world: World| {
    let records = &world.records;
    let (alice, bob) = (user(records, "alice").await, user(records, "bob").await);
    let one = session(records, &alice, "one").await;
    session(records, &alice, "two").await;
    session(records, &bob, "three").await;
    let hash = PasswordHash::new("new");
    records.set_password(&alice.id, &hash, false, Some(&one), at(1)).await.unwrap();
    assert!(let_in(records, "one", 2).await);
    assert!(!let_in(records, "two", 2).await);
    assert!(let_in(records, "three", 2).await, "that is somebody else's");
    records.set_password(&alice.id, &hash, false, Some(&SessionId::new("three")), at(3)).await.unwrap();
    assert!(!let_in(records, "one", 4).await && let_in(records, "three", 4).await);
});

on_both!(a_login_with_the_old_password_does_not_outlive_the_change, async |world: World| {
    let records = &world.records;
    let alice = user(records, "alice").await;
    records.set_password(&alice.id, &PasswordHash::new("new"), false, None, at(1)).await.unwrap();
    session(records, &alice, "late").await;
    assert!(!let_in(records, "late", 2).await);
    let alice = records.user(&alice.id).await.unwrap();
    session(records, &alice, "new").await;
    records.revoke_sessions_of(&alice.id, None, at(3)).await.unwrap();
    assert!(!let_in(records, "new", 4).await);
});

on_both!(what_another_process_ends_is_over_within_a_second, async |world: World| {
    let (records, other) = (&world.records, Records::open(&world.url).await.unwrap());
    let alice = user(records, "alice").await;
    let one = session(records, &alice, "one").await;
    assert!(let_in(records, "one", 10).await);
    other.revoke_session(&one, at(10)).await.unwrap();
    assert!(let_in(records, "one", 10).await, "the database is not asked for every request");
    assert!(!let_in(records, "one", 11).await);
    session(records, &alice, "two").await;
    assert!(let_in(records, "two", 12).await);
    records.clone().disable(&alice.id, at(12)).await.unwrap();
    assert!(!let_in(records, "two", 12).await, "what is done here is done at once");
});

on_both!(use_is_noted_once_a_minute, async |world: World| {
    let records = &world.records;
    let alice = user(records, "alice").await;
    let one = session(records, &alice, "one").await;
    records.touch_session(&one, None, at(59)).await.unwrap();
    let untouched = records.session_by_id(&one).await.unwrap();
    assert_eq!(untouched.last_seen_at, at(0));
    assert!(!untouched.wants_touch(at(59)) && untouched.wants_touch(at(60)));
    records.touch_session(&one, Some(at(2000)), at(60)).await.unwrap();
    let touched = records.session_by_id(&one).await.unwrap();
    assert_eq!((touched.last_seen_at, touched.expires_at), (at(60), at(2000)));
    records.revoke_session(&one, at(100)).await.unwrap();
    records.touch_session(&one, Some(at(9000)), at(500)).await.unwrap();
    assert_eq!(records.session_by_id(&one).await.unwrap().expires_at, at(2000), "it has ended");
});

on_both!(sessions_are_listed_newest_first, async |world: World| {
    let records = &world.records;
    let (alice, bob) = (user(records, "alice").await, user(records, "bob").await);
    for (number, (name, user)) in
        [("a", &alice), ("b", &bob), ("c", &alice), ("d", &alice)].iter().enumerate()
    {
        let seconds = i64::try_from(number / 2).unwrap();
        records.create_session(&new_session(user, name), at(seconds)).await.unwrap();
    }
    let names = |items: Vec<maar_records::Session>| -> String {
        items.iter().map(|session| session.id.as_str()).collect()
    };
    let first = records.sessions_of(&alice.id, &Page::first(2).unwrap()).await.unwrap();
    let next = Page::first(2).unwrap().after(first.next.unwrap());
    assert_eq!(names(first.items), "dc");
    let second = records.sessions_of(&alice.id, &next).await.unwrap();
    assert_eq!((names(second.items), second.next), ("a".to_owned(), None));
    assert_eq!(names(records.sessions(&Page::first(4).unwrap()).await.unwrap().items), "dcba");
    let wrong = Page::first(2).unwrap().after(Cursor::new("what"));
    let error = records.sessions(&wrong).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { field: "cursor", .. }), "{error}");
});

on_both!(sessions_that_ended_long_ago_are_taken_out, async |world: World| {
    let records = &world.records;
    let alice = user(records, "alice").await;
    let revoked = session(records, &alice, "revoked").await;
    records.revoke_session(&revoked, at(10)).await.unwrap();
    session(records, &alice, "alive").await;
    let short = NewSession { expires_at: at(20), ..new_session(&alice, "expired") };
    records.create_session(&short, at(0)).await.unwrap();
    assert_eq!(records.purge(at(10), at(50)).await.unwrap().sessions, 0);
    assert_eq!(records.purge(at(21), at(50)).await.unwrap().sessions, 2);
    assert!(let_in(records, "alive", 50).await);
});
