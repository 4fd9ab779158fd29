//! SSH keys of users, and secrets of the portal.

use maar_records::{Error, NewSshKey, Page, Records, SshKeyId, User};

use crate::support::{World, at, user};

fn new_key(user: &User, name: &str) -> NewSshKey {
    NewSshKey {
        id: SshKeyId::new(format!("{}-{name}", user.name)),
        user: user.id.clone(),
        title: "laptop".to_owned(),
        kind: "ssh-ed25519".to_owned(),
        fingerprint: format!("SHA256:{name}"),
        line: format!("ssh-ed25519 {name}"),
        expires_at: Some(at(100)),
    }
}

async fn owner(records: &Records, name: &str, seconds: i64) -> Option<String> {
    let found = records.authenticate_ssh_key(&format!("SHA256:{name}"), at(seconds)).await.unwrap();
    found.map(|(_, user)| user.name)
}

on_both!(an_ssh_key_works_until_it_expires_or_its_owner_may_not, async |world: World| {
    let records = &world.records;
    let alice = user(records, "alice").await;
    records.create_ssh_key(&new_key(&alice, "a"), at(0)).await.unwrap();
    assert_eq!(owner(records, "a", 1).await.as_deref(), Some("alice"));
    assert_eq!(owner(records, "a", 100).await, None);
    assert_eq!(owner(records, "b", 1).await, None);
    records.disable(&alice.id, at(5)).await.unwrap();
    assert_eq!(owner(records, "a", 6).await, None);
});

on_both!(an_ssh_key_is_one_users_alone_until_it_is_revoked, async |world: World| {
    let records = &world.records;
    let (alice, bob) = (user(records, "alice").await, user(records, "bob").await);
    records.create_ssh_key(&new_key(&alice, "a"), at(0)).await.unwrap();
    let error = records.create_ssh_key(&new_key(&bob, "a"), at(1)).await.unwrap_err();
    assert!(matches!(&error, Error::Conflict { field } if field == "fingerprint"), "{error}");
    let id = SshKeyId::new("alice-a");
    records.touch_ssh_key(&id, at(10)).await.unwrap();
    records.touch_ssh_key(&id, at(11)).await.unwrap();
    assert_eq!(records.ssh_key(&id).await.unwrap().last_used_at, Some(at(10)));
    records.revoke_ssh_key(&id, at(20)).await.unwrap();
    records.revoke_ssh_key(&id, at(21)).await.unwrap();
    assert_eq!(owner(records, "a", 22).await, None);
    assert!(records.ssh_key(&id).await.is_err());
    assert!(records.ssh_keys_of(&alice.id, &Page::first(10).unwrap()).await.unwrap().items.is_empty());
    records.create_ssh_key(&new_key(&bob, "a"), at(23)).await.unwrap();
    assert_eq!(owner(records, "a", 24).await.as_deref(), Some("bob"));
});

on_both!(a_secret_is_made_once, async |world: World| {
    let records = &world.records;
    assert_eq!(records.secret("ssh-host", "first", at(0)).await.unwrap(), "first");
    assert_eq!(records.secret("ssh-host", "second", at(1)).await.unwrap(), "first");
    assert_eq!(records.secret("ssh-authority", "third", at(1)).await.unwrap(), "third");
    assert!(records.secret("x", "", at(1)).await.is_err());
});
