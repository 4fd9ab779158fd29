//! Lists of resource quantities.

use maar_machinery::error::{FieldError, Path};
use maar_quantities::Quantity;
use maar_quantities::quantity::stored_text;
use maar_quantities::resources::{HUGEPAGES_PREFIX, is_extended};
use serde_json::Value;

use super::check::{self, Errors};
use super::name;
use super::value::{Object, entries, items, text};

const NANOS_PER_MILLI: i128 = 1_000_000;

/// Writes every quantity of a list the way the server keeps it: canonical, no finer than a thousandth.
pub(super) fn normalize(list: Option<&mut Value>) {
    let Some(list) = list.and_then(Value::as_object_mut) else { return };
    for amount in list.values_mut() {
        normalize_amount(amount);
    }
}

/// The resource lists of a `resources` field.
pub(super) fn normalize_requirements(holder: &mut Object) {
    let Some(resources) = super::value::child(holder, "resources") else { return };
    normalize(resources.get_mut("limits"));
    normalize(resources.get_mut("requests"));
}

/// Writes one quantity the way the server keeps it.
pub(super) fn normalize_amount(amount: &mut Value) {
    if let Value::Number(number) = amount {
        *amount = Value::String(number.to_string());
    }
    let Value::String(text) = amount else { return };
    if is_plain(text) {
        return;
    }
    let Ok(quantity) = Quantity::parse(text) else { return };
    let remainder = quantity.nanos().rem_euclid(NANOS_PER_MILLI);
    if remainder != 0 {
        let rounded = quantity.nanos() + NANOS_PER_MILLI - remainder;
        *text = Quantity::from_nanos(rounded, quantity.format()).to_string();
    } else if let Ok(stored) = stored_text(text)
        && stored != *text
    {
        *text = stored;
    }
}

/// Short whole numbers are canonical unless they end in zeros; most quantities need no closer look.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (1..4).contains(&digits) && digits == bytes.len() && bytes[0] != b'0'
}

/// What a list of resources is for, which decides the names it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// What a container uses.
    Container,
    /// What a Pod uses as a whole.
    Pod,
}

/// The resources without a domain, besides huge pages.
const STANDARD: [&str; 20] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "requests.storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "services.nodeports",
    "services.loadbalancers",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
];

const USED_BY_CONTAINERS: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// The resources of which there are only whole numbers, besides extended ones.
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "services.nodeports",
    "services.loadbalancers",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
];

/// Checks the limits and requests of a container or Pod.
pub(super) fn validate_requirements(
    errors: &mut Errors,
    path: &Path<'_>,
    requirements: &Value,
    purpose: Purpose,
    claims: &[Value],
) {
    let (limits, requests) = (&requirements["limits"], &requirements["requests"]);
    validate_list(errors, &path.field("limits"), limits, purpose);
    validate_list(errors, &path.field("requests"), requests, purpose);
    for (resource, amount) in entries(requests) {
        validate_request(errors, path, resource, amount, limits);
    }
    let has =
        |list: &Value, wanted: &dyn Fn(&str) -> bool| entries(list).any(|(resource, _)| wanted(resource));
    let is_huge = |resource: &str| resource.starts_with(HUGEPAGES_PREFIX);
    let is_basic = |resource: &str| resource == "cpu" || resource == "memory";
    if (has(limits, &is_huge) || has(requests, &is_huge))
        && !has(limits, &is_basic)
        && !has(requests, &is_basic)
    {
        errors.push(FieldError::forbidden(path, "HugePages require cpu or memory"));
    }
    validate_claims(errors, &path.field("claims"), items(&requirements["claims"]), claims);
}

/// Checks names and amounts of a list of resources.
pub(super) fn validate_list(errors: &mut Errors, path: &Path<'_>, list: &Value, purpose: Purpose) {
    for (resource, amount) in entries(list) {
        let path = path.key(resource);
        validate_name(errors, &path, resource, purpose);
        validate_amount(errors, &path, resource, amount);
        if let Some(page) = resource.strip_prefix(HUGEPAGES_PREFIX) {
            validate_pages(errors, &path, resource, page, text(amount));
        }
    }
}

fn validate_request(errors: &mut Errors, path: &Path<'_>, resource: &str, amount: &Value, limits: &Value) {
    let overcommits = may_overcommit(resource);
    let Some(limit) = limits.get(resource) else {
        if !overcommits {
            let detail = "Limit must be set for non overcommitable resources";
            errors.push(FieldError::required(path.field("limits"), detail));
        }
        return;
    };
    let (Ok(asked), Ok(most)) = (Quantity::parse(text(amount)), Quantity::parse(text(limit))) else { return };
    let detail = if asked != most && !overcommits {
        "must be equal to"
    } else if asked > most {
        "must be less than or equal to"
    } else {
        return;
    };
    errors.push(FieldError::invalid(
        path.field("requests"),
        amount.clone(),
        format!("{detail} {resource} limit of {}", text(limit)),
    ));
}

/// Names without a domain are Kubernetes' own, which may be promised more than once, except huge pages.
fn may_overcommit(resource: &str) -> bool {
    !is_extended(resource) && !resource.starts_with(HUGEPAGES_PREFIX)
}

fn validate_name(errors: &mut Errors, path: &Path<'_>, resource: &str, purpose: Purpose) {
    let before = errors.len();
    check::text_follows(errors, path, resource, name::qualified);
    if errors.len() > before {
        return;
    }
    let is_huge = resource.starts_with(HUGEPAGES_PREFIX);
    let is_plain = !resource.contains('/');
    if is_plain && !is_standard(resource) {
        let detail = "must be a standard resource type or fully qualified";
        errors.push(FieldError::invalid(path, resource, detail));
    }
    match purpose {
        Purpose::Pod if !is_huge && resource != "cpu" && resource != "memory" => {
            errors.push(FieldError::not_supported(path, resource, ["cpu", "hugepages-", "memory"]));
        }
        Purpose::Container if is_plain && !is_huge && !USED_BY_CONTAINERS.contains(&resource) => {
            errors.push(FieldError::invalid(path, resource, "must be a standard resource for containers"));
        }
        Purpose::Container
            if !is_plain && !resource.contains("kubernetes.io/") && !is_extended_name(resource) =>
        {
            errors.push(FieldError::invalid(
                path,
                resource,
                "doesn't follow extended resource name standard",
            ));
        }
        _ => {}
    }
}

/// Whether a resource without a domain is one of Kubernetes' own.
pub(super) fn is_standard(resource: &str) -> bool {
    let bare = resource.strip_prefix("requests.").unwrap_or(resource);
    STANDARD.contains(&resource) || bare.starts_with(HUGEPAGES_PREFIX)
}

/// Quotas write `requests.` before the name, so the two together must still be a name.
fn is_extended_name(resource: &str) -> bool {
    is_extended(resource) && name::qualified(&format!("requests.{resource}")).is_empty()
}

/// Checks that an amount is a quantity, not negative, and whole where only whole things exist.
pub(super) fn validate_amount(errors: &mut Errors, path: &Path<'_>, resource: &str, amount: &Value) {
    match Quantity::parse(text(amount)) {
        Err(error) => errors.push(FieldError::invalid(path, amount.clone(), error.to_string())),
        Ok(quantity) if quantity.is_negative() => {
            errors.push(FieldError::invalid(path, amount.clone(), "must be greater than or equal to 0"));
        }
        Ok(quantity) if is_counted(resource) && quantity.millis() % 1000 != 0 => {
            errors.push(FieldError::invalid(path, amount.clone(), "must be an integer"));
        }
        Ok(_) => {}
    }
}

/// Whether there are only whole numbers of a resource.
pub(super) fn is_counted(resource: &str) -> bool {
    COUNTED.contains(&resource) || is_extended(resource)
}

fn validate_pages(errors: &mut Errors, path: &Path<'_>, resource: &str, page: &str, amount: &str) {
    let (Ok(size), Ok(total)) = (Quantity::parse(page), Quantity::parse(amount)) else { return };
    if size.nanos() <= 0 || total.nanos() % size.nanos() != 0 {
        let detail = format!("{amount} is not positive integer multiple of {resource}");
        errors.push(FieldError::invalid(path, amount, detail));
    }
}

fn validate_claims(errors: &mut Errors, path: &Path<'_>, used: &[Value], offered: &[Value]) {
    for (index, claim) in used.iter().enumerate() {
        let path = path.index(index);
        let claim_name = text(&claim["name"]);
        if claim_name.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        let same = |other: &&Value| other["name"] == claim["name"] && other["request"] == claim["request"];
        if used[..index].iter().any(|other| same(&other)) {
            errors.push(FieldError::duplicate(path, claim_name));
        } else if !offered.iter().any(|other| other["name"] == claim["name"]) {
            errors.push(FieldError::not_found(path, claim_name));
        }
    }
}

/// Checks a quantity that stands alone.
pub(super) fn validate_quantity(errors: &mut Errors, path: &Path<'_>, amount: &Value) {
    if !amount.is_null() {
        validate_amount(errors, path, "", amount);
    }
}
