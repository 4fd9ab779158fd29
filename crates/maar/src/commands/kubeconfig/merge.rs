//! Putting a kubeconfig among others, without losing any of them.

use serde_json::{Map, Value, json};

/// Why it is not done.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum MergeError {
    #[error("it is no kubeconfig: {0} is no list of what has names")]
    Shape(&'static str),
    #[error(
        "it has a cluster called {name} that is another one, at {server}: choose another name with --name"
    )]
    OtherCluster { name: String, server: String },
}

const LISTS: [&str; 3] = ["clusters", "users", "contexts"];

/// Gives everything in a new kubeconfig one name.
pub(super) fn renamed(mut new: Value, name: &str) -> Value {
    for list in LISTS {
        if let Some(entry) = new.pointer_mut(&format!("/{list}/0/name")) {
            *entry = name.into();
        }
    }
    for place in ["/contexts/0/context/cluster", "/contexts/0/context/user", "/current-context"] {
        if let Some(entry) = new.pointer_mut(place) {
            *entry = name.into();
        }
    }
    new
}

/// What is there with what is new: entries of the same name are replaced, all others stay as they are. `switch` makes the
/// new context the current one; it is also where there is none.
pub(super) fn merge(there: Option<Value>, new: &Value, switch: bool) -> Result<Value, MergeError> {
    let mut whole = match there {
        None | Some(Value::Null) => json!({ "apiVersion": "v1", "kind": "Config" }),
        Some(Value::Object(there)) => Value::Object(there),
        Some(_) => return Err(MergeError::Shape("the whole")),
    };
    let members = whole.as_object_mut().ok_or(MergeError::Shape("the whole"))?;
    same_cluster(members, new)?;
    for list in LISTS {
        let entries = entries(members, list)?;
        for entry in new[list].as_array().into_iter().flatten() {
            match entries.iter_mut().find(|one| one["name"] == entry["name"]) {
                Some(old) => *old = entry.clone(),
                None => entries.push(entry.clone()),
            }
        }
    }
    let current = members.get("current-context").and_then(Value::as_str).unwrap_or_default();
    if switch || current.is_empty() {
        members.insert("current-context".to_owned(), new["current-context"].clone());
    }
    Ok(whole)
}

fn entries<'a>(
    members: &'a mut Map<String, Value>,
    list: &'static str,
) -> Result<&'a mut Vec<Value>, MergeError> {
    let value = members.entry(list).or_insert_with(|| json!([]));
    if value.is_null() {
        *value = json!([]);
    }
    let entries = value.as_array_mut().ok_or(MergeError::Shape(list))?;
    if entries.iter().all(|entry| entry["name"].is_string()) {
        Ok(entries)
    } else {
        Err(MergeError::Shape(list))
    }
}

/// A cluster of the same name at another address belongs to contexts that are not ours.
fn same_cluster(members: &Map<String, Value>, new: &Value) -> Result<(), MergeError> {
    let ours = &new["clusters"][0];
    let there = members.get("clusters").and_then(Value::as_array).into_iter().flatten();
    let same = there
        .filter(|cluster| cluster["name"] == ours["name"])
        .find(|cluster| cluster["cluster"]["server"] != ours["cluster"]["server"]);
    match same {
        None => Ok(()),
        Some(other) => Err(MergeError::OtherCluster {
            name: ours["name"].as_str().unwrap_or_default().to_owned(),
            server: other["cluster"]["server"].as_str().unwrap_or("nowhere").to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(name: &str, server: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": name,
            "clusters": [{ "name": name, "cluster": { "server": server } }],
            "users": [{ "name": name, "user": { "token": server } }],
            "contexts": [{ "name": name, "context": { "cluster": name, "user": name } }],
        })
    }

    #[test]
    fn what_is_there_stays_and_what_is_ours_is_renewed() {
        let mut there = config("work", "https://work");
        there["preferences"] = json!({ "colors": true });
        let merged = merge(Some(there.clone()), &config("maar", "https://maar"), true).unwrap();
        assert_eq!(
            (&merged["current-context"], &merged["preferences"]),
            (&json!("maar"), &there["preferences"])
        );
        for list in LISTS {
            assert_eq!(merged[list].as_array().unwrap().len(), 2);
            assert_eq!(merged[list][0], there[list][0]);
        }
        let mut newer = config("maar", "https://maar");
        newer["users"][0]["user"] = json!({ "token": "newer" });
        let again = merge(Some(merged.clone()), &newer, false).unwrap();
        assert_eq!(again["users"][1]["user"]["token"], "newer");
        assert_eq!(again["contexts"], merged["contexts"]);
        let kept = merge(Some(there), &config("maar", "https://maar"), false).unwrap();
        assert_eq!(kept["current-context"], "work");
    }

    #[test]
    fn an_empty_file_becomes_one_and_another_cluster_of_the_name_is_not_lost() {
        let new = config("maar", "https://maar");
        assert_eq!(merge(None, &new, false).unwrap(), new);
        let empty = json!({ "apiVersion": "v1", "kind": "Config", "clusters": null, "users": [], "contexts": null, "current-context": "" });
        assert_eq!(merge(Some(empty), &new, false).unwrap()["contexts"], new["contexts"]);
        let other = merge(Some(config("maar", "https://other")), &new, true).unwrap_err();
        assert!(
            matches!(&other, MergeError::OtherCluster { server, .. } if server == "https://other"),
            "{other}"
        );
        let named = renamed(new, "second");
        assert_eq!(named, config("second", "https://maar"));
        for wrong in [json!("text"), json!({ "users": {} }), json!({ "contexts": [{}] })] {
            assert!(
                matches!(merge(Some(wrong.clone()), &config("a", "b"), true), Err(MergeError::Shape(_))),
                "{wrong}"
            );
        }
    }
}
