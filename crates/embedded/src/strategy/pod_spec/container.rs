//! Containers of all three sorts: regular, init and ephemeral.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::super::check::{self, Errors};
use super::super::name;
use super::super::resources::{self, Purpose};
use super::super::value::{entries, integer, is_set, items, text};
use super::validate::{Owner, grace_period};
use super::volume::Volumes;
use super::{environment, mount, probe, security};

/// What the checks of a container need to know about its Pod.
pub(super) struct Scope<'a> {
    pub(super) spec: &'a Value,
    pub(super) volumes: &'a Volumes<'a>,
    pub(super) grace_period: Option<i64>,
    pub(super) owner: Owner<'a>,
}

/// The fields of a container that an ephemeral one may have.
const EPHEMERAL_FIELDS: [&str; 16] = [
    "name",
    "image",
    "command",
    "args",
    "workingDir",
    "envFrom",
    "env",
    "volumeMounts",
    "volumeDevices",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "imagePullPolicy",
    "securityContext",
    "stdin",
    "stdinOnce",
    "tty",
];

const ONLY_SIDECARS: &str = "may not be set for init containers without restartPolicy=Always";

pub(super) fn validate_all(
    errors: &mut Errors,
    path: &Path<'_>,
    spec: &Value,
    volumes: &Volumes<'_>,
    owner: Owner<'_>,
) {
    let scope = Scope { spec, volumes, grace_period: grace_period(spec), owner };
    regular(errors, &path.field("containers"), &scope);
    init(errors, &path.field("initContainers"), &scope);
    ephemeral(errors, &path.field("ephemeralContainers"), &scope);
}

fn regular(errors: &mut Errors, path: &Path<'_>, scope: &Scope<'_>) {
    let containers = items(&scope.spec["containers"]);
    if containers.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    for (index, container) in containers.iter().enumerate() {
        let path = path.index(index);
        common(errors, &path, container, scope);
        duplicate_name(errors, &path, container, &[&containers[..index]]);
        probe::validate_all(errors, &path, container, scope.grace_period);
        restart_policy(errors, &path, container);
    }
    host_ports(errors, path, containers);
}

fn init(errors: &mut Errors, path: &Path<'_>, scope: &Scope<'_>) {
    let containers = items(&scope.spec["initContainers"]);
    let regular = items(&scope.spec["containers"]);
    for (index, container) in containers.iter().enumerate() {
        let item = path.index(index);
        common(errors, &item, container, scope);
        duplicate_name(errors, &item, container, &[regular, &containers[..index]]);
        restart_policy(errors, &item, container);
        // They run one after the other, so only ports of the same one can collide.
        host_ports(errors, path, std::slice::from_ref(container));
        if container["restartPolicy"] == "Always" {
            probe::validate_all(errors, &item, container, scope.grace_period);
            continue;
        }
        for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
            if !container[field].is_null() {
                errors.push(FieldError::forbidden(item.field(field), ONLY_SIDECARS));
            }
        }
    }
}

fn ephemeral(errors: &mut Errors, path: &Path<'_>, scope: &Scope<'_>) {
    let containers = items(&scope.spec["ephemeralContainers"]);
    let others = [items(&scope.spec["containers"]), items(&scope.spec["initContainers"])];
    for (index, container) in containers.iter().enumerate() {
        let path = path.index(index);
        common(errors, &path, container, scope);
        duplicate_name(errors, &path, container, &[others[0], others[1], &containers[..index]]);
        let target = &container["targetContainerName"];
        let exists = others.iter().any(|list| list.iter().any(|other| other["name"] == *target));
        if is_set(target) && !exists {
            errors.push(FieldError::not_found(path.field("targetContainerName"), target.clone()));
        }
        for (field, value) in entries(container) {
            let allowed = EPHEMERAL_FIELDS.contains(&field) || field == "targetContainerName";
            if !allowed && is_set(value) {
                errors.push(FieldError::forbidden(
                    path.field(field),
                    "cannot be set for an Ephemeral Container",
                ));
            }
        }
        let list = path.field("volumeMounts");
        for (index, mount) in items(&container["volumeMounts"]).iter().enumerate() {
            for field in ["subPath", "subPathExpr"] {
                if is_set(&mount[field]) {
                    let path = list.index(index);
                    let detail = "cannot be set for an Ephemeral Container";
                    errors.push(FieldError::forbidden(path.field(field), detail));
                }
            }
        }
    }
}

fn common(errors: &mut Errors, path: &Path<'_>, container: &Value, scope: &Scope<'_>) {
    check::requires(errors, &path.field("name"), &container["name"], name::label);
    let image = text(&container["image"]);
    if image.is_empty() {
        errors.push(FieldError::required(path.field("image"), ""));
    } else if scope.owner.is_pod() && image.trim() != image {
        let detail = "must not have leading or trailing whitespace";
        errors.push(FieldError::invalid(path.field("image"), image, detail));
    }
    let message = ["File", "FallbackToLogsOnError"];
    let message_path = path.field("terminationMessagePolicy");
    check::required_one_of(errors, &message_path, &container["terminationMessagePolicy"], &message);
    ports(errors, &path.field("ports"), items(&container["ports"]));
    environment::validate(errors, path, container);
    mount::validate(errors, path, container, scope.volumes);
    let pull = ["Always", "IfNotPresent", "Never"];
    check::required_one_of(errors, &path.field("imagePullPolicy"), &container["imagePullPolicy"], &pull);
    resources::validate_requirements(
        errors,
        &path.field("resources"),
        &container["resources"],
        Purpose::Container,
        items(&scope.spec["resourceClaims"]),
    );
    resize_policy(errors, &path.field("resizePolicy"), items(&container["resizePolicy"]), scope.spec);
    let own_users = scope.spec["hostUsers"] == Value::Bool(false);
    security::validate_container(
        errors,
        &path.field("securityContext"),
        &container["securityContext"],
        own_users,
    );
}

fn duplicate_name(errors: &mut Errors, path: &Path<'_>, container: &Value, others: &[&[Value]]) {
    let name = &container["name"];
    if is_set(name) && others.iter().any(|list| list.iter().any(|other| other["name"] == *name)) {
        errors.push(FieldError::duplicate(path.field("name"), name.clone()));
    }
}

fn ports(errors: &mut Errors, path: &Path<'_>, ports: &[Value]) {
    for (index, port) in ports.iter().enumerate() {
        let path = path.index(index);
        let name = &port["name"];
        check::follows(errors, &path.field("name"), name, name::port_name);
        if is_set(name) && ports[..index].iter().any(|other| other["name"] == *name) {
            errors.push(FieldError::duplicate(path.field("name"), name.clone()));
        }
        if integer(&port["containerPort"]).is_none_or(|number| number == 0) {
            errors.push(FieldError::required(path.field("containerPort"), ""));
        }
        check::port_number(errors, &path.field("containerPort"), &non_zero(&port["containerPort"]));
        check::port_number(errors, &path.field("hostPort"), &non_zero(&port["hostPort"]));
        let protocols = ["SCTP", "TCP", "UDP"];
        check::required_one_of(errors, &path.field("protocol"), &port["protocol"], &protocols);
    }
}

/// Zero means that a number is not given.
fn non_zero(value: &Value) -> Value {
    if *value == 0 { Value::Null } else { value.clone() }
}

fn host_ports(errors: &mut Errors, path: &Path<'_>, containers: &[Value]) {
    let mut taken: Vec<(&str, &str, i64)> = Vec::new();
    for (index, container) in containers.iter().enumerate() {
        for (port_index, port) in items(&container["ports"]).iter().enumerate() {
            let number = integer(&port["hostPort"]).unwrap_or_default();
            if number == 0 {
                continue;
            }
            let claim = (text(&port["protocol"]), text(&port["hostIP"]), number);
            if taken.contains(&claim) {
                let item = path.index(index);
                let list = item.field("ports");
                let path = list.index(port_index);
                let (protocol, address, number) = claim;
                let shown = format!("{protocol}/{address}/{number}");
                errors.push(FieldError::duplicate(path.field("hostPort"), shown));
            }
            taken.push(claim);
        }
    }
}

fn restart_policy(errors: &mut Errors, path: &Path<'_>, container: &Value) {
    let rules = items(&container["restartPolicyRules"]);
    let policy_path = path.field("restartPolicy");
    if container["restartPolicy"].is_null() {
        if !rules.is_empty() {
            let detail = "must specify restartPolicy when restart rules are used";
            errors.push(FieldError::required(policy_path, detail));
        }
        return;
    }
    check::one_of(errors, &policy_path, &container["restartPolicy"], &["Always", "Never", "OnFailure"]);
    let list = path.field("restartPolicyRules");
    if rules.len() > 20 {
        errors.push(FieldError::too_many(list, rules.len() as u64, 20));
    }
    for (index, rule) in rules.iter().enumerate() {
        let path = list.index(index);
        check::required_one_of(errors, &path.field("action"), &rule["action"], &["Restart"]);
        let codes = path.field("exitCodes");
        if rule["exitCodes"].is_null() {
            errors.push(FieldError::required(codes, "must be specified"));
            continue;
        }
        check::required_one_of(
            errors,
            &codes.field("operator"),
            &rule["exitCodes"]["operator"],
            &["In", "NotIn"],
        );
        let values = items(&rule["exitCodes"]["values"]).len();
        if values > 255 {
            errors.push(FieldError::too_many(codes.field("values"), values as u64, 255));
        }
    }
}

fn resize_policy(errors: &mut Errors, path: &Path<'_>, policies: &[Value], spec: &Value) {
    for (index, policy) in policies.iter().enumerate() {
        let resource = &policy["resourceName"];
        if policies[..index].iter().any(|other| other["resourceName"] == *resource) {
            errors.push(FieldError::duplicate(path.index(index), resource.clone()));
        }
        check::required_one_of(errors, path, resource, &["cpu", "memory"]);
        check::required_one_of(errors, path, &policy["restartPolicy"], &["NotRequired", "RestartContainer"]);
        if spec["restartPolicy"] == "Never" && policy["restartPolicy"] == "RestartContainer" {
            let detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            errors.push(FieldError::invalid(path, policy["restartPolicy"].clone(), detail));
        }
    }
}
