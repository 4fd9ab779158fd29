//! The memory limit of a container, enforced by looking.
//!
//! Control groups would do it better, but a process may use them only where somebody delegated a part of them to it,
//! which is rare. So the container's memory is looked at once a second, and it is killed when it has more than its
//! limit: what grows and shrinks faster than that is not caught. Processor limits are not enforced at all; the Node
//! says both.

use std::time::Duration;

use k8s_openapi::api::core::v1::Container;
use maar_quantities::Quantity;

use super::{process, usage};

/// How often a container is looked at.
const INTERVAL: Duration = Duration::from_secs(1);

/// Waits until the sandbox has more memory than its container may have; for ever if there is no limit.
pub(super) async fn exceeded(container: &Container, sandbox: u32) {
    let Some(limit) = limit(container) else { return std::future::pending().await };
    loop {
        tokio::time::sleep(INTERVAL).await;
        let Some(first) = process::inner(sandbox) else { continue };
        if usage::memory(first) > limit {
            return;
        }
    }
}

fn limit(container: &Container) -> Option<f64> {
    let limits = container.resources.as_ref()?.limits.as_ref()?;
    let limit = Quantity::parse(&limits.get("memory")?.0).ok()?;
    (!limit.is_zero()).then(|| limit.approximate())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_limit_is_read_where_there_is_one() {
        let with = |limits: serde_json::Value| {
            let container = json!({ "name": "c", "resources": { "limits": limits } });
            limit(&serde_json::from_value(container).unwrap())
        };
        assert_eq!(with(json!({ "memory": "1Ki" })), Some(1024.0));
        assert_eq!(with(json!({ "cpu": "1" })), None);
        assert_eq!(limit(&Container::default()), None);
    }
}
