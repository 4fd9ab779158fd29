//! What the watch on nodes says about ours.

use std::{cmp::Reverse, collections::BTreeMap};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Taint;
use kube::runtime::watcher;
use serde::Deserialize;
use serde_json::Value;

use super::{Fleet, NodeObject, PARALLEL, delete_node, object::SET_ANNOTATION};
use crate::{
    events::News,
    failure::{FAIL_ANNOTATION, Failures},
    runtime::Runtime,
};

impl<R: Runtime> Fleet<R> {
    pub(super) async fn watched(&mut self, event: Result<watcher::Event<NodeObject>, watcher::Error>) {
        match event {
            Ok(watcher::Event::Init) => {
                let members = self.members.iter();
                self.roll.begin(members.map(|(name, member)| (name.clone(), member.uid.clone())));
            }
            Ok(watcher::Event::InitApply(node)) => {
                self.call(&node);
                self.observe(&serde_json::to_value(node).unwrap_or_default());
            }
            Ok(watcher::Event::InitDone) => self.end_roll().await,
            Ok(watcher::Event::Apply(node)) => {
                self.observe(&serde_json::to_value(node).unwrap_or_default());
            }
            Ok(watcher::Event::Delete(node)) => {
                let name = node.metadata.name.unwrap_or_default();
                let ours = self
                    .members
                    .get(name.as_str())
                    .is_some_and(|member| node.metadata.uid.as_deref() == Some(&member.uid));
                if ours {
                    self.mourn(&name);
                }
            }
            Err(error) => tracing::warn!("watching nodes: {error}"),
        }
    }

    /// Enters a listed node on the roll if it is of our set.
    fn call(&mut self, node: &NodeObject) {
        let metadata = &node.metadata;
        let set = metadata.annotations.as_ref().and_then(|map| map.get(SET_ANNOTATION));
        if set == Some(&self.settings.set)
            && let (Some(name), Some(uid)) = (&metadata.name, &metadata.uid)
        {
            self.roll.see(name, uid);
        }
    }

    /// Forgets what was deleted while nobody watched, and removes what the profile does not have any more.
    async fn end_roll(&mut self) {
        let members = &self.members;
        let called = self.roll.end(|name| members.contains_key(name));
        for name in called.missing {
            self.mourn(&name);
        }
        let client = &self.client;
        let removed = futures::stream::iter(called.surplus).map(|(name, uid)| async move {
            match delete_node(client, &name, &uid).await {
                Ok(()) => tracing::info!(node.name = name, "the profile has no such node any more: deleted"),
                Err(error) => tracing::warn!("a surplus node stays: {error}"),
            }
        });
        removed.buffer_unordered(PARALLEL).collect::<()>().await;
    }

    fn mourn(&mut self, name: &str) {
        tracing::info!(node.name = name, "the node was deleted and is kept alive no more");
        self.forget(name);
    }

    pub(super) fn forget(&mut self, name: &str) {
        self.members.remove(name);
        self.table.lock().node_removed(name);
    }

    /// Takes over what the API says about one of our nodes.
    pub(super) fn observe(&mut self, object: &Value) {
        let now = self.now();
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let Some(member) = self.members.get_mut(name) else { return };
        if object["metadata"]["uid"].as_str() != Some(&member.uid) {
            return;
        }
        let text = object["metadata"]["annotations"][FAIL_ANNOTATION].as_str().unwrap_or_default();
        let failures = match text.parse::<Failures>() {
            Ok(failures) => failures,
            // A slip of the pen neither breaks nor heals.
            Err(error) => {
                self.events.tell_node(name, &News::warning("InvalidFailure", error.to_string()), now);
                member.health.failures
            }
        };
        let was_ready = !member.health.failures.not_ready;
        let changed = member.observe(object, failures, now);
        if changed {
            member.next_beat = now;
            self.beats.push(Reverse((now, member.plan.name.clone())));
        }
        if was_ready == failures.not_ready {
            let reason = if was_ready { "NodeNotReady" } else { "NodeReady" };
            let message = format!("Node {name} status is now: {reason}");
            self.events.tell_node(name, &News::normal(reason, message), now);
        }
        let mut table = self.table.lock();
        if let Some(node) = table.nodes.get_mut(name) {
            node.labels = BTreeMap::deserialize(&object["metadata"]["labels"]).unwrap_or_default();
            node.taints = Vec::<Taint>::deserialize(&object["spec"]["taints"]).unwrap_or_default();
            if changed {
                node.set_failures(failures);
                table.node_changed(name, now);
                self.bell.notify_one();
            }
        }
    }
}
