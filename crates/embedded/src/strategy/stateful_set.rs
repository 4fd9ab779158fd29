//! StatefulSets.

use maar_machinery::error::{FieldError, Path};
use serde_json::{Value, json};

use super::check::{self, Errors};
use super::persistent_volume_claim::{self, PersistentVolumeClaim};
use super::value::{
    Object, child, differs, entries, fill, fill_text, items, make_child, make_root_child, restore,
    set_status, text,
};
use super::{Strategy, name, pod_spec, selector, workload};
use crate::resource::Subresource;
use crate::world::World;

/// The parts of the specification that may change.
const CHANGEABLE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

const COUNTS: [&str; 6] = [
    "replicas",
    "readyReplicas",
    "currentReplicas",
    "updatedReplicas",
    "availableReplicas",
    "observedGeneration",
];

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
        drop_max_unavailable(object);
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
        drop_max_unavailable(new);
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec");
        let spec = &object["spec"];
        let policy = text(&spec["podManagementPolicy"]);
        if policy != "OrderedReady" && policy != "Parallel" {
            let detail = "must be 'OrderedReady' or 'Parallel'";
            errors.push(FieldError::invalid(path.field("podManagementPolicy"), policy, detail));
        }
        validate_update_strategy(&mut errors, &path.field("updateStrategy"), &spec["updateStrategy"]);
        let retention = path.field("persistentVolumeClaimRetentionPolicy");
        for field in ["whenDeleted", "whenScaled"] {
            let policy = &spec["persistentVolumeClaimRetentionPolicy"][field];
            check::one_of(&mut errors, &retention.field(field), policy, &["Retain", "Delete"]);
        }
        for count in ["replicas", "minReadySeconds"] {
            check::non_negative(&mut errors, &path.field(count), &spec[count]);
        }
        check::non_negative(&mut errors, &path.field("ordinals.start"), &spec["ordinals"]["start"]);
        selector::validate_for_template(&mut errors, spec, false);
        let template = complete_template(spec);
        pod_spec::validate_template(&mut errors, &path.field("template"), &template);
        workload::runs_forever(&mut errors, &template["spec"], "StatefulSet");
        errors
    }

    fn validate_create(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec");
        check::follows(&mut errors, &path.field("serviceName"), &object["spec"]["serviceName"], name::label);
        let list = path.field("volumeClaimTemplates");
        for (index, claim) in items(&object["spec"]["volumeClaimTemplates"]).iter().enumerate() {
            let path = list.index(index);
            persistent_volume_claim::validate_spec(&mut errors, &path.field("spec"), &claim["spec"]);
        }
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let fixed = |(field, value): (&str, &Value), other: &Value| {
            !CHANGEABLE.contains(&field) && differs(value, &other[field])
        };
        let (now, before) = (&new["spec"], &old["spec"]);
        if entries(now).any(|entry| fixed(entry, before)) || entries(before).any(|entry| fixed(entry, now)) {
            let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
                'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and \
                'minReadySeconds' are forbidden";
            return vec![FieldError::forbidden("spec", detail)];
        }
        Vec::new()
    }

    fn validate_subresource(&self, _subresource: Subresource, new: &Value, _old: &Value) -> Vec<FieldError> {
        workload::validate_counts(&new["status"], &COUNTS)
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

/// The template as its Pods will have it: with a volume for each claim, and with names of their own.
fn complete_template(spec: &Value) -> Value {
    let mut template = spec["template"].clone();
    let claims = items(&spec["volumeClaimTemplates"]);
    let Some(pod) = template.get_mut("spec").and_then(Value::as_object_mut) else { return template };
    pod.remove("hostname");
    pod.remove("subdomain");
    if claims.is_empty() {
        return template;
    }
    let named = |volume: &Value| claims.iter().any(|claim| claim["metadata"]["name"] == volume["name"]);
    let rest = pod.get("volumes").map_or(&[][..], items).iter().filter(|volume| !named(volume)).cloned();
    let made = claims.iter().map(|claim| {
        let name = text(&claim["metadata"]["name"]);
        json!({"name": name, "persistentVolumeClaim": {"claimName": name}})
    });
    let volumes: Vec<Value> = made.chain(rest).collect();
    pod.insert("volumes".to_owned(), volumes.into());
    template
}

fn validate_update_strategy(errors: &mut Errors, path: &Path<'_>, strategy: &Value) {
    let rolling = &strategy["rollingUpdate"];
    let rolling_path = path.field("rollingUpdate");
    match text(&strategy["type"]) {
        "OnDelete" if !rolling.is_null() => {
            let detail = "only allowed for updateStrategy 'RollingUpdate'";
            errors.push(FieldError::invalid(rolling_path, rolling.clone(), detail));
        }
        "OnDelete" => {}
        "RollingUpdate" => {
            check::non_negative(errors, &rolling_path.field("partition"), &rolling["partition"]);
            let unavailable = &rolling["maxUnavailable"];
            let path = rolling_path.field("maxUnavailable");
            check::count_or_percentage(errors, &path, unavailable);
            if !unavailable.is_null() && workload::amount(unavailable) == 0 {
                errors.push(FieldError::invalid(path, unavailable.clone(), "cannot be 0"));
            }
            workload::at_most_all(errors, &path, unavailable);
        }
        _ => {
            let detail = "must be 'RollingUpdate' or 'OnDelete'";
            errors.push(FieldError::invalid(path, strategy.clone(), detail));
        }
    }
}

/// More than one Pod at a time is a feature that is off.
fn drop_max_unavailable(object: &mut Value) {
    if let Some(rolling) =
        object.pointer_mut("/spec/updateStrategy/rollingUpdate").and_then(Value::as_object_mut)
    {
        rolling.remove("maxUnavailable");
    }
}
