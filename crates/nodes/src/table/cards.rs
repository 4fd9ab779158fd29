//! Which Pod holds which card of a node.

use std::sync::Arc;

use crate::profile::Cards;

/// A container that holds (a share of) a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CardHolder {
    pub(crate) uid: Arc<str>,
    /// Position of the container in its Pod.
    pub(crate) container: usize,
}

/// The cards of one node. Shares of a card are handed out breadth first, so that Pods share only when they must.
#[derive(Debug)]
pub(crate) struct CardBoard {
    pub(crate) kind: Arc<Cards>,
    /// Share `n` belongs to card `n % count`.
    shares: Box<[Option<CardHolder>]>,
}

impl CardBoard {
    pub(crate) fn new(kind: Arc<Cards>) -> Self {
        let shares = usize::try_from(kind.count.saturating_mul(kind.replicas)).unwrap_or(0);
        Self { kind, shares: vec![None; shares].into() }
    }

    /// Hands `wanted` free shares to `holder`, or as many as there are.
    pub(crate) fn take(&mut self, holder: &CardHolder, wanted: i64) {
        let wanted = usize::try_from(wanted).unwrap_or(0);
        for share in self.shares.iter_mut().filter(|share| share.is_none()).take(wanted) {
            *share = Some(holder.clone());
        }
    }

    /// Takes back everything that the Pod holds.
    pub(crate) fn release(&mut self, uid: &str) {
        for share in &mut self.shares {
            if share.as_ref().is_some_and(|holder| *holder.uid == *uid) {
                *share = None;
            }
        }
    }

    /// Who holds card `card`, in order of the shares.
    pub(crate) fn holders(&self, card: usize) -> impl Iterator<Item = &CardHolder> {
        let count = usize::try_from(self.kind.count).unwrap_or(1).max(1);
        self.shares.iter().skip(card).step_by(count).flatten()
    }

    /// The cards that the container of the Pod holds.
    pub(crate) fn held(&self, uid: &str, container: usize) -> Vec<usize> {
        let count = usize::try_from(self.kind.count).unwrap_or(0);
        (0..count)
            .filter(|&card| {
                self.holders(card).any(|holder| *holder.uid == *uid && holder.container == container)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use maar_quantities::Quantity;

    use super::*;
    use crate::profile::{Power, Vendor};

    fn board(count: u32, replicas: u32) -> CardBoard {
        CardBoard::new(Arc::new(Cards {
            resource: "nvidia.com/gpu".into(),
            count,
            replicas,
            vendor: Vendor::Nvidia,
            model: "X".into(),
            memory: Quantity::from_bytes(1),
            power: Power::default(),
        }))
    }

    fn holder(uid: &str) -> CardHolder {
        CardHolder { uid: uid.into(), container: 0 }
    }

    #[test]
    fn cards_are_handed_out_and_taken_back() {
        let mut board = board(4, 1);
        board.take(&holder("a"), 2);
        board.take(&holder("b"), 1);
        assert_eq!(board.held("a", 0), [0, 1]);
        assert_eq!(board.held("b", 0), [2]);
        board.release("a");
        board.take(&holder("c"), 3);
        assert_eq!(board.held("c", 0), [0, 1, 3]);
        assert_eq!(board.held("a", 0), [0usize; 0]);
    }

    #[test]
    fn a_card_is_shared_only_when_none_is_free() {
        let mut board = board(2, 2);
        for uid in ["a", "b", "c"] {
            board.take(&holder(uid), 1);
        }
        assert_eq!((board.held("a", 0), board.held("b", 0), board.held("c", 0)), (vec![0], vec![1], vec![0]));
        assert_eq!(board.holders(0).count(), 2);
    }
}
