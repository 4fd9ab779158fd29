//! Asks the source from time to time, and keeps what it says.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use kube::{Client, ResourceExt as _};
use maar_controller::clock::SharedClock;
use parking_lot::RwLock;
use tokio::time::{MissedTickBehavior, interval};

use super::{
    CardKey, CardSource, History, MetricNames, Point,
    reading::OfNode,
    source::{Past, Readings},
};
use crate::{
    live::Live,
    metrics::PortalMetrics,
    node::{CardKinds, has_cards},
};

/// The newest readings are forgotten after this, if no newer ones come.
const FRESH: jiff::SignedDuration = jiff::SignedDuration::from_mins(3);

/// What is known of cards. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cards(Arc<RwLock<Known>>);

#[derive(Debug, Default)]
struct Known {
    history: History,
    newest: BTreeMap<String, Arc<OfNode>>,
    at: Timestamp,
    version: u64,
}

impl Cards {
    /// Readings of the cards of a node, and what they were before if nothing of them has changed.
    pub(crate) fn of_node(&self, node: &str) -> Option<Arc<OfNode>> {
        self.0.read().newest.get(node).cloned()
    }

    /// Changes with every look at the source.
    pub(crate) fn version(&self) -> u64 {
        self.0.read().version
    }

    /// What a card that `resource` counts did in the last minutes, up to an hour; oldest first, without what is not known.
    pub(crate) fn usage(&self, node: &str, resource: &str, index: u32, minutes: usize) -> Vec<Point> {
        self.0.read().history.minutes(node, CardKey::new(resource, index), minutes)
    }

    /// The highest use of a card that `resource` counts, if it was seen for so many minutes up to now.
    pub(crate) fn highest(
        &self,
        node: &str,
        (resource, index): (&str, u32),
        minutes: i64,
        now: Timestamp,
    ) -> Option<u8> {
        self.0.read().history.highest(node, CardKey::new(resource, index), minutes, now.as_second())
    }

    /// Looks at the history while nothing is added.
    pub(crate) fn with_history<T>(&self, look: impl FnOnce(&History) -> T) -> T {
        look(&self.0.read().history)
    }

    pub(super) fn begin(&self, past: Past, names: &MetricNames, now: Timestamp) {
        let mut known = self.0.write();
        known.history.advance(now.as_second());
        past.fill(names, &mut known.history);
        known.version += 1;
    }

    pub(super) fn take(&self, readings: Readings, now: Timestamp) {
        let mut known = self.0.write();
        known.history.advance(now.as_second());
        for (node, cards) in &readings {
            for (card, reading) in cards {
                known.history.add(node, *card, reading);
            }
        }
        // What has not changed stays the same object, so that nothing has to be made anew of it.
        let mut newest = std::mem::take(&mut known.newest);
        known.newest = readings
            .into_iter()
            .map(|(node, cards)| match newest.remove(&node) {
                Some(same) if *same == cards => (node, same),
                _ => (node, Arc::new(cards)),
            })
            .collect();
        known.at = now;
        known.version += 1;
    }

    /// The source does not answer: what is old is not shown as if it were now.
    pub(super) fn missed(&self, now: Timestamp) {
        let mut known = self.0.write();
        known.history.advance(now.as_second());
        if now.duration_since(known.at) > FRESH && !known.newest.is_empty() {
            known.newest.clear();
            known.version += 1;
        }
    }
}

/// Asks the source every so often, for ever.
pub(crate) async fn sample(
    (cards, live): (Cards, Live),
    client: Client,
    clock: SharedClock,
    (source, names, kinds): (CardSource, MetricNames, CardKinds),
    (every, metrics): (Duration, PortalMetrics),
) {
    if matches!(source, CardSource::Nothing) {
        return std::future::pending().await;
    }
    live.ready().await;
    match source.past(&names, clock.now()).await {
        Ok(past) => cards.begin(past, &names, clock.now()),
        Err(error) => tracing::warn!("the past of the cards is not known: {error}"),
    }
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let nodes = live.nodes.list(None);
        let nodes = nodes.iter().filter(|node| has_cards(node, &kinds)).map(|node| node.name_any()).collect();
        match source.read(&client, &names, nodes, clock.now()).await {
            Ok(readings) => {
                metrics.card_time.set(clock.now().as_second());
                cards.take(readings, clock.now());
            }
            Err(error) => {
                metrics.card_failures.inc();
                tracing::warn!("the cards are not read: {error}");
                cards.missed(clock.now());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(use_: f64) -> Readings {
        let names = MetricNames::default();
        let labels = BTreeMap::from([("gpu".to_owned(), "0".to_owned())]);
        let mut of_node = OfNode::new();
        names.take(&mut of_node, "DCGM_FI_DEV_GPU_UTIL", &labels, use_);
        Readings::from([("n".to_owned(), of_node)])
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn what_has_not_changed_stays_the_same_and_what_is_old_goes() {
        let cards = Cards::default();
        cards.take(readings(5.0), at(0));
        let first = cards.of_node("n").unwrap();
        cards.take(readings(5.0), at(30));
        assert!(Arc::ptr_eq(&first, &cards.of_node("n").unwrap()));
        cards.take(readings(6.0), at(60));
        assert!(!Arc::ptr_eq(&first, &cards.of_node("n").unwrap()));
        cards.missed(at(100));
        assert!(cards.of_node("n").is_some());
        cards.missed(at(300));
        assert!(cards.of_node("n").is_none());
        let points = cards.usage("n", "nvidia.com/gpu", 0, 60);
        assert_eq!(points.iter().map(|point| point.1).collect::<Vec<_>>(), [Some(5), Some(6)]);
    }
}
