//! What every namespace has: the service account `default` and the cluster's root certificate.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::base::{self, Base};
use super::{Again, Controller};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};

const ACCOUNT: &str = "default";
const CERTIFICATE: &str = "kube-root-ca.crt";
const CERTIFICATE_KEY: &str = "ca.crt";
const DESCRIPTION: &str = "kubernetes.io/description";

#[derive(Debug)]
pub(crate) struct NamespaceFurniture {
    base: Base,
    namespaces: Arc<str>,
}

impl NamespaceFurniture {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        let base = Base::new(server, "service-account-controller");
        let namespaces = Arc::clone(&base.local.resource::<Namespace>().table);
        Self { base, namespaces }
    }

    async fn sync(&self, namespace: &str) -> Result<Again, ApiError> {
        match self.base.local.entry::<Namespace>("", namespace) {
            Some(entry) if !entry.meta.deleting => {}
            _ => return Ok(None),
        }
        if self.base.local.entry::<ServiceAccount>(namespace, ACCOUNT).is_none() {
            let account = ServiceAccount { metadata: named(namespace, ACCOUNT), ..ServiceAccount::default() };
            accept(self.base.local.create(&account).await.map(|_| ()))?;
        }
        self.publish_certificate(namespace).await?;
        Ok(None)
    }

    async fn publish_certificate(&self, namespace: &str) -> Result<(), ApiError> {
        let certificate = self.base.server().root_ca()?;
        let data = BTreeMap::from([(CERTIFICATE_KEY.to_owned(), certificate)]);
        let Some(existing) = self.base.local.get::<ConfigMap>(namespace, CERTIFICATE) else {
            let mut metadata = named(namespace, CERTIFICATE);
            metadata.annotations = Some(BTreeMap::from([(
                DESCRIPTION.to_owned(),
                "The certificate authority of this cluster's API server.".to_owned(),
            )]));
            let map = ConfigMap { metadata, data: Some(data), ..ConfigMap::default() };
            return accept(self.base.local.create(&map).await.map(|_| ()));
        };
        if existing.data.as_ref() == Some(&data) {
            return Ok(());
        }
        let change = |map: &mut ConfigMap| map.data = Some(data.clone());
        self.base.local.modify(namespace, CERTIFICATE, change).await.map(|_| ())
    }
}

/// Somebody else was quicker, or the namespace is on its way out: both are fine.
fn accept(result: Result<(), ApiError>) -> Result<(), ApiError> {
    match result {
        Err(error) if !error.is_already_exists() && !base::is_namespace_going(&error) => Err(error),
        _ => Ok(()),
    }
}

fn named(namespace: &str, name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), namespace: Some(namespace.to_owned()), ..ObjectMeta::default() }
}

impl Controller for NamespaceFurniture {
    fn name(&self) -> &'static str {
        "service-account-controller"
    }

    fn tables(&self) -> Vec<&'static str> {
        vec!["namespaces", "serviceaccounts", "configmaps"]
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        let meta = &event.entry.meta;
        let namespace = match table {
            "namespaces" => &meta.name,
            "serviceaccounts" if &*meta.name == ACCOUNT && event.deleted => &meta.namespace,
            "configmaps" if &*meta.name == CERTIFICATE => &meta.namespace,
            _ => return Vec::new(),
        };
        vec![Key::new(&self.namespaces, "", namespace)]
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key.name()))
    }
}
