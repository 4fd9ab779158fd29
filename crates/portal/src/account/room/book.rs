//! Notes of workspaces that are being made, on an object of the cluster.
//!
//! A note is an annotation, written on top of the version of the object that was read before the workspaces were counted. Of two
//! who ask at once, through whichever portal, the cluster refuses the second, who counts again and finds the note of the first.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use jiff::{SignedDuration, Timestamp};
use kube::{
    Api, Resource, ResourceExt as _,
    api::{ApiResource, DynamicObject, Patch, PatchParams},
};
use maar_controller::error::chain;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Mutex;

use super::{Desk, Limit, desks};
use crate::{
    error::{ApiError, Code},
    portal::Portal,
};

/// What annotations of notes begin with.
const NOTE: &str = "maar.io/room-";
/// How long a note counts: as long as a portal tries to make a workspace, then as long as an API server works on what it was
/// asked last, which is a minute unless it is told otherwise, and another minute for clocks that differ.
const LIFE: SignedDuration = SignedDuration::from_mins(3);
/// How often it is tried again when the object is changed at the same time.
const ATTEMPTS: usize = 32;

/// Held by who notes something on an object: those who ask one portal wait for each other, so that only other portals come in
/// between. Objects that share a turn wait for each other without need, for as long as one note takes.
#[derive(Debug, Default)]
pub(crate) struct Turns([Mutex<()>; 32]);

impl Turns {
    fn of(&self, book: &Book) -> &Mutex<()> {
        let mut hasher = DefaultHasher::new();
        (book.kind, &book.name).hash(&mut hasher);
        let all = self.0.len() as u64;
        &self.0[usize::try_from(hasher.finish() % all).unwrap_or_default()]
    }
}

/// What is noted of a workspace that is being made.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    #[serde(flatten)]
    desk: Desk,
    until: Timestamp,
}

/// An object that notes stand on.
#[derive(Debug, Clone)]
pub(super) struct Book {
    api: Api<DynamicObject>,
    /// What it is, for people.
    kind: &'static str,
    name: String,
}

/// A note on it.
#[derive(Debug)]
pub(super) struct Page {
    book: Book,
    annotation: String,
}

impl Book {
    pub(super) fn of<K: Resource<DynamicType = ()>>(portal: &Portal, kind: &'static str, name: &str) -> Self {
        let api = Api::all_with(portal.client.clone(), &ApiResource::erase::<K>(&()));
        Self { api, kind, name: name.to_owned() }
    }

    /// Notes that `asked` will be there, if no limit refuses it.
    pub(super) async fn note(
        self,
        portal: &Portal,
        request_id: &str,
        asked: &Desk,
        limits: &[Limit],
    ) -> Result<Page, ApiError> {
        let page = Page { annotation: format!("{NOTE}{request_id}"), book: self };
        let _turn = portal.rooms.of(&page.book).lock().await;
        for _ in 0..ATTEMPTS {
            if page.try_write(portal, asked, limits).await? {
                return Ok(page);
            }
        }
        let Book { kind, name, .. } = &page.book;
        Err(ApiError::new(Code::Conflict, format!("{kind} {name} keeps changing: try again")))
    }
}

impl Page {
    /// Whether it was written; not if somebody changed the object meanwhile.
    async fn try_write(&self, portal: &Portal, asked: &Desk, limits: &[Limit]) -> Result<bool, ApiError> {
        let Book { api, kind, name } = &self.book;
        let refused = |error| ApiError::of_cluster(&format!("{kind} {name}"), error);
        let found = api.get_metadata(name).await.map_err(refused)?;
        let now = portal.clock.now();
        let (notes, old) = notes_of(found.annotations(), now);
        // Later than the notes: what is no longer noted is there by now.
        let mut desks = desks(portal, limits).await?;
        desks.extend(notes);
        if let Some(full) = limits.iter().find_map(|limit| limit.refuses(&desks, asked)) {
            return Err(full);
        }
        let note = Note { desk: asked.clone(), until: now.saturating_add(LIFE).unwrap_or(Timestamp::MAX) };
        let text = serde_json::to_string(&note).unwrap_or_default();
        let gone = old.into_iter().map(|name| (name, None));
        let annotations: BTreeMap<String, Option<String>> =
            gone.chain([(self.annotation.clone(), Some(text))]).collect();
        let metadata = json!({ "annotations": annotations, "resourceVersion": found.resource_version(),
            "uid": found.uid() });
        match self.patch(metadata).await {
            Ok(()) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(refused(error)),
        }
    }

    async fn patch(&self, metadata: serde_json::Value) -> Result<(), kube::Error> {
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        self.book.api.patch_metadata(&self.book.name, &PatchParams::default(), &patch).await.map(|_| ())
    }

    /// Takes it back.
    pub(super) async fn tear_out(self) {
        if let Err(error) = self.patch(json!({ "annotations": { self.annotation.as_str(): null } })).await {
            let Book { kind, name, .. } = &self.book;
            tracing::warn!(error = chain(&error), "a note on {kind} {name} is left until it is too old");
        }
    }
}

/// Notes that are not too old, and the names of the others.
fn notes_of(annotations: &BTreeMap<String, String>, now: Timestamp) -> (Vec<Desk>, Vec<String>) {
    let (mut valid, mut old) = (Vec::new(), Vec::new());
    for (name, text) in annotations.iter().filter(|(name, _)| name.starts_with(NOTE)) {
        match serde_json::from_str::<Note>(text) {
            Ok(note) if note.until > now => valid.push(note.desk),
            _ => old.push(name.clone()),
        }
    }
    (valid, old)
}

#[cfg(test)]
mod tests {
    use super::{super::tests::desk, *};

    #[test]
    fn notes_that_are_too_old_or_make_no_sense_do_not_count() {
        let now = Timestamp::from_second(1000).unwrap();
        let note = |until: i64| {
            let note = Note { desk: desk("a", "lab", "ada"), until: Timestamp::from_second(until).unwrap() };
            serde_json::to_string(&note).unwrap()
        };
        let annotations = [
            ("maar.io/room-1", note(1001)),
            ("maar.io/room-2", note(1000)),
            ("maar.io/room-3", "?".to_owned()),
            ("other", note(2000)),
        ];
        let annotations = annotations.map(|(name, text)| (name.to_owned(), text)).into();
        let (valid, old) = notes_of(&annotations, now);
        assert_eq!(valid, [desk("a", "lab", "ada")]);
        assert_eq!(old, ["maar.io/room-2", "maar.io/room-3"]);
    }
}
