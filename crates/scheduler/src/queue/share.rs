//! How much of its part an account has.

use crate::model::{Amounts, ResourceId};

/// How full an account is: nothing at all, [`Share::FULL`] when it has what it deserves in the resource it has most of,
/// above that it borrows. The lower, the sooner its turn.
///
/// Where some resources are named as deserved, they decide; the others, which are deserved by weight, only break ties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Share {
    main: u64,
    rest: u64,
}

impl Share {
    const UNIT: u64 = 1 << 20;
    /// All that is deserved.
    pub const FULL: Self = Self { main: Self::UNIT, rest: 0 };

    /// As a plain number, 1.0 for [`Share::FULL`].
    #[expect(clippy::cast_precision_loss, reason = "for people to read; order is decided on the integers")]
    pub fn ratio(self) -> f64 {
        self.main as f64 / Self::UNIT as f64
    }
}

fn fraction(part: i64, whole: i64) -> u64 {
    let scaled = i128::from(part.max(0)) * i128::from(Share::UNIT) / i128::from(whole.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX / 4).min(u64::MAX / 4)
}

/// What an account is entitled to.
#[derive(Debug, Clone, Default)]
pub(super) struct Part {
    /// Its by name or, where no sibling names the resource, by weight.
    pub(super) deserved: Amounts,
    /// Its by weight out of what nobody deserves.
    pub(super) extra: Amounts,
    /// What borrowing is measured by: `extra`, or by weight where nothing is left over.
    pub(super) measure: Amounts,
    /// Resources that decide; all of them, if none is named by anybody beside it.
    pub(super) named: Vec<ResourceId>,
}

impl Part {
    /// Deserved and extra together.
    pub(super) fn whole(&self, resource: ResourceId) -> i64 {
        self.deserved.get(resource).saturating_add(self.extra.get(resource))
    }

    /// Whether a resource decides.
    pub(super) fn decides(&self, resource: ResourceId) -> bool {
        self.named.is_empty() || self.named.contains(&resource)
    }

    /// The resources of a request that decide; the others count if it asks for none of those.
    pub(super) fn deciding<'a>(&'a self, asked: &'a Amounts) -> impl Iterator<Item = (ResourceId, i64)> + 'a {
        let any = asked.iter().any(|(resource, _)| self.decides(resource));
        let known = asked.iter().filter(|(resource, _)| self.measure.get(*resource) > 0);
        known.filter(move |(resource, _)| !any || self.decides(*resource))
    }

    /// The dominant share. Resources the cluster has none of do not count.
    pub(super) fn share(&self, used: &Amounts) -> Share {
        let mut dominant = Share::default();
        for (resource, amount) in used.iter() {
            let (deserved, measure) = (self.deserved.get(resource), self.measure.get(resource));
            if measure == 0 {
                continue;
            }
            let share = if amount <= deserved {
                fraction(amount, deserved)
            } else {
                Share::UNIT + fraction(amount - deserved, measure)
            };
            let kind = if self.decides(resource) { &mut dominant.main } else { &mut dominant.rest };
            *kind = share.max(*kind);
        }
        dominant
    }
}

/// What one of several siblings asks of a resource.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    /// Named as deserved.
    pub(super) deserved: i64,
    /// Weight in thousandths, never zero.
    pub(super) weight: i64,
}

/// How a resource of the parent, of which it deserves `deserved` and may have `whole`, is divided among `claims`:
/// (deserved, extra, measure) of each. Claims above what the parent deserves shrink alike.
pub(super) fn divide(deserved: i64, whole: i64, claims: &[Claim]) -> Vec<(i64, i64, i64)> {
    let named: i128 = claims.iter().map(|claim| i128::from(claim.deserved)).sum();
    let weights: i128 = claims.iter().map(|claim| i128::from(claim.weight)).sum();
    let by_weight = |amount: i128, claim: &Claim| narrow(amount * i128::from(claim.weight) / weights.max(1));
    let right = |claim: &Claim| match named {
        0 => by_weight(i128::from(deserved), claim),
        named if named > i128::from(deserved) => {
            narrow(i128::from(claim.deserved) * i128::from(deserved) / named)
        }
        _ => claim.deserved,
    };
    let rest = i128::from(whole) - named.min(i128::from(deserved));
    let rest = if named == 0 { i128::from(whole) - i128::from(deserved) } else { rest }.max(0);
    let divided = claims.iter().map(|claim| {
        let extra = by_weight(rest, claim);
        let measure =
            if extra > 0 { extra } else { by_weight(i128::from(whole), claim).max(i64::from(whole > 0)) };
        (right(claim), extra, measure)
    });
    divided.collect()
}

fn narrow(amount: i128) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(deserved: i64, weight: i64) -> Claim {
        Claim { deserved, weight: weight * 1000 }
    }

    fn parts(deserved: i64, whole: i64, claims: &[Claim]) -> Vec<(i64, i64)> {
        divide(deserved, whole, claims).into_iter().map(|(deserved, extra, _)| (deserved, extra)).collect()
    }

    #[test]
    fn what_nobody_deserves_is_divided_by_weight() {
        assert_eq!(parts(20, 20, &[claim(10, 1), claim(0, 1)]), [(10, 5), (0, 5)]);
        assert_eq!(parts(20, 20, &[claim(8, 3), claim(4, 1)]), [(8, 6), (4, 2)]);
    }

    #[test]
    fn a_resource_nobody_names_is_deserved_by_weight() {
        assert_eq!(parts(30, 30, &[claim(0, 2), claim(0, 1)]), [(20, 0), (10, 0)]);
        assert_eq!(parts(12, 30, &[claim(0, 2), claim(0, 1)]), [(8, 12), (4, 6)]);
    }

    #[test]
    fn claims_above_what_there_is_shrink_alike() {
        assert_eq!(parts(10, 10, &[claim(15, 1), claim(5, 1)]), [(7, 0), (2, 0)]);
    }

    #[test]
    fn borrowing_counts_for_more_than_any_use_of_what_is_deserved() {
        let mut part = Part::default();
        part.deserved.set(ResourceId::CPU, 10);
        part.measure.set(ResourceId::CPU, 5);
        let mut used = Amounts::default();
        assert_eq!(part.share(&used), Share::default());
        used.set(ResourceId::CPU, 10);
        assert_eq!(part.share(&used), Share::FULL);
        used.set(ResourceId::CPU, 11);
        assert!((part.share(&used).ratio() - 1.2).abs() < 0.001);
        used.set(ResourceId::CPU, 5);
        used.set(ResourceId::MEMORY, 1 << 40);
        assert!((part.share(&used).ratio() - 0.5).abs() < 0.001, "memory nobody has does not count");
    }

    #[test]
    fn resources_that_nobody_names_only_break_ties() {
        let mut part = Part { named: vec![ResourceId::CPU], ..Part::default() };
        for resource in [ResourceId::CPU, ResourceId::MEMORY] {
            part.deserved.set(resource, 10);
            part.measure.set(resource, 10);
        }
        let share = |cpu, memory| {
            let mut used = Amounts::default();
            used.set(ResourceId::CPU, cpu);
            used.set(ResourceId::MEMORY, memory);
            part.share(&used)
        };
        assert!(share(3, 9) < share(4, 1));
        assert!(share(3, 1) < share(3, 9));
    }
}
