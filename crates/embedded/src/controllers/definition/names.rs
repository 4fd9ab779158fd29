//! Accepts the names of CRDs unless another one of the same group has them, and establishes those accepted.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::controllers::base::{self, Base};
use crate::controllers::{Again, Controller};
use crate::hooks::DEFINITIONS;
use crate::resource::Subresource;
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};

#[derive(Debug)]
pub(crate) struct DefinitionNames {
    base: Base,
}

/// What other definitions of a group have been given.
#[derive(Debug, Default)]
struct Taken {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

impl Taken {
    fn add(&mut self, accepted: &Value) {
        let texts = |fields: &[&str]| -> Vec<String> {
            let single = fields.iter().filter_map(|field| accepted[*field].as_str());
            single.filter(|text| !text.is_empty()).map(ToOwned::to_owned).collect()
        };
        self.resources.extend(texts(&["plural", "singular"]));
        let short = accepted["shortNames"].as_array().into_iter().flatten().filter_map(Value::as_str);
        self.resources.extend(short.map(ToOwned::to_owned));
        self.kinds.extend(texts(&["kind", "listKind"]));
    }
}

/// The accepted names and, if some are not, why.
fn accept(definition: &Value, taken: &Taken) -> (Value, Option<(&'static str, String)>) {
    let wanted = &definition["spec"]["names"];
    let mut accepted = definition["status"]["acceptedNames"].clone();
    if !accepted.is_object() {
        accepted = json!({});
    }
    let mut conflict = None;
    let fields = [
        ("plural", &taken.resources, "PluralConflict"),
        ("singular", &taken.resources, "SingularConflict"),
        ("shortNames", &taken.resources, "ShortNamesConflict"),
        ("kind", &taken.kinds, "KindConflict"),
        ("listKind", &taken.kinds, "ListKindConflict"),
    ];
    for (field, used, reason) in fields {
        let names = match &wanted[field] {
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
            value => value.as_str().into_iter().collect::<Vec<_>>(),
        };
        let in_use = |name: &&&str| used.contains(**name) && wanted[field] != accepted[field];
        let clashes: Vec<String> =
            names.iter().filter(in_use).map(|name| format!("{name:?} is already in use")).collect();
        if !clashes.is_empty() {
            conflict = Some((reason, clashes.join(", ")));
        } else if !wanted[field].is_null() {
            accepted[field] = wanted[field].clone();
        } else if let Some(map) = accepted.as_object_mut() {
            map.remove(field);
        }
    }
    if let Some(map) = accepted.as_object_mut() {
        map.remove("categories");
    }
    if wanted["categories"].is_array() {
        accepted["categories"] = wanted["categories"].clone();
    }
    (accepted, conflict)
}

/// The status of a definition, given what others have.
fn status(definition: &Value, taken: &Taken, now: &str) -> Value {
    let (accepted, conflict) = accept(definition, taken);
    let mut status = definition["status"].clone();
    status["acceptedNames"] = accepted;
    let mut conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let established = conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True");
    if let Some((reason, message)) = conflict {
        set(&mut conditions, "NamesAccepted", "False", reason, &message, now);
        // Once established, a definition stays so under the names it has.
        if !established {
            set(&mut conditions, "Established", "False", "NotAccepted", "not all names are accepted", now);
        }
    } else {
        set(&mut conditions, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now);
        if !established {
            let message = "the initial names have been accepted";
            set(&mut conditions, "Established", "True", "InitialNamesAccepted", message, now);
        }
    }
    status["conditions"] = Value::from(conditions);
    status
}

fn set(conditions: &mut Vec<Value>, kind: &str, status: &str, reason: &str, message: &str, now: &str) {
    let since = conditions
        .iter()
        .find(|one| one["type"] == kind && one["status"] == status)
        .map_or_else(|| json!(now), |one| one["lastTransitionTime"].clone());
    let new = json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since});
    match conditions.iter_mut().find(|one| one["type"] == kind) {
        Some(known) => *known = new,
        None => conditions.push(new),
    }
}

impl DefinitionNames {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        Self { base: Base::new(server, "customresourcedefinition-naming") }
    }

    async fn sync(&self, key: &Key) -> Result<Again, ApiError> {
        let Some(entry) = self.base.store().get(key) else { return Ok(None) };
        let definition = entry.value();
        let mut taken = Taken::default();
        for other in self.base.store().list(DEFINITIONS, None).rows {
            let object = other.value();
            if other.meta.name != entry.meta.name && object["spec"]["group"] == definition["spec"]["group"] {
                taken.add(&object["status"]["acceptedNames"]);
            }
        }
        let wanted = status(&definition, &taken, &self.base.server().world.now_text());
        if wanted == definition["status"] {
            return Ok(None);
        }
        let resource =
            self.base.server().resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")?;
        let patch = json!({"metadata": {"resourceVersion": entry.revision.to_string()}, "status": wanted});
        match self.base.local.merge(&resource, key, Some(Subresource::Status), patch).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(None),
        }
    }
}

impl Controller for DefinitionNames {
    fn name(&self) -> &'static str {
        "customresourcedefinition-naming"
    }

    fn tables(&self) -> Vec<&'static str> {
        vec![DEFINITIONS]
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        if !event.deleted {
            return vec![base::own_key(table, event)];
        }
        // Names became free: whoever waits for them may have them now.
        let all = self.base.store().list(DEFINITIONS, None).rows;
        all.iter().map(|entry| Key { table: DEFINITIONS.into(), row: (*entry.meta.name).into() }).collect()
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toy(plural: &str, short: &str) -> Value {
        json!({"spec": {"group": "example.com", "names": {"plural": plural, "singular": "toy", "kind": "Toy",
            "listKind": "ToyList", "shortNames": [short]}}, "status": {"conditions": [], "acceptedNames": {}}})
    }

    fn conditions(status: &Value) -> Vec<String> {
        let list = status["conditions"].as_array().unwrap();
        list.iter()
            .map(|one| {
                format!(
                    "{}={} {}",
                    one["type"].as_str().unwrap(),
                    one["status"].as_str().unwrap(),
                    one["reason"].as_str().unwrap()
                )
            })
            .collect()
    }

    #[test]
    fn free_names_are_accepted_and_taken_ones_are_not() {
        let first = status(&toy("toys", "t"), &Taken::default(), "now");
        assert_eq!(
            conditions(&first),
            ["NamesAccepted=True NoConflicts", "Established=True InitialNamesAccepted"]
        );
        assert_eq!(first["acceptedNames"]["plural"], "toys");
        let mut taken = Taken::default();
        taken.add(&first["acceptedNames"]);
        let second = status(&toy("playthings", "t"), &taken, "now");
        assert_eq!(
            conditions(&second),
            ["NamesAccepted=False ListKindConflict", "Established=False NotAccepted"]
        );
        assert_eq!(second["acceptedNames"], json!({"plural": "playthings"}));
    }

    #[test]
    fn an_established_definition_stays_established_under_its_names() {
        let mut definition = toy("toys", "t");
        definition["status"] = status(&definition, &Taken::default(), "then");
        let mut taken = Taken::default();
        taken.resources.insert("new".into());
        definition["spec"]["names"]["shortNames"] = json!(["new"]);
        let after = status(&definition, &taken, "now");
        assert_eq!(
            conditions(&after),
            ["NamesAccepted=False ShortNamesConflict", "Established=True InitialNamesAccepted"]
        );
        assert_eq!(after["acceptedNames"]["shortNames"], json!(["t"]));
        assert_eq!(after["conditions"][1]["lastTransitionTime"], "then");
    }
}
