//! CertificateSigningRequests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maar_machinery::error::{FieldError, Path};
use serde_json::{Value, json};
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::{FromDer, X509CertificationRequest};

use super::check::{self, Errors};
use super::value::{Object, items, items_mut, make_root_child, restore, set_status, text};
use super::{Strategy, name};
use crate::resource::Subresource;
use crate::world::World;

const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

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

    /// The decision is made through the approval, so the status keeps it as it is and may not bring one.
    fn prepare_status(&self, new: &mut Value, old: &Value, world: &World) {
        let decided = |condition: &&Value| condition["type"] == "Approved" || condition["type"] == "Denied";
        let kept: Vec<Value> = items(&old["status"]["conditions"]).iter().filter(decided).cloned().collect();
        if let Some(status) = make_root_child(new, "status") {
            let given = status.get("conditions").map_or(&[][..], items);
            let is_kept = |condition: &Value| kept.iter().any(|old| old["type"] == condition["type"]);
            let rest: Vec<Value> = given.iter().filter(|condition| !is_kept(condition)).cloned().collect();
            let conditions: Vec<Value> = kept.into_iter().chain(rest).collect();
            if conditions.is_empty() {
                status.remove("conditions");
            } else {
                status.insert("conditions".to_owned(), conditions.into());
            }
        }
        fill_condition_times(new, old, world);
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec");
        let spec = &object["spec"];
        if let Some(complaint) = request_complaint(text(&spec["request"])) {
            errors.push(FieldError::invalid(path.field("request"), spec["request"].clone(), complaint));
        }
        let usages = items(&spec["usages"]);
        let list = path.field("usages");
        if usages.is_empty() {
            errors.push(FieldError::required(list, ""));
        }
        for (index, usage) in usages.iter().enumerate() {
            check::one_of(&mut errors, &list.index(index), usage, &USAGES);
            if usages[..index].contains(usage) {
                errors.push(FieldError::duplicate(list.index(index), usage.clone()));
            }
        }
        signer(&mut errors, &path.field("signerName"), text(&spec["signerName"]));
        check::at_least(&mut errors, &path.field("expirationSeconds"), &spec["expirationSeconds"], 600);
        errors
    }

    fn validate_subresource(&self, subresource: Subresource, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        conditions(&mut errors, items(&new["status"]["conditions"]));
        for kind in ["Approved", "Denied", "Failed"] {
            let decision = kind != "Failed" && subresource == Subresource::Status;
            let has = |object: &Value| {
                items(&object["status"]["conditions"]).iter().any(|other| other["type"] == kind)
            };
            if has(old) && !has(new) {
                let detail = format!("updates may not remove a condition of type {kind:?}");
                errors.push(FieldError::forbidden("status.conditions", detail));
            }
            if decision && has(new) && !has(old) {
                let detail = format!("updates may not add a condition of type {kind:?}");
                errors.push(FieldError::forbidden("status.conditions", detail));
            }
        }
        let (now, before) = (&new["status"]["certificate"], &old["status"]["certificate"]);
        if super::value::differs(now, before)
            && (subresource != Subresource::Status || !text(before).is_empty())
        {
            let detail = "updates may not modify existing certificate content";
            errors.push(FieldError::forbidden("status.certificate", detail));
        } else if super::value::differs(now, before) && !is_certificate(text(now)) {
            let detail = "must contain one or more PEM blocks of type CERTIFICATE";
            errors.push(FieldError::invalid("status.certificate", "<certificate data>", detail));
        }
        errors
    }
}

/// The approval changes the conditions and nothing else.
pub(crate) fn prepare_approval(new: &mut Value, old: &Value, world: &World) {
    let conditions = new["status"]["conditions"].take();
    restore(new, old, "status");
    if let Some(status) = make_root_child(new, "status") {
        if items(&conditions).is_empty() {
            status.remove("conditions");
        } else {
            status.insert("conditions".to_owned(), conditions);
        }
    }
    fill_condition_times(new, old, world);
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

/// Whether this is a chain of certificates: PEM in base64. None at all is a certificate taken back.
fn is_certificate(encoded: &str) -> bool {
    if encoded.is_empty() {
        return true;
    }
    let Ok(bytes) = STANDARD.decode(encoded) else { return false };
    let mut blocks = x509_parser::pem::Pem::iter_from_buffer(&bytes).peekable();
    blocks.peek().is_some() && blocks.all(|block| block.is_ok_and(|block| block.label == "CERTIFICATE"))
}

/// What is wrong with a request, which is PEM in base64.
fn request_complaint(encoded: &str) -> Option<String> {
    let Ok(bytes) = STANDARD.decode(encoded) else { return Some("must be base64".to_owned()) };
    let Ok((_, pem)) = parse_x509_pem(&bytes) else {
        return Some("PEM block type must be CERTIFICATE REQUEST".to_owned());
    };
    if pem.label != "CERTIFICATE REQUEST" {
        return Some("PEM block type must be CERTIFICATE REQUEST".to_owned());
    }
    X509CertificationRequest::from_der(&pem.contents).err().map(|error| error.to_string())
}

/// A domain with at least two labels, and a path: `example.com/clients`.
fn signer(errors: &mut Errors, path: &Path<'_>, signer: &str) {
    if signer.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let Some((domain, rest)) =
        signer.split_once('/').filter(|(_, rest)| !rest.is_empty() && !rest.contains('/'))
    else {
        let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        errors.push(FieldError::invalid(path, signer, detail));
        return;
    };
    if !domain.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        errors.push(FieldError::invalid(path, signer, detail));
    }
    for complaint in name::subdomain(domain).into_iter().chain(name::subdomain(rest)) {
        errors.push(FieldError::invalid(path, signer, complaint));
    }
}

fn conditions(errors: &mut Errors, conditions: &[Value]) {
    let list = Path::Text("status.conditions");
    let has = |kind: &str| conditions.iter().any(|condition| condition["type"] == kind);
    if has("Approved") && has("Denied") {
        let detail = "Approved and Denied conditions are mutually exclusive";
        errors.push(FieldError::invalid(list, "Denied", detail));
    }
    for (index, condition) in conditions.iter().enumerate() {
        let path = list.index(index);
        check::given(errors, &path.field("type"), &condition["type"]);
        let decided = matches!(text(&condition["type"]), "Approved" | "Denied" | "Failed");
        let statuses: &[&str] = if decided { &["True"] } else { &["False", "True", "Unknown"] };
        check::required_one_of(errors, &path.field("status"), &condition["status"], statuses);
        if conditions[..index].iter().any(|other| other["type"] == condition["type"]) {
            errors.push(FieldError::duplicate(path.field("type"), condition["type"].clone()));
        }
    }
}
