//! Accelerator cards: which kinds there are, what a Pod asks of them, and what it was given.
//!
//! Kinds are data: a resource name, the variables by which a container finds its cards, the node label with the
//! memory of one card. No vendor is known by name in this crate.

use super::ResourceId;

/// Thousandths of a whole card.
pub const WHOLE_CARD: u16 = 1000;

/// A kind of card as a number, in the order of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CardKindId(pub u16);

/// A kind of card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardKind {
    /// The extended resource that counts the cards, such as `nvidia.com/gpu`; from [`super::Resources::card`], so that
    /// amounts of it are thousandths.
    pub resource: ResourceId,
    /// Node label with the memory of one card in MiB, for requests by memory.
    pub memory_label: Option<String>,
    /// Most Pods on one shared card.
    pub sharers: u16,
}

/// What a Pod asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CardRequest {
    /// No card.
    #[default]
    None,
    /// Whole cards, for it alone.
    Whole {
        /// Which kind.
        kind: CardKindId,
        /// How many.
        count: u16,
        /// The cards the user insists on, as many as `count`.
        only: CardSet,
    },
    /// A part of one card.
    Share {
        /// Which kind.
        kind: CardKindId,
        /// How much of it.
        share: CardShare,
        /// The card the user insists on.
        index: Option<u16>,
    },
}

impl CardRequest {
    /// Whole cards, whichever they are.
    pub const fn whole(kind: CardKindId, count: u16) -> Self {
        Self::Whole { kind, count, only: CardSet::ANY }
    }

    /// Whether the card of this number will do.
    pub fn allows(&self, index: u16) -> bool {
        match self {
            Self::None => true,
            Self::Whole { only, .. } => only.allows(index),
            Self::Share { index: asked, .. } => asked.is_none_or(|asked| asked == index),
        }
    }

    /// The kind of card asked for.
    pub fn kind(&self) -> Option<CardKindId> {
        match self {
            Self::None => None,
            Self::Whole { kind, .. } | Self::Share { kind, .. } => Some(*kind),
        }
    }

    /// How many cards are touched.
    pub fn count(&self) -> u16 {
        match self {
            Self::None => 0,
            Self::Whole { count, .. } => *count,
            Self::Share { .. } => 1,
        }
    }

    /// Thousandths of each card touched, on a node whose cards have this much memory (MiB). `None`: it cannot be said,
    /// or is more than a card.
    pub fn milli(&self, card_memory: Option<u32>) -> Option<u16> {
        match self {
            Self::None => Some(0),
            Self::Whole { .. } => Some(WHOLE_CARD),
            Self::Share { share: CardShare::Milli(milli), .. } => Some(*milli),
            Self::Share { share: CardShare::Memory(asked), .. } => {
                let memory = u64::from(card_memory.filter(|memory| *memory > 0)?);
                let milli = (u64::from(*asked) * u64::from(WHOLE_CARD)).div_ceil(memory);
                u16::try_from(milli).ok().filter(|milli| *milli <= WHOLE_CARD)
            }
        }
    }
}

/// Numbers of cards that somebody insists on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CardSet(u128);

impl CardSet {
    /// No card in particular: all will do.
    pub const ANY: Self = Self(0);
    /// Numbers are below this; no node has as many cards.
    pub const LIMIT: u16 = 128;

    /// The cards of these numbers. `None`: one is named twice, or is beyond the limit.
    pub fn of(indices: &[u16]) -> Option<Self> {
        indices.iter().try_fold(Self::ANY, |Self(set), index| {
            let bit = 1_u128.checked_shl(u32::from(*index))?;
            (set & bit == 0).then_some(Self(set | bit))
        })
    }

    /// Whether the card of this number is among them.
    pub fn allows(self, index: u16) -> bool {
        self == Self::ANY || 1_u128.checked_shl(u32::from(index)).is_some_and(|bit| self.0 & bit != 0)
    }
}

/// A part of one card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CardShare {
    /// Thousandths, 1 to 999.
    Milli(u16),
    /// Memory in MiB; becomes thousandths on a node whose cards' memory is known.
    Memory(u32),
}

/// The cards a Pod holds on its node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CardsTaken {
    /// Which kind; nothing is taken without it.
    pub kind: Option<CardKindId>,
    /// Numbers of the cards on the node, ascending.
    pub indices: Vec<u16>,
    /// Thousandths of each of them.
    pub milli: u16,
}

impl CardsTaken {
    /// Thousandths in all.
    pub fn total(&self) -> i64 {
        i64::from(self.milli) * i64::try_from(self.indices.len()).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_cards_has_each_once_and_nothing_means_all() {
        let set = CardSet::of(&[2, 127]).unwrap();
        assert!(
            set.allows(2) && set.allows(127) && !set.allows(3) && !set.allows(128) && !set.allows(u16::MAX)
        );
        assert!(CardSet::ANY.allows(0) && CardSet::ANY.allows(u16::MAX));
        assert_eq!((CardSet::of(&[1, 1]), CardSet::of(&[CardSet::LIMIT])), (None, None));
    }
}
