//! Volumes that were made beforehand, and the claims that get one of them.

use std::sync::Arc;

use maar_api::Quantity;

use super::{Unfit, Volumes, terms};
use crate::{
    adapter::wire,
    model::{LabelSelector, StaticClaim, StaticVolume},
};

const BLOCK: &str = "Block";

/// A claim that gets a volume made beforehand.
pub(super) fn claim(claim: &wire::Claim) -> Result<StaticClaim, Unfit> {
    let (name, spec) = (&claim.metadata.name, &claim.spec);
    let size = bytes(&spec.resources.requests.storage)
        .ok_or_else(|| Unfit::new(format!("the volume claim {name} does not say how much it asks for")))?;
    let selector = match &spec.selector {
        // Without a selector every volume will do.
        None => LabelSelector(Some(Vec::new())),
        selector => terms::selector(selector.as_ref())?,
    };
    Ok(StaticClaim {
        name: name.clone(),
        uid: claim.metadata.uid.clone(),
        class: spec.storage_class_name.clone(),
        size,
        modes: spec.access_modes.clone(),
        block: spec.volume_mode == BLOCK,
        selector,
    })
}

fn bytes(text: &str) -> Option<i64> {
    Quantity::parse(text).ok().map(Quantity::value)
}

impl Volumes {
    /// Remembers a volume. Answers with it if a claim may get it, or has been promised it and does not show it yet.
    pub(crate) fn set_volume(&mut self, volume: wire::Volume) -> Option<StaticVolume> {
        let name = volume.metadata.name.clone();
        let by_name = volume.spec.claim_ref.as_ref().is_some_and(|claim| claim.uid.is_empty());
        if by_name {
            self.promised.insert(name.clone());
        } else {
            self.promised.remove(&name);
        }
        let known = self.offer(&volume);
        self.volumes.insert(name, volume);
        known
    }

    /// A volume is gone.
    pub(crate) fn remove_volume(&mut self, name: &str) {
        self.promised.remove(name);
        self.volumes.remove(name);
    }

    /// The volumes about which a change of a claim says something, each with what it is now.
    pub(crate) fn touched_by(&self, claim: &wire::Claim) -> Vec<(String, Option<StaticVolume>)> {
        let own = Some(&claim.spec.volume_name).filter(|name| !name.is_empty());
        let names = own.into_iter().chain(&self.promised);
        let volumes = names.filter_map(|name| self.volumes.get(name));
        volumes.map(|volume| (volume.metadata.name.clone(), self.offer(volume))).collect()
    }

    fn offer(&self, volume: &wire::Volume) -> Option<StaticVolume> {
        let (meta, spec) = (&volume.metadata, &volume.spec);
        let claim = match &spec.claim_ref {
            None if volume.status.phase != "Available" || meta.deletion_timestamp.is_some() => return None,
            None => None,
            Some(promise) => Some(self.promised_to(promise, &meta.name)?),
        };
        let required = spec.node_affinity.required.as_ref();
        Some(StaticVolume {
            name: meta.name.as_str().into(),
            class: Some(spec.storage_class_name.clone()).filter(|class| !class.is_empty())?,
            size: bytes(&spec.capacity.storage)?,
            modes: spec.access_modes.iter().cloned().collect(),
            block: spec.volume_mode == BLOCK,
            labels: meta.labels.clone(),
            nodes: match required {
                None => None,
                Some(required) => Some(terms::terms(&required.node_selector_terms).ok()?),
            },
            claim,
        })
    }

    /// The uid of the claim that a volume is promised to; none if the claim shows it already, and the volume need not be
    /// looked for.
    fn promised_to(&self, promise: &wire::ClaimReference, volume: &str) -> Option<Arc<str>> {
        let known = self.claims.get(&format!("{}/{}", promise.namespace, promise.name));
        let known = known.filter(|claim| promise.uid.is_empty() || promise.uid == claim.metadata.uid);
        match known {
            Some(claim) if claim.spec.volume_name == volume => None,
            Some(claim) => Some(claim.metadata.uid.as_str().into()),
            None => Some(promise.uid.as_str().into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn wire_volume(spec: &Value, phase: &str) -> wire::Volume {
        let mut value = json!({"metadata": {"name": "v", "labels": {"disk": "fast"}}, "status": {"phase": phase},
            "spec": {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local",
                "volumeMode": "Filesystem"}});
        for (key, member) in spec.as_object().unwrap() {
            value["spec"][key] = member.clone();
        }
        serde_json::from_value(value).unwrap()
    }

    fn wire_claim(spec: &Value) -> wire::Claim {
        let mut value = json!({"metadata": {"name": "c", "namespace": "n", "uid": "u"}, "spec": {
            "storageClassName": "local", "resources": {"requests": {"storage": "5Gi"}},
            "accessModes": ["ReadWriteOnce"]}});
        for (key, member) in spec.as_object().unwrap() {
            value["spec"][key] = member.clone();
        }
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn claims_bring_what_they_ask_for() {
        let found = claim(&wire_claim(&json!({"volumeMode": "Block"}))).unwrap();
        assert_eq!((found.size, found.block, found.uid.as_str()), (5 << 30, true, "u"));
        assert_eq!(found.selector, LabelSelector(Some(Vec::new())), "no selector means every volume");
        let narrow = claim(&wire_claim(&json!({"selector": {"matchLabels": {"disk": "fast"}}}))).unwrap();
        assert_eq!(narrow.selector.0.unwrap().len(), 1);
        let mute = claim(&wire_claim(&json!({"resources": null})));
        assert!(mute.unwrap_err().0.contains("how much"));
    }

    #[test]
    fn volumes_are_on_offer_while_they_are_free_or_only_promised() {
        let by_uid = json!({"claimRef": {"namespace": "n", "name": "c", "uid": "u"}});
        let by_name = json!({"claimRef": {"namespace": "n", "name": "c"}});
        let stale = json!({"claimRef": {"namespace": "n", "name": "c", "uid": "old"}});
        let rows = [
            ("a free one", json!({}), "Available", "", Some(None)),
            ("one that its claim has left", json!({}), "Released", "", None),
            ("one without a class", json!({"storageClassName": ""}), "Available", "", None),
            ("one without a size", json!({"capacity": null}), "Available", "", None),
            ("one promised to a claim", by_uid.clone(), "Available", "", Some(Some("u"))),
            ("one bound to a claim that does not show it", by_uid.clone(), "Bound", "", Some(Some("u"))),
            ("one bound to a claim that shows it", by_uid, "Bound", "v", None),
            ("one promised by name", by_name, "Available", "", Some(Some("u"))),
            ("one promised to a former claim of that name", stale, "Released", "", Some(Some("old"))),
        ];
        for (sentence, spec, phase, volume_name, want) in rows {
            let mut all = Volumes::default();
            let mut claim = wire_claim(&json!({}));
            claim.spec.volume_name = volume_name.to_owned();
            all.claims.insert("n/c".to_owned(), claim);
            let found = all.set_volume(wire_volume(&spec, phase));
            assert_eq!(
                found.map(|volume| volume.claim),
                want.map(|claim| claim.map(Arc::from)),
                "{sentence}"
            );
        }
    }

    #[test]
    fn a_promise_by_name_is_kept_once_its_claim_is_seen() {
        let mut all = Volumes::default();
        let by_name = wire_volume(&json!({"claimRef": {"namespace": "n", "name": "c"}}), "Available");
        assert_eq!(all.set_volume(by_name).unwrap().claim.as_deref(), Some(""), "nobody gets it");
        let mut claim = wire_claim(&json!({}));
        all.claims.insert("n/c".to_owned(), claim.clone());
        let touched = all.touched_by(&claim);
        assert_eq!(touched[0].1.as_ref().unwrap().claim.as_deref(), Some("u"));
        claim.spec.volume_name = "v".to_owned();
        all.claims.insert("n/c".to_owned(), claim.clone());
        assert_eq!(all.touched_by(&claim)[0].1, None, "it is bound, and nothing is left to choose");
    }
}
