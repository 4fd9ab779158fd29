//! Which volume suits a claim.

use k8s_openapi::api::core::v1::{NodeSelector, ObjectReference, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use maar_machinery::selector::LabelSelector;
use maar_quantities::Quantity;

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

fn text(field: Option<&String>) -> &str {
    field.map_or("", String::as_str)
}

/// Why a volume is none for a claim at all, also if somebody brought the two together.
fn unsuitable(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Option<&'static str> {
    let (Some(offer), Some(wish)) = (&volume.spec, &claim.spec) else { return Some("it is not complete") };
    let is_block = |mode: &Option<String>| mode.as_deref() == Some("Block");
    if requested(claim) > capacity(volume) {
        return Some("requested PV is too small");
    }
    if text(offer.volume_attributes_class_name.as_ref()) != text(wish.volume_attributes_class_name.as_ref()) {
        return Some("volumeAttributesClassName does not match");
    }
    (is_block(&offer.volume_mode) != is_block(&wish.volume_mode)).then_some("incompatible volumeMode")
}

fn same_class(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let offered = volume.spec.as_ref().and_then(|spec| spec.storage_class_name.as_ref());
    text(offered) == text(claim.spec.as_ref().and_then(|spec| spec.storage_class_name.as_ref()))
}

/// Whether a volume can be used in every way that a claim wants to.
fn has_access_modes(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let offered = volume.spec.as_ref().and_then(|spec| spec.access_modes.as_ref());
    let mut wanted = claim.spec.iter().flat_map(|spec| spec.access_modes.iter().flatten());
    wanted.all(|mode| offered.is_some_and(|offered| offered.contains(mode)))
}

/// Why a claim cannot have the free volume that it names, in the words of Kubernetes.
pub(crate) fn mismatch(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Option<String> {
    if volume.metadata.deletion_timestamp.is_some() {
        return Some(format!("the volume is marked for deletion {:?}", text(volume.metadata.name.as_ref())));
    }
    let why = match unsuitable(volume, claim) {
        Some(why) => why,
        None if !same_class(volume, claim) => "storageClassName does not match",
        None if !has_access_modes(volume, claim) => "incompatible accessMode",
        None => return None,
    };
    Some(why.to_owned())
}

/// Whether a claim that names no volume may have this one: it is promised to it, or nobody has it and it suits.
pub(crate) fn fits(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let (Some(offer), Some(wish)) = (&volume.spec, &claim.spec) else { return false };
    if volume.metadata.deletion_timestamp.is_some() || unsuitable(volume, claim).is_some() {
        return false;
    }
    if let Some(reference) = &offer.claim_ref {
        return is_promised(reference, claim);
    }
    let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
    let free = matches!(phase, None | Some("" | "Available" | "Pending"));
    let selected = match &wish.selector {
        None => true,
        Some(selector) => LabelSelector::try_from(selector)
            .is_ok_and(|selector| selector.matches(&volume.metadata.labels.clone().unwrap_or_default())),
    };
    free && selected && same_class(volume, claim) && has_access_modes(volume, claim)
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

    #[test]
    fn a_promised_volume_that_is_too_small_or_of_another_mode_is_not_given() {
        let promised = json!({"name": "c", "namespace": "n"});
        let small = volume("small", "1Gi", json!({"claimRef": promised}));
        let block = volume("block", "9Gi", json!({"claimRef": promised, "volumeMode": "Block"}));
        let other_class = volume("other", "9Gi", json!({"claimRef": promised, "storageClassName": "t"}));
        let chosen = |volumes: &[PersistentVolume]| {
            choose(volumes, &claim("2Gi", json!({})), |_| true)
                .and_then(|volume| volume.metadata.name.clone())
        };
        assert_eq!(chosen(&[small, block]), None);
        // The class is for choosing; here somebody has chosen.
        assert_eq!(chosen(&[other_class]).as_deref(), Some("other"));
    }

    #[test]
    fn a_claim_is_told_why_it_cannot_have_the_volume_it_names() {
        let rows = [
            ("2Gi", json!({}), None),
            ("1Gi", json!({}), Some("requested PV is too small")),
            ("2Gi", json!({"storageClassName": "t"}), Some("storageClassName does not match")),
            ("2Gi", json!({"volumeMode": "Block"}), Some("incompatible volumeMode")),
            ("2Gi", json!({"accessModes": ["ReadOnlyMany"]}), Some("incompatible accessMode")),
            (
                "2Gi",
                json!({"volumeAttributesClassName": "fast"}),
                Some("volumeAttributesClassName does not match"),
            ),
        ];
        let told = |volume: &PersistentVolume| mismatch(volume, &claim("2Gi", json!({})));
        for (size, change, want) in rows {
            assert_eq!(told(&volume("v", size, change)).as_deref(), want);
        }
        let mut going = volume("v", "2Gi", json!({}));
        going.metadata.deletion_timestamp = Some(from_value(json!("2026-01-01T12:00:00Z")).unwrap());
        assert_eq!(told(&going).as_deref(), Some("the volume is marked for deletion \"v\""));
    }
}
