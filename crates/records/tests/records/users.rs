//! Users: names, passwords, and somebody who administers.

use std::collections::BTreeMap;

use maar_records::{Error, NewUser, Page, PasswordHash, Standing, UserChange, UserFilter, UserId};

use crate::support::{World, admin, at, new_user, user};

on_both!(a_user_is_found_by_id_and_by_name, async |world: World| {
    let made = user(&world.records, "alice").await;
    assert_eq!(world.records.user(&made.id).await.unwrap(), made);
    assert_eq!(world.records.user_by_name("alice").await.unwrap(), Some(made.clone()));
    assert_eq!(world.records.user_by_name("Alice").await.unwrap(), None);
    assert_eq!(made.created_at, at(0));
    assert_eq!(made.password_changed_at, Some(at(0)));
    let error = world.records.user(&UserId::new("nobody")).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { what: "user" }), "{error}");
});

on_both!(a_name_and_an_id_are_taken_once, async |world: World| {
    user(&world.records, "alice").await;
    let same_name = NewUser { id: UserId::new("other"), ..new_user("alice") };
    let same_id = NewUser { name: "bob".to_owned(), ..new_user("alice") };
    for (taken, want) in [(same_name, "name"), (same_id, "id")] {
        let error = world.records.create_user(&taken, at(1)).await.unwrap_err();
        assert!(matches!(&error, Error::Conflict { field } if field == want), "{error}");
    }
});

on_both!(what_makes_no_sense_is_refused_with_its_field, async |world: World| {
    let name = |name: &str| NewUser { name: name.to_owned(), ..new_user("x") };
    let rows = [
        (name("Alice"), "name"),
        (NewUser { display_name: String::new(), ..new_user("x") }, "display_name"),
        (NewUser { email: Some("nowhere".to_owned()), ..new_user("x") }, "email"),
        (NewUser { id: UserId::new("a\nb"), ..new_user("x") }, "id"),
    ];
    for (user, want) in rows {
        let error = world.records.create_user(&user, at(0)).await.unwrap_err();
        assert!(matches!(&error, Error::Invalid { field, .. } if *field == want), "{error}");
    }
});

on_both!(names_and_addresses_change_and_are_searched, async |world: World| {
    let records = &world.records;
    let alice = user(records, "alice").await;
    user(records, "bob").await;
    let change = UserChange { display_name: Some("Élise 李 50%".to_owned()), email: Some(None) };
    let changed = records.update_user(&alice.id, &change, at(5)).await.unwrap();
    assert_eq!((changed.display_name.as_str(), changed.email), ("Élise 李 50%", None));
    assert_eq!((changed.created_at, changed.updated_at), (at(0), at(5)));
    let rows =
        [("éLISE", 1), ("李", 1), ("%", 1), ("_", 0), ("b", 1), ("ALICE", 1), ("example.com", 1), ("", 2)];
    for (search, want) in rows {
        let filter = UserFilter { search: Some(search.to_owned()), ..UserFilter::default() };
        let found = records.users(&filter, &Page::first(10).unwrap()).await.unwrap();
        assert_eq!(found.items.len(), want, "{search}");
    }
});

on_both!(users_are_listed_by_name_a_page_at_a_time, async |world: World| {
    let records = &world.records;
    for name in ["b-2", "a", "b_1", "b", "c", "b.3"] {
        user(records, name).await;
    }
    records.disable(&UserId::new("id-c"), at(1)).await.unwrap();
    let mut page = Page::first(2).unwrap();
    let mut names = Vec::new();
    loop {
        let listing = records.users(&UserFilter::default(), &page).await.unwrap();
        names.extend(listing.items.into_iter().map(|user| user.name));
        let Some(next) = listing.next else { break };
        page = page.after(next);
    }
    assert_eq!(names, ["a", "b", "b-2", "b.3", "b_1", "c"]);
    let filter = UserFilter { disabled: Some(true), admin: Some(false), ..UserFilter::default() };
    let disabled = records.users(&filter, &Page::first(9).unwrap()).await.unwrap();
    assert_eq!(disabled.items.into_iter().map(|user| user.name).collect::<Vec<_>>(), ["c"]);
    assert_eq!(disabled.next, None);
});

on_both!(a_password_is_set_and_must_be_changed, async |world: World| {
    let alice = user(&world.records, "alice").await;
    let hash = PasswordHash::new("other");
    let changed = world.records.set_password(&alice.id, &hash, true, None, at(9)).await.unwrap();
    assert_eq!(changed.password_hash, Some(hash.clone()));
    assert_eq!((changed.must_change_password, changed.password_changed_at), (true, Some(at(9))));
    let nobody = UserId::new("nobody");
    let error = world.records.set_password(&nobody, &hash, false, None, at(9)).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{error}");
});

on_both!(the_last_administrator_stays, async |world: World| {
    let records = &world.records;
    let root = admin(records, "root").await;
    let bob = user(records, "bob").await;
    assert!(matches!(records.disable(&root.id, at(1)).await, Err(Error::LastAdministrator)));
    assert!(matches!(records.set_admin(&root.id, false, at(1)).await, Err(Error::LastAdministrator)));
    assert!(matches!(records.set_expiry(&root.id, Some(at(99)), at(1)).await, Err(Error::LastAdministrator)));
    assert_eq!(records.user(&root.id).await.unwrap(), root, "a refused change leaves nothing behind");
    records.disable(&bob.id, at(1)).await.unwrap();
    records.set_admin(&bob.id, true, at(2)).await.unwrap();
    assert!(
        matches!(records.disable(&root.id, at(3)).await, Err(Error::LastAdministrator)),
        "a disabled administrator does not count"
    );
    records.enable(&bob.id, at(4)).await.unwrap();
    assert_eq!(records.disable(&root.id, at(5)).await.unwrap().disabled_at, Some(at(5)));
});

on_both!(what_somebody_may_changes_whole_or_not_at_all, async |world: World| {
    let records = &world.records;
    let root = admin(records, "root").await;
    let bob = user(records, "bob").await;
    let both = Standing { expires: Some(Some(at(99))), disabled: Some(true), admin: None };
    let refused = records.set_standing(&root.id, &both, at(1)).await;
    assert!(matches!(refused, Err(Error::LastAdministrator)), "{refused:?}");
    assert_eq!(records.user(&root.id).await.unwrap(), root, "nothing of it is left behind");
    let all = Standing { admin: Some(true), ..both };
    let changed = records.set_standing(&bob.id, &all, at(2)).await.unwrap();
    assert_eq!((changed.disabled_at, changed.expires_at, changed.admin), (Some(at(2)), Some(at(99)), true));
    assert!(changed.generation > bob.generation, "sessions are of an older one");
    let later = records.set_standing(&bob.id, &all, at(3)).await.unwrap();
    assert_eq!(later.disabled_at, Some(at(2)), "since when stays");
    assert!(matches!(records.disable(&root.id, at(4)).await, Err(Error::LastAdministrator)));
    let back = Standing { disabled: Some(false), expires: Some(None), admin: None };
    let back = records.set_standing(&bob.id, &back, at(5)).await.unwrap();
    assert_eq!((back.disabled_at, back.expires_at, back.admin), (None, None, true));
    records.disable(&root.id, at(6)).await.unwrap();
    let none = records.set_standing(&UserId::new("nobody"), &Standing::default(), at(7)).await;
    assert!(matches!(none, Err(Error::NotFound { what: "user" })), "{none:?}");
});

on_both!(administrators_cannot_remove_each_other_at_once, async |world: World| {
    for round in 0..10 {
        let mut ids = Vec::new();
        for number in 0..4 {
            ids.push(admin(&world.records, &format!("admin-{round}-{number}")).await.id);
        }
        let tasks: Vec<_> = ids
            .iter()
            .enumerate()
            .map(|(number, id)| {
                let (records, id) = (world.records.clone(), id.clone());
                tokio::spawn(async move {
                    match number % 3 {
                        0 => records.disable(&id, at(1)).await.map(|_| ()),
                        1 => records.set_admin(&id, false, at(1)).await.map(|_| ()),
                        _ => records.set_expiry(&id, Some(at(1)), at(1)).await.map(|_| ()),
                    }
                })
            })
            .collect();
        let mut refused = 0;
        for task in tasks {
            match task.await.unwrap() {
                Ok(()) => {}
                Err(Error::LastAdministrator) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        let filter = UserFilter { admin: Some(true), disabled: Some(false), ..UserFilter::default() };
        let left = world.records.users(&filter, &Page::first(100).unwrap()).await.unwrap().items;
        let active: Vec<_> = left.iter().filter(|user| user.is_active(at(2))).collect();
        assert_eq!((active.len(), refused), (1, usize::from(round == 0)), "round {round}");
    }
});

on_both!(there_is_one_first_administrator, async |world: World| {
    let tasks: Vec<_> = (0..8)
        .map(|number| {
            let records = world.records.clone();
            let user = new_user(&format!("admin-{number}"));
            tokio::spawn(async move { records.create_first_admin(&user, at(0)).await.unwrap() })
        })
        .collect();
    let mut made = Vec::new();
    for task in tasks {
        made.extend(task.await.unwrap());
    }
    assert_eq!(made.len(), 1);
    assert!(made[0].admin);
});

on_both!(expiry_and_disabling_decide_who_may_come_in, async |world: World| {
    let records = &world.records;
    let alice = user(records, "alice").await;
    assert!(alice.is_active(at(0)));
    let alice = records.set_expiry(&alice.id, Some(at(10)), at(1)).await.unwrap();
    assert!(alice.is_active(at(9)) && !alice.is_active(at(10)));
    let alice = records.set_expiry(&alice.id, None, at(1)).await.unwrap();
    let disabled = records.disable(&alice.id, at(2)).await.unwrap();
    assert!(!disabled.is_active(at(3)));
    assert_eq!(
        records.disable(&alice.id, at(4)).await.unwrap().disabled_at,
        Some(at(2)),
        "the first time counts"
    );
    assert!(records.enable(&alice.id, at(5)).await.unwrap().is_active(at(5)));
    records.note_login(&alice.id, at(6)).await.unwrap();
    assert_eq!(records.user(&alice.id).await.unwrap().last_login_at, Some(at(6)));
});

on_both!(limits_of_a_user_are_kept_and_come_with_his_sessions, async |world: World| {
    let ada = user(&world.records, "ada").await;
    assert!(ada.limits.is_empty());
    let limits = [("workspaces", "3"), ("nvidia.com/gpu", "500m")];
    let limits: BTreeMap<String, String> =
        limits.iter().map(|(what, amount)| ((*what).to_owned(), (*amount).to_owned())).collect();
    assert_eq!(world.records.set_limits(&ada.id, &limits, at(1)).await.unwrap().limits, limits);
    assert_eq!(world.records.user(&ada.id).await.unwrap().limits, limits);
    let more: BTreeMap<String, String> =
        (0..1000).map(|one| (format!("r{one}"), "1234567890".to_owned())).collect();
    assert!(matches!(world.records.set_limits(&ada.id, &more, at(2)).await, Err(Error::Invalid { .. })));
    let gone = world.records.set_limits(&ada.id, &BTreeMap::new(), at(3)).await.unwrap();
    assert!(gone.limits.is_empty());
    let nobody = world.records.set_limits(&UserId::new("none"), &limits, at(4)).await;
    assert!(matches!(nobody, Err(Error::NotFound { .. })));
});
