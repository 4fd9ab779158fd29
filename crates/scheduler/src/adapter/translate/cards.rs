//! Cards: what a Pod asks for, and what it was given, as text on the Pod.
//!
//! Asked: an extended resource for whole cards, or the annotation `maar.io/card-share` (`nvidia.com/gpu=0.5`, or `=8Gi`),
//! and perhaps `maar.io/card-index` for certain ones (`2`, or `2,3`). Given, in `maar.io/cards`: `nvidia.com/gpu=2,3` for whole cards, `nvidia.com/gpu=2:0.5`
//! for a share.

use maar_api::{Quantity, names};

use super::Unfit;
use crate::model::{CardKindId, CardRequest, CardSet, CardShare, CardsTaken, WHOLE_CARD};

/// The resource name of each kind of card, in the order of the kinds.
#[derive(Debug, Clone, Default)]
pub(crate) struct CardNames(pub(crate) Vec<String>);

impl CardNames {
    pub(crate) fn find(&self, resource: &str) -> Option<CardKindId> {
        let index = self.0.iter().position(|name| name == resource)?;
        u16::try_from(index).ok().map(CardKindId)
    }

    pub(crate) fn name(&self, kind: CardKindId) -> &str {
        self.0.get(usize::from(kind.0)).map_or("unknown", String::as_str)
    }

    /// Reads the annotations of a Pod that asks for a share.
    pub(crate) fn share(&self, share: &str, index: Option<&str>) -> Result<CardRequest, Unfit> {
        let wrong =
            |why: &str| Unfit::new(format!("annotation {}={share:?}: {why}", names::ANNOTATION_CARD_SHARE));
        let (resource, amount) = share
            .split_once('=')
            .ok_or_else(|| wrong("write resource=part, such as nvidia.com/gpu=0.5 or nvidia.com/gpu=8Gi"))?;
        let kind = self.find(resource.trim()).ok_or_else(|| wrong("no such kind of card is known here"))?;
        let share = part(amount.trim()).map_err(wrong)?;
        let index = match index.map(str::trim) {
            None => None,
            Some(text) => {
                Some(text.parse().map_err(|_| not_asked_like_that(text, "is not the number of a card"))?)
            }
        };
        Ok(match share {
            CardShare::Milli(WHOLE_CARD) if index.is_none() => CardRequest::whole(kind, 1),
            share => CardRequest::Share { kind, share, index },
        })
    }
}

fn not_asked_like_that(text: &str, why: &str) -> Unfit {
    Unfit::new(format!("annotation {}={text:?} {why}", names::ANNOTATION_CARD_INDEX))
}

/// The same whole cards, but only those that the annotation names. A Pod without whole cards asks for none in particular.
pub(crate) fn only(request: CardRequest, text: &str) -> Result<CardRequest, Unfit> {
    let CardRequest::Whole { kind, count, .. } = request else { return Ok(request) };
    let wrong = |why: &str| not_asked_like_that(text, why);
    let indices = text.split(',').map(|index| index.trim().parse().ok()).collect::<Option<Vec<u16>>>();
    let indices = indices.ok_or_else(|| wrong("is not numbers of cards, such as 2,3"))?;
    if indices.len() != usize::from(count) {
        return Err(wrong(&format!("names {} cards, and the Pod asks for {count}", indices.len())));
    }
    let only = CardSet::of(&indices)
        .ok_or_else(|| wrong(&format!("names a card twice, or one above {}", CardSet::LIMIT - 1)))?;
    Ok(CardRequest::Whole { kind, count, only })
}

/// A part of a card: a number up to one, or an amount of memory.
fn part(text: &str) -> Result<CardShare, &'static str> {
    let quantity = Quantity::parse(text).map_err(|_| "the part is not a quantity")?;
    let millis = quantity.millis();
    if millis <= 0 {
        return Err("the part must be more than nothing");
    }
    if millis <= i64::from(WHOLE_CARD) {
        return Ok(CardShare::Milli(u16::try_from(millis).unwrap_or(WHOLE_CARD)));
    }
    let bytes = quantity.value();
    if bytes < 1 << 20 {
        return Err("a part is at most one card; memory is given as 512Mi or 8Gi");
    }
    let mebibytes = bytes.div_euclid(1 << 20) + i64::from(bytes % (1 << 20) != 0);
    u32::try_from(mebibytes).map(CardShare::Memory).map_err(|_| "no card has so much memory")
}

/// Reads what a Pod was given, as [`as_annotations`] wrote it.
pub(crate) fn cards_taken(names: &CardNames, text: &str) -> Option<CardsTaken> {
    let (resource, cards) = text.split_once('=')?;
    let kind = names.find(resource)?;
    let (indices, milli) = match cards.split_once(':') {
        None => (cards, WHOLE_CARD),
        Some((indices, part)) => {
            let milli = Quantity::parse(part).ok()?.millis();
            (indices, u16::try_from(milli).ok().filter(|milli| (1..=WHOLE_CARD).contains(milli))?)
        }
    };
    let mut indices = indices.split(',').map(|index| index.parse().ok()).collect::<Option<Vec<u16>>>()?;
    indices.sort_unstable();
    indices.dedup();
    Some(CardsTaken { kind: Some(kind), indices, milli })
}

/// What is written on a Pod at its bind: all of it, and just the numbers; nothing for a Pod without cards.
pub(crate) fn as_annotations(names: &CardNames, cards: &CardsTaken) -> Option<(String, String)> {
    let kind = cards.kind.filter(|_| !cards.indices.is_empty())?;
    let numbers = cards.indices.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let part = if cards.milli == WHOLE_CARD {
        String::new()
    } else {
        format!(":{}", f64::from(cards.milli) / f64::from(WHOLE_CARD))
    };
    Some((format!("{}={numbers}{part}", names.name(kind)), numbers))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names() -> CardNames {
        CardNames(vec!["nvidia.com/gpu".to_owned(), "huawei.com/Ascend910".to_owned()])
    }

    #[test]
    fn shares_are_read_or_refused_with_a_sentence() {
        let share = |share, index| CardRequest::Share { kind: CardKindId(0), share, index };
        let rows = [
            ("nvidia.com/gpu=0.5", None, Ok(share(CardShare::Milli(500), None))),
            ("nvidia.com/gpu=250m", Some("3"), Ok(share(CardShare::Milli(250), Some(3)))),
            ("nvidia.com/gpu=8Gi", None, Ok(share(CardShare::Memory(8192), None))),
            ("nvidia.com/gpu=1", None, Ok(CardRequest::whole(CardKindId(0), 1))),
            ("nvidia.com/gpu=2", None, Err("at most one card")),
            ("nvidia.com/gpu=0", None, Err("more than nothing")),
            ("nvidia.com/gpu=-0.5", None, Err("more than nothing")),
            ("nvidia.com/gpu=half", None, Err("not a quantity")),
            ("nvidia.com/gpu", None, Err("write resource=part")),
            ("example.com/dongle=0.5", None, Err("no such kind")),
            ("nvidia.com/gpu=900Pi", None, Err("so much memory")),
            ("nvidia.com/gpu=0.5", Some("first"), Err("not the number of a card")),
        ];
        for (text, index, want) in rows {
            match (names().share(text, index), want) {
                (Ok(found), Ok(want)) => assert_eq!(found, want, "{text}"),
                (Err(found), Err(want)) => assert!(found.0.contains(want), "{text}: {found}"),
                (found, want) => panic!("{text}: {found:?}, not {want:?}"),
            }
        }
    }

    #[test]
    fn whole_cards_are_insisted_on_by_number_or_it_is_said_why_not() {
        let asked = |count, text| only(CardRequest::whole(CardKindId(0), count), text);
        let these = CardSet::of(&[2, 3]).unwrap();
        let want = CardRequest::Whole { kind: CardKindId(0), count: 2, only: these };
        assert_eq!((asked(2, "2,3"), asked(2, " 3, 2 ")), (Ok(want), Ok(want)));
        assert_eq!(only(CardRequest::None, "2"), Ok(CardRequest::None));
        for (count, text, why) in [
            (1, "2,3", "names 2 cards, and the Pod asks for 1"),
            (2, "2,2", "names a card twice"),
            (1, "128", "one above 127"),
            (1, "first", "numbers of cards"),
            (1, "", "numbers of cards"),
        ] {
            let said = asked(count, text).unwrap_err();
            assert!(said.0.contains(why), "{text}: {said}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_at_the_bind_is_read_back(
            kind in 0_u16..2,
            indices in proptest::collection::btree_set(0_u16..64, 1..9),
            milli in 1_u16..=WHOLE_CARD,
        ) {
            let cards = CardsTaken { kind: Some(CardKindId(kind)), indices: indices.into_iter().collect(), milli };
            let (text, _) = as_annotations(&names(), &cards).unwrap();
            prop_assert_eq!(cards_taken(&names(), &text), Some(cards));
        }

        #[test]
        fn no_text_stops_the_reader(text in ".*") {
            let _ = cards_taken(&names(), &text);
            let _ = names().share(&text, Some(&text));
        }
    }
}
