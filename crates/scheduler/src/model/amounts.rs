//! Vectors of resources, indexed by a small number per resource name.

use std::{
    collections::{HashMap, HashSet},
    hash::{Hash, Hasher},
    ops::{AddAssign, SubAssign},
    sync::Arc,
};

use maar_api::{Quantity, ResourceList, resources};

/// A resource name as a number; see [`Resources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(u16);

impl ResourceId {
    /// Processor time, in thousandths of a core.
    pub const CPU: Self = Self(0);
    /// Main memory, in bytes.
    pub const MEMORY: Self = Self(1);
    /// Local scratch space, in bytes.
    pub const EPHEMERAL_STORAGE: Self = Self(2);
    /// Places for Pods on a node.
    pub const PODS: Self = Self(3);

    /// Its place in an [`Amounts`].
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The resource names seen so far. It only grows, so that numbers given out stay good.
#[derive(Debug, Clone)]
pub struct Resources {
    names: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, ResourceId>,
    cards: HashSet<ResourceId>,
}

impl Default for Resources {
    fn default() -> Self {
        let mut all = Self { names: Vec::new(), numbers: HashMap::new(), cards: HashSet::new() };
        // In the order of the constants of `ResourceId`.
        for name in [resources::CPU, resources::MEMORY, resources::EPHEMERAL_STORAGE, resources::PODS] {
            all.number(name);
        }
        all
    }
}

impl Resources {
    /// The number of a name, given out now if it is new.
    pub fn number(&mut self, name: &str) -> ResourceId {
        if let Some(known) = self.numbers.get(name) {
            return *known;
        }
        let number = ResourceId(u16::try_from(self.names.len()).unwrap_or(u16::MAX));
        let name: Arc<str> = name.into();
        self.names.push(Arc::clone(&name));
        self.numbers.insert(name, number);
        number
    }

    /// The number of a name that counts cards. Cards can be shared, so from now on they are counted in thousandths,
    /// as processor time is; call this before the first amounts are read.
    pub fn card(&mut self, name: &str) -> ResourceId {
        let number = self.number(name);
        self.cards.insert(number);
        number
    }

    /// The number of a name that has been seen.
    pub fn find(&self, name: &str) -> Option<ResourceId> {
        self.numbers.get(name).copied()
    }

    /// The name behind a number.
    pub fn name(&self, number: ResourceId) -> &str {
        self.names.get(number.index()).map_or("unknown", |name| name)
    }

    /// Turns a list from an object into a vector. Requests are rounded up: half a byte needs a byte.
    pub fn amounts(&mut self, list: &ResourceList) -> Amounts {
        let mut all = Amounts::default();
        for (name, quantity) in list {
            let number = self.number(name);
            all.set(number, self.units(number, *quantity));
        }
        all
    }

    /// A quantity in the unit of its resource: one, save for processor time and cards, where it is a thousandth.
    pub fn units(&self, number: ResourceId, quantity: Quantity) -> i64 {
        if number == ResourceId::CPU || self.cards.contains(&number) {
            quantity.millis()
        } else {
            quantity.value()
        }
    }
}

/// An amount of each resource. What is not mentioned is zero, so vectors of different lengths may be mixed.
#[derive(Debug, Clone, Default)]
pub struct Amounts(Vec<i64>);

impl Amounts {
    /// The amount of one resource.
    pub fn get(&self, resource: ResourceId) -> i64 {
        self.0.get(resource.index()).copied().unwrap_or(0)
    }

    /// Sets the amount of one resource.
    pub fn set(&mut self, resource: ResourceId, amount: i64) {
        if self.0.len() <= resource.index() {
            self.0.resize(resource.index() + 1, 0);
        }
        self.0[resource.index()] = amount;
    }

    /// The resources that are not zero.
    pub fn iter(&self) -> impl Iterator<Item = (ResourceId, i64)> + '_ {
        (0..).map(ResourceId).zip(self.0.iter().copied()).filter(|(_, amount)| *amount != 0)
    }

    /// Whether nothing is asked for.
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|amount| *amount == 0)
    }

    /// Whether `self` fits into what is left of `total` after `used`.
    pub fn fits(&self, total: &Self, used: &Self) -> bool {
        self.iter().all(|(resource, amount)| amount <= total.get(resource) - used.get(resource))
    }
}

impl PartialEq for Amounts {
    fn eq(&self, other: &Self) -> bool {
        let longest = self.0.len().max(other.0.len());
        (0..longest).all(|index| self.0.get(index).unwrap_or(&0) == other.0.get(index).unwrap_or(&0))
    }
}

impl Eq for Amounts {}

impl Hash for Amounts {
    /// Zeros do not count, as in comparing.
    fn hash<H: Hasher>(&self, state: &mut H) {
        for pair in self.iter() {
            pair.hash(state);
        }
    }
}

impl AddAssign<&Self> for Amounts {
    fn add_assign(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = mine.saturating_add(*theirs);
        }
    }
}

impl SubAssign<&Self> for Amounts {
    fn sub_assign(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = mine.saturating_sub(*theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(pairs: &[(ResourceId, i64)]) -> Amounts {
        let mut all = Amounts::default();
        for (resource, amount) in pairs {
            all.set(*resource, *amount);
        }
        all
    }

    #[test]
    fn vectors_of_different_lengths_mix() {
        let mut resources = Resources::default();
        let gpu = resources.number(resources::NVIDIA_GPU);
        let mut used = amounts(&[(ResourceId::CPU, 500)]);
        used += &amounts(&[(gpu, 2)]);
        assert_eq!(used, amounts(&[(ResourceId::CPU, 500), (gpu, 2)]));
        used -= &amounts(&[(gpu, 2)]);
        assert_eq!(used, amounts(&[(ResourceId::CPU, 500)]));
        assert!(amounts(&[(gpu, 8)]).fits(&amounts(&[(gpu, 8)]), &used));
        assert!(!amounts(&[(gpu, 8)]).fits(&amounts(&[(gpu, 7)]), &used));
    }

    #[test]
    fn cards_are_counted_in_thousandths() {
        let mut resources = Resources::default();
        let gpu = resources.card(resources::NVIDIA_GPU);
        let list = ResourceList::from_iter([
            ("nvidia.com/gpu".to_owned(), Quantity::parse("2").unwrap()),
            ("example.com/dongle".to_owned(), Quantity::parse("2").unwrap()),
        ]);
        let all = resources.amounts(&list);
        assert_eq!(all.get(gpu), 2000);
        assert_eq!(all.get(resources.find("example.com/dongle").unwrap()), 2);
    }

    #[test]
    fn requests_are_rounded_up_and_names_keep_their_numbers() {
        let mut resources = Resources::default();
        let list = ResourceList::from_iter([
            ("cpu".to_owned(), Quantity::parse("100500u").unwrap()),
            ("memory".to_owned(), Quantity::parse("1Ki").unwrap()),
        ]);
        let all = resources.amounts(&list);
        assert_eq!(all.get(ResourceId::CPU), 101);
        assert_eq!(all.get(ResourceId::MEMORY), 1024);
        assert_eq!(resources.name(ResourceId::MEMORY), "memory");
        assert_eq!(resources.find("nvidia.com/gpu"), None);
    }
}
