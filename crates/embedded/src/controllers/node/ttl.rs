//! How long kubelets may remember what they read, noted on each node: the more nodes, the longer.

use std::sync::Arc;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Node;
use parking_lot::Mutex;

use crate::controllers::base::{self, Base};
use crate::controllers::{Again, Controller};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};

const ANNOTATION: &str = "node.alpha.kubernetes.io/ttl";

/// From and up to how many nodes a time holds, and the time in seconds. The ranges overlap so that a cluster at the
/// edge does not go back and forth.
const STEPS: [(usize, usize, u32); 5] =
    [(0, 100, 0), (90, 500, 15), (450, 1000, 30), (900, 2000, 60), (1800, usize::MAX, 300)];

/// The step for so many nodes, coming from another one.
fn step(mut current: usize, nodes: usize) -> usize {
    while nodes > STEPS[current].1 {
        current += 1;
    }
    while nodes < STEPS[current].0 {
        current -= 1;
    }
    current
}

#[derive(Debug)]
pub(crate) struct NodeTtl {
    base: Base,
    step: Mutex<usize>,
    table: Arc<str>,
}

impl NodeTtl {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        let base = Base::new(server, "ttl-controller");
        let table = Arc::clone(&base.local.resource::<Node>().table);
        Self { base, step: Mutex::new(0), table }
    }

    async fn sync(&self, name: &str) -> Result<Again, ApiError> {
        let seconds = STEPS[*self.step.lock()].2.to_string();
        let Some(node) = self.base.local.get::<Node>("", name) else { return Ok(None) };
        let known = node.metadata.annotations.as_ref().and_then(|all| all.get(ANNOTATION));
        if known != Some(&seconds) {
            let change = |node: &mut Node| {
                node.metadata.annotations.get_or_insert_default().insert(ANNOTATION.into(), seconds.clone());
            };
            self.base.local.modify("", name, change).await?;
        }
        Ok(None)
    }
}

impl Controller for NodeTtl {
    fn name(&self) -> &'static str {
        "ttl-controller"
    }

    fn tables(&self) -> Vec<&'static str> {
        vec!["nodes"]
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        let mut current = self.step.lock();
        let next = step(*current, self.base.store().count(&self.table));
        if *current != next {
            *current = next;
            let nodes = self.base.local.entries::<Node>(None);
            return nodes.iter().map(|entry| Key::new(&self.table, "", &entry.meta.name)).collect();
        }
        // Later changes of a node do not concern its size.
        if event.deleted || event.previous.is_some() { Vec::new() } else { vec![base::own_key(table, event)] }
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_grow_with_the_cluster_and_do_not_flutter() {
        assert_eq!(step(0, 100), 0);
        assert_eq!(step(0, 101), 1);
        assert_eq!(step(1, 95), 1, "not back at once");
        assert_eq!(step(1, 89), 0);
        assert_eq!(step(0, 10_000), 4);
        assert_eq!(step(4, 3), 0);
    }
}
