//! Two Pods that hold one card, or more of it than there is.
//!
//! One process alone never lets that happen. A bind that a former leader sent can arrive later than anybody waits for
//! such things: a server that was suspended with the request in hand wakes up and does it. Whoever leads then sees both
//! on the card. The one bound first keeps it; the others are asked to go, and start elsewhere.

use std::{cmp::Reverse, sync::Arc, time::Duration};

use http::Request;
use jiff::Timestamp;
use kube::Client;
use serde::Deserialize;
use tokio::time::timeout;

use super::wire::{Meta, null_as_default};
use crate::model::{PodId, WHOLE_CARD};

/// How long a read may take.
const READ: Duration = Duration::from_secs(10);

/// One who holds a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Contender {
    pub(crate) id: PodId,
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) uid: Arc<str>,
    /// Thousandths of the card.
    pub(crate) milli: u16,
}

/// A contender, as the server has it.
#[derive(Debug, Clone)]
struct Holder {
    contender: Contender,
    /// When it was bound; nobody knows of a Pod that was made with a node.
    bound: Option<Timestamp>,
    created: Timestamp,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Pod {
    metadata: Meta,
    status: Status,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    #[serde(deserialize_with = "null_as_default")]
    conditions: Vec<Condition>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Condition {
    r#type: String,
    status: String,
    last_transition_time: Option<Timestamp>,
}

/// Asks the server since when each has its node, and answers who has to go. Nobody, as long as that cannot be read.
pub(crate) async fn settle(client: Client, contenders: Vec<Contender>) -> Vec<Contender> {
    let mut holders = Vec::new();
    for contender in contenders {
        let path = format!("/api/v1/namespaces/{}/pods/{}", contender.namespace, contender.name);
        let Ok(request) = Request::get(path).body(Vec::new()) else { return Vec::new() };
        let Ok(Ok(pod)) = timeout(READ, client.request::<Pod>(request)).await else { return Vec::new() };
        // Gone, or on its way: the next look will be at others.
        if pod.metadata.uid != *contender.uid || pod.metadata.deletion_timestamp.is_some() {
            return Vec::new();
        }
        let scheduled = pod
            .status
            .conditions
            .into_iter()
            .find(|one| one.r#type == "PodScheduled" && one.status == "True");
        holders.push(Holder {
            contender,
            bound: scheduled.and_then(|condition| condition.last_transition_time),
            created: pod.metadata.creation_timestamp.unwrap_or_default(),
        });
    }
    losers(holders)
}

/// Who has to go so that the rest fit: the one bound first stays.
fn losers(mut holders: Vec<Holder>) -> Vec<Contender> {
    holders.sort_by(|one, other| order(one).cmp(&order(other)));
    let mut left = WHOLE_CARD;
    let mut losers = Vec::new();
    for holder in holders {
        match left.checked_sub(holder.contender.milli) {
            Some(rest) => left = rest,
            None => losers.push(holder.contender),
        }
    }
    losers
}

fn order(holder: &Holder) -> (Reverse<bool>, Option<Timestamp>, Timestamp, &str) {
    (Reverse(holder.bound.is_some()), holder.bound, holder.created, &holder.contender.uid)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn holder(number: u32, bound: Option<i64>, milli: u16) -> Holder {
        let name: Arc<str> = number.to_string().into();
        Holder {
            contender: Contender {
                id: PodId(number),
                namespace: "n".into(),
                name: Arc::clone(&name),
                uid: name,
                milli,
            },
            bound: bound.map(|second| Timestamp::from_second(second).unwrap()),
            created: Timestamp::from_second(i64::from(number)).unwrap(),
        }
    }

    fn going(holders: Vec<Holder>) -> Vec<u32> {
        losers(holders).into_iter().map(|one| one.id.0).collect()
    }

    #[test]
    fn the_one_bound_first_stays() {
        assert_eq!(going(vec![holder(1, Some(20), 1000), holder(2, Some(10), 1000)]), [1]);
    }

    #[test]
    fn one_that_was_never_bound_goes_first_whatever_it_says() {
        assert_eq!(going(vec![holder(1, None, 1000), holder(2, Some(10), 1000)]), [1]);
    }

    #[test]
    fn of_shares_only_those_go_that_do_not_fit() {
        let all = vec![holder(1, Some(1), 500), holder(2, Some(2), 600), holder(3, Some(3), 500)];
        assert_eq!(going(all), [2]);
    }

    proptest! {
        #[test]
        fn the_rest_fit_and_somebody_stays(
            all in proptest::collection::vec((proptest::option::of(0_i64..5), 1_u16..=WHOLE_CARD), 1..6)
        ) {
            let holders: Vec<Holder> =
                (0..).zip(&all).map(|(number, (bound, milli))| holder(number, *bound, *milli)).collect();
            let total: u32 = all.iter().map(|(_, milli)| u32::from(*milli)).sum();
            let gone = losers(holders);
            let given_back: u32 = gone.iter().map(|one| u32::from(one.milli)).sum();
            prop_assert!(total - given_back <= u32::from(WHOLE_CARD));
            prop_assert!(gone.len() < all.len());
            prop_assert!(total > u32::from(WHOLE_CARD) || gone.is_empty());
        }
    }
}
