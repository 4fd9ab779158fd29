//! Disks that fill up and writes that stop half-way.

use serde_json::json;

use super::super::{Expect, Store, put};
use super::*;

/// A file on a disk that has only so much room, and perhaps does not even let go of what it holds.
#[derive(Debug)]
struct FullDisk {
    file: File,
    room: usize,
    stuck: bool,
}

impl Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.room == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let taken = self.file.write(&bytes[..bytes.len().min(self.room)])?;
        self.room -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl LogFile for FullDisk {
    fn set_len(&self, length: u64) -> io::Result<()> {
        if self.stuck { Err(io::ErrorKind::StorageFull.into()) } else { self.file.set_len(length) }
    }
}

fn write(store: &Store, name: &str) -> Result<(), String> {
    let key = Key::new(&"configmaps".into(), "n", name);
    let object = json!({"metadata": {"namespace": "n", "name": name, "uid": name}, "data": {"a": "b"}});
    let put = put(key, &object, Vec::new(), Expect::Absent);
    store.commit(vec![put]).map(drop).map_err(|error| error.to_string())
}

fn names(store: &Store) -> Vec<String> {
    store.list("configmaps", None).rows.iter().map(|row| row.meta.name.to_string()).collect()
}

fn fill(store: &Store, folder: &Path, room: usize, stuck: bool) {
    let file = OpenOptions::new().append(true).open(folder.join("log")).unwrap();
    store.inner.write().disk.as_mut().unwrap().log = Box::new(FullDisk { file, room, stuck });
}

fn empty(store: &Store, folder: &Path) {
    let file = OpenOptions::new().append(true).open(folder.join("log")).unwrap();
    store.inner.write().disk.as_mut().unwrap().log = Box::new(file);
}

#[test]
fn a_full_disk_refuses_writes_and_harms_nothing() {
    for stuck in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), 100, |_, _| None).unwrap();
        write(&store, "before").unwrap();
        let revision = store.revision();
        fill(&store, folder.path(), 40, stuck);
        for attempt in 0..3 {
            let error = write(&store, "lost").unwrap_err();
            assert!(error.contains("log: no storage space"), "attempt {attempt}: {error}");
            assert_eq!((names(&store), store.revision()), (vec!["before".to_owned()], revision));
        }
        // Killed here, or going on once there is room: both are whole.
        let copy = tempfile::tempdir().unwrap();
        fs::copy(folder.path().join("log"), copy.path().join("log")).unwrap();
        assert_eq!(names(&Store::open(copy.path(), 100, |_, _| None).unwrap()), ["before"], "stuck: {stuck}");
        empty(&store, folder.path());
        write(&store, "after").unwrap();
        assert_eq!(store.revision(), revision + 1);
        drop(store);
        assert_eq!(
            names(&Store::open(folder.path(), 100, |_, _| None).unwrap()),
            ["after", "before"],
            "stuck: {stuck}"
        );
    }
}

#[test]
fn a_torn_last_record_is_dropped_wherever_it_tears() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), 100, |_, _| None).unwrap();
    write(&store, "one").unwrap();
    let whole = fs::read(folder.path().join("log")).unwrap().len();
    write(&store, "two").unwrap();
    let revision = store.revision();
    drop(store);
    let log = fs::read(folder.path().join("log")).unwrap();
    for cut in whole..log.len() {
        let torn = tempfile::tempdir().unwrap();
        fs::write(torn.path().join("log"), &log[..cut]).unwrap();
        let store = Store::open(torn.path(), 100, |_, _| None).unwrap();
        assert_eq!((names(&store), store.revision()), (vec!["one".to_owned()], revision - 1), "cut at {cut}");
        write(&store, "three").unwrap();
        drop(store);
        assert_eq!(
            names(&Store::open(torn.path(), 100, |_, _| None).unwrap()),
            ["one", "three"],
            "cut at {cut}"
        );
    }
}

#[test]
fn a_kill_at_any_step_of_a_snapshot_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), 100, |_, _| None).unwrap();
    write(&store, "one").unwrap();
    write(&store, "two").unwrap();
    let old_log = fs::read(folder.path().join("log")).unwrap();
    let fingerprint = store.fingerprint();
    snapshot(&store).unwrap();
    let new_snapshot = fs::read(folder.path().join("snapshot")).unwrap();
    assert_eq!(fs::read(folder.path().join("log")).unwrap(), b"");
    drop(store);
    let half = &new_snapshot[..new_snapshot.len() / 2];
    let moments = [
        ("while it is written", &old_log[..], "snapshot.new", half),
        ("before the log is emptied", &old_log[..], "snapshot", &new_snapshot[..]),
        ("after", &b""[..], "snapshot", &new_snapshot[..]),
    ];
    for (moment, log, name, bytes) in moments {
        let killed = tempfile::tempdir().unwrap();
        fs::write(killed.path().join("log"), log).unwrap();
        fs::write(killed.path().join(name), bytes).unwrap();
        assert_eq!(
            Store::open(killed.path(), 100, |_, _| None).unwrap().fingerprint(),
            fingerprint,
            "{moment}"
        );
    }
}

#[test]
fn a_snapshot_that_fails_is_cleared_away_and_not_tried_again_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), 100, |_, _| None).unwrap();
    write(&store, "one").unwrap();
    // A folder in the way of the new snapshot makes its last step fail.
    fs::create_dir(folder.path().join("snapshot")).unwrap();
    fs::write(folder.path().join("snapshot/in-the-way"), b"").unwrap();
    let mut inner = store.inner.write();
    let disk = inner.disk.as_mut().unwrap();
    disk.log_bytes = MIN_LOG_BYTES + 1;
    assert!(disk.wants_snapshot());
    disk.snapshot(1, std::iter::empty()).unwrap_err();
    assert!(!disk.wants_snapshot() && !folder.path().join("snapshot.new").exists());
    disk.log_bytes += MIN_LOG_BYTES + 1;
    assert!(disk.wants_snapshot());
}

fn snapshot(store: &Store) -> Result<(), DiskError> {
    let mut inner = store.inner.write();
    let revision = inner.revision;
    let rows: Vec<_> = inner
        .tables
        .iter()
        .flat_map(|(name, table)| {
            table.rows_with_keys().map(move |(row, entry)| (Arc::clone(name), row, entry))
        })
        .collect();
    inner.disk.as_mut().unwrap().snapshot(revision, rows.into_iter())
}

#[test]
fn an_old_log_behind_a_new_snapshot_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let set = |store: &Store, value: &str, expect: Expect| {
        let key = Key::new(&"configmaps".into(), "n", "a");
        let object = json!({"metadata": {"namespace": "n", "name": "a", "uid": "a"}, "data": {"a": value}});
        store.commit(vec![put(key, &object, Vec::new(), expect)]).unwrap();
    };
    let store = Store::open(folder.path(), 100, |_, _| None).unwrap();
    set(&store, "old", Expect::Absent);
    let log = fs::read(path("log")).unwrap();
    set(&store, "new", Expect::Revision(store.revision()));
    {
        let inner = &mut *store.inner.write();
        let rows = inner.tables.iter().flat_map(|(name, table)| {
            table.rows_with_keys().map(move |(row, entry)| (Arc::clone(name), row, entry))
        });
        inner.disk.as_mut().unwrap().snapshot(inner.revision, rows).unwrap();
    }
    drop(store);
    // Power was lost: the snapshot is down, that the log was emptied is not, and neither is its last line.
    fs::write(path("log"), log).unwrap();
    let store = Store::open(folder.path(), 100, |_, _| None).unwrap();
    assert_eq!(store.list("configmaps", None).rows[0].value()["data"]["a"], "new");
}

#[test]
fn nobody_else_reads_the_folder() {
    use std::os::unix::fs::PermissionsExt as _;
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("data");
    let store = Store::open(&folder, 100, |_, _| None).unwrap();
    write(&store, "a").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&folder.join("log"))), (0o700, 0o600));
}
