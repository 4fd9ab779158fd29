//! Builders for tests of this crate.

use std::{collections::BTreeMap, sync::Arc};

use crate::model::{CardKindId, CardRequest, CardShare, GroupId, Node, Pod, PodPhase, ResourceId, Shape};

/// A Pod of no group that waits, in namespace `default`.
pub(crate) fn pod(name: &str) -> PodBuilder {
    PodBuilder(Pod {
        namespace: "default".into(),
        name: name.into(),
        uid: format!("uid-{name}").into(),
        labels: Arc::default(),
        shape: Arc::default(),
        volumes: Arc::default(),
        group: GroupId::NONE,
        task: "".into(),
        priority: 0,
        created: 0,
        terminating: false,
        ours: true,
        phase: PodPhase::Pending,
        nominated: None,
    })
}

pub(crate) struct PodBuilder(Pod);

impl PodBuilder {
    pub(crate) fn shape(mut self, shape: Shape) -> Self {
        self.0.shape = Arc::new(shape);
        self
    }

    pub(crate) fn phase(mut self, phase: PodPhase) -> Self {
        self.0.phase = phase;
        self
    }

    pub(crate) fn on(self, node: crate::model::NodeId) -> Self {
        self.phase(PodPhase::Placed { node, cards: crate::model::CardsTaken::default(), since: 0 })
    }

    pub(crate) fn label(mut self, key: &str, value: &str) -> Self {
        Arc::make_mut(&mut self.0.labels).insert(key.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn namespace(mut self, namespace: &str) -> Self {
        self.0.namespace = namespace.into();
        self
    }

    pub(crate) fn priority(mut self, priority: i32) -> Self {
        self.0.priority = priority;
        self
    }

    /// Of another scheduler, which has promised it a node.
    pub(crate) fn promised(mut self, node: crate::model::NodeId) -> Self {
        (self.0.ours, self.0.nominated) = (false, Some(node));
        self
    }

    pub(crate) fn attached(mut self, driver: &str, volumes: &[&str]) -> Self {
        let all = volumes.iter().map(|volume| (driver.to_owned(), (*volume).to_owned()));
        Arc::make_mut(&mut self.0.volumes).attached.extend(all);
        self
    }

    pub(crate) fn exclusive(mut self, claim: &str) -> Self {
        Arc::make_mut(&mut self.0.volumes).exclusive.insert(claim.to_owned());
        self
    }

    pub(crate) fn terminating(mut self) -> Self {
        self.0.terminating = true;
        self
    }

    pub(crate) fn build(self) -> Pod {
        self.0
    }
}

/// A shape that asks for nothing, in namespace `default`.
pub(crate) fn shape() -> ShapeBuilder {
    ShapeBuilder(Shape { namespace: "default".to_owned(), ..Shape::default() })
}

pub(crate) struct ShapeBuilder(Shape);

impl ShapeBuilder {
    pub(crate) fn cpu(mut self, milli: i64) -> Self {
        self.0.requests.set(ResourceId::CPU, milli);
        self
    }

    pub(crate) fn memory(mut self, bytes: i64) -> Self {
        self.0.requests.set(ResourceId::MEMORY, bytes);
        self
    }

    pub(crate) fn cards(mut self, count: u16) -> Self {
        self.0.cards = CardRequest::whole(CardKindId(0), count);
        self
    }

    pub(crate) fn share(mut self, milli: u16) -> Self {
        self.0.cards =
            CardRequest::Share { kind: CardKindId(0), share: CardShare::Milli(milli), index: None };
        self
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Shape)) -> Self {
        change(&mut self.0);
        self
    }

    pub(crate) fn build(self) -> Shape {
        self.0
    }
}

/// A node with 64 cores, 256 GiB and these labels.
pub(crate) fn node(name: &str, labels: &[(&str, &str)]) -> Node {
    let labels: BTreeMap<String, String> =
        labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let mut node = Node { name: name.to_owned(), labels, ..Node::default() };
    node.allocatable.set(ResourceId::CPU, 64_000);
    node.allocatable.set(ResourceId::MEMORY, 256 << 30);
    node
}
