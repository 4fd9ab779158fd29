//! StatefulSets.

use serde_json::{Value, json};

use super::persistent_volume_claim::PersistentVolumeClaim;
use super::value::{Object, child, fill, fill_text, make_child, make_root_child, restore, set_status};
use super::{Strategy, pod_spec};
use crate::world::World;

/// The strategy of StatefulSets.
#[derive(Debug)]
pub(crate) struct StatefulSet;

impl Strategy for StatefulSet {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = make_root_child(object, "spec") {
            default_spec(spec);
        }
        if let Some(status) = make_root_child(object, "status") {
            fill(status, "replicas", 0);
            fill(status, "availableReplicas", 0);
        }
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        set_status(object, json!({"replicas": 0, "availableReplicas": 0}));
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
    }
}

fn default_spec(spec: &mut Object) {
    fill_text(spec, "podManagementPolicy", "OrderedReady");
    fill(spec, "replicas", 1);
    fill(spec, "revisionHistoryLimit", 10);
    fill(spec, "serviceName", "");
    if let Some(strategy) = make_child(spec, "updateStrategy") {
        default_update_strategy(strategy);
    }
    if let Some(retention) = make_child(spec, "persistentVolumeClaimRetentionPolicy") {
        fill_text(retention, "whenDeleted", "Retain");
        fill_text(retention, "whenScaled", "Retain");
    }
    pod_spec::default_template(spec, "template");
    if let Some(claims) = spec.get_mut("volumeClaimTemplates").and_then(Value::as_array_mut) {
        for claim in claims {
            default_claim(claim);
        }
    }
}

fn default_update_strategy(strategy: &mut Object) {
    if strategy.get("type").is_none_or(|kind| kind.is_null() || kind == "") {
        strategy.insert("type".to_owned(), "RollingUpdate".into());
        make_child(strategy, "rollingUpdate");
    }
    if strategy["type"] == "RollingUpdate"
        && let Some(rolling) = child(strategy, "rollingUpdate")
    {
        fill(rolling, "partition", 0);
    }
}

/// A claim in a template is a whole claim, down to its kind and its phase.
fn default_claim(claim: &mut Value) {
    PersistentVolumeClaim.default(claim);
    if let Some(claim) = claim.as_object_mut() {
        fill_text(claim, "apiVersion", "v1");
        fill_text(claim, "kind", "PersistentVolumeClaim");
        make_child(claim, "metadata");
    }
}
