//! CertificateSigningRequests.

use serde_json::{Value, json};

use super::Strategy;
use super::value::{Object, items, items_mut, make_root_child, restore, set_status};
use crate::world::World;

/// The strategy of CertificateSigningRequests. Who asks is filled in by whoever knows the caller.
#[derive(Debug)]
pub(crate) struct CertificateSigningRequest;

impl Strategy for CertificateSigningRequest {
    fn default(&self, object: &mut Value) {
        make_root_child(object, "status");
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        set_status(object, json!({}));
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "spec");
        restore(new, old, "status");
    }

    /// The decision is made through the approval, so the status keeps it as it is.
    fn prepare_status(&self, new: &mut Value, old: &Value, world: &World) {
        let decided = |condition: &&Value| condition["type"] == "Approved" || condition["type"] == "Denied";
        let kept: Vec<Value> = items(&old["status"]["conditions"]).iter().filter(decided).cloned().collect();
        if let Some(status) = make_root_child(new, "status") {
            let given = status.get("conditions").map_or(&[][..], items);
            let rest = given.iter().filter(|condition| !decided(condition)).cloned();
            let conditions: Vec<Value> = kept.into_iter().chain(rest).collect();
            if conditions.is_empty() {
                status.remove("conditions");
            } else {
                status.insert("conditions".to_owned(), conditions.into());
            }
        }
        fill_condition_times(new, old, world);
    }
}

/// Says when conditions came and changed, where the client does not.
pub(crate) fn fill_condition_times(new: &mut Value, old: &Value, world: &World) {
    let now = world.now_text();
    let Some(status) = make_root_child(new, "status") else { return };
    for condition in items_mut(status, "conditions") {
        fill_times(condition, items(&old["status"]["conditions"]), &now);
    }
}

fn fill_times(condition: &mut Object, before: &[Value], now: &str) {
    super::value::fill(condition, "lastUpdateTime", now);
    if condition.get("lastTransitionTime").is_some_and(|time| !time.is_null()) {
        return;
    }
    let same = before.iter().find(|old| {
        Some(&old["type"]) == condition.get("type") && Some(&old["status"]) == condition.get("status")
    });
    let time = same.map(|old| old["lastTransitionTime"].clone()).filter(Value::is_string);
    condition.insert("lastTransitionTime".to_owned(), time.unwrap_or_else(|| now.into()));
}
