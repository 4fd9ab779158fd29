//! Makers of cards, as data: what counts their cards, and by which variables programs and runtimes learn which of them
//! are theirs. A maker that is missing here is a line in [`MAKERS`], and no code.

/// A maker of cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Maker {
    /// How the names of all its resources begin.
    pub domain: &'static str,
    /// What its container runtime obeys, if it has one that does.
    pub runtime: Option<Runtime>,
    /// Its kinds of whole cards. What else it counts, such as slices, only its plug-in on the node can number.
    pub cards: &'static [Card],
}

/// A variable by which a runtime shows cards to a container, whatever the container was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runtime {
    /// The variable.
    pub variable: &'static str,
    /// What means none.
    pub none: &'static str,
}

/// A kind of whole cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Card {
    /// The extended resource that counts them.
    pub resource: &'static str,
    /// Node label with the memory of one card in MiB.
    pub memory_label: Option<&'static str>,
    /// Variables by which a program learns the numbers of its own.
    pub variables: &'static [&'static str],
}

const fn card(resource: &'static str, variables: &'static [&'static str]) -> Card {
    Card { resource, memory_label: None, variables }
}

/// The makers that are known.
pub const MAKERS: &[Maker] = &[
    Maker {
        domain: "nvidia.com/",
        runtime: Some(Runtime { variable: "NVIDIA_VISIBLE_DEVICES", none: "void" }),
        cards: &[Card {
            memory_label: Some("nvidia.com/gpu.memory"),
            ..card(crate::resources::NVIDIA_GPU, &["NVIDIA_VISIBLE_DEVICES"])
        }],
    },
    Maker {
        domain: "amd.com/",
        runtime: Some(Runtime { variable: "AMD_VISIBLE_DEVICES", none: "none" }),
        cards: &[Card {
            memory_label: Some("amd.com/gpu.vram"),
            ..card("amd.com/gpu", &["ROCR_VISIBLE_DEVICES"])
        }],
    },
    Maker {
        domain: "huawei.com/",
        runtime: Some(Runtime { variable: "ASCEND_VISIBLE_DEVICES", none: "void" }),
        cards: &[
            card(crate::resources::ASCEND_910, &["ASCEND_VISIBLE_DEVICES"]),
            card("huawei.com/Ascend310", &["ASCEND_VISIBLE_DEVICES"]),
        ],
    },
    Maker { domain: "hygon.com/", runtime: None, cards: &[card("hygon.com/dcu", &["HIP_VISIBLE_DEVICES"])] },
    Maker {
        domain: "cambricon.com/",
        runtime: Some(Runtime { variable: "CAMBRICON_VISIBLE_DEVICES", none: "" }),
        cards: &[card("cambricon.com/mlu", &["CAMBRICON_VISIBLE_DEVICES", "MLU_VISIBLE_DEVICES"])],
    },
    Maker {
        domain: "mthreads.com/",
        runtime: Some(Runtime { variable: "MTHREADS_VISIBLE_DEVICES", none: "" }),
        cards: &[card("mthreads.com/gpu", &["MTHREADS_VISIBLE_DEVICES"])],
    },
];

/// Others by which a program sees, or makes, more than it was given.
const OTHERS: [&str; 3] =
    ["ASCEND_RT_VISIBLE_DEVICES", "NVIDIA_MIG_CONFIG_DEVICES", "NVIDIA_MIG_MONITOR_DEVICES"];

/// All kinds of whole cards.
pub fn cards() -> impl Iterator<Item = &'static Card> {
    MAKERS.iter().flat_map(|maker| maker.cards)
}

/// Variables by which programs learn the numbers of the cards that `resource` counts; none if it is not known here.
pub fn variables(resource: &str) -> &'static [&'static str] {
    cards().find(|card| card.resource == resource).map_or(&[], |card| card.variables)
}

/// Whether a variable decides which cards a container sees. People do not set such.
pub fn decides_cards(variable: &str) -> bool {
    MAKERS.iter().filter_map(|maker| maker.runtime).any(|runtime| runtime.variable == variable)
        || cards().any(|card| card.variables.contains(&variable))
        || OTHERS.contains(&variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_of_its_maker_and_no_two_are_one() {
        for maker in MAKERS {
            for card in maker.cards {
                assert!(card.resource.starts_with(maker.domain), "{}", card.resource);
                assert!(!card.variables.is_empty(), "{}", card.resource);
                let alike = cards().filter(|other| other.resource == card.resource).count();
                assert_eq!(alike, 1, "{}", card.resource);
            }
        }
    }

    #[test]
    fn variables_that_show_cards_are_told_from_those_that_choose_among_them() {
        for card in cards() {
            assert!(card.variables.iter().all(|variable| decides_cards(variable)), "{}", card.resource);
        }
        assert!(decides_cards("AMD_VISIBLE_DEVICES") && decides_cards("NVIDIA_MIG_CONFIG_DEVICES"));
        assert!(!decides_cards("CUDA_VISIBLE_DEVICES"));
        assert!(variables("example.com/dongle").is_empty());
    }
}
