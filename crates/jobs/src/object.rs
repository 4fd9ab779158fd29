//! What a job has beside its Pods: a headless Service, files, and what is secret.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{ConfigMap, Secret, Service, ServicePort, ServiceSpec},
    apimachinery::pkg::util::intstr::IntOrString,
};
use kube::api::ObjectMeta;
use maar_api::{names, v1alpha1::AIJob};

use crate::{
    key::Entropy,
    kind::{self, Secrecy},
    name,
    pod::owner,
};

/// Metadata of something that belongs to a job.
pub(crate) fn belonging(job: &AIJob, name: String) -> ObjectMeta {
    let labels = BTreeMap::from([
        (names::LABEL_MANAGED_BY.to_owned(), names::MANAGED_BY.to_owned()),
        (names::LABEL_JOB.to_owned(), name::of(job).to_owned()),
    ]);
    ObjectMeta {
        name: Some(name),
        namespace: job.metadata.namespace.clone(),
        labels: Some(labels),
        owner_references: Some(vec![owner(job)]),
        ..ObjectMeta::default()
    }
}

/// Gives each Pod a host name. Pods are found before they are ready: they have to meet to become so.
pub(crate) fn service(job: &AIJob) -> Service {
    let own = kind::of(job.spec.job_type).ports(&job.spec).into_iter();
    let own = own.map(|(name, port)| (name.to_owned(), port));
    let said = job.spec.ports.iter().map(|port| (port.name.clone(), port.port));
    let mut ports: Vec<ServicePort> = Vec::new();
    for (name, port) in own.chain(said) {
        if ports.iter().all(|one| one.port != port && one.name.as_ref() != Some(&name)) {
            let target_port = Some(IntOrString::Int(port));
            ports.push(ServicePort { name: Some(name), port, target_port, ..ServicePort::default() });
        }
    }
    let spec = ServiceSpec {
        cluster_ip: Some("None".to_owned()),
        publish_not_ready_addresses: Some(true),
        selector: Some(BTreeMap::from([(names::LABEL_JOB.to_owned(), name::of(job).to_owned())])),
        ports: (!ports.is_empty()).then_some(ports),
        ..ServiceSpec::default()
    };
    Service { metadata: belonging(job, name::of(job).to_owned()), spec: Some(spec), ..Service::default() }
}

/// The files of its type, if it has any.
pub(crate) fn files(job: &AIJob) -> Option<ConfigMap> {
    let files = kind::of(job.spec.job_type).files(job);
    (!files.is_empty()).then(|| ConfigMap {
        metadata: belonging(job, name::files(name::of(job))),
        data: Some(files),
        ..ConfigMap::default()
    })
}

/// Whether the job has something secret.
pub(crate) fn has_secret(job: &AIJob) -> bool {
    kind::of(job.spec.job_type).secrecy() != Secrecy::None
}

/// What is secret, if anything. It is made once and never changed: Pods of the next attempt use the same.
pub(crate) fn secret(job: &AIJob, entropy: &Entropy) -> Option<Secret> {
    let data = match kind::of(job.spec.job_type).secrecy() {
        Secrecy::None => return None,
        Secrecy::Token => BTreeMap::from([(kind::TOKEN.to_owned(), entropy.token()?)]),
        Secrecy::Keys => {
            let keys = entropy.keys()?;
            BTreeMap::from([
                ("id_ed25519".to_owned(), keys.private),
                ("id_ed25519.pub".to_owned(), keys.public),
            ])
        }
    };
    Some(Secret {
        metadata: belonging(job, name::secret(name::of(job))),
        string_data: Some(data),
        ..Secret::default()
    })
}
