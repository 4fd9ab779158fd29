//! Where the use of cards is known from.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use maar_api::v1alpha1::Account;

/// Highest use in percent of each card of a Pod over a window, by namespace and name of the Pod. None where it is not
/// known for the whole window.
pub type Readings = BTreeMap<(String, String), Vec<Option<f64>>>;

/// Readings by window, in minutes. A window that is not there is not known.
pub type Uses = BTreeMap<i64, Readings>;

/// Nobody could say how much cards are used. What is not known is not idle.
#[derive(Debug, thiserror::Error)]
#[error("the use of cards is not known: {0}")]
pub struct UseError(pub String);

/// Knows how much cards are used.
pub trait CardUse: Debug + Send + Sync + 'static {
    /// Looks at the cards, where that is to be done from time to time; `longest` is the longest window of interest.
    fn look(&self, _now: Timestamp, _longest: SignedDuration) -> BoxFuture<'_, Result<(), UseError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// The highest use of every card over the `window` that ends now.
    fn highest(&self, now: Timestamp, window: SignedDuration) -> BoxFuture<'_, Result<Readings, UseError>>;
}

/// How much cards are used, over every window that a rule for idle cards names; and why it is not known of some.
pub async fn uses_of(
    cards: &dyn CardUse,
    accounts: &[Arc<Account>],
    now: Timestamp,
) -> (Uses, Vec<UseError>) {
    let (mut uses, mut problems) = (Uses::new(), Vec::new());
    let rules = accounts.iter().filter_map(|account| account.spec.cleanup.as_ref()?.idle.as_ref());
    let windows: BTreeSet<i64> = rules.map(|rule| rule.window_minutes).collect();
    if let Some(longest) = windows.last() {
        problems.extend(cards.look(now, SignedDuration::from_mins(*longest)).await.err());
    }
    for window in windows {
        match cards.highest(now, SignedDuration::from_mins(window)).await {
            Ok(readings) => drop(uses.insert(window, readings)),
            Err(error) => problems.push(error),
        }
    }
    (uses, problems)
}

/// A kind of metric that tells the use of cards, as its vendor's exporter names things.
pub(super) struct Exporter {
    /// Percent of use.
    pub(super) metric: &'static str,
    /// Labels with the Pod that has the card, the first that is there. Where a scraper keeps its own labels, it
    /// puts `exported_` before those of the exporter.
    pub(super) pod: &'static [&'static str],
    /// What tells a card from others.
    pub(super) card: &'static str,
}

/// Vendors as data.
pub(super) const EXPORTERS: [Exporter; 2] = [
    Exporter { metric: "DCGM_FI_DEV_GPU_UTIL", pod: &["exported_pod", "pod"], card: "UUID" },
    Exporter {
        metric: "npu_chip_info_utilization",
        pod: &["exported_pod_name", "pod_name"],
        card: "vdie_id",
    },
];

/// Namespace and name of the Pod, and the card, that a series is about.
pub(super) fn subject<'a>(label: impl Fn(&str) -> Option<&'a str>) -> Option<(String, String, String)> {
    let label = |name: &str| label(name).filter(|text| !text.is_empty());
    EXPORTERS.iter().find_map(|exporter| {
        let card = label(exporter.card)?;
        let name = exporter.pod.iter().find(|name| label(name).is_some())?;
        let namespace = if name.starts_with("exported_") { "exported_namespace" } else { "namespace" };
        Some((label(namespace)?.to_owned(), label(name)?.to_owned(), card.to_owned()))
    })
}
