//! A map from resource name to quantity, with the arithmetic of quotas and nodes.

use std::{
    collections::{BTreeMap, btree_map},
    fmt,
    ops::{AddAssign, SubAssign},
};

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as TextQuantity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{ParseQuantityError, Quantity};

/// How much of each resource. A name that is absent counts as zero.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ResourceList(BTreeMap<String, Quantity>);

/// One resource of which there is too little.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortage {
    /// Name of the resource.
    pub resource: String,
    /// What was asked for.
    pub requested: Quantity,
    /// What there is.
    pub available: Quantity,
}

impl ResourceList {
    /// An empty list.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// The amount of `resource`; zero when it is not listed.
    pub fn get(&self, resource: &str) -> Quantity {
        self.0.get(resource).copied().unwrap_or(Quantity::ZERO)
    }

    /// Whether `resource` is listed, be it with zero.
    pub fn contains(&self, resource: &str) -> bool {
        self.0.contains_key(resource)
    }

    /// Sets one amount and returns what stood there before.
    pub fn insert(&mut self, resource: impl Into<String>, amount: Quantity) -> Option<Quantity> {
        self.0.insert(resource.into(), amount)
    }

    /// Takes one resource off the list.
    pub fn remove(&mut self, resource: &str) -> Option<Quantity> {
        self.0.remove(resource)
    }

    /// Names and amounts in the order of the names.
    pub fn iter(&self) -> btree_map::Iter<'_, String, Quantity> {
        self.0.iter()
    }

    /// Whether nothing is listed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many resources are listed.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Raises each amount to that of `other` where that is larger; names are united.
    pub fn raise_to(&mut self, other: &Self) {
        for (resource, amount) in &other.0 {
            self.0.entry(resource.clone()).and_modify(|own| *own = (*own).max(*amount)).or_insert(*amount);
        }
    }

    /// Whether `available` covers everything asked for here. Asking for nothing of a resource always fits.
    pub fn fits_in(&self, available: &Self) -> bool {
        self.0.iter().all(|(resource, amount)| covered(*amount, available.get(resource)))
    }

    /// What `available` does not cover, in the order of the names.
    pub fn shortages(&self, available: &Self) -> Vec<Shortage> {
        self.0
            .iter()
            .map(|(resource, amount)| Shortage {
                resource: resource.clone(),
                requested: *amount,
                available: available.get(resource),
            })
            .filter(|shortage| !covered(shortage.requested, shortage.available))
            .collect()
    }

    /// Only the resources that `keep` names.
    pub fn filtered(&self, keep: impl Fn(&str) -> bool) -> Self {
        self.0
            .iter()
            .filter(|(resource, _)| keep(resource))
            .map(|(name, amount)| (name.clone(), *amount))
            .collect()
    }

    /// Each amount `count` times.
    pub fn times(&self, count: i64) -> Self {
        self.0.iter().map(|(resource, amount)| (resource.clone(), amount.times(count))).collect()
    }

    /// Reads the textual map of a Kubernetes type.
    pub fn from_text(map: &BTreeMap<String, TextQuantity>) -> Result<Self, (String, ParseQuantityError)> {
        map.iter()
            .map(|(resource, text)| match Quantity::parse(&text.0) {
                Ok(amount) => Ok((resource.clone(), amount)),
                Err(error) => Err((resource.clone(), error)),
            })
            .collect()
    }

    /// The textual map that Kubernetes types carry.
    pub fn to_text(&self) -> BTreeMap<String, TextQuantity> {
        self.0.iter().map(|(resource, amount)| (resource.clone(), TextQuantity(amount.to_string()))).collect()
    }
}

fn covered(requested: Quantity, available: Quantity) -> bool {
    requested.is_zero() || requested <= available
}

impl AddAssign<&ResourceList> for ResourceList {
    fn add_assign(&mut self, other: &ResourceList) {
        for (resource, amount) in &other.0 {
            *self.0.entry(resource.clone()).or_default() += *amount;
        }
    }
}

/// Amounts may become negative: what is overdrawn must not be forgotten.
impl SubAssign<&ResourceList> for ResourceList {
    fn sub_assign(&mut self, other: &ResourceList) {
        for (resource, amount) in &other.0 {
            *self.0.entry(resource.clone()).or_default() -= *amount;
        }
    }
}

impl<Name: Into<String>> FromIterator<(Name, Quantity)> for ResourceList {
    fn from_iter<I: IntoIterator<Item = (Name, Quantity)>>(amounts: I) -> Self {
        Self(amounts.into_iter().map(|(resource, amount)| (resource.into(), amount)).collect())
    }
}

impl IntoIterator for ResourceList {
    type Item = (String, Quantity);
    type IntoIter = btree_map::IntoIter<String, Quantity>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a ResourceList {
    type Item = (&'a String, &'a Quantity);
    type IntoIter = btree_map::Iter<'a, String, Quantity>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// `cpu: 2, memory: 4Gi`, for messages.
impl fmt::Display for ResourceList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (resource, amount)) in self.0.iter().enumerate() {
            let separator = if position == 0 { "" } else { ", " };
            write!(formatter, "{separator}{resource}: {amount}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list(amounts: &[(&str, &str)]) -> ResourceList {
        amounts.iter().map(|(resource, text)| (*resource, Quantity::parse(text).unwrap())).collect()
    }

    #[test]
    fn adding_and_subtracting_unites_the_names() {
        let mut total = list(&[("cpu", "1500m"), ("memory", "1Gi")]);
        total += &list(&[("cpu", "500m"), ("nvidia.com/gpu", "8")]);
        assert_eq!(total.to_string(), "cpu: 2, memory: 1Gi, nvidia.com/gpu: 8");
        total -= &list(&[("cpu", "3"), ("pods", "1")]);
        assert_eq!(total.to_string(), "cpu: -1, memory: 1Gi, nvidia.com/gpu: 8, pods: -1");
    }

    #[test]
    fn fits_names_every_shortage() {
        let available = list(&[("cpu", "4"), ("memory", "8Gi")]);
        let rows = [
            (list(&[("cpu", "4"), ("memory", "8Gi")]), vec![]),
            (list(&[("nvidia.com/gpu", "0")]), vec![]),
            (list(&[]), vec![]),
            (list(&[("cpu", "4001m"), ("memory", "1Gi")]), vec!["cpu"]),
            (list(&[("cpu", "5"), ("nvidia.com/gpu", "1")]), vec!["cpu", "nvidia.com/gpu"]),
        ];
        for (requested, want_short) in rows {
            let short = requested.shortages(&available);
            assert_eq!(short.iter().map(|one| one.resource.as_str()).collect::<Vec<_>>(), want_short);
            assert_eq!(requested.fits_in(&available), want_short.is_empty());
        }
    }

    #[test]
    fn asking_for_nothing_fits_even_where_the_node_is_overdrawn() {
        assert!(list(&[("cpu", "0")]).fits_in(&list(&[("cpu", "-1")])));
    }

    #[test]
    fn raise_to_takes_the_larger_of_each() {
        let mut most = list(&[("cpu", "1"), ("memory", "2Gi")]);
        most.raise_to(&list(&[("cpu", "2"), ("memory", "1Gi"), ("pods", "0")]));
        assert_eq!(most.to_string(), "cpu: 2, memory: 2Gi, pods: 0");
    }

    #[test]
    fn reads_and_writes_the_textual_map() {
        let map = BTreeMap::from([("cpu".to_owned(), TextQuantity("1000m".into()))]);
        assert_eq!(ResourceList::from_text(&map).unwrap().to_text()["cpu"].0, "1");
        let wrong = BTreeMap::from([("cpu".to_owned(), TextQuantity("lots".into()))]);
        assert_eq!(ResourceList::from_text(&wrong).unwrap_err().0, "cpu");
    }

    fn any_list() -> impl Strategy<Value = ResourceList> {
        proptest::collection::btree_map("[abc]", -1_000_000i64..1_000_000, 0..4).prop_map(|map| {
            map.into_iter().map(|(name, millis)| (name, Quantity::from_millis(millis))).collect()
        })
    }

    proptest! {
        #[test]
        fn what_was_added_can_be_taken_off(mut left in any_list(), right in any_list()) {
            let before = left.clone();
            left += &right;
            left -= &right;
            for name in ["a", "b", "c"] {
                prop_assert_eq!(left.get(name), before.get(name));
            }
        }

        #[test]
        fn both_fit_into_the_raised_one(mut left in any_list(), right in any_list()) {
            let before = left.clone();
            left.raise_to(&right);
            for name in ["a", "b", "c"] {
                prop_assert!(!before.contains(name) || before.get(name) <= left.get(name));
                prop_assert!(!right.contains(name) || right.get(name) <= left.get(name));
            }
        }
    }
}
