//! What Linux says about a process: its CPU time and its memory.

use std::fs;

use anyhow::Context as _;

/// Clock ticks per second in /proc: the same on every Linux that Rust runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// How many processes wanted to run during the last minute.
pub(crate) fn load() -> anyhow::Result<f64> {
    let text = fs::read_to_string("/proc/loadavg")?;
    let first = text.split(' ').next().and_then(|figure| figure.parse().ok());
    first.context("/proc/loadavg has another form")
}

/// The CPU time processes have taken so far, in seconds.
pub(crate) fn cpu_seconds(pids: &[u32]) -> anyhow::Result<f64> {
    let mut ticks = 0;
    for pid in pids {
        let text = fs::read_to_string(format!("/proc/{pid}/stat"))
            .with_context(|| format!("process {pid} has gone"))?;
        ticks += stat_ticks(&text).with_context(|| format!("/proc/{pid}/stat has another form"))?;
    }
    Ok(f64::from(ticks) / TICKS_PER_SECOND)
}

/// User and system time: the 14th and 15th field; the second, in parentheses, may contain anything.
fn stat_ticks(stat: &str) -> Option<u32> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11);
    Some(fields.next()?.parse::<u32>().ok()? + fields.next()?.parse::<u32>().ok()?)
}

/// The memory of a process, in MiB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// What is resident now.
    pub(crate) resident: f64,
    /// The most that was resident since the peak was last forgotten.
    pub(crate) peak: f64,
}

pub(crate) fn memory(pid: u32) -> anyhow::Result<Memory> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))
        .with_context(|| format!("process {pid} has gone"))?;
    let field = |name: &str| {
        status_mebibytes(&text, name).with_context(|| format!("/proc/{pid}/status has no {name}"))
    };
    Ok(Memory { resident: field("VmRSS:")?, peak: field("VmHWM:")? })
}

fn status_mebibytes(status: &str, field: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes / 1024.0)
}

/// Makes the peak start again from what is resident now.
pub(crate) fn forget_peak(pid: u32) -> anyhow::Result<()> {
    fs::write(format!("/proc/{pid}/clear_refs"), "5").context("resetting the peak of resident memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_behind_the_name_whatever_it_is() {
        let stat = "42 (a) b) c) S 1 2 3 4 5 6 7 8 9 10 700 30 0 0 20 0";
        assert_eq!(stat_ticks(stat), Some(730));
    }

    #[test]
    fn memory_is_in_mebibytes() {
        let status = "Name:\tx\nVmHWM:\t    4096 kB\nVmRSS:\t    2048 kB\n";
        assert_eq!(status_mebibytes(status, "VmRSS:"), Some(2.0));
        assert_eq!(status_mebibytes(status, "VmSwap:"), None);
    }
}
