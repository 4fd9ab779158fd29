//! How hard a simulated Pod works its cards: `sim.maar.io/gpu-utilization` and `sim.maar.io/gpu-memory`.

use maar_quantities::Quantity;

/// What a running container does to each card it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Load {
    /// Utilization goes up and down between these, in percent.
    pub(crate) low: u8,
    pub(crate) high: u8,
    pub(crate) memory: Memory,
}

/// How much of a card's memory is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Memory {
    Percent(u8),
    Bytes(i64),
}

impl Default for Load {
    fn default() -> Self {
        Self { low: 70, high: 98, memory: Memory::Percent(60) }
    }
}

impl Load {
    /// Reads the two annotations; the error is for people to read.
    pub(crate) fn parse(utilization: Option<&str>, memory: Option<&str>) -> Result<Self, String> {
        let mut load = Self::default();
        if let Some(text) = utilization {
            (load.low, load.high) = range(text).ok_or_else(|| {
                format!("annotation sim.maar.io/gpu-utilization: {text:?} is not allowed; use a percentage such as 85 or a range such as 60-95")
            })?;
        }
        if let Some(text) = memory {
            load.memory = amount(text).ok_or_else(|| {
                format!("annotation sim.maar.io/gpu-memory: {text:?} is not allowed; use a quantity such as 30Gi or a share such as 40%")
            })?;
        }
        Ok(load)
    }
}

fn percent(text: &str) -> Option<u8> {
    text.trim().trim_end_matches('%').parse().ok().filter(|percent| *percent <= 100)
}

fn range(text: &str) -> Option<(u8, u8)> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let (low, high) = (percent(low)?, percent(high)?);
    (low <= high).then_some((low, high))
}

fn amount(text: &str) -> Option<Memory> {
    if text.trim().ends_with('%') {
        return percent(text).map(Memory::Percent);
    }
    let bytes = Quantity::parse(text.trim()).ok()?.value();
    (bytes >= 0).then_some(Memory::Bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read_or_refused_by_name() {
        let load = Load::parse(Some("60-95"), Some("40%")).unwrap();
        assert_eq!((load.low, load.high, load.memory), (60, 95, Memory::Percent(40)));
        let load = Load::parse(Some("85"), Some("30Gi")).unwrap();
        assert_eq!((load.low, load.high, load.memory), (85, 85, Memory::Bytes(30 << 30)));
        assert_eq!(Load::parse(None, None), Ok(Load::default()));
        for (utilization, memory) in
            [(Some("110"), None), (Some("9-3"), None), (None, Some("lots")), (None, Some("-1"))]
        {
            let error = Load::parse(utilization, memory).unwrap_err();
            assert!(error.contains("sim.maar.io/gpu-"), "{error}");
        }
    }
}
