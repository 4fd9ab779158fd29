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
    /// The extended resource that counts whole cards, such as `nvidia.com/gpu`.
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
