//! What one namespace may have, whichever accounts pay for it.
//!
//! Kubernetes' own quotas count whole cards; a share of one is an annotation to them. Here all is counted in thousandths, and
//! by one who decides alone, so that it is exact however many ask at once.

use crate::model::{Amounts, ResourceId};

use super::{
    super::entry::{Held, exceeded},
    Limit, SpaceId, Tree,
};

/// A namespace as the tree keeps it.
#[derive(Debug, Clone, Default)]
pub(super) struct Space {
    name: String,
    limits: Vec<(ResourceId, i64)>,
    pub(super) held: Held,
}

impl Tree {
    /// The number of a namespace.
    pub fn space(&mut self, name: &str) -> SpaceId {
        if let Some(space) = self.space_numbers.get(name) {
            return *space;
        }
        let space = SpaceId(u32::try_from(self.spaces.len()).unwrap_or(u32::MAX));
        self.spaces.push(Space { name: name.to_owned(), ..Space::default() });
        self.space_numbers.insert(name.to_owned(), space);
        space
    }

    /// The name of a namespace.
    pub fn space_name(&self, space: SpaceId) -> &str {
        self.spaces.get(space.index()).map_or("", |space| &space.name)
    }

    /// Sets the most that a namespace may have. What it has stays.
    pub fn limit_space(&mut self, name: &str, limits: Vec<(ResourceId, i64)>) {
        let index = self.space(name).index();
        if let Some(space) = self.spaces.get_mut(index)
            && space.limits != limits
        {
            space.limits = limits;
            // Everybody is asked again.
            self.stale = true;
        }
    }

    pub(super) fn admit_in_space(&self, space: SpaceId, asked: &Amounts) -> Result<(), Limit> {
        let known = self.spaces.get(space.index());
        let excess = known.and_then(|known| exceeded(&known.limits, &known.held, asked));
        excess.map_or(Ok(()), |excess| Err(Limit::Space { space, excess }))
    }
}
