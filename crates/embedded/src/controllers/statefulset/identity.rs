//! Names, hosts and volumes of a StatefulSet's Pods.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, Pod, PodTemplateSpec, Volume,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use crate::controllers::owners::controller_reference;
use crate::controllers::template::pod_from;
use crate::controllers::view::PodView;

pub(crate) const REVISION_LABEL: &str = "controller-revision-hash";
const POD_NAME_LABEL: &str = "statefulset.kubernetes.io/pod-name";
const POD_INDEX_LABEL: &str = "apps.kubernetes.io/pod-index";

/// The set a Pod's name says it belongs to, and its number there.
pub(crate) fn parse(name: &str) -> Option<(&str, i64)> {
    let (parent, number) = name.rsplit_once('-')?;
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some((parent, number.parse().ok()?))
}

pub(crate) fn ordinal(pod: &PodView) -> Option<i64> {
    parse(pod.name()).map(|(_, ordinal)| ordinal)
}

pub(crate) fn pod_name(set: &StatefulSet, ordinal: i64) -> String {
    format!("{}-{ordinal}", name(set))
}

pub(crate) fn name(set: &StatefulSet) -> &str {
    set.metadata.name.as_deref().unwrap_or_default()
}

pub(crate) fn namespace(set: &StatefulSet) -> &str {
    set.metadata.namespace.as_deref().unwrap_or_default()
}

/// The numbers of the Pods. Start and length have 32 bits each, so the end needs more. Not to be counted out: a set
/// may ask for more Pods than there is memory.
pub(crate) fn range(set: &StatefulSet) -> std::ops::Range<i64> {
    let spec = set.spec.as_ref();
    let start = i64::from(spec.and_then(|spec| spec.ordinals.as_ref()?.start).unwrap_or(0));
    start..start + i64::from(spec.and_then(|spec| spec.replicas).unwrap_or(1))
}

fn claim_templates(set: &StatefulSet) -> &[PersistentVolumeClaim] {
    set.spec.as_ref().and_then(|spec| spec.volume_claim_templates.as_deref()).unwrap_or_default()
}

/// The claims of one Pod, by the name of their volume.
pub(crate) fn claims(set: &StatefulSet, ordinal: i64) -> Vec<(String, PersistentVolumeClaim)> {
    let selector = set.spec.as_ref().and_then(|spec| spec.selector.match_labels.clone()).unwrap_or_default();
    let make = |template: &PersistentVolumeClaim| {
        let volume = template.metadata.name.clone().unwrap_or_default();
        let mut claim = template.clone();
        claim.metadata.name = Some(format!("{volume}-{}", pod_name(set, ordinal)));
        claim.metadata.namespace.clone_from(&set.metadata.namespace);
        claim.metadata.labels.get_or_insert_default().extend(selector.clone());
        claim.status = None;
        (volume, claim)
    };
    claim_templates(set).iter().map(make).collect()
}

/// Whether a Pod has the labels its name asks for.
pub(crate) fn identity_matches(set: &StatefulSet, pod: &PodView) -> bool {
    let named = parse(pod.name()).is_some_and(|(parent, _)| parent == name(set));
    named && pod.label(POD_NAME_LABEL) == pod.name()
}

/// Gives a Pod the labels its name asks for.
pub(crate) fn fix_identity(pod: &mut Pod) {
    let name = pod.metadata.name.clone().unwrap_or_default();
    let labels = pod.metadata.labels.get_or_insert_default();
    if let Some((_, ordinal)) = parse(&name) {
        labels.insert(POD_INDEX_LABEL.into(), ordinal.to_string());
    }
    labels.insert(POD_NAME_LABEL.into(), name);
}

/// A Pod of the set.
pub(crate) fn make_pod(set: &StatefulSet, template: &PodTemplateSpec, revision: &str, ordinal: i64) -> Pod {
    let owner: OwnerReference = controller_reference(set);
    let mut pod = pod_from(template, namespace(set), &owner);
    let pod_name = pod_name(set, ordinal);
    pod.metadata.generate_name = None;
    pod.metadata.name = Some(pod_name.clone());
    fix_identity(&mut pod);
    pod.metadata.labels.get_or_insert_default().insert(REVISION_LABEL.into(), revision.to_owned());
    let spec = pod.spec.get_or_insert_default();
    spec.hostname = Some(pod_name);
    spec.subdomain = set.spec.as_ref().and_then(|spec| spec.service_name.clone());
    let claims = claims(set, ordinal);
    let mut volumes: Vec<Volume> = claims.iter().map(|(volume, claim)| claim_volume(volume, claim)).collect();
    let others = spec.volumes.take().unwrap_or_default();
    volumes.extend(others.into_iter().filter(|volume| claims.iter().all(|(name, _)| *name != volume.name)));
    spec.volumes = Some(volumes).filter(|volumes| !volumes.is_empty());
    pod
}

fn claim_volume(volume: &str, claim: &PersistentVolumeClaim) -> Volume {
    Volume {
        name: volume.to_owned(),
        persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
            claim_name: claim.metadata.name.clone().unwrap_or_default(),
            read_only: None,
        }),
        ..Volume::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn names_say_set_and_number() {
        assert_eq!(parse("web-0"), Some(("web", 0)));
        assert_eq!(parse("my-web-12"), Some(("my-web", 12)));
        assert_eq!(parse("web-x"), None);
        assert_eq!(parse("web-"), None);
        assert_eq!(parse("web"), None);
    }

    #[test]
    fn a_pod_has_its_own_host_name_and_volumes() {
        let set: StatefulSet = from_value(json!({
            "metadata": {"name": "db", "namespace": "ns", "uid": "u"},
            "spec": {"serviceName": "dbs", "selector": {"matchLabels": {"app": "db"}},
                "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c"}],
                    "volumes": [{"name": "tmp", "emptyDir": {}}, {"name": "data", "emptyDir": {}}]}},
                "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]},
        }))
        .unwrap();
        let pod = make_pod(&set, &set.spec.as_ref().unwrap().template, "db-abc", 2);
        let spec = pod.spec.unwrap();
        assert_eq!((spec.hostname.as_deref(), spec.subdomain.as_deref()), (Some("db-2"), Some("dbs")));
        let volumes: Vec<String> = spec.volumes.unwrap().into_iter().map(|volume| volume.name).collect();
        assert_eq!(volumes, ["data", "tmp"]);
        let labels = pod.metadata.labels.unwrap();
        assert_eq!(labels[POD_NAME_LABEL], "db-2");
        assert_eq!(labels[POD_INDEX_LABEL], "2");
        assert_eq!(labels[REVISION_LABEL], "db-abc");
        let claims = claims(&set, 2);
        assert_eq!(claims[0].1.metadata.name.as_deref(), Some("data-db-2"));
        assert_eq!(claims[0].1.metadata.labels.as_ref().unwrap()["app"], "db");
    }
}
