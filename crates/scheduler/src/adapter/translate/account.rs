//! Accounts.

use maar_api::ResourceList;

use crate::{
    adapter::wire,
    model::{Account, Member, ResourceId, Resources},
};

pub(crate) fn account(account: &wire::Account, resources: &mut Resources) -> Account {
    let spec = &account.spec;
    let general = &spec.member_capability;
    let members = spec.members.iter().map(|member| {
        // What a member's own cap does not name is capped as everybody's is.
        let mut cap = general.clone();
        for (name, quantity) in &member.capability {
            cap.insert(name.clone(), *quantity);
        }
        Member { user: member.user.clone(), capability: caps(&cap, resources) }
    });
    let members = members.collect();
    Account {
        name: account.metadata.name.clone(),
        parent: spec.parent.clone().filter(|parent| *parent != account.metadata.name),
        guaranteed: resources.amounts(&spec.guaranteed),
        deserved: resources.amounts(&spec.deserved),
        capability: caps(&spec.capability, resources),
        weight: spec.weight.unwrap_or(1).max(1),
        members,
        pools: spec.pools.clone(),
        owned_pools: spec.owned_pools.clone(),
    }
}

/// A cap of zero is a cap, so amounts, where zero is nothing, would not do.
fn caps(list: &ResourceList, resources: &mut Resources) -> Vec<(ResourceId, i64)> {
    let units = |(name, quantity): (&String, _)| {
        let number = resources.number(name);
        (number, resources.units(number, quantity))
    };
    list.iter().map(|(name, quantity)| (name, *quantity)).map(units).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_without_a_cap_have_that_of_all_and_zero_is_a_cap() {
        let mut resources = Resources::default();
        let gpu = resources.card("nvidia.com/gpu");
        let read = serde_json::from_value(json!({
            "metadata": {"name": "a"},
            "spec": {
                "parent": "a", "capability": {"nvidia.com/gpu": "0"}, "memberCapability": {"nvidia.com/gpu": "2"},
                "members": [{"user": "ada"}, {"user": "bob", "capability": {"nvidia.com/gpu": "8"}}],
            },
        }));
        let account = account(&read.unwrap(), &mut resources);
        assert_eq!(account.parent, None, "nobody is his own parent");
        assert_eq!(account.capability, [(gpu, 0)]);
        let caps: Vec<_> = account.members.iter().map(|member| member.capability.clone()).collect();
        assert_eq!(caps, [vec![(gpu, 2000)], vec![(gpu, 8000)]]);
        assert_eq!(account.weight, 1);
    }
}
