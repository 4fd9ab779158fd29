//! Accounts from the Queues of a Volcano installation.
//!
//! A queue becomes an account with the same name, so that jobs keep theirs. The described system has a queue per account
//! (`q-a7`) and one leaf per member (`q-a7-u12`) with the member's cap: such leaves become members of the account above.
//! What an account has no place for is not dropped in silence: [`Imported::left_out`] says it.

use std::collections::BTreeSet;

use maar_api::{
    Quantity, ResourceList, names,
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

/// What became of the Queues.
#[derive(Debug, Default)]
pub struct Imported {
    /// Accounts in the order of their names.
    pub accounts: Vec<Account>,
    /// What could not be taken over, in sentences.
    pub left_out: Vec<String>,
}

/// Fields of a queue that are taken over. Others are named, unless they say what holds anyway.
const TAKEN: [&str; 5] = ["parent", "weight", "guarantee", "deserved", "capability"];
/// The largest weight of an account.
const MOST_WEIGHT: i64 = 100_000;

/// Accounts for Volcano's Queues, as they come from its API.
pub fn accounts_from_queues(queues: &[Value]) -> Result<Imported, QueueError> {
    let mut all = Imported::default();
    let mut known = BTreeSet::new();
    for queue in queues {
        known.insert(queue["metadata"]["name"].as_str().ok_or(QueueError::Unnamed)?);
    }
    let mut leaves = Vec::new();
    for queue in queues {
        let name = queue["metadata"]["name"].as_str().ok_or(QueueError::Unnamed)?;
        if name == ROOT {
            continue;
        }
        all.left_out.extend(foreign_fields(name, &queue["spec"]));
        let spec = account(name, &queue["spec"])?;
        if let Some((parent, user)) = member(name, spec.parent.as_deref(), &known) {
            leaves.push((name, parent, user, spec));
            continue;
        }
        if let Some(parent) = spec.parent.as_deref().filter(|parent| !known.contains(parent)) {
            all.left_out.push(format!("queue {name}: its parent {parent} is not there"));
        }
        all.accounts.push(Account::new(name, spec));
    }
    for (name, parent, user, spec) in leaves {
        all.left_out.extend(beyond_a_cap(name, &spec));
        let above = |one: &&mut Account| one.metadata.name.as_deref() == Some(parent);
        if let Some(account) = all.accounts.iter_mut().find(above) {
            let capability = spec.capability;
            account.spec.members.push(MemberSpec { user, role: MemberRole::Member, capability });
        }
    }
    for account in &mut all.accounts {
        account.spec.members.sort_by(|one, other| one.user.cmp(&other.user));
    }
    all.accounts.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
    all.left_out.sort();
    Ok(all)
}

/// The queue above and the user whose leaf this is: `PARENT-uUSER`. Volcano without a hierarchy has such leaves beside their
/// parents, so the name alone decides; and a queue that is nobody's leaf stays an account.
fn member<'a>(name: &str, parent: Option<&str>, known: &BTreeSet<&'a str>) -> Option<(&'a str, String)> {
    let (above, user) = name.rsplit_once("-u")?;
    let above = *known.get(above)?;
    (!user.is_empty() && parent.is_none_or(|parent| parent == above)).then(|| (above, user.to_owned()))
}

/// What a leaf says that a member has no place for: of a member only the cap is known.
fn beyond_a_cap(name: &str, spec: &AccountSpec) -> Option<String> {
    let said = [
        ("guarantee", !spec.guaranteed.is_empty()),
        ("deserved", !spec.deserved.is_empty()),
        ("weight", spec.weight != 1),
    ];
    let fields: Vec<&str> = said.into_iter().filter(|(_, said)| *said).map(|(field, _)| field).collect();
    let words = fields.join(", ");
    (!fields.is_empty()).then(|| format!("queue {name}: {words}: a member has a capability and nothing else"))
}

/// Fields that an account does not have.
fn foreign_fields(name: &str, spec: &Value) -> Vec<String> {
    let says_nothing = |field: &str, value: &Value| match value {
        Value::Null => true,
        Value::Bool(yes) => *yes == (field == "reclaimable"),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    };
    let fields = spec.as_object().into_iter().flatten();
    let foreign =
        fields.filter(|(field, value)| !TAKEN.contains(&field.as_str()) && !says_nothing(field, value));
    let mut all: Vec<String> =
        foreign.map(|(field, _)| format!("queue {name}: {field}: an account has no such field")).collect();
    let weight = spec["weight"].as_i64().unwrap_or(1);
    if !(1..=MOST_WEIGHT).contains(&weight) {
        all.push(format!("queue {name}: weight: {weight} is not between 1 and {MOST_WEIGHT}"));
    }
    all
}

fn account(name: &str, spec: &Value) -> Result<AccountSpec, QueueError> {
    let parent = spec["parent"].as_str().filter(|parent| !parent.is_empty() && *parent != ROOT);
    let weight = spec["weight"].as_i64().unwrap_or(1).clamp(1, MOST_WEIGHT);
    Ok(AccountSpec {
        parent: parent.map(str::to_owned),
        guaranteed: amounts(name, "guarantee", &spec["guarantee"]["resource"])?,
        deserved: amounts(name, "deserved", &spec["deserved"])?,
        capability: amounts(name, "capability", &spec["capability"])?,
        weight: i32::try_from(weight).unwrap_or(1),
        everyone: name == names::DEFAULT_ACCOUNT,
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

    fn queue(name: &str, spec: &Value) -> Value {
        json!({ "metadata": { "name": name }, "spec": spec })
    }

    #[test]
    fn queues_become_accounts_and_leaves_become_members() {
        let queues = [
            queue("root", &json!({ "weight": 1 })),
            queue("default", &json!({ "weight": 1, "reclaimable": true })),
            queue(
                "q-a7",
                &json!({ "parent": "root", "weight": 4, "guarantee": { "resource": { "nvidia.com/gpu": "2" } },
                    "deserved": { "nvidia.com/gpu": "8", "cpu": 64 }, "capability": { "nvidia.com/gpu": "16" } }),
            ),
            queue("q-a7-u12", &json!({ "parent": "q-a7", "capability": { "nvidia.com/gpu": "4" } })),
            queue("q-a7-u3", &json!({ "parent": "q-a7" })),
            queue("q-a7-batch", &json!({ "parent": "q-a7" })),
        ];
        let imported = accounts_from_queues(&queues).unwrap();
        let specs: Vec<_> = imported.accounts.iter().map(|one| (&one.metadata.name, &one.spec)).collect();
        insta::assert_yaml_snapshot!(specs);
        assert!(imported.left_out.is_empty(), "{:?}", imported.left_out);
        let wrong = [queue("a", &json!({ "deserved": { "cpu": "many" } }))];
        let error = accounts_from_queues(&wrong).unwrap_err().to_string();
        assert_eq!(error, "queue a: deserved: cpu is many, which is no quantity");
    }

    #[test]
    fn leaves_are_known_by_their_names_where_queues_have_no_parents() {
        let queues =
            [queue("q-a7-u12", &json!({})), queue("q-a7", &json!({})), queue("dept-unit", &json!({}))];
        let accounts = accounts_from_queues(&queues).unwrap().accounts;
        let names: Vec<_> = accounts.iter().filter_map(|one| one.metadata.name.as_deref()).collect();
        assert_eq!(names, ["dept-unit", "q-a7"]);
        assert_eq!(accounts[1].spec.members[0].user, "12");
    }

    #[test]
    fn what_an_account_has_no_place_for_is_said() {
        let queues = [
            queue(
                "q-a7",
                &json!({ "reclaimable": false, "weight": 0, "affinity": { "nodeGroupAffinity": {} } }),
            ),
            queue("q-a7-u12", &json!({ "parent": "q-a7", "weight": 3, "deserved": { "cpu": "1" } })),
            queue("lost", &json!({ "parent": "gone" })),
        ];
        insta::assert_snapshot!(accounts_from_queues(&queues).unwrap().left_out.join("\n"), @r"
        queue lost: its parent gone is not there
        queue q-a7-u12: deserved, weight: a member has a capability and nothing else
        queue q-a7: affinity: an account has no such field
        queue q-a7: reclaimable: an account has no such field
        queue q-a7: weight: 0 is not between 1 and 100000
        ");
    }
}
