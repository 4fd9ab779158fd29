//! A password that was lost, replaced beside a portal that runs.

use maar_records::{
    Actor, AuditFilter, AuditId, Entry, Error, Identity, NewSession, NewUser, Page, PasswordHash, Records,
    SessionId, TokenHash, User,
};

use crate::schema::raw;
use crate::support::{World, at, new_user, user};

fn entry(name: &str, second: i64) -> Entry {
    let id = AuditId::new(format!("password-{second}"));
    Entry::new(id, at(second), Actor::system("test"), "resetPassword", ("user", name))
}

async fn session(records: &Records, user: &User, name: &str) {
    let session = NewSession {
        id: SessionId::new(name),
        token: TokenHash::new(name),
        user: user.id.clone(),
        generation: user.generation,
        provider: "password".to_owned(),
        address: None,
        agent: None,
        expires_at: at(1000),
    };
    records.create_session(&session, at(0)).await.unwrap();
}

async fn let_in(records: &Records, token: &str) -> bool {
    records.authenticate_session(&TokenHash::new(token), at(9)).await.unwrap().is_some()
}

async fn told(records: &Records) -> Vec<Entry> {
    let page = Page::first(10).unwrap();
    let found = records.audit(&AuditFilter::default(), &page).await.unwrap().items;
    found.into_iter().map(|record| record.entry).collect()
}

on_both!(a_lost_password_is_replaced_and_sessions_end_and_it_is_told, async |world: World| {
    let (records, beside) = (&world.records, Records::open_current(&world.url).await.unwrap());
    let (alice, bob) = (user(records, "alice").await, user(records, "bob").await);
    session(records, &alice, "hers").await;
    session(records, &bob, "his").await;
    let hash = PasswordHash::new("new");
    let changed = beside.replace_password("alice", &hash, &entry("alice", 1)).await.unwrap();
    assert_eq!((changed.password_hash, changed.must_change_password), (Some(hash), true));
    assert_eq!(changed.password_changed_at, Some(at(1)));
    assert!(!let_in(records, "hers").await && let_in(records, "his").await);
    session(records, &alice, "late").await;
    assert!(!let_in(records, "late").await, "begun with the password of before");
    assert_eq!(told(records).await, [entry("alice", 1)]);
});

on_both!(who_is_unknown_or_signs_in_elsewhere_gets_no_password, async |world: World| {
    let records = &world.records;
    let identity = Some(Identity::new("keycloak", "sub-1"));
    let elsewhere = NewUser { password_hash: None, identity, ..new_user("ada") };
    let ada = records.create_user(&elsewhere, at(0)).await.unwrap();
    session(records, &ada, "hers").await;
    let hash = PasswordHash::new("new");
    let error = records.replace_password("nobody", &hash, &entry("nobody", 1)).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { what: "user" }), "{error}");
    let error = records.replace_password("ada", &hash, &entry("ada", 2)).await.unwrap_err();
    assert_eq!(error.to_string(), "ada signs in by keycloak and has no password here");
    assert_eq!(records.user(&ada.id).await.unwrap(), ada);
    assert!(let_in(records, "hers").await);
    assert_eq!(told(records).await, [], "nothing happened");
});

on_both!(a_schema_of_another_version_is_refused_and_left_alone, async |world: World| {
    Records::open_current(&world.url).await.unwrap();
    raw(&world.url, "INSERT INTO schema_versions (version, name, checksum) VALUES (999, 'x', 'y')")
        .await
        .unwrap();
    let error = Records::open_current(&world.url).await.unwrap_err();
    assert!(matches!(error, Error::Newer { found: 999, .. }), "{error}");
    raw(&world.url, "DELETE FROM schema_versions WHERE version > 2").await.unwrap();
    let error = Records::open_current(&world.url).await.unwrap_err();
    assert!(matches!(error, Error::Older { found: 2, .. }), "{error}");
    let again = Records::open_current(&world.url).await.unwrap_err();
    assert!(matches!(again, Error::Older { found: 2, .. }), "{again}");
});
