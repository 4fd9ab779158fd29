//! Card metrics under the names that the vendors' exporters use, in Prometheus' text format.

use std::fmt::Write;

use super::{Card, Reading};
use crate::profile::Vendor;

/// The container that holds a card, for the labels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) namespace: String,
    pub(crate) pod: String,
    pub(crate) container: String,
}

/// One card, its reading and who holds it.
#[derive(Debug, Clone)]
pub(crate) struct Sample<'a> {
    pub(crate) card: Card<'a>,
    pub(crate) reading: Reading,
    pub(crate) holders: Vec<Holder>,
}

type Value = fn(&Sample<'_>) -> f64;
/// Name, help text and value.
type Series = (&'static str, &'static str, Value);

const DCGM: [Series; 7] = [
    ("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).", |sample| sample.reading.utilization),
    ("DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB).", |sample| sample.reading.memory_used),
    ("DCGM_FI_DEV_FB_FREE", "Framebuffer memory free (in MiB).", |sample| {
        sample.reading.memory_total - sample.reading.memory_used
    }),
    ("DCGM_FI_DEV_GPU_TEMP", "GPU temperature (in C).", |sample| sample.reading.temperature),
    ("DCGM_FI_DEV_POWER_USAGE", "Power draw (in W).", |sample| sample.reading.power),
    ("DCGM_FI_DEV_MEM_COPY_UTIL", "Memory utilization (in %).", |sample| {
        (sample.reading.utilization * 0.6).round()
    }),
    // 79: the card has fallen off the bus.
    ("DCGM_FI_DEV_XID_ERRORS", "Value of the last XID error encountered.", |sample| {
        if sample.card.broken { 79.0 } else { 0.0 }
    }),
];

const NPU: [Series; 6] = [
    ("npu_chip_info_utilization", "the npu utilization", |sample| sample.reading.utilization),
    ("npu_chip_info_temperature", "the npu temperature", |sample| sample.reading.temperature),
    ("npu_chip_info_power", "the npu power", |sample| sample.reading.power),
    ("npu_chip_info_hbm_used_memory", "the npu hbm used memory", |sample| sample.reading.memory_used),
    ("npu_chip_info_hbm_total_memory", "the npu hbm total memory", |sample| sample.reading.memory_total),
    (
        "npu_chip_info_health_status",
        "the npu health status",
        |sample| if sample.card.broken { 0.0 } else { 1.0 },
    ),
];

/// All metrics of all cards, each family with its help once.
pub(crate) fn render(samples: &[Sample<'_>]) -> String {
    let mut text = String::new();
    for (vendor, families) in [(Vendor::Nvidia, &DCGM[..]), (Vendor::Huawei, &NPU[..])] {
        let own: Vec<_> = samples.iter().filter(|sample| sample.card.kind.vendor == vendor).collect();
        if own.is_empty() {
            continue;
        }
        for (name, help, value) in families {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
            for sample in &own {
                write_lines(&mut text, name, sample, value(sample));
            }
        }
    }
    text
}

/// One line for each holder; a card that nobody holds has one with empty labels.
fn write_lines(text: &mut String, name: &str, sample: &Sample<'_>, value: f64) {
    let nobody = [Holder::default()];
    let holders = if sample.holders.is_empty() { &nobody[..] } else { &sample.holders };
    for holder in holders {
        let labels: Vec<String> = labels(sample, holder)
            .iter()
            .map(|(label, value)| format!("{label}=\"{}\"", escape(value)))
            .collect();
        let _ = writeln!(text, "{name}{{{}}} {value}", labels.join(","));
    }
}

fn labels(sample: &Sample<'_>, holder: &Holder) -> Vec<(&'static str, String)> {
    let card = &sample.card;
    let index = card.index.to_string();
    match card.kind.vendor {
        Vendor::Nvidia => vec![
            ("gpu", index.clone()),
            ("UUID", card.uuid()),
            ("pci_bus_id", card.bus()),
            ("device", format!("nvidia{index}")),
            ("modelName", card.kind.model.clone()),
            ("Hostname", card.node.to_owned()),
            ("container", holder.container.clone()),
            ("namespace", holder.namespace.clone()),
            ("pod", holder.pod.clone()),
        ],
        Vendor::Huawei | Vendor::Other => vec![
            ("id", index),
            ("vdie_id", card.uuid()),
            ("pcie_bus_info", card.bus()),
            ("model_name", card.kind.model.clone()),
            ("node_name", card.node.to_owned()),
            ("container_name", holder.container.clone()),
            ("namespace", holder.namespace.clone()),
            ("pod_name", holder.pod.clone()),
        ],
    }
}

/// A label value as the text format wants it.
pub(crate) fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::{card::tests::cards, pod::load::Load};

    fn sample(kind: &crate::profile::Cards, index: usize, holders: Vec<Holder>) -> Sample<'_> {
        let card = Card { kind, node: "n", index, seed: 1, broken: index == 1 };
        let loads = vec![Load::default(); holders.len()];
        Sample { reading: card.reading(&loads, Timestamp::UNIX_EPOCH), card, holders }
    }

    #[test]
    fn families_have_the_names_of_the_vendors_exporters() {
        let holder = Holder { namespace: "ns".into(), pod: "p\"q".into(), container: "c".into() };
        let (nvidia, huawei) = (cards(Vendor::Nvidia), cards(Vendor::Huawei));
        let samples =
            [sample(&nvidia, 0, vec![holder]), sample(&nvidia, 1, vec![]), sample(&huawei, 0, vec![])];
        insta::assert_snapshot!(render(&samples));
        assert_eq!(render(&[]), "");
    }
}
