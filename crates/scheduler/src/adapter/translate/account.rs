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
    let member_capability = caps(general, resources);
    Account {
        name: account.metadata.name.clone(),
        parent: spec.parent.clone().filter(|parent| *parent != account.metadata.name),
        guaranteed: resources.amounts(&spec.guaranteed),
        deserved: resources.amounts(&spec.deserved),
        capability: caps(&spec.capability, resources),
        weight: spec.weight.unwrap_or(1).max(1),
        members,
        member_capability,
        pools: spec.pools.clone(),
        owned_pools: spec.owned_pools.clone(),
    }
}

/// The limits that an annotation says, such as `{"nvidia.com/gpu":"2"}`. Only the portal writes it; what it cannot have
/// written limits nothing.
pub(crate) fn limits(text: &str, resources: &mut Resources) -> Vec<(ResourceId, i64)> {
    let list: ResourceList = serde_json::from_str(text).unwrap_or_default();
    caps(&list, resources)
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
    fn limits_of_a_namespace_count_cards_in_thousandths() {
        let mut resources = Resources::default();
        let gpu = resources.card("nvidia.com/gpu");
        assert_eq!(limits(r#"{"nvidia.com/gpu":"1500m"}"#, &mut resources), [(gpu, 1500)]);
        assert!(limits("", &mut resources).is_empty() && limits("[]", &mut resources).is_empty());
    }

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
        assert_eq!(account.member_capability, [(gpu, 2000)], "it binds those whom nobody listed, too");
        assert_eq!(account.weight, 1);
    }
}
