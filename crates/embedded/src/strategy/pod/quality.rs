//! The quality-of-service class of a Pod, which decides who is evicted first.

use maar_quantities::Quantity;
use serde_json::Value;

use super::super::value::{items, text};

const COUNTED: [&str; 2] = ["cpu", "memory"];

/// `Guaranteed` if every container limits processor and memory and asks for just that, `BestEffort` if none asks
/// for anything, `Burstable` otherwise. Resources of the Pod as a whole replace those of its containers.
pub(super) fn class(spec: &Value) -> &'static str {
    let whole = &spec["resources"];
    if COUNTED
        .iter()
        .any(|name| amount(whole, "requests", name).is_some() || amount(whole, "limits", name).is_some())
    {
        return if is_guaranteed(whole) { "Guaranteed" } else { "Burstable" };
    }
    let mut asks = false;
    let mut guaranteed = true;
    for container in items(&spec["containers"]).iter().chain(items(&spec["initContainers"])) {
        let resources = &container["resources"];
        asks |= COUNTED.iter().any(|name| {
            amount(resources, "requests", name).is_some() || amount(resources, "limits", name).is_some()
        });
        guaranteed &= is_guaranteed(resources);
    }
    match (asks, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

fn is_guaranteed(resources: &Value) -> bool {
    COUNTED.iter().all(|name| {
        let limit = amount(resources, "limits", name);
        limit.is_some() && limit == amount(resources, "requests", name)
    })
}

/// A positive amount; zero counts as none.
fn amount(resources: &Value, list: &str, name: &str) -> Option<Quantity> {
    let amount = Quantity::parse(text(&resources[list][name])).ok()?;
    (amount > Quantity::ZERO).then_some(amount)
}
