//! The revisions of a DaemonSet.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet};

use super::pods::HASH_LABEL;
use crate::controllers::base::{Base, Owner};
use crate::controllers::history::{self, Parent, Step};
use crate::controllers::view::PodView;
use crate::status::ApiError;
use crate::verbs::DeleteOptions;

/// Makes the newest revision keep the present template, removes old ones, and answers the template's hash.
pub(crate) async fn ensure(
    base: &Base,
    daemon: &DaemonSet,
    owner: &Owner<'_>,
    pods: &[Arc<PodView>],
) -> Result<String, ApiError> {
    let spec = daemon.spec.clone().unwrap_or_default();
    let entries = base.claim::<ControllerRevision>(owner, |_| true).await?;
    let mut all: Vec<ControllerRevision> = entries.iter().filter_map(|entry| entry.typed()).collect();
    all.sort_by(history::by_revision);
    let parent = Parent {
        metadata: &daemon.metadata,
        reference: owner.reference.clone(),
        hash_label: HASH_LABEL,
        collisions: daemon.status.as_ref().and_then(|status| status.collision_count),
    };
    let newest = match history::step(&all, &parent, &spec.template) {
        Step::Keep(revision) => revision,
        Step::Renumber(revision, number) => {
            let change = |revision: &mut ControllerRevision| revision.revision = number;
            base.local.modify(owner.namespace, history::name(&revision), change).await?
        }
        Step::Create(revision) => match base.local.create(&revision).await {
            Err(error) if error.is_already_exists() => {
                count_collision(base, daemon).await?;
                return Err(error);
            }
            result => result?,
        },
    };
    let limit = usize::try_from(spec.revision_history_limit.unwrap_or(10)).unwrap_or(0);
    all.retain(|revision| revision.metadata.name != newest.metadata.name);
    truncate(base, owner.namespace, &all, limit, pods).await?;
    Ok(hash_of(&newest))
}

fn hash_of(revision: &ControllerRevision) -> String {
    let label = revision.metadata.labels.as_ref().and_then(|labels| labels.get(HASH_LABEL));
    label.cloned().unwrap_or_else(|| history::name(revision).to_owned())
}

async fn count_collision(base: &Base, daemon: &DaemonSet) -> Result<(), ApiError> {
    let metadata = &daemon.metadata;
    let change = |daemon: &mut DaemonSet| {
        let status = daemon.status.get_or_insert_default();
        status.collision_count = Some(status.collision_count.unwrap_or(0) + 1);
    };
    let (namespace, name) = (metadata.namespace.as_deref(), metadata.name.as_deref());
    base.local
        .modify_status(namespace.unwrap_or_default(), name.unwrap_or_default(), change)
        .await
        .map(|_| ())
}

/// Removes the oldest revisions beyond the limit that no Pod is of.
async fn truncate(
    base: &Base,
    namespace: &str,
    old: &[ControllerRevision],
    limit: usize,
    pods: &[Arc<PodView>],
) -> Result<(), ApiError> {
    let live: BTreeSet<&str> = pods.iter().map(|pod| pod.label(HASH_LABEL)).collect();
    let surplus = old.len().saturating_sub(limit);
    let idle = old.iter().filter(|revision| !live.contains(hash_of(revision).as_str()));
    for revision in idle.take(surplus) {
        let name = history::name(revision);
        base.local.delete::<ControllerRevision>(namespace, name, &DeleteOptions::default()).await?;
    }
    Ok(())
}
