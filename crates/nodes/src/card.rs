//! Readings of simulated cards, and how vendors' tools and exporters show them.
//!
//! A reading is a function of seed, card and time: load goes up and down on a few slow waves around what the Pod's
//! annotations say, power and temperature follow the load. Asking twice gives the same answer.

pub(crate) mod exporter;
pub(crate) mod tool;

use std::f64::consts::TAU;

use jiff::Timestamp;
use rand::Rng;

use crate::{
    ids,
    pod::load::{Load, Memory},
    profile::{Cards, Power, Vendor},
};

const MEBIBYTE: f64 = 1_048_576.0;

/// One card of one node.
#[derive(Debug, Clone)]
pub(crate) struct Card<'a> {
    pub(crate) kind: &'a Cards,
    pub(crate) node: &'a str,
    pub(crate) index: usize,
    pub(crate) seed: u64,
    pub(crate) broken: bool,
}

/// What sensors say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reading {
    /// Percent.
    pub(crate) utilization: f64,
    /// Mebibytes.
    pub(crate) memory_used: f64,
    pub(crate) memory_total: f64,
    /// Degrees Celsius.
    pub(crate) temperature: f64,
    /// Watts.
    pub(crate) power: f64,
}

impl Card<'_> {
    /// The vendor's identifier of the card.
    pub(crate) fn uuid(&self) -> String {
        let uuid = ids::uuid(&["card", self.node, &self.index.to_string()]);
        match self.kind.vendor {
            Vendor::Nvidia => format!("GPU-{uuid}"),
            Vendor::Huawei | Vendor::Other => uuid,
        }
    }

    /// Where it sits.
    pub(crate) fn bus(&self) -> String {
        format!("00000000:{:02X}:00.0", (self.index * 0x11 + 0x0A) & 0xff)
    }

    /// What the sensors say at `now`, `loads` being those of the containers that run on it.
    pub(crate) fn reading(&self, loads: &[Load], now: Timestamp) -> Reading {
        let total = self.kind.memory.approximate() / MEBIBYTE;
        let seed = self.seed.to_string();
        let mut random = ids::random(&["load", &seed, self.node, &self.index.to_string()]);
        let phases: [f64; 3] = std::array::from_fn(|_| random.random_range(0.0..TAU));
        let wave = wave(now, phases);
        let sum: f64 =
            loads.iter().map(|load| f64::from(load.low) + wave * f64::from(load.high - load.low)).sum();
        // The sum of nothing is minus zero, and is printed as that.
        let utilization = if self.broken { 0.0 } else { sum.min(100.0).round() + 0.0 };
        let used: f64 = loads.iter().map(|load| memory(load.memory, total)).sum::<f64>() + 0.0;
        let Power { idle, full } = self.kind.power;
        let work = utilization / 100.0;
        Reading {
            utilization,
            memory_used: used.min(total).floor(),
            memory_total: total.floor(),
            temperature: (31.0 + 4.0 * phases[0] / TAU + 44.0 * work).round(),
            power: idle + (full - idle) * work,
        }
    }
}

fn memory(memory: Memory, total: f64) -> f64 {
    match memory {
        Memory::Percent(percent) => total * f64::from(percent) / 100.0,
        #[expect(
            clippy::cast_precision_loss,
            reason = "no card has a memory that a float cannot count in bytes"
        )]
        Memory::Bytes(bytes) => bytes as f64 / MEBIBYTE,
    }
}

/// Between 0 and 1: waves of one, seven and thirty-one minutes.
fn wave(now: Timestamp, phases: [f64; 3]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "whole seconds of this age of the world are exact")]
    let seconds = now.as_second() as f64;
    let periods = [60.0, 420.0, 1860.0];
    let weights = [0.2, 0.3, 0.5];
    let sum: f64 = periods
        .into_iter()
        .zip(phases)
        .zip(weights)
        .map(|((period, phase), weight)| weight * (TAU * seconds / period + phase).sin())
        .sum();
    f64::midpoint(sum, 1.0)
}

#[cfg(test)]
pub(crate) mod tests {
    use maar_quantities::Quantity;
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn cards(vendor: Vendor) -> Cards {
        Cards {
            resource: "nvidia.com/gpu".into(),
            count: 2,
            replicas: 1,
            vendor,
            model: "NVIDIA A100-SXM4-80GB".into(),
            memory: Quantity::from_bytes(80 << 30),
            power: Power { idle: 60.0, full: 400.0 },
        }
    }

    #[test]
    fn an_idle_card_rests_and_a_broken_one_does_nothing() {
        let kind = cards(Vendor::Nvidia);
        let card = Card { kind: &kind, node: "n", index: 0, seed: 1, broken: false };
        let idle = card.reading(&[], Timestamp::UNIX_EPOCH);
        assert!(
            (idle.power - 60.0).abs() < f64::EPSILON && idle.utilization == 0.0 && idle.memory_used == 0.0
        );
        assert_eq!(format!("{} {}", idle.utilization, idle.memory_used), "0 0");
        let broken = Card { broken: true, ..card };
        assert!(broken.reading(&[Load::default()], Timestamp::UNIX_EPOCH).utilization == 0.0);
    }

    proptest! {
        #[test]
        fn readings_stay_within_what_the_annotations_say(
            seed: u64, index in 0usize..16, second in 0i64..4_000_000_000, low in 0u8..=100, more in 0u8..=100,
        ) {
            let kind = cards(Vendor::Nvidia);
            let high = low.saturating_add(more).min(100);
            let load = Load { low, high, memory: Memory::Percent(50) };
            let now = Timestamp::from_second(second).unwrap();
            let card = Card { kind: &kind, node: "n", index, seed, broken: false };
            let reading = card.reading(&[load], now);
            prop_assert!(reading.utilization >= f64::from(low) - 0.5 && reading.utilization <= f64::from(high) + 0.5);
            prop_assert!(reading.power >= 60.0 && reading.power <= 400.0);
            prop_assert!(reading.memory_used <= reading.memory_total);
            prop_assert_eq!(reading, card.reading(&[load], now));
            let two = card.reading(&[load, load], now);
            prop_assert!(two.utilization <= 100.0 && two.memory_used <= two.memory_total);
        }
    }
}
