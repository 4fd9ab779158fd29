//! What the vendor's command-line tool prints.

use std::fmt::Write;

use super::{Card, Reading};
use crate::profile::Vendor;

/// The name of a vendor's tool.
pub(crate) fn name(vendor: Vendor) -> Option<&'static str> {
    match vendor {
        Vendor::Nvidia => Some("nvidia-smi"),
        Vendor::Huawei => Some("npu-smi"),
        Vendor::Other => None,
    }
}

/// A table of the cards that a container sees, which says that it is simulated.
pub(crate) fn table(cards: &[(Card<'_>, Reading)]) -> String {
    let rule = format!("+{}+\n", "-".repeat(86));
    let mut text = rule.clone();
    let mut line = |content: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {content:<84} |");
    };
    line("Simulated cards");
    line("Index  Name                           Bus                Temp  Power        Util");
    line("       UUID                                              Memory");
    for (position, (card, reading)) in cards.iter().enumerate() {
        let power = format!("{:.0}W / {:.0}W", reading.power, card.kind.power.full);
        line(&format!(
            "{position:>5}  {:<30.30} {:<18} {:>3.0}C  {power:<12} {:>3.0}%",
            card.kind.model,
            card.bus(),
            reading.temperature,
            reading.utilization
        ));
        let memory = format!("{:.0}MiB / {:.0}MiB", reading.memory_used, reading.memory_total);
        line(&format!("       {:<49} {memory}", card.uuid()));
    }
    if cards.is_empty() {
        line("no cards");
    }
    text + &rule
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::{card::tests::cards, pod::load::Load};

    #[test]
    fn the_table_names_the_cards_and_says_that_they_are_simulated() {
        let kind = cards(Vendor::Nvidia);
        let list: Vec<_> = (0..2)
            .map(|index| Card { kind: &kind, node: "n", index, seed: 1, broken: false })
            .map(|card| (card.clone(), card.reading(&[Load::default()], Timestamp::UNIX_EPOCH)))
            .collect();
        insta::assert_snapshot!(table(&list));
        assert!(table(&[]).contains("no cards"));
    }
}
