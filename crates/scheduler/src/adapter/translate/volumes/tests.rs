use serde_json::{Value, json};

use super::*;
use crate::filter::matches_term;

fn volumes() -> Volumes {
    let mut all = Volumes::default();
    for (name, spec) in [
        ("data", json!({"volumeName": "v"})),
        ("late", json!({"storageClassName": "late"})),
        ("early", json!({"storageClassName": "early"})),
        ("alone", json!({"storageClassName": "late", "accessModes": ["ReadWriteOncePod"]})),
    ] {
        all.set_claim(claim(name, &spec));
    }
    all.set_volume(volume(&json!({}), &json!({"csi": {"driver": "d", "volumeHandle": "h"}, "nodeAffinity": {"required":
        {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}}})));
    let class = json!({"metadata": {"name": "late"}, "provisioner": "d", "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}]});
    all.classes.insert("late".to_owned(), serde_json::from_value(class).unwrap());
    all
}

fn claim(name: &str, spec: &Value) -> wire::Claim {
    let status = if spec["volumeName"].is_null() { "Pending" } else { "Bound" };
    serde_json::from_value(json!({"metadata": {"name": name, "namespace": "n"}, "spec": spec,
        "status": {"phase": status}}))
    .unwrap()
}

fn volume(labels: &Value, spec: &Value) -> wire::Volume {
    serde_json::from_value(json!({"metadata": {"name": "v", "labels": labels}, "spec": spec})).unwrap()
}

/// Whether a node with these labels may have the Pod, by its volumes.
fn admits(wanted: &Wanted, name: &str, labels: &[(&str, &str)]) -> bool {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    wanted.ties.terms.iter().all(|terms| terms.iter().any(|term| matches_term(term, &labels, name)))
}

#[test]
fn bound_volumes_bring_their_terms_and_unbound_ones_their_class() {
    let wanted = volumes().wanted(["n/data", "n/late"]).unwrap();
    assert!(admits(&wanted, "one", &[("zone", "a")]));
    assert!(!admits(&wanted, "one", &[("zone", "b")]), "the bound one is not there");
    assert!(admits(&volumes().wanted(["n/late"]).unwrap(), "one", &[("zone", "b")]));
    assert_eq!(wanted.choose, ["late"]);
    assert_eq!(wanted.waits, None);
}

#[test]
fn volumes_are_attached_by_their_handle_or_by_their_claim_while_they_have_none() {
    let attached = |keys: &[&str]| -> Vec<(String, String)> {
        volumes().used(keys.iter().copied()).attached.into_iter().collect()
    };
    let pair = |handle: &str| ("d".to_owned(), handle.to_owned());
    assert_eq!(attached(&["n/data"]), [pair("h")]);
    assert_eq!(attached(&["n/late", "n/data", "n/data"]), [pair("claim n/late"), pair("h")]);
    assert_eq!(attached(&["n/early", "n/none"]), [], "nobody knows who will make it");
    assert_eq!(volumes().wanted(["n/data"]).unwrap().volumes, volumes().used(["n/data"]));
}

#[test]
fn a_claim_for_one_pod_says_so() {
    let used = volumes().used(["n/alone", "n/late"]);
    assert_eq!(used.exclusive.into_iter().collect::<Vec<_>>(), ["n/alone"]);
}

#[test]
fn a_volume_that_is_being_made_for_a_node_keeps_its_pod_there() {
    let mut all = volumes();
    let mut chosen = claim("late", &json!({"storageClassName": "late"}));
    chosen.metadata = serde_json::from_value(json!({"name": "late", "namespace": "n", "annotations": {
        "volume.kubernetes.io/selected-node": "two"}}))
    .unwrap();
    all.set_claim(chosen);
    let wanted = all.wanted(["n/late"]).unwrap();
    assert!(admits(&wanted, "two", &[("zone", "a")]));
    assert!(!admits(&wanted, "one", &[("zone", "a")]));
    assert!(!admits(&wanted, "two", &[("zone", "c")]), "the class does not allow it");
}

/// A sentence, the labels of a volume and of a node, and whether the volume can be used there.
type Placed<'a> = (&'a str, Value, &'a [(&'a str, &'a str)], bool);

#[test]
fn volumes_say_by_labels_too_where_they_are() {
    const ZONE: &str = "topology.kubernetes.io/zone";
    const OLD: &str = "failure-domain.beta.kubernetes.io/zone";
    const REGION: &str = "topology.kubernetes.io/region";
    let rows: [Placed<'_>; 9] = [
        ("no label, any zone", json!({}), &[(ZONE, "a")], true),
        ("the same zone", json!({ZONE: "a"}), &[(ZONE, "a")], true),
        ("another zone", json!({ZONE: "a"}), &[(ZONE, "b")], false),
        ("one of several zones", json!({ZONE: "a__b"}), &[(ZONE, "b")], true),
        ("a node that says nothing", json!({ZONE: "a"}), &[("other", "x")], true),
        ("a node that says only its region", json!({ZONE: "a"}), &[(REGION, "r")], false),
        ("an old label and a new node", json!({OLD: "a"}), &[(ZONE, "a")], true),
        ("an old label and a new node elsewhere", json!({OLD: "a"}), &[(ZONE, "b")], false),
        ("zone and region", json!({ZONE: "a", REGION: "r"}), &[(ZONE, "a"), (REGION, "s")], false),
    ];
    for (sentence, labels, node, want) in rows {
        let mut all = volumes();
        all.set_volume(volume(&labels, &json!({})));
        let wanted = all.wanted(["n/data"]).unwrap();
        assert_eq!(admits(&wanted, "one", node), want, "{sentence}");
    }
}

#[test]
fn a_pod_waits_for_claims_that_are_not_there_or_not_bound() {
    let meta = wire::Meta { name: "p".to_owned(), namespace: "n".to_owned(), ..wire::Meta::default() };
    for (source, want) in [
        (ClaimSource::Claim("early".into()), "not bound"),
        (ClaimSource::Claim("none".into()), "does not exist"),
        (ClaimSource::Ephemeral("scratch".into()), "claim p-scratch does not exist"),
    ] {
        let keys = claim_keys(&meta, std::slice::from_ref(&source));
        let waits = volumes().wanted(keys.iter().map(String::as_str)).unwrap().waits;
        assert!(waits.as_ref().is_some_and(|why| why.contains(want)), "{source:?}: {waits:?}");
    }
}

#[test]
fn a_pod_waits_for_claims_that_are_being_deleted_or_have_lost_their_volume() {
    let mut all = volumes();
    let mut going = claim("data", &json!({"volumeName": "v"}));
    going.metadata.deletion_timestamp = Some(jiff::Timestamp::UNIX_EPOCH);
    all.set_claim(going);
    let waits = all.wanted(["n/data"]).unwrap().waits;
    assert_eq!(waits.as_deref(), Some("the volume claim data is being deleted"));
    let mut lost = claim("data", &json!({"volumeName": "v"}));
    lost.status.phase = "Lost".to_owned();
    all.set_claim(lost);
    let waits = all.wanted(["n/data"]).unwrap().waits;
    assert_eq!(waits.as_deref(), Some("the volume claim data has lost its volume"));
}

#[test]
fn a_volume_knows_the_claims_that_name_it() {
    let mut all = volumes();
    assert_eq!(all.claims_of("v").collect::<Vec<_>>(), ["n/data"]);
    all.set_claim(claim("data", &json!({"volumeName": "w"})));
    assert_eq!((all.claims_of("v").count(), all.claims_of("w").count()), (0, 1));
    all.remove_claim("n/data");
    assert_eq!(all.claims_of("w").count(), 0);
}
