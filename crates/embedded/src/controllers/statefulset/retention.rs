//! Who owns the claims of a StatefulSet's Pods, so that garbage collection removes them when the retention policy
//! says so.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

/// What happens to claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    delete_with_set: bool,
    delete_when_scaled: bool,
}

impl Policy {
    pub(crate) fn of(set: &StatefulSet) -> Self {
        let policy = set.spec.as_ref().and_then(|spec| spec.persistent_volume_claim_retention_policy.clone());
        let policy = policy.unwrap_or_default();
        Self {
            delete_with_set: policy.when_deleted.as_deref() == Some("Delete"),
            delete_when_scaled: policy.when_scaled.as_deref() == Some("Delete"),
        }
    }

    pub(crate) fn keeps_all(self) -> bool {
        !self.delete_with_set && !self.delete_when_scaled
    }

    pub(crate) fn deletes_when_scaled(self) -> bool {
        self.delete_when_scaled
    }
}

/// The owners a claim should have instead of those it has; `None` if they are right.
///
/// `pod` is the Pod's reference, `condemned` says that the Pod is beyond the set's range.
pub(crate) fn owners(
    policy: Policy,
    set: &OwnerReference,
    pod: &OwnerReference,
    condemned: bool,
    existing: &[OwnerReference],
) -> Option<Vec<OwnerReference>> {
    let same = |one: &OwnerReference, other: &OwnerReference| {
        one.api_version == other.api_version && one.kind == other.kind && one.name == other.name
    };
    let stale =
        |wanted: &OwnerReference| existing.iter().any(|owner| same(owner, wanted) && owner.uid != wanted.uid);
    if stale(set) || stale(pod) {
        // A claim of an earlier set or Pod: garbage collection has to see to it first.
        return None;
    }
    let ours = |owner: &OwnerReference| same(owner, set) || same(owner, pod);
    let foreign_controller = existing.iter().any(|owner| !ours(owner) && owner.controller == Some(true));
    let mut wanted: Vec<OwnerReference> = existing.iter().filter(|owner| !ours(owner)).cloned().collect();
    if policy.keeps_all() || !foreign_controller {
        if policy.delete_with_set && !(policy.delete_when_scaled && condemned) {
            wanted.push(set.clone());
        }
        if policy.delete_when_scaled && condemned {
            wanted.push(pod.clone());
        }
    }
    (wanted != existing).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(kind: &str, uid: &str) -> OwnerReference {
        OwnerReference {
            api_version: "v1".into(),
            kind: kind.into(),
            name: kind.to_lowercase(),
            uid: uid.into(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }

    #[test]
    fn claims_belong_to_whoever_takes_them_along() {
        let (set, pod) = (reference("StatefulSet", "s"), reference("Pod", "p"));
        let policy =
            |with_set, when_scaled| Policy { delete_with_set: with_set, delete_when_scaled: when_scaled };
        let rows = [
            ("kept", policy(false, false), false, vec![]),
            ("goes with the set", policy(true, false), false, vec![set.clone()]),
            ("goes with the set, also when scaled", policy(true, false), true, vec![set.clone()]),
            ("goes when scaled, not scaled", policy(false, true), false, vec![]),
            ("goes when scaled", policy(false, true), true, vec![pod.clone()]),
            ("goes with either, not scaled", policy(true, true), false, vec![set.clone()]),
            ("goes with either, scaled", policy(true, true), true, vec![pod.clone()]),
        ];
        for (name, policy, condemned, want) in rows {
            for existing in [vec![], vec![set.clone()], vec![pod.clone()]] {
                let got =
                    owners(policy, &set, &pod, condemned, &existing).unwrap_or_else(|| existing.clone());
                assert_eq!(got, want, "{name}, from {existing:?}");
            }
        }
    }

    #[test]
    fn claims_of_earlier_owners_are_left_to_garbage_collection() {
        let (set, pod) = (reference("StatefulSet", "s"), reference("Pod", "p"));
        let policy = Policy { delete_with_set: true, delete_when_scaled: true };
        assert_eq!(owners(policy, &set, &pod, false, &[reference("Pod", "earlier")]), None);
    }

    #[test]
    fn another_controller_keeps_its_claim() {
        let (set, pod) = (reference("StatefulSet", "s"), reference("Pod", "p"));
        let policy = Policy { delete_with_set: true, delete_when_scaled: false };
        let other = reference("Operator", "o");
        assert_eq!(owners(policy, &set, &pod, false, std::slice::from_ref(&other)), None);
        assert_eq!(owners(policy, &set, &pod, false, &[other.clone(), set.clone()]), Some(vec![other]));
    }
}
