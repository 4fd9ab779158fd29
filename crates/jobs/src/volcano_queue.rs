//! Accounts from the Queues of a Volcano installation.
//!
//! A queue becomes an account with the same name, so that jobs keep theirs. The described system has a queue per account
//! (`q-a7`) and one leaf per member (`q-a7-u12`) with the member's cap: such leaves become members of the account above.

use maar_api::{
    Quantity, ResourceList,
    v1alpha1::{Account, AccountSpec, MemberRole, MemberSpec},
};
use serde_json::Value;

/// The queue above all others in Volcano.
const ROOT: &str = "root";

/// A queue that cannot be an account.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// It has no name.
    #[error("a queue has no name")]
    Unnamed,
    /// An amount cannot be read.
    #[error("queue {queue}: {field}: {resource} is {amount}, which is no quantity")]
    Amount {
        /// The queue.
        queue: String,
        /// Where in it.
        field: &'static str,
        /// The resource.
        resource: String,
        /// What it says.
        amount: String,
    },
}

/// Accounts for Volcano's Queues, as they come from its API, in the order of their names.
pub fn accounts_from_queues(queues: &[Value]) -> Result<Vec<Account>, QueueError> {
    let mut accounts = Vec::new();
    let mut leaves = Vec::new();
    for queue in queues {
        let name = queue["metadata"]["name"].as_str().ok_or(QueueError::Unnamed)?;
        if name == ROOT {
            continue;
        }
        let spec = account(name, &queue["spec"])?;
        match member(name, spec.parent.as_deref()) {
            Some(user) => leaves.push((spec.parent.clone().unwrap_or_default(), user, spec.capability)),
            None => accounts.push(Account::new(name, spec)),
        }
    }
    for (parent, user, capability) in leaves {
        if let Some(account) = accounts.iter_mut().find(|one| one.metadata.name.as_ref() == Some(&parent)) {
            account.spec.members.push(MemberSpec { user, role: MemberRole::Member, capability });
        }
    }
    for account in &mut accounts {
        account.spec.members.sort_by(|one, other| one.user.cmp(&other.user));
    }
    accounts.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
    Ok(accounts)
}

/// The user whose leaf this is: `PARENT-uUSER`.
fn member(name: &str, parent: Option<&str>) -> Option<String> {
    let user = name.strip_prefix(parent?)?.strip_prefix("-u")?;
    (!user.is_empty()).then(|| user.to_owned())
}

fn account(name: &str, spec: &Value) -> Result<AccountSpec, QueueError> {
    let parent = spec["parent"].as_str().filter(|parent| !parent.is_empty() && *parent != ROOT);
    let weight = spec["weight"].as_i64().and_then(|weight| i32::try_from(weight).ok()).unwrap_or(1);
    Ok(AccountSpec {
        parent: parent.map(str::to_owned),
        guaranteed: amounts(name, "guarantee", &spec["guarantee"]["resource"])?,
        deserved: amounts(name, "deserved", &spec["deserved"])?,
        capability: amounts(name, "capability", &spec["capability"])?,
        weight: weight.max(1),
        everyone: name == maar_api::names::DEFAULT_ACCOUNT,
        ..AccountSpec::default()
    })
}

fn amounts(queue: &str, field: &'static str, list: &Value) -> Result<ResourceList, QueueError> {
    let mut all = ResourceList::new();
    for (resource, amount) in list.as_object().into_iter().flatten() {
        let text = amount.as_str().map_or_else(|| amount.to_string(), str::to_owned);
        let read = Quantity::parse(&text).map_err(|_| QueueError::Amount {
            queue: queue.to_owned(),
            field,
            resource: resource.clone(),
            amount: text.clone(),
        })?;
        all.insert(resource.clone(), read);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn queues_become_accounts_and_leaves_become_members() {
        let queue = |name: &str, spec: Value| json!({ "metadata": { "name": name }, "spec": spec });
        let queues = [
            queue("root", json!({ "weight": 1 })),
            queue("default", json!({ "weight": 1 })),
            queue(
                "q-a7",
                json!({ "parent": "root", "weight": 4, "guarantee": { "resource": { "nvidia.com/gpu": "2" } },
                    "deserved": { "nvidia.com/gpu": "8", "cpu": 64 }, "capability": { "nvidia.com/gpu": "16" } }),
            ),
            queue("q-a7-u12", json!({ "parent": "q-a7", "capability": { "nvidia.com/gpu": "4" } })),
            queue("q-a7-u3", json!({ "parent": "q-a7" })),
            queue("q-a7-batch", json!({ "parent": "q-a7" })),
        ];
        let accounts = accounts_from_queues(&queues).unwrap();
        let specs: Vec<_> = accounts.iter().map(|one| (&one.metadata.name, &one.spec)).collect();
        insta::assert_yaml_snapshot!(specs);
        let wrong = [queue("a", json!({ "deserved": { "cpu": "many" } }))];
        let error = accounts_from_queues(&wrong).unwrap_err().to_string();
        assert_eq!(error, "queue a: deserved: cpu is many, which is no quantity");
    }
}
