//! What is checked about a Pod specification as a whole.

use maar_machinery::error::{FieldError, Path};
use maar_quantities::resources::PodResources;
use serde_json::{Value, json};

use super::super::check::{self, Errors};
use super::super::resources::{self, Purpose};
use super::super::value::{entries, integer, is_set, items, text};
use super::super::{metadata, name};
use super::{container, host, scheduling, security, volume};

/// Whose specification it is; a template may still lack what a Pod needs.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Owner<'a> {
    /// A Pod with this name.
    Pod(&'a str),
    /// A template of Pods.
    Template,
}

impl Owner<'_> {
    pub(super) fn is_pod(self) -> bool {
        matches!(self, Owner::Pod(_))
    }
}

/// Checks a template of Pods.
pub(in super::super) fn validate_template(errors: &mut Errors, path: &Path<'_>, template: &Value) {
    metadata::validate_shared(errors, path, &template["metadata"]);
    let spec = path.field("spec");
    validate(errors, &spec, &template["spec"], Owner::Template);
    if !items(&template["spec"]["ephemeralContainers"]).is_empty() {
        errors.push(FieldError::forbidden(
            spec.field("ephemeralContainers"),
            "ephemeral containers not allowed in pod template",
        ));
    }
}

/// Checks the specification of a Pod.
pub(in super::super) fn validate(errors: &mut Errors, path: &Path<'_>, spec: &Value, owner: Owner<'_>) {
    let volumes = volume::validate(errors, &path.field("volumes"), &spec["volumes"], owner);
    resource_claims(errors, &path.field("resourceClaims"), items(&spec["resourceClaims"]));
    container::validate_all(errors, path, spec, &volumes, owner);
    whole_resources(errors, path, spec);
    policies(errors, path, spec);
    check::labels(errors, &path.field("nodeSelector"), &spec["nodeSelector"]);
    if is_set(&spec["securityContext"]) {
        security::validate_pod(errors, &path.field("securityContext"), spec);
    }
    scheduling::validate(errors, path, spec);
    host::validate(errors, path, spec, owner);
    names(errors, path, spec);
    between_lives(errors, path, spec);
}

fn policies(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let restart = ["Always", "OnFailure", "Never"];
    check::required_one_of(errors, &path.field("restartPolicy"), &spec["restartPolicy"], &restart);
    let dns = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    check::required_one_of(errors, &path.field("dnsPolicy"), &spec["dnsPolicy"], &dns);
    let preemption = ["PreemptLowerPriority", "Never"];
    check::one_of(errors, &path.field("preemptionPolicy"), &spec["preemptionPolicy"], &preemption);
    let systems = ["linux", "windows"];
    if !spec["os"].is_null() {
        check::required_one_of(errors, &path.field("os").field("name"), &spec["os"]["name"], &systems);
    }
    for (index, gate) in items(&spec["readinessGates"]).iter().enumerate() {
        let list = path.field("readinessGates");
        let path = list.index(index);
        check::text_follows(
            errors,
            &path.field("conditionType"),
            text(&gate["conditionType"]),
            name::qualified,
        );
    }
}

/// Names of other objects.
fn names(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    for field in ["serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"] {
        check::follows(errors, &path.field(field), &spec[field], name::subdomain);
    }
    for (index, secret) in items(&spec["imagePullSecrets"]).iter().enumerate() {
        if entries(secret).any(|(field, _)| field != "name") {
            let list = path.field("imagePullSecrets");
            errors.push(FieldError::invalid(list.index(index), secret.clone(), "only name may be set"));
        }
    }
}

/// How long a Pod lives and how it ends.
fn between_lives(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    if spec["terminationGracePeriodSeconds"].is_null() {
        errors.push(FieldError::required(path.field("terminationGracePeriodSeconds"), ""));
    }
    let deadline = path.field("activeDeadlineSeconds");
    check::between(errors, &deadline, &spec["activeDeadlineSeconds"], 1, i64::from(i32::MAX));
}

/// Resources of the Pod as a whole, which its containers share.
fn whole_resources(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let overhead = path.field("overhead");
    resources::validate_list(errors, &overhead.field("limits"), &spec["overhead"], Purpose::Container);
    let whole = &spec["resources"];
    if whole.is_null() {
        return;
    }
    let path = path.field("resources");
    if spec["os"]["name"] == "windows" {
        errors.push(FieldError::forbidden(path, "may not be set for a windows pod"));
        return;
    }
    if is_set(&whole["claims"]) {
        let detail = "claims may not be set for Resources at pod-level";
        errors.push(FieldError::forbidden(path.field("claims"), detail));
    }
    resources::validate_requirements(errors, &path, whole, Purpose::Pod, &[]);
    containers_fit(errors, &path, spec);
}

fn containers_fit(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let containers =
        json!({"spec": {"containers": spec["containers"], "initContainers": items(&spec["initContainers"])}});
    let Ok(sums) = PodResources::from_json(&containers) else { return };
    let requests = path.field("requests");
    for (resource, sum) in &sums.requests() {
        let Some(offered) = spec["resources"]["requests"].get(resource) else { continue };
        if maar_quantities::Quantity::parse(text(offered)).is_ok_and(|offered| *sum > offered) {
            let detail = format!("must be greater than or equal to aggregate container requests of {sum}");
            errors.push(FieldError::invalid(requests.key(resource), offered.clone(), detail));
        }
    }
    for (index, container) in items(&spec["containers"]).iter().enumerate() {
        for (resource, limit) in entries(&container["resources"]["limits"]) {
            let Some(most) = spec["resources"]["limits"].get(resource) else { continue };
            let parsed =
                (maar_quantities::Quantity::parse(text(limit)), maar_quantities::Quantity::parse(text(most)));
            if let (Ok(limit_amount), Ok(most_amount)) = parsed
                && limit_amount > most_amount
            {
                let list = path.field("containers");
                let item = list.index(index);
                let path = item.key(resource);
                let detail = format!("must be less than or equal to pod limits of {}", text(most));
                errors.push(FieldError::invalid(path.field("limits"), limit.clone(), detail));
            }
        }
    }
}

fn resource_claims(errors: &mut Errors, path: &Path<'_>, claims: &[Value]) {
    for (index, claim) in claims.iter().enumerate() {
        let path = path.index(index);
        check::requires(errors, &path.field("name"), &claim["name"], name::label);
        if is_set(&claim["name"]) && claims[..index].iter().any(|other| other["name"] == claim["name"]) {
            errors.push(FieldError::duplicate(path.field("name"), claim["name"].clone()));
        }
        let sources = ["resourceClaimName", "resourceClaimTemplateName"];
        let count = sources.iter().filter(|source| !claim[**source].is_null()).count();
        if count != 1 {
            let detail = "must specify exactly one of: `resourceClaimName`, `resourceClaimTemplateName`";
            errors.push(FieldError::invalid(path, claim.clone(), detail));
        }
        for source in sources {
            check::follows(errors, &path.field(source), &claim[source], name::subdomain);
        }
    }
}

/// The seconds a Pod has to end, if they make sense.
pub(super) fn grace_period(spec: &Value) -> Option<i64> {
    integer(&spec["terminationGracePeriodSeconds"])
}
