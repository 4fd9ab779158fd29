//! From metrics of exporters to readings of cards. Pure.

use std::collections::BTreeMap;

/// Who made a card: exporters of different makers name things differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Maker {
    /// Everything whose metrics are called as DCGM calls them.
    Nvidia,
    Ascend,
}

impl Maker {
    /// The maker of the cards that a resource counts.
    pub(crate) fn of_resource(resource: &str) -> Self {
        if resource.starts_with("huawei.com/") { Self::Ascend } else { Self::Nvidia }
    }
}

/// A card of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CardKey {
    pub(crate) maker: Maker,
    /// Its number on the node.
    pub(crate) index: u32,
}

impl CardKey {
    pub(crate) fn new(resource: &str, index: u32) -> Self {
        Self { maker: Maker::of_resource(resource), index }
    }
}

/// What is known of a card at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Reading {
    /// In percent.
    pub(crate) utilisation: Option<f64>,
    /// In MiB, as all exporters say it.
    pub(crate) memory_used: Option<f64>,
    pub(crate) memory_free: Option<f64>,
    pub(crate) memory_whole: Option<f64>,
    /// In degrees Celsius.
    pub(crate) temperature: Option<f64>,
}

impl Reading {
    /// In MiB. Some exporters tell the sum, others its parts.
    pub(crate) fn memory_total(&self) -> Option<f64> {
        self.memory_whole.or_else(|| Some(self.memory_used? + self.memory_free?))
    }
}

/// Readings of the cards of one node.
pub(crate) type OfNode = BTreeMap<CardKey, Reading>;

/// What the exporter of one maker calls its metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MakerMetrics {
    /// Percent of use.
    pub utilisation: String,
    /// MiB in use.
    pub memory_used: String,
    /// MiB that are free.
    pub memory_free: String,
    /// MiB altogether.
    pub memory_total: String,
    /// Degrees Celsius.
    pub temperature: String,
    /// The label with the number of the card on its node.
    pub index: String,
}

/// What exporters call their metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricNames {
    /// NVIDIA's DCGM exporter.
    pub nvidia: MakerMetrics,
    /// Ascend's NPU exporter.
    pub ascend: MakerMetrics,
    /// Labels with the name of the node, the first that is there; for Prometheus, since nodes know who they are.
    pub node: Vec<String>,
}

impl Default for MetricNames {
    fn default() -> Self {
        let maker = |names: [&str; 6]| {
            let [utilisation, memory_used, memory_free, memory_total, temperature, index] =
                names.map(str::to_owned);
            MakerMetrics { utilisation, memory_used, memory_free, memory_total, temperature, index }
        };
        Self {
            nvidia: maker([
                "DCGM_FI_DEV_GPU_UTIL",
                "DCGM_FI_DEV_FB_USED",
                "DCGM_FI_DEV_FB_FREE",
                "DCGM_FI_DEV_FB_TOTAL",
                "DCGM_FI_DEV_GPU_TEMP",
                "gpu",
            ]),
            ascend: maker([
                "npu_chip_info_utilization",
                "npu_chip_info_hbm_used_memory",
                "npu_chip_info_hbm_free_memory",
                "npu_chip_info_hbm_total_memory",
                "npu_chip_info_temperature",
                "id",
            ]),
            node: ["node", "Hostname", "node_name"].map(str::to_owned).to_vec(),
        }
    }
}

/// A metric was to be called otherwise that there is not.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not MAKER.WHAT=NAME, such as nvidia.utilisation=DCGM_FI_DEV_GPU_UTIL, or node=LABEL")]
pub struct UnknownMetric(String);

impl MetricNames {
    /// Takes `nvidia.utilisation=NAME`, `ascend.index=LABEL` or `node=LABEL`.
    pub fn set(&mut self, text: &str) -> Result<(), UnknownMetric> {
        let wrong = || UnknownMetric(text.to_owned());
        let (place, name) = text.split_once('=').ok_or_else(wrong)?;
        let plain = |one: char| one.is_ascii_alphanumeric() || one == '_' || one == ':';
        // Names become parts of questions, so nothing else gets in.
        if name.is_empty() || !name.chars().all(plain) {
            return Err(wrong());
        }
        if place == "node" {
            self.node = vec![name.to_owned()];
            return Ok(());
        }
        let (maker, what) = place.split_once('.').ok_or_else(wrong)?;
        let maker = match maker {
            "nvidia" => &mut self.nvidia,
            "ascend" => &mut self.ascend,
            _ => return Err(wrong()),
        };
        let field = match what {
            "utilisation" => &mut maker.utilisation,
            "memoryUsed" => &mut maker.memory_used,
            "memoryFree" => &mut maker.memory_free,
            "memoryTotal" => &mut maker.memory_total,
            "temperature" => &mut maker.temperature,
            "index" => &mut maker.index,
            _ => return Err(wrong()),
        };
        name.clone_into(field);
        Ok(())
    }

    pub(super) fn of(&self, maker: Maker) -> &MakerMetrics {
        match maker {
            Maker::Nvidia => &self.nvidia,
            Maker::Ascend => &self.ascend,
        }
    }

    fn makers(&self) -> [(Maker, &MakerMetrics); 2] {
        [(Maker::Nvidia, &self.nvidia), (Maker::Ascend, &self.ascend)]
    }

    /// Whether a metric is one of them.
    pub(super) fn knows(&self, metric: &str) -> bool {
        self.makers().iter().any(|(_, maker)| maker.all().contains(&metric))
    }

    /// All metrics.
    pub(super) fn all(&self) -> Vec<&str> {
        self.makers().iter().flat_map(|(_, maker)| maker.all()).collect()
    }

    /// The node that a series is about.
    pub(super) fn node_of<'a>(&self, labels: &'a BTreeMap<String, String>) -> Option<&'a str> {
        self.node
            .iter()
            .find_map(|label| labels.get(label))
            .map(String::as_str)
            .filter(|node| !node.is_empty())
    }

    /// The card that a series of `maker` is about.
    pub(super) fn card_of(&self, maker: Maker, labels: &BTreeMap<String, String>) -> Option<CardKey> {
        let index = labels.get(&self.of(maker).index)?.parse().ok()?;
        Some(CardKey { maker, index })
    }

    /// Puts one sample where it belongs.
    pub(super) fn take(
        &self,
        readings: &mut OfNode,
        metric: &str,
        labels: &BTreeMap<String, String>,
        value: f64,
    ) {
        let found = self.makers().into_iter().find(|(_, names)| names.all().contains(&metric));
        let Some((maker, names)) = found else { return };
        let Some(card) = self.card_of(maker, labels) else { return };
        if !value.is_finite() {
            return;
        }
        let reading = readings.entry(card).or_default();
        let place = match metric {
            one if one == names.utilisation => &mut reading.utilisation,
            one if one == names.memory_used => &mut reading.memory_used,
            one if one == names.memory_free => &mut reading.memory_free,
            one if one == names.memory_total => &mut reading.memory_whole,
            _ => &mut reading.temperature,
        };
        // A card that several Pods share has a series for each; they say the same.
        *place = Some(value.max(0.0));
    }
}

impl MakerMetrics {
    fn all(&self) -> [&str; 5] {
        [&self.utilisation, &self.memory_used, &self.memory_free, &self.memory_total, &self.temperature]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(all: &[(&str, &str)]) -> BTreeMap<String, String> {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn samples_become_readings() {
        let names = MetricNames::default();
        let mut found = OfNode::new();
        let gpu = labels(&[("gpu", "3"), ("Hostname", "n")]);
        names.take(&mut found, "DCGM_FI_DEV_GPU_UTIL", &gpu, 85.0);
        names.take(&mut found, "DCGM_FI_DEV_FB_USED", &gpu, 1024.0);
        names.take(&mut found, "DCGM_FI_DEV_FB_FREE", &gpu, 3072.0);
        names.take(&mut found, "DCGM_FI_DEV_GPU_TEMP", &gpu, f64::NAN);
        names.take(&mut found, "npu_chip_info_utilization", &labels(&[("id", "3")]), 5.0);
        names.take(&mut found, "DCGM_FI_DEV_GPU_UTIL", &labels(&[("gpu", "x")]), 85.0);
        names.take(&mut found, "up", &gpu, 1.0);
        let nvidia = found[&CardKey::new("nvidia.com/gpu", 3)];
        assert_eq!(
            (nvidia.utilisation, nvidia.memory_total(), nvidia.temperature),
            (Some(85.0), Some(4096.0), None)
        );
        assert_eq!(found[&CardKey::new("huawei.com/Ascend910", 3)].utilisation, Some(5.0));
        assert_eq!(found.len(), 2);
        assert_eq!(names.node_of(&gpu), Some("n"));
    }

    #[test]
    fn metrics_can_be_called_otherwise() {
        let mut names = MetricNames::default();
        names.set("nvidia.utilisation=my_use").unwrap();
        names.set("ascend.index=chip").unwrap();
        names.set("node=instance").unwrap();
        assert!(names.knows("my_use") && !names.knows("DCGM_FI_DEV_GPU_UTIL"));
        assert_eq!(names.node, ["instance"]);
        for wrong in
            ["", "x", "nvidia.colour=a", "amd.utilisation=a", "node=", "nvidia.index=a\"}", "node=a b"]
        {
            assert_eq!(names.set(wrong), Err(UnknownMetric(wrong.to_owned())), "{wrong}");
        }
    }
}
