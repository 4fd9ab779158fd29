//! What the processes of a sandbox use, from `/proc`.

use std::path::{Path, PathBuf};

use crate::console::Usage;

/// Sums up every process that shares the process name space of `first`.
pub(super) fn of_sandbox(first: u32) -> Usage {
    processes(first).fold(Usage::default(), |sum, path| {
        let read = |name: &str| std::fs::read_to_string(path.join(name)).unwrap_or_default();
        Usage {
            cpu_seconds: sum.cpu_seconds + cpu_seconds(&read("stat")).unwrap_or(0.0),
            cpu_cores: 0.0,
            memory_bytes: sum.memory_bytes + resident(&read("statm")).unwrap_or(0.0),
        }
    })
}

/// Memory of those processes, what several share counted once between them where the kernel tells.
pub(super) fn memory(first: u32) -> f64 {
    processes(first)
        .map(|path| {
            let read = |name: &str| std::fs::read_to_string(path.join(name)).ok();
            let fair = read("smaps_rollup").and_then(|text| proportional(&text));
            fair.or_else(|| resident(&read("statm")?)).unwrap_or(0.0)
        })
        .sum()
}

fn processes(first: u32) -> impl Iterator<Item = PathBuf> {
    let space = |process: &Path| std::fs::read_link(process.join("ns/pid")).ok();
    let own = space(Path::new(&format!("/proc/{first}")));
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let numbered = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()))
    };
    all.filter(numbered).filter(move |path| own.is_some() && space(path) == own)
}

/// Bytes of `Pss:    2048 kB` in `/proc/N/smaps_rollup`.
fn proportional(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<f64>().ok()? * 1024.0)
}

/// User and system time of `/proc/N/stat`; the second field may hold anything, so what follows it is counted from its
/// end.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    #[expect(clippy::cast_precision_loss, reason = "a hundred, usually")]
    let per_second = rustix::param::clock_ticks_per_second() as f64;
    Some(ticks / per_second)
}

/// Resident memory of `/proc/N/statm`.
fn resident(statm: &str) -> Option<f64> {
    let pages = statm.split_whitespace().nth(1)?.parse::<f64>().ok()?;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand bytes")]
    let page = rustix::param::page_size() as f64;
    Some(pages * page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_files_are_read() {
        let stat = "12 (a b) c) S 1 12 12 0 -1 4194560 100 0 0 0 250 150 0 0 20 0 1 0 5 6 7";
        assert!((cpu_seconds(stat).unwrap() - 4.0).abs() < 1e-9);
        assert!(resident("100 2 1 1 0 1 0").unwrap() >= 2.0 * 1024.0);
        assert_eq!(cpu_seconds("nonsense"), None);
        assert_eq!(proportional("Rss: 9 kB\nPss:     2 kB\nPss_Anon: 1 kB\n"), Some(2048.0));
    }

    #[test]
    fn this_very_process_uses_something() {
        assert!(of_sandbox(std::process::id()).memory_bytes > 0.0);
        assert!(memory(std::process::id()) > 0.0);
    }
}
