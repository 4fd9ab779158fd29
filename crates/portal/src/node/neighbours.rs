//! Who else is on the cards of some work.

use super::view::Holder;
use crate::{access::Verb, route::Call};

/// The others on the cards of `own`, each with its card (node, kind and number), as far as the asker may know.
pub(crate) fn neighbours(call: &Call, own: impl Fn(&Holder) -> bool) -> Vec<(String, Holder)> {
    let (portal, hide_names) = (&call.portal, call.portal.settings.hide_names);
    let made = portal.overview.get(&portal.live, &portal.cards, hide_names);
    let mut found = Vec::new();
    for node in made.nodes.iter().map(|entry| &entry.view) {
        let cards = node.cards.iter().flat_map(|kind| kind.cards.iter().map(move |card| (kind, card)));
        for (kind, card) in cards.filter(|(_, card)| card.holders.iter().any(&own)) {
            let place = format!("{}/{}/{}", node.name, kind.resource, card.index);
            for holder in card.holders.iter().filter(|holder| !own(holder)) {
                let mut holder = holder.clone();
                if !call.may(Verb::See, &holder.object()) {
                    holder.hide(hide_names);
                }
                found.push((place.clone(), holder));
            }
        }
    }
    found
}
