//! Which volume suits a claim.

use k8s_openapi::api::core::v1::{NodeSelector, ObjectReference, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use maar_api::Quantity;
use maar_machinery::selector::LabelSelector;

use super::PROVISIONER;

const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// Whether a claim has its volume.
pub(crate) fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    let named =
        claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()).is_some_and(|name| !name.is_empty());
    let completed = claim.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(BIND_COMPLETED));
    named && completed
}

/// Marks a claim as bound.
pub(crate) fn complete(claim: &mut PersistentVolumeClaim, volume: &str, by_controller: bool) {
    claim.spec.get_or_insert_default().volume_name = Some(volume.to_owned());
    let annotations = claim.metadata.annotations.get_or_insert_default();
    annotations.insert(BIND_COMPLETED.into(), "yes".into());
    if by_controller {
        annotations.insert(BOUND_BY_CONTROLLER.into(), "yes".into());
    }
}

/// Whether claims of a class wait until a Pod that uses them has a node.
pub(crate) fn waits_for_consumer(class: &StorageClass) -> bool {
    class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer")
}

/// Whether volumes of a class are made when needed.
pub(crate) fn is_provisioned(class: &StorageClass) -> bool {
    class.provisioner == PROVISIONER
}

/// The nodes a volume can be used on; none means all.
pub(crate) fn nodes_of(volume: &PersistentVolume) -> Option<NodeSelector> {
    volume.spec.as_ref()?.node_affinity.as_ref()?.required.clone()
}

/// Whether a volume is promised to this claim, by its uid or (before it had one) by its name.
pub(crate) fn is_promised(reference: &ObjectReference, claim: &PersistentVolumeClaim) -> bool {
    let metadata = &claim.metadata;
    let same_uid =
        reference.uid.as_deref().is_none_or(|uid| uid.is_empty() || Some(uid) == metadata.uid.as_deref());
    reference.name == metadata.name && reference.namespace == metadata.namespace && same_uid
}

fn storage(text: Option<&k8s_openapi::apimachinery::pkg::api::resource::Quantity>) -> Quantity {
    text.and_then(|text| Quantity::parse(&text.0).ok()).unwrap_or(Quantity::ZERO)
}

/// How much a claim asks for.
pub(crate) fn requested(claim: &PersistentVolumeClaim) -> Quantity {
    let resources = claim.spec.as_ref().and_then(|spec| spec.resources.as_ref());
    storage(resources.and_then(|resources| resources.requests.as_ref()?.get("storage")))
}

/// How large a volume is.
pub(crate) fn capacity(volume: &PersistentVolume) -> Quantity {
    storage(volume.spec.as_ref().and_then(|spec| spec.capacity.as_ref()?.get("storage")))
}

/// Whether a volume that nobody has suits a claim.
pub(crate) fn fits(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let (Some(offer), Some(wish)) = (&volume.spec, &claim.spec) else { return false };
    if volume.metadata.deletion_timestamp.is_some() {
        return false;
    }
    if let Some(reference) = &offer.claim_ref {
        return is_promised(reference, claim);
    }
    let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
    if !matches!(phase, None | Some("" | "Available" | "Pending")) {
        return false;
    }
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let modes = offer.access_modes.clone().unwrap_or_default();
    let same_kind = text(&offer.volume_mode).replace("Filesystem", "")
        == text(&wish.volume_mode).replace("Filesystem", "");
    let selected = match &wish.selector {
        None => true,
        Some(selector) => LabelSelector::try_from(selector)
            .is_ok_and(|selector| selector.matches(&volume.metadata.labels.clone().unwrap_or_default())),
    };
    text(&offer.storage_class_name) == text(&wish.storage_class_name)
        && wish.access_modes.iter().flatten().all(|mode| modes.contains(mode))
        && same_kind
        && selected
        && requested(claim) <= capacity(volume)
}

fn is_taken(volume: &PersistentVolume) -> bool {
    volume.spec.as_ref().is_some_and(|spec| spec.claim_ref.is_some())
}

/// The best of several volumes that fit has the lowest rank.
pub(crate) fn rank(volume: &PersistentVolume) -> (bool, Quantity, Option<String>) {
    (!is_taken(volume), capacity(volume), volume.metadata.name.clone())
}

/// Promises a volume to a claim, unless another one has it.
pub(crate) fn promise(
    volume: &mut PersistentVolume,
    claim: &PersistentVolumeClaim,
    reference: &ObjectReference,
) {
    let Some(spec) = &mut volume.spec else { return };
    match &spec.claim_ref {
        // A promise by name becomes one by uid.
        Some(existing) if is_promised(existing, claim) => spec.claim_ref = Some(reference.clone()),
        Some(_) => {}
        None => {
            spec.claim_ref = Some(reference.clone());
            let annotations = volume.metadata.annotations.get_or_insert_default();
            annotations.insert(BOUND_BY_CONTROLLER.into(), "yes".into());
        }
    }
}

/// The best volume for a claim: one that is promised to it, else the smallest that is large enough.
pub(crate) fn choose<'a>(
    volumes: &'a [PersistentVolume],
    claim: &PersistentVolumeClaim,
    usable: impl Fn(&PersistentVolume) -> bool,
) -> Option<&'a PersistentVolume> {
    let fitting = volumes.iter().filter(|volume| fits(volume, claim) && (is_taken(volume) || usable(volume)));
    fitting.min_by_key(|volume| rank(volume))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "tables of JSON literals read better by value")]

    use serde_json::{Value, from_value, json};

    use super::*;

    fn volume(name: &str, size: &str, change: Value) -> PersistentVolume {
        let mut spec =
            json!({"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "s"});
        for (key, member) in change.as_object().unwrap() {
            spec[key] = member.clone();
        }
        from_value(json!({"metadata": {"name": name, "labels": {"tier": "fast"}}, "spec": spec,
            "status": {"phase": "Available"}}))
        .unwrap()
    }

    fn claim(size: &str, change: Value) -> PersistentVolumeClaim {
        let mut spec = json!({"resources": {"requests": {"storage": size}}, "accessModes": ["ReadWriteOnce"],
            "storageClassName": "s", "volumeMode": "Filesystem"});
        for (key, member) in change.as_object().unwrap() {
            spec[key] = member.clone();
        }
        from_value(json!({"metadata": {"name": "c", "namespace": "n", "uid": "u"}, "spec": spec})).unwrap()
    }

    #[test]
    fn the_smallest_that_is_large_enough_is_chosen() {
        let volumes = vec![
            volume("big", "10Gi", json!({})),
            volume("right", "2Gi", json!({})),
            volume("small", "1Gi", json!({})),
            volume("other", "2Gi", json!({"storageClassName": "t"})),
            volume("block", "2Gi", json!({"volumeMode": "Block"})),
            volume("taken", "2Gi", json!({"claimRef": {"name": "x", "namespace": "n"}})),
        ];
        let chosen = |claim: PersistentVolumeClaim| {
            choose(&volumes, &claim, |_| true).and_then(|volume| volume.metadata.name.clone())
        };
        assert_eq!(chosen(claim("1500Mi", json!({}))).as_deref(), Some("right"));
        assert_eq!(chosen(claim("3Gi", json!({}))).as_deref(), Some("big"));
        assert_eq!(chosen(claim("20Gi", json!({}))), None);
        assert_eq!(chosen(claim("1Gi", json!({"accessModes": ["ReadWriteMany"]}))), None);
        assert_eq!(chosen(claim("1Gi", json!({"selector": {"matchLabels": {"tier": "slow"}}}))), None);
        assert_eq!(
            chosen(claim("1Gi", json!({"selector": {"matchLabels": {"tier": "fast"}}}))).as_deref(),
            Some("small")
        );
    }

    #[test]
    fn a_promised_volume_comes_first() {
        let volumes = [
            volume("right", "1Gi", json!({})),
            volume("mine", "9Gi", json!({"claimRef": {"name": "c", "namespace": "n"}})),
        ];
        let chosen = choose(&volumes, &claim("1Gi", json!({})), |_| true).unwrap();
        assert_eq!(chosen.metadata.name.as_deref(), Some("mine"));
    }
}
