use std::io::Write as _;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn pods() -> Arc<str> {
    "pods".into()
}

fn key(namespace: &str, name: &str) -> Key {
    Key::new(&pods(), namespace, name)
}

fn pod(namespace: &str, name: &str, marker: u64) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name, "uid": format!("{namespace}-{name}"),
            "labels": {"marker": marker.to_string()}},
    })
}

fn open(folder: &Path, history: usize) -> Result<Store, DiskError> {
    Store::open(folder, history, |_, _| None)
}

fn put_pod(store: &Store, namespace: &str, name: &str, marker: u64) -> Arc<Entry> {
    let key = key(namespace, name);
    let expect = store.get(&key).map_or(Expect::Absent, |entry| Expect::Revision(entry.revision));
    store.commit(vec![put(key, &pod(namespace, name, marker), Vec::new(), expect)]).unwrap().remove(0)
}

fn remove_pod(store: &Store, namespace: &str, name: &str) -> Option<Arc<Entry>> {
    let key = key(namespace, name);
    let expect = Expect::Revision(store.get(&key)?.revision);
    Some(store.commit(vec![Operation::Delete { key, expect }]).unwrap().remove(0))
}

fn names(listing: &Listing) -> Vec<String> {
    listing.rows.iter().map(|entry| format!("{}/{}", entry.meta.namespace, entry.meta.name)).collect()
}

#[test]
fn the_bytes_carry_the_revision_and_the_type_comes_first() {
    let store = Store::default();
    let entry = put_pod(&store, "a", "x", 1);
    assert!(entry.json.starts_with(br#"{"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":"2""#));
    assert_eq!(entry.value()["metadata"]["resourceVersion"], "2");
    assert!(entry.body().starts_with(br#""metadata":{"resourceVersion":"2""#));
    let gone = remove_pod(&store, "a", "x").unwrap();
    assert_eq!(gone.value()["metadata"]["resourceVersion"], "3");
    assert_eq!(gone.value()["metadata"]["labels"]["marker"], "1");
}

#[test]
fn fields_are_found_without_reading_the_object() {
    let pod = json!({
        "metadata": {"name": "p", "managedFields": [{"fieldsV1": {"f:ephemeral": {}}}]},
        "spec": {"ephemeralContainers": [], "volumes": [{"emptyDir": {}}]},
    });
    let entry = decode(&pod, 1);
    assert!(entry.mentions("emptyDir"));
    assert!(entry.mentions("volumes"));
    // Neither the beginning of a longer name nor a name in the bookkeeping.
    assert!(!entry.mentions("ephemeral"));
}

#[test]
fn a_namespace_is_listed_without_its_neighbours() {
    let store = Store::default();
    for namespace in ["a", "a-b", "a0", "ab"] {
        put_pod(&store, namespace, "x", 1);
    }
    assert_eq!(names(&store.list("pods", Some("a"))), ["a/x"]);
    assert_eq!(store.list("pods", None).rows.len(), 4);
    assert_eq!(store.count("pods"), 4);
}

#[test]
fn selectable_fields_are_found_anew_where_they_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), 16).unwrap();
    for table in ["pods", "things.example.com"] {
        let key = Key::new(&table.into(), "a", "x");
        store.commit(vec![put(key, &pod("a", "x", 1), vec!["old".into()], Expect::Absent)]).unwrap();
    }
    drop(store);
    let known = |table: &str, object: &Value| {
        (table == "pods").then(|| vec![object["metadata"]["name"].as_str().unwrap().into(), "new".into()])
    };
    let store = Store::open(folder.path(), 16, known).unwrap();
    let fields = |table: &str| store.list(table, None).rows[0].meta.fields.join(" ");
    assert_eq!(fields("pods"), "x new");
    assert_eq!(fields("things.example.com"), "old");
}

#[test]
fn a_row_can_be_changed_and_removed_in_one_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), 16).unwrap();
    let before = put_pod(&store, "a", "x", 1).revision;
    let (key, expect) = (key("a", "x"), Expect::Revision(before));
    let changed = put(key.clone(), &pod("a", "x", 2), Vec::new(), expect);
    let entries = store.commit(vec![changed, Operation::Delete { key: key.clone(), expect }]).unwrap();
    assert_eq!(entries[1].value()["metadata"]["labels"]["marker"], "2");
    let (events, _) = store.events_after("pods", before).unwrap();
    let seen: Vec<_> = events.iter().map(|event| (event.entry.revision, event.deleted)).collect();
    assert_eq!(seen, [(before + 1, false), (before + 2, true)]);
    assert_eq!(events[1].previous.as_ref().unwrap().revision, before + 1);
    assert_eq!(store.list_at("pods", None, before + 1).unwrap().rows.len(), 1);
    assert!(store.get(&key).is_none());
    drop(store);
    assert_eq!(open(folder.path(), 16).unwrap().count("pods"), 0);
}

#[test]
fn a_transaction_takes_effect_whole_or_not_at_all() {
    let store = Store::default();
    put_pod(&store, "a", "x", 1);
    let before = store.revision();
    let operations = vec![
        put(key("a", "new"), &pod("a", "new", 1), Vec::new(), Expect::Absent),
        put(key("a", "x"), &pod("a", "x", 2), Vec::new(), Expect::Revision(99)),
    ];
    assert!(matches!(store.commit(operations), Err(CommitError::Stale(stale)) if stale == key("a", "x")));
    assert_eq!(store.revision(), before);
    assert!(store.get(&key("a", "new")).is_none());
}

#[test]
fn the_log_of_large_objects_is_shorter() {
    let store = Store::default();
    let key = Key::new(&"configmaps".into(), "a", "x");
    let mut large = pod("a", "x", 1);
    large["data"] = json!({"text": "x".repeat(5 << 20)});
    let write = |key: &Key, object: &Value, expect: Expect| {
        let change = put(key.clone(), object, Vec::new(), expect);
        store.commit(vec![change]).unwrap().remove(0).revision
    };
    let first = write(&key, &large, Expect::Absent);
    let mut last = first;
    for _ in 0..20 {
        last = write(&key, &large, Expect::Revision(last));
    }
    assert!(matches!(store.events_after("configmaps", first), Err(RevisionError::Compacted { .. })));
    // However large they are, the last ones are there for whoever is only a little behind.
    assert_eq!(store.events_after("configmaps", last - 16).unwrap().0.len(), 16);
    assert!(store.list_at("configmaps", None, last - 16).is_ok());
    // Small ones are all there again: the large ones leave the log for them.
    for marker in 0..40 {
        let name = format!("small-{marker}");
        write(&Key::new(&key.table, "a", &name), &pod("a", &name, marker), Expect::Absent);
    }
    assert_eq!(store.events_after("configmaps", last).unwrap().0.len(), 40);
}

#[test]
fn old_revisions_are_readable_until_the_log_forgets_them() {
    let store = Store::new(3);
    let first = put_pod(&store, "a", "x", 1).revision;
    put_pod(&store, "a", "y", 1);
    remove_pod(&store, "a", "x");
    let then = store.list_at("pods", Some("a"), first).unwrap();
    assert_eq!(names(&then), ["a/x"]);
    assert_eq!(names(&store.list("pods", Some("a"))), ["a/y"]);
    put_pod(&store, "a", "z", 1);
    put_pod(&store, "a", "z", 2);
    assert!(matches!(store.list_at("pods", None, first), Err(RevisionError::Compacted { .. })));
    assert!(matches!(store.events_after("pods", first), Err(RevisionError::Compacted { .. })));
    assert!(matches!(store.list_at("pods", None, 1000), Err(RevisionError::Future { .. })));
}

#[test]
fn owners_know_their_children() {
    let store = Store::default();
    let mut owned = pod("a", "x", 1);
    owned["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": "owner", "controller": true}]);
    store.commit(vec![put(key("a", "x"), &owned, Vec::new(), Expect::Absent)]).unwrap();
    assert_eq!(store.children("owner"), [key("a", "x")]);
    put_pod(&store, "a", "x", 2);
    assert!(store.children("owner").is_empty());
}

#[test]
fn a_reopened_folder_has_every_acknowledged_write() {
    let folder = tempfile::tempdir().unwrap();
    let (fingerprint, revision) = {
        let store = open(folder.path(), 100).unwrap();
        for marker in 0..20 {
            put_pod(&store, "a", &format!("p{}", marker % 7), marker);
        }
        remove_pod(&store, "a", "p3");
        (store.fingerprint(), store.revision())
    };
    // A write that was cut off half-way was never acknowledged.
    let mut log = std::fs::OpenOptions::new().append(true).open(folder.path().join("log")).unwrap();
    log.write_all(br#"[{"table":"pods","row":"a/half"#).unwrap();
    let store = open(folder.path(), 100).unwrap();
    assert_eq!(store.fingerprint(), fingerprint);
    assert!(matches!(store.events_after("pods", revision - 1), Err(RevisionError::Compacted { .. })));
    put_pod(&store, "a", "after", 1);
    drop(store);
    assert!(open(folder.path(), 100).unwrap().get(&key("a", "after")).is_some());
}

#[test]
fn a_second_process_cannot_open_the_same_folder() {
    let folder = tempfile::tempdir().unwrap();
    let _first = open(folder.path(), 100).unwrap();
    assert!(matches!(open(folder.path(), 100), Err(DiskError::Locked(_))));
}

#[test]
fn a_damaged_folder_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("log"), "not json\n").unwrap();
    let error = open(folder.path(), 100).unwrap_err();
    assert!(error.to_string().contains("line 1"), "{error}");
    assert_eq!(std::fs::read_to_string(folder.path().join("log")).unwrap(), "not json\n");
}

proptest! {
    /// Replaying the log from any revision onto the list at that revision gives the current list.
    #[test]
    fn list_then_watch_misses_nothing(steps in prop::collection::vec((0..5u8, any::<bool>()), 1..60), cut in 0usize..60) {
        let store = Store::default();
        let mut revisions = vec![store.revision()];
        for (index, (name, delete)) in steps.iter().enumerate() {
            let name = format!("p{name}");
            if *delete { remove_pod(&store, "a", &name); } else { put_pod(&store, "a", &name, index as u64); }
            revisions.push(store.revision());
        }
        let from = revisions[cut % revisions.len()];
        let mut rows: BTreeMap<String, u64> = store.list_at("pods", None, from).unwrap().rows.iter()
            .map(|entry| (entry.meta.name.to_string(), entry.revision)).collect();
        for event in store.events_after("pods", from).unwrap().0 {
            if event.deleted { rows.remove(&*event.entry.meta.name); }
            else { rows.insert(event.entry.meta.name.to_string(), event.entry.revision); }
        }
        let now: BTreeMap<String, u64> = store.list("pods", None).rows.iter()
            .map(|entry| (entry.meta.name.to_string(), entry.revision)).collect();
        prop_assert_eq!(rows, now);
    }

    /// Whatever happened, a store read back from disk is the store that was written.
    #[test]
    fn disk_round_trip(steps in prop::collection::vec((0..5u8, any::<bool>()), 1..30)) {
        let folder = tempfile::tempdir().unwrap();
        let written = {
            let store = open(folder.path(), 100).unwrap();
            for (index, (name, delete)) in steps.iter().enumerate() {
                let name = format!("p{name}");
                if *delete { remove_pod(&store, "a", &name); } else { put_pod(&store, "a", &name, index as u64); }
            }
            // A snapshot at the end must not change what is read back.
            let mut inner = store.inner.write();
            let revision = inner.revision;
            let rows: Vec<_> = inner.tables.iter()
                .flat_map(|(name, table)| table.rows_with_keys().map(move |(row, entry)| (Arc::clone(name), row, entry)))
                .collect();
            if steps.len() % 2 == 0 {
                inner.disk.as_mut().unwrap().snapshot(revision, rows.into_iter()).unwrap();
            }
            drop(inner);
            store.fingerprint()
        };
        prop_assert_eq!(open(folder.path(), 100).unwrap().fingerprint(), written);
    }
}
