//! Owners that an object names twice.

use serde_json::Value;

/// Where duplicates were found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    Given,
    /// In what a patch or a webhook made.
    AfterAdmission,
}

/// Keeps one of owner references that are alike in everything; answers what to say about it.
pub(super) fn drop_duplicates(object: &mut Value, found: Found) -> Option<String> {
    let owners = object.get_mut("metadata")?.get_mut("ownerReferences")?.as_array_mut()?;
    let mut kept: Vec<Value> = Vec::with_capacity(owners.len());
    let mut twice = Vec::new();
    for owner in owners.drain(..) {
        if kept.contains(&owner) {
            twice.push(owner["uid"].as_str().unwrap_or_default().to_owned());
        } else {
            kept.push(owner);
        }
    }
    *owners = kept;
    let when = match found {
        Found::Given => "",
        Found::AfterAdmission => " after mutating admission happens",
    };
    (!twice.is_empty()).then(|| {
        format!(
            ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in \
             1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) \
             observed: {}",
            twice.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn owners_that_are_alike_but_not_the_same_stay() {
        let owner = json!({"kind": "Pod", "name": "a", "uid": "u"});
        let other = json!({"kind": "Pod", "name": "a", "uid": "u", "controller": true});
        let mut object = json!({"metadata": {"ownerReferences": [owner, other, owner]}});
        let said = drop_duplicates(&mut object, Found::Given).unwrap();
        assert!(said.ends_with("observed: u"), "{said}");
        assert_eq!(object["metadata"]["ownerReferences"], json!([owner, other]));
        assert_eq!(drop_duplicates(&mut object, Found::AfterAdmission), None);
        assert_eq!(drop_duplicates(&mut json!({"metadata": {}}), Found::Given), None);
    }
}
