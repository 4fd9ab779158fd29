//! Pages: every row once, whatever is written meanwhile.

use std::collections::BTreeSet;

use futures::TryStreamExt as _;
use maar_records::{
    Actor, AuditFilter, AuditId, Entry, NewSession, Page, Records, Session, SessionId, TokenHash, User,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::support::{World, at, user};

/// A list as long as `first`, read in pages of `limit`, with rows written before each next page. Numbers are seconds:
/// many rows have the same time.
#[derive(Debug, Clone)]
struct Case {
    first: Vec<i64>,
    limit: u32,
    meanwhile: Vec<Vec<i64>>,
}

fn cases() -> impl Strategy<Value = Case> {
    let times = || prop::collection::vec(0i64..4, 0..5);
    let first = prop::collection::vec(0i64..4, 0..20);
    (first, 1u32..6, prop::collection::vec(times(), 0..8)).prop_map(|(first, limit, meanwhile)| Case {
        first,
        limit,
        meanwhile,
    })
}

struct Writer<'a> {
    records: &'a Records,
    user: User,
    run: u32,
    written: u32,
}

impl Writer<'_> {
    /// Writes sessions and entries of these times; gives their names, which do not sort as they were made.
    async fn write(&mut self, times: &[i64]) -> Vec<String> {
        let mut names = Vec::new();
        for seconds in times {
            self.written += 1;
            let name = format!("{}-{}-{}", self.run, self.written * 7 % 10, self.written);
            let session = NewSession {
                id: SessionId::new(&name),
                token: TokenHash::new(&name),
                user: self.user.id.clone(),
                generation: self.user.generation,
                provider: "password".to_owned(),
                address: None,
                agent: None,
                expires_at: at(1000),
            };
            self.records.create_session(&session, at(*seconds)).await.unwrap();
            let actor = Actor::system("test");
            let entry = Entry::new(AuditId::new(&name), at(*seconds), actor, "test", ("Test", "x"));
            self.records.append_audit(&entry).await.unwrap();
            names.push(name);
        }
        names
    }
}

/// Reads all pages of sessions and entries while rows come in.
async fn check(records: &Records, run: u32, case: &Case) {
    let user = user(records, &format!("user-{run}")).await;
    let mut writer = Writer { records, user: user.clone(), run, written: 0 };
    let first = writer.write(&case.first).await;
    let filter = AuditFilter::default();
    let mut meanwhile = case.meanwhile.iter();
    let mut sessions: Vec<Session> = Vec::new();
    let mut entries = Vec::new();
    let mut session_page = Some(Page::first(case.limit).unwrap());
    let mut entry_page = Some(Page::first(case.limit).unwrap());
    while session_page.is_some() || entry_page.is_some() {
        if let Some(page) = session_page.take() {
            let listing = records.sessions_of(&user.id, &page).await.unwrap();
            assert!(listing.items.len() <= case.limit as usize);
            sessions.extend(listing.items);
            session_page = listing.next.map(|next| page.after(next));
        }
        if let Some(page) = entry_page.take() {
            let listing = records.audit(&filter, &page).await.unwrap();
            entries.extend(listing.items);
            entry_page = listing.next.map(|next| page.after(next));
        }
        writer.write(meanwhile.next().map(Vec::as_slice).unwrap_or_default()).await;
    }
    let keys: Vec<_> = sessions.iter().map(|one| (one.created_at, one.id.as_str())).collect();
    assert!(keys.is_sorted_by(|before, after| before > after), "in order, and none twice: {keys:?}");
    let seen: BTreeSet<_> = sessions.iter().map(|one| one.id.as_str()).collect();
    let positions: Vec<_> = entries.iter().map(|one| one.position).collect();
    assert!(positions.is_sorted_by(|before, after| before > after), "{positions:?}");
    let told: BTreeSet<_> = entries.iter().map(|one| one.entry.id.as_str()).collect();
    for name in &first {
        assert!(seen.contains(name.as_str()), "the session {name} was left out");
        assert!(told.contains(name.as_str()), "the entry {name} was left out");
    }
}

fn run(count: u32, records: impl Future<Output = Option<Records>>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let Some(records) = runtime.block_on(records) else { return };
    let mut runner = TestRunner::new(ProptestConfig::with_cases(count));
    let number = std::cell::Cell::new(0);
    runner
        .run(&cases(), |case| {
            number.set(number.get() + 1);
            runtime.block_on(check(&records, number.get(), &case));
            Ok(())
        })
        .unwrap();
}

#[test]
fn every_row_is_seen_once_on_sqlite() {
    run(24, async { Some(Records::open("sqlite::memory:").await.unwrap()) });
}

#[test]
fn every_row_is_seen_once_on_postgres() {
    run(12, async {
        let world = World::postgres("every_row_is_seen_once_on_postgres").await?;
        Some(world.records)
    });
}

on_both!(an_export_during_writes_is_the_beginning_of_the_log, async |world: World| {
    let other = Records::open(&world.url).await.unwrap();
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let records = if writer % 2 == 0 { world.records.clone() } else { other.clone() };
            tokio::spawn(async move {
                for number in 0..60 {
                    let id = AuditId::new(format!("{writer}-{number}"));
                    let entry = Entry::new(id, at(number), Actor::system("test"), "test", ("Test", "x"));
                    records.append_audit(&entry).await.unwrap();
                }
            })
        })
        .collect();
    let mut exports: Vec<Vec<_>> = Vec::new();
    while writers.iter().any(|writer| !writer.is_finished()) {
        exports.push(world.records.export_audit(AuditFilter::default()).try_collect().await.unwrap());
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let log: Vec<_> = world.records.export_audit(AuditFilter::default()).try_collect().await.unwrap();
    assert_eq!(log.len(), 240);
    for export in exports {
        assert_eq!(export, log[..export.len()], "an entry became visible before one that comes first");
    }
});
