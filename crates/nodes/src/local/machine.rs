//! What this machine has.

use maar_quantities::{Quantity, ResourceList};

use super::{LIMITS_ANNOTATION, LOCAL_LABEL, LocalOptions, sandbox::Sandbox};
use crate::{
    fleet::NodeInfo,
    profile::{Pool, Taint, TaintEffect},
};

/// Pods a machine of any size should manage.
const PODS: i64 = 110;
/// What people should know who set limits.
const LIMITS: &str = "memory is looked at once a second, cpu is not limited";

/// The local node as a pool of one.
pub(super) fn pool(options: &LocalOptions) -> Pool {
    let capacity = capacity(&options.state);
    let taint = Taint { key: LOCAL_LABEL.into(), value: "true".into(), effect: TaintEffect::NoSchedule };
    Pool {
        name: "local".into(),
        count: 1,
        name_prefix: options.name.clone(),
        labels: [(LOCAL_LABEL.to_owned(), "true".to_owned())].into(),
        annotations: [(LIMITS_ANNOTATION.to_owned(), LIMITS.to_owned())].into(),
        taints: if options.tainted { vec![taint] } else { Vec::new() },
        allocatable: capacity.clone(),
        capacity,
        cards: None,
        region: None,
        zones: Vec::new(),
        nodes_per_rack: None,
        architecture: architecture().into(),
    }
}

pub(super) fn info(sandbox: &Sandbox) -> NodeInfo {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    NodeInfo {
        scheme: "local",
        runtime_version: format!("bubblewrap://{}", sandbox.version),
        kernel_version: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        os_image: pretty_name(&read("/etc/os-release")).unwrap_or_else(|| "Linux".to_owned()),
    }
}

/// Kubernetes' name of the processor.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn capacity(state: &std::path::Path) -> ResourceList {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let memory =
        std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_memory(&text)).unwrap_or(0);
    let space =
        rustix::fs::statvfs(state).map_or(0, |volume| volume.f_blocks.saturating_mul(volume.f_frsize));
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    [
        ("cpu", Quantity::from_units(i64::try_from(cores).unwrap_or(1))),
        ("memory", Quantity::from_bytes(number(memory))),
        ("ephemeral-storage", Quantity::from_bytes(number(space))),
        ("pods", Quantity::from_units(PODS)),
    ]
    .into_iter()
    .collect()
}

/// Bytes of `MemTotal:   24607544 kB`.
fn total_memory(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

fn pretty_name(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_files_are_read() {
        assert_eq!(total_memory("Foo: 1\nMemTotal:    2048 kB\n"), Some(2 << 20));
        assert_eq!(pretty_name("ID=x\nPRETTY_NAME=\"Debian 12\"\n").as_deref(), Some("Debian 12"));
        let capacity = capacity(std::path::Path::new("/"));
        assert!(capacity.get("cpu").value() >= 1 && capacity.get("memory").value() > 0);
        assert!(capacity.get("ephemeral-storage").value() > 0);
    }
}
