//! Cards for a Pod: a resource for whole ones, an annotation for a part of one; and the variables that name them.

use k8s_openapi::api::core::v1::PodSpec;
use kube::api::ObjectMeta;
use maar_api::{cards::variables, names, v1alpha1::CardsSpec};

use super::{add_resource, from_annotation};
use crate::card;

/// Asks for the cards, for the first container.
pub(crate) fn give(cards: &CardsSpec, spec: &mut PodSpec, metadata: &mut ObjectMeta) {
    if let Some(count) = cards.count {
        add_resource(spec, &cards.resource, &count.to_string());
        if !cards.indices.is_empty() {
            let numbers = cards.indices.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            let annotations = metadata.annotations.get_or_insert_default();
            annotations.insert(names::ANNOTATION_CARD_INDEX.to_owned(), numbers);
        }
    } else if let Some(part) = cards.share.or(cards.memory) {
        let annotations = metadata.annotations.get_or_insert_default();
        annotations
            .insert(names::ANNOTATION_CARD_SHARE.to_owned(), format!("{}={}", cards.resource, decimal(part)));
        if let Some(index) = cards.index {
            annotations.insert(names::ANNOTATION_CARD_INDEX.to_owned(), index.to_string());
        }
    }
    if !card::are_numbered(spec) {
        // Nobody would write the annotation, and a variable without a value hides the cards that the plug-in gives.
        return;
    }
    let Some(first) = spec.containers.first_mut() else { return };
    let mine = first.env.get_or_insert_default();
    for variable in [card::VARIABLE].iter().chain(variables(&cards.resource)) {
        if mine.iter().all(|one| one.name != *variable) {
            mine.push(from_annotation(variable, names::ANNOTATION_VISIBLE_CARDS));
        }
    }
}

/// A share as people write it, `0.5` and not `500m`; memory with its suffix.
fn decimal(part: maar_api::Quantity) -> String {
    let millis = part.millis();
    if (1..1000).contains(&millis) {
        return format!("0.{millis:03}").trim_end_matches('0').to_owned();
    }
    part.to_string()
}
