//! The audit log: it grows, it is found, and nothing else happens to it.

use futures::TryStreamExt as _;
use maar_records::{
    Actor, ActorKind, AuditFilter, AuditId, AuditRecord, Entry, Error, Outcome, Page, Records, Retention,
    UserId,
};
use serde_json::json;

use crate::support::{World, at};

fn actor(name: &str) -> Actor {
    Actor {
        kind: ActorKind::User,
        id: Some(UserId::new(format!("id-{name}"))),
        name: name.to_owned(),
        via: Some("session-1".to_owned()),
    }
}

fn entry(number: i64) -> Entry {
    let name = format!("ns/workspace-{number}");
    Entry::new(
        AuditId::new(format!("entry-{number}")),
        at(number),
        actor("alice"),
        "workspace.create",
        ("Workspace", &name),
    )
}

fn full(number: i64) -> Entry {
    Entry {
        account: Some("physics".to_owned()),
        outcome: Outcome::Denied,
        detail: Some("quota".to_owned()),
        before: Some(json!({"gpus": 1, "text": "\u{0}\n李"})),
        after: Some(json!([1, null])),
        address: Some("192.0.2.1".to_owned()),
        request_id: Some("r-1".to_owned()),
        ..entry(number)
    }
}

async fn all(records: &Records, filter: AuditFilter) -> Vec<AuditRecord> {
    records.export_audit(filter).try_collect().await.unwrap()
}

fn names(records: &[AuditRecord]) -> Vec<&str> {
    records.iter().map(|record| record.entry.id.as_str()).collect()
}

on_both!(what_began_is_told_when_nobody_lived_to_end_it, async |world: World| {
    let records = &world.records;
    for number in 1..=3 {
        records.begin_audit(&full(number)).await.unwrap();
    }
    assert!(all(records, AuditFilter::default()).await.is_empty(), "what has begun is not in the log");
    records.append_audit(&entry(1)).await.unwrap();
    assert_eq!(records.close_audit(at(3)).await.unwrap(), 1, "the third may still go on");
    assert_eq!(records.close_audit(at(3)).await.unwrap(), 0, "once");
    let told = all(records, AuditFilter::default()).await;
    assert_eq!(names(&told), ["entry-1", "entry-2"]);
    assert_eq!((told[0].entry.outcome, told[1].entry.outcome), (Outcome::Done, Outcome::Unknown));
    assert!(told[1].entry.detail.as_ref().is_some_and(|why| why.contains("ended before")), "{told:?}");
    // One that ends late after all changes nothing of what was told.
    records.append_audit(&entry(2)).await.unwrap();
    assert_eq!(all(records, AuditFilter::default()).await.len(), 2);
});

on_both!(an_entry_comes_back_as_it_went_in_and_once, async |world: World| {
    world.records.append_audit(&full(1)).await.unwrap();
    world.records.append_audit(&Entry { action: "other".to_owned(), ..full(1) }).await.unwrap();
    world.records.append_audit(&entry(2)).await.unwrap();
    let listing = world.records.audit(&AuditFilter::default(), &Page::first(10).unwrap()).await.unwrap();
    let entries: Vec<_> = listing.items.into_iter().map(|record| record.entry).collect();
    assert_eq!(entries, [entry(2), full(1)]);
});

on_both!(an_entry_is_not_lost_to_a_long_name, async |world: World| {
    let long = Entry { actor: Actor { name: "x\0\n".repeat(999), ..actor("a") }, ..entry(1) };
    world.records.append_audit(&long).await.unwrap();
    assert_eq!(all(&world.records, AuditFilter::default()).await[0].entry.actor.name, "x".repeat(256));
});

on_both!(entries_are_found_by_every_field, async |world: World| {
    let records = &world.records;
    records.append_audit(&entry(1)).await.unwrap();
    records.append_audit(&full(2)).await.unwrap();
    records
        .append_audit(&Entry { actor: actor("bob"), action: "login".to_owned(), ..entry(3) })
        .await
        .unwrap();
    let text = |text: &str| Some(text.to_owned());
    let none = AuditFilter::default;
    let rows = [
        (AuditFilter { actor: Some(UserId::new("id-bob")), ..none() }, vec!["entry-3"]),
        (AuditFilter { actor_name: text("alice"), ..none() }, vec!["entry-1", "entry-2"]),
        (AuditFilter { action: text("login"), ..none() }, vec!["entry-3"]),
        (AuditFilter { object_kind: text("Job"), ..none() }, vec![]),
        (AuditFilter { object_name: text("ns/workspace-1"), ..none() }, vec!["entry-1"]),
        (AuditFilter { account: text("physics"), ..none() }, vec!["entry-2"]),
        (AuditFilter { outcome: Some(Outcome::Done), ..none() }, vec!["entry-1", "entry-3"]),
        (AuditFilter { request_id: text("r-1"), ..none() }, vec!["entry-2"]),
        (AuditFilter { from: Some(at(2)), ..none() }, vec!["entry-2", "entry-3"]),
        (AuditFilter { until: Some(at(2)), ..none() }, vec!["entry-1"]),
        (AuditFilter { from: Some(at(2)), actor_name: text("alice"), ..none() }, vec!["entry-2"]),
    ];
    for (filter, want) in rows {
        assert_eq!(names(&all(records, filter.clone()).await), want, "{filter:?}");
        let page = records.audit(&filter, &Page::first(10).unwrap()).await.unwrap().items;
        assert_eq!(names(&page), want.into_iter().rev().collect::<Vec<_>>(), "{filter:?}");
    }
});

on_both!(old_entries_go_in_the_open, async |world: World| {
    let records = &world.records;
    for number in 1..=5 {
        records.append_audit(&entry(number)).await.unwrap();
    }
    let retention = |id: &str, seconds| Retention {
        id: AuditId::new(id),
        actor: Actor::system("retention"),
        before: at(seconds),
    };
    let error = records.retain_audit(&retention("r", 101), at(100)).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { field: "before", .. }), "{error}");
    let error = records.retain_audit(&retention("entry-5", 4), at(100)).await.unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "what is done must be told: {error}");
    assert_eq!(records.retain_audit(&retention("r", 4), at(100)).await.unwrap(), 3);
    assert_eq!(records.retain_audit(&retention("r2", 4), at(100)).await.unwrap(), 0);
    let left = all(records, AuditFilter::default()).await;
    assert_eq!(names(&left), ["entry-4", "entry-5", "r"]);
    assert_eq!(left[2].entry.action, "audit.retain");
    assert_eq!(left[2].entry.after, Some(json!({"before": at(4), "removed": 3})));
});

on_both!(an_export_goes_beyond_one_batch, async |world: World| {
    for number in 0..1001 {
        world.records.append_audit(&entry(number)).await.unwrap();
    }
    let exported = all(&world.records, AuditFilter::default()).await;
    assert_eq!(exported.len(), 1001);
    assert!(exported.iter().zip(0..).all(|(record, number)| record.entry == entry(number)));
});
