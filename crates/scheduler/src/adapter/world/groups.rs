//! Groups: objects that ask for them, and Pods that are in them, in whichever order they are seen.

use std::collections::{BTreeMap, HashMap};

use k8s_openapi::api::core::v1::ObjectReference;
use maar_api::v1alpha1::QueueStatus;

use super::World;
use crate::{
    adapter::{
        feed::Kind,
        translate::{Asked, Membership, Owner, job_group, upstream_group, volcano_group},
        wire,
    },
    core::Core,
    model::GroupId,
};

/// What is known about a group.
#[derive(Debug, Default)]
pub(super) struct Entry {
    /// What its object asks for, once that has been seen.
    asked: Option<Asked>,
    /// What its Pods say where the object says nothing.
    pods: Owner,
    members: u32,
}

/// All groups, by their name in the core; and the objects that Pods and people know them by.
#[derive(Debug, Default)]
pub(super) struct Groups {
    entries: HashMap<String, Entry>,
    /// What was last written into the status of a job, to write it once.
    pub(super) written: BTreeMap<String, Option<QueueStatus>>,
    /// Identity of the objects, for events.
    pub(super) uids: HashMap<String, String>,
}

impl World {
    /// The number of the group a Pod is in. Counts the Pod as a member if it is a new one.
    pub(super) fn join(
        &mut self,
        core: &mut Core,
        pod: &wire::Pod,
        membership: &Membership,
        new: bool,
    ) -> GroupId {
        let name = membership.group(&pod.metadata);
        let owner = Owner::of(&pod.metadata, pod.spec.priority);
        let entry = self.groups.entries.entry(name.clone()).or_default();
        entry.members += u32::from(new);
        if *membership == Membership::Alone {
            entry.asked.get_or_insert_with(|| Asked::alone(pod.metadata.created()));
        }
        let raised = owner.priority.max(entry.pods.priority);
        let pods = Owner { priority: raised, ..entry.pods.clone().or(&owner) };
        let same = pods == entry.pods;
        entry.pods = pods;
        match core.ledger().find_group(&name).filter(|_| same) {
            Some(id) => id,
            None => core.upsert_group(self.build(&name)),
        }
    }

    /// A Pod has left its group.
    pub(super) fn leave(&mut self, core: &mut Core, name: &str) {
        let Some(entry) = self.groups.entries.get_mut(name) else { return };
        entry.members = entry.members.saturating_sub(1);
        if entry.members == 0 && (entry.asked.is_none() || name.contains("/pod:")) {
            self.groups.entries.remove(name);
            core.remove_group(name);
        }
    }

    fn build(&self, name: &str) -> crate::model::Group {
        let default = &self.settings.default_account;
        let space = name.split_once('/').and_then(|(namespace, _)| self.accounts.get(namespace));
        let space = space.map(String::as_str);
        let Some(entry) = self.groups.entries.get(name) else {
            return Asked::default().group(name, &Owner::default(), space, default);
        };
        // Nobody knows yet how many have to start together, so nobody starts.
        let unknown = || Asked { unknown: true, minimum: u32::MAX, ..Asked::default() };
        entry.asked.clone().unwrap_or_else(unknown).group(name, &entry.pods, space, default)
    }

    /// The namespace has another account now: its groups may have one too.
    pub(super) fn charge_anew(&mut self, core: &mut Core, namespace: &str) {
        let is_here = |name: &&String| name.split_once('/').is_some_and(|(here, _)| here == namespace);
        let mut names: Vec<String> = self.groups.entries.keys().filter(is_here).cloned().collect();
        names.sort_unstable();
        for name in names {
            let group = self.build(&name);
            core.upsert_group(group);
        }
    }

    /// What stands in the status of the job of that name about its waiting; nothing if there is no such job.
    pub(crate) fn written(&self, name: &str) -> Option<&Option<QueueStatus>> {
        self.groups.written.get(name)
    }

    /// Jobs in whose status stands why they wait.
    pub(crate) fn jobs_with_reason(&self) -> impl Iterator<Item = &str> {
        self.groups.written.iter().filter(|(_, status)| status.is_some()).map(|(name, _)| name.as_str())
    }

    /// The object behind a group, for events.
    pub(crate) fn reference(&self, name: &str) -> Option<ObjectReference> {
        let uid = self.groups.uids.get(name)?;
        let (namespace, called) = name.split_once('/')?;
        let (api_version, kind, called) = match called.split_once(':') {
            None => (maar_api::names::API_VERSION, "AIJob", called),
            Some(("volcano", called)) => ("scheduling.volcano.sh/v1beta1", "PodGroup", called),
            Some((_, called)) => ("scheduling.k8s.io/v1alpha2", "PodGroup", called),
        };
        Some(ObjectReference {
            api_version: Some(api_version.to_owned()),
            kind: Some(kind.to_owned()),
            namespace: Some(namespace.to_owned()),
            name: Some(called.to_owned()),
            uid: Some(uid.clone()),
            ..ObjectReference::default()
        })
    }

    /// Whether the cluster knows the kind of object that a Pod names as its group. Nobody but a job's controller marks
    /// Pods as a job's, so there the kind is on its way if it is not known yet.
    pub(super) fn is_served(&self, membership: &Membership) -> bool {
        let kind = match membership {
            Membership::Alone => return true,
            Membership::Job(_) if !self.recorded => return true,
            Membership::Job(_) => Kind::Jobs,
            Membership::Volcano(_) => Kind::Volcano,
            Membership::Upstream(_) => Kind::Upstream,
        };
        self.lists.is_served(kind) || self.unknown.contains(&kind)
    }

    fn ask(&mut self, core: &mut Core, name: String, meta: &wire::Meta, asked: Asked) {
        self.groups.uids.insert(name.clone(), meta.uid.clone());
        let entry = self.groups.entries.entry(name.clone()).or_default();
        if entry.asked.as_ref() == Some(&asked) {
            return;
        }
        entry.asked = Some(asked);
        let group = self.build(&name);
        core.upsert_group(group);
    }

    fn unask(&mut self, core: &mut Core, name: &str) {
        self.groups.uids.remove(name);
        self.groups.written.remove(name);
        let Some(entry) = self.groups.entries.get_mut(name) else { return };
        entry.asked = None;
        if entry.members == 0 {
            self.groups.entries.remove(name);
            core.remove_group(name);
        } else {
            let group = self.build(name);
            core.upsert_group(group);
        }
    }

    pub(super) fn job(&mut self, core: &mut Core, job: wire::Job) {
        let name = job_group(&job.metadata.namespace, &job.metadata.name);
        self.groups.written.insert(name.clone(), job.status.queue.clone());
        self.ask(core, name, &job.metadata, Asked::by_job(&job));
    }

    pub(super) fn job_gone(&mut self, core: &mut Core, key: &str) {
        self.unask(core, key);
    }

    pub(super) fn volcano(&mut self, core: &mut Core, group: wire::VolcanoPodGroup) {
        let name = volcano_group(&group.metadata.namespace, &group.metadata.name);
        self.ask(core, name, &group.metadata, Asked::by_volcano(&group));
    }

    pub(super) fn volcano_gone(&mut self, core: &mut Core, key: &str) {
        if let Some((namespace, name)) = key.split_once('/') {
            self.unask(core, &volcano_group(namespace, name));
        }
    }

    pub(super) fn upstream(&mut self, core: &mut Core, group: wire::UpstreamPodGroup) {
        let name = upstream_group(&group.metadata.namespace, &group.metadata.name);
        self.ask(core, name, &group.metadata, Asked::by_upstream(&group));
    }

    pub(super) fn upstream_gone(&mut self, core: &mut Core, key: &str) {
        if let Some((namespace, name)) = key.split_once('/') {
            self.unask(core, &upstream_group(namespace, name));
        }
    }
}
