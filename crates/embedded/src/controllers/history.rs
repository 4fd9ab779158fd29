//! ControllerRevisions: the templates a StatefulSet or DaemonSet had, as `kubectl rollout history` reads them.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use serde_json::{Value, json};

use super::template::hash;

/// A template as a revision keeps it: a patch that puts it in place of another one.
pub(crate) fn patch_of(template: &PodTemplateSpec) -> Value {
    let mut template = serde_json::to_value(template).unwrap_or_default();
    template["$patch"] = json!("replace");
    json!({"spec": {"template": template}})
}

/// The template a revision keeps.
pub(crate) fn template_of(revision: &ControllerRevision) -> Option<PodTemplateSpec> {
    let mut template = revision.data.as_ref()?.0.get("spec")?.get("template")?.clone();
    template.as_object_mut()?.remove("$patch");
    serde_json::from_value(template).ok()
}

/// Oldest first.
pub(crate) fn by_revision(one: &ControllerRevision, other: &ControllerRevision) -> Ordering {
    let age = |revision: &ControllerRevision| {
        (revision.metadata.creation_timestamp.clone(), revision.metadata.name.clone())
    };
    one.revision.cmp(&other.revision).then_with(|| age(one).cmp(&age(other)))
}

/// Whether a revision keeps this template.
pub(crate) fn keeps(revision: &ControllerRevision, template: &PodTemplateSpec) -> bool {
    revision.data.as_ref().is_some_and(|data| data.0 == patch_of(template))
}

pub(crate) fn name(revision: &ControllerRevision) -> &str {
    revision.metadata.name.as_deref().unwrap_or_default()
}

/// Whose revision it will be.
pub(crate) struct Parent<'a> {
    pub(crate) metadata: &'a ObjectMeta,
    pub(crate) reference: OwnerReference,
    /// The label that carries the hash.
    pub(crate) hash_label: &'static str,
    pub(crate) collisions: Option<i32>,
}

/// A revision for a template.
pub(crate) fn make(parent: &Parent<'_>, template: &PodTemplateSpec, number: i64) -> ControllerRevision {
    let patch = patch_of(template);
    let hash = hash(&patch, parent.collisions.filter(|count| *count > 0));
    let described = template.metadata.as_ref();
    let mut labels: BTreeMap<String, String> =
        described.and_then(|metadata| metadata.labels.clone()).unwrap_or_default();
    labels.insert(parent.hash_label.to_owned(), hash.clone());
    let owner = parent.metadata.name.as_deref().unwrap_or_default();
    let mut end = owner.len().min(223);
    while !owner.is_char_boundary(end) {
        end -= 1;
    }
    ControllerRevision {
        metadata: ObjectMeta {
            name: Some(format!("{}-{hash}", &owner[..end])),
            namespace: parent.metadata.namespace.clone(),
            labels: Some(labels),
            annotations: parent.metadata.annotations.clone(),
            owner_references: Some(vec![parent.reference.clone()]),
            ..ObjectMeta::default()
        },
        data: Some(RawExtension(patch)),
        revision: number,
    }
}

/// What to do so that the newest revision keeps the present template.
#[derive(Debug)]
pub(crate) enum Step {
    /// It does already.
    Keep(ControllerRevision),
    /// An older one does: it becomes the newest, with this number.
    Renumber(ControllerRevision, i64),
    /// None does.
    Create(ControllerRevision),
}

/// Looks for the template among the revisions, which are sorted.
pub(crate) fn step(
    revisions: &[ControllerRevision],
    parent: &Parent<'_>,
    template: &PodTemplateSpec,
) -> Step {
    let newest = revisions.last();
    let next = newest.map_or(1, |newest| newest.revision + 1);
    match revisions.iter().rev().find(|revision| keeps(revision, template)) {
        Some(found) if newest.is_some_and(|newest| newest.metadata.name == found.metadata.name) => {
            Step::Keep(found.clone())
        }
        Some(found) => Step::Renumber(found.clone(), next),
        None => Step::Create(make(parent, template, next)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::from_value;

    use super::*;

    fn template(image: &str) -> PodTemplateSpec {
        from_value(json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": image}]}}))
            .unwrap()
    }

    #[test]
    fn going_back_renumbers_the_old_revision() {
        let metadata = ObjectMeta { name: Some("db".into()), ..ObjectMeta::default() };
        let parent = Parent {
            metadata: &metadata,
            reference: OwnerReference::default(),
            hash_label: "hash",
            collisions: None,
        };
        let mut revisions = Vec::new();
        for image in ["one", "two"] {
            match step(&revisions, &parent, &template(image)) {
                Step::Create(revision) => revisions.push(revision),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(revisions.iter().map(|revision| revision.revision).collect::<Vec<_>>(), [1, 2]);
        assert!(matches!(step(&revisions, &parent, &template("two")), Step::Keep(_)));
        match step(&revisions, &parent, &template("one")) {
            Step::Renumber(revision, number) => {
                assert_eq!((name(&revision), number), (name(&revisions[0]), 3));
                assert_eq!(template_of(&revision), Some(template("one")));
            }
            other => panic!("{other:?}"),
        }
    }
}
