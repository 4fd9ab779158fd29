//! The revisions of a StatefulSet: the one its Pods come from and the one they go to.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{ControllerRevision, StatefulSet};
use k8s_openapi::api::core::v1::PodTemplateSpec;

use super::identity::{self, REVISION_LABEL};
use crate::controllers::base::{Base, Owner};
use crate::controllers::history::{self, Parent, Step};
use crate::controllers::view::PodView;
use crate::status::ApiError;
use crate::verbs::DeleteOptions;

/// The two revisions that matter, and all of them.
#[derive(Debug)]
pub(crate) struct Revisions {
    pub(crate) current_name: String,
    pub(crate) update_name: String,
    pub(crate) collisions: i32,
    current: PodTemplateSpec,
    update: PodTemplateSpec,
    all: Vec<ControllerRevision>,
}

impl Revisions {
    /// Template and name of the new or the old revision.
    pub(crate) fn pick(&self, updated: bool) -> (&PodTemplateSpec, &str) {
        if updated { (&self.update, &self.update_name) } else { (&self.current, &self.current_name) }
    }
}

/// Finds the revisions, and makes the newest one keep the present template.
pub(crate) async fn ensure(base: &Base, set: &StatefulSet, owner: &Owner<'_>) -> Result<Revisions, ApiError> {
    let template = set.spec.as_ref().map(|spec| spec.template.clone()).unwrap_or_default();
    let entries = base.claim::<ControllerRevision>(owner, |_| true).await?;
    let mut all: Vec<ControllerRevision> = entries.iter().filter_map(|entry| entry.typed()).collect();
    all.sort_by(history::by_revision);
    let mut collisions = set.status.as_ref().and_then(|status| status.collision_count).unwrap_or(0);
    let parent = |collisions| Parent {
        metadata: &set.metadata,
        reference: owner.reference.clone(),
        hash_label: "controller.kubernetes.io/hash",
        collisions: Some(collisions),
    };
    let update = match history::step(&all, &parent(collisions), &template) {
        Step::Keep(revision) => revision,
        Step::Renumber(revision, number) => {
            let change = |revision: &mut ControllerRevision| revision.revision = number;
            base.local.modify(identity::namespace(set), history::name(&revision), change).await?
        }
        Step::Create(mut revision) => loop {
            match base.local.create(&revision).await {
                Err(error) if error.is_already_exists() && collisions < 100 => {
                    collisions += 1;
                    revision = history::make(&parent(collisions), &template, revision.revision);
                }
                result => break result?,
            }
        },
    };
    let current_name =
        set.status.as_ref().and_then(|status| status.current_revision.clone()).unwrap_or_default();
    let current = all.iter().find(|revision| history::name(revision) == current_name).unwrap_or(&update);
    Ok(Revisions {
        current_name: history::name(current).to_owned(),
        update_name: history::name(&update).to_owned(),
        collisions,
        current: history::template_of(current).unwrap_or_else(|| template.clone()),
        update: template,
        all,
    })
}

/// Removes the oldest revisions that nothing uses, beyond what history asks for.
pub(crate) async fn truncate(
    base: &Base,
    set: &StatefulSet,
    pods: &[Arc<PodView>],
    revisions: &Revisions,
) -> Result<(), ApiError> {
    let limit = set.spec.as_ref().and_then(|spec| spec.revision_history_limit).unwrap_or(10);
    let Ok(limit) = usize::try_from(limit) else { return Ok(()) };
    let lives = |name: &str| {
        name == revisions.current_name
            || name == revisions.update_name
            || pods.iter().any(|pod| pod.label(REVISION_LABEL) == name)
    };
    let idle: Vec<&ControllerRevision> =
        revisions.all.iter().filter(|revision| !lives(history::name(revision))).collect();
    for revision in idle.iter().take(idle.len().saturating_sub(limit)) {
        let name = history::name(revision);
        base.local
            .delete::<ControllerRevision>(identity::namespace(set), name, &DeleteOptions::default())
            .await?;
    }
    Ok(())
}
