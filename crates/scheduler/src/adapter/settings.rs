//! What the scheduler can be told.

use maar_api::{
    cards::{self, Card},
    names,
};

use super::translate::CardNames;
use crate::{
    core::Config,
    model::{CardKind, Resources},
};

/// Settings of the scheduler.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `spec.schedulerName` of the Pods that are ours.
    pub scheduler_name: String,
    /// Who pays if nobody is named.
    pub default_account: String,
    /// Kinds of cards.
    pub cards: Vec<CardSettings>,
    /// Binds under way at a time.
    pub binds: usize,
    /// Most Pods decided on in one pass. Small enough that what the cluster says meanwhile is heard in time.
    pub pass: usize,
    /// Settings of the core.
    pub core: Config,
}

/// A kind of card, by names only: no vendor is known to the code.
#[derive(Debug, Clone)]
pub struct CardSettings {
    /// The extended resource that counts the cards.
    pub resource: String,
    /// Node label with the memory of one card in MiB.
    pub memory_label: Option<String>,
    /// Most Pods on one shared card.
    pub sharers: u16,
}

impl Default for Settings {
    fn default() -> Self {
        let card = |card: &Card| CardSettings {
            resource: card.resource.to_owned(),
            memory_label: card.memory_label.map(str::to_owned),
            sharers: 10,
        };
        Self {
            scheduler_name: names::SCHEDULER_NAME.to_owned(),
            default_account: names::DEFAULT_ACCOUNT.to_owned(),
            // Jobs leave it to the scheduler to number every kind that is known: one that it did not number would be hidden.
            cards: cards::cards().map(card).collect(),
            binds: 32,
            pass: 256,
            core: Config::default(),
        }
    }
}

impl Settings {
    /// The names and kinds of cards, with numbers from `resources`.
    pub(crate) fn kinds(&self, resources: &mut Resources) -> (CardNames, Vec<CardKind>) {
        let names = CardNames(self.cards.iter().map(|card| card.resource.clone()).collect());
        let kind = |card: &CardSettings| CardKind {
            resource: resources.card(&card.resource),
            memory_label: card.memory_label.clone(),
            sharers: card.sharers,
        };
        let kinds = self.cards.iter().map(kind).collect();
        (names, kinds)
    }
}
