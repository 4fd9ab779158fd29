//! Volumes and claims that are in use are not removed under their users: a finalizer holds them from the start.

use serde_json::Value;

use super::json::{items, push};

pub(super) const CLAIM: &str = "kubernetes.io/pvc-protection";
pub(super) const VOLUME: &str = "kubernetes.io/pv-protection";

/// Adds the finalizer that the protection controller takes away.
pub(super) fn add(object: &mut Value, finalizer: &str) {
    let metadata = &mut object["metadata"];
    if !items(metadata, "finalizers").any(|one| one == finalizer) {
        push(metadata, "finalizers", finalizer.into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_finalizer_is_added_once() {
        let mut claim = json!({"metadata": {"finalizers": ["a/b"]}});
        add(&mut claim, CLAIM);
        add(&mut claim, CLAIM);
        assert_eq!(claim["metadata"]["finalizers"], json!(["a/b", CLAIM]));
    }
}
