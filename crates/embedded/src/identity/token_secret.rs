//! Fills Secrets that ask for a token of a service account, and removes those whose account is gone.
//!
//! Their tokens have no end of their own: they hold as long as the Secret and the account do.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};

use super::token::{Bound, ISSUER, Reference};
use super::token_request::MOST_SECONDS;
use crate::controllers::{Again, BoxController, Controller};
use crate::local::Local;
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};
use crate::verbs::DeleteOptions;

const TABLE: &str = "secrets";
const TYPE: &str = "kubernetes.io/service-account-token";
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// The control loop.
pub(crate) fn token_secrets(server: &Arc<Server>) -> BoxController {
    Arc::new(TokenSecrets { local: Local::new(Arc::clone(server), "tokens-controller") })
}

struct TokenSecrets {
    local: Local,
}

impl Controller for TokenSecrets {
    fn name(&self) -> &'static str {
        "tokens-controller"
    }

    fn tables(&self) -> Vec<&'static str> {
        vec![TABLE, "serviceaccounts"]
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        let meta = &event.entry.meta;
        if table == TABLE {
            let ours = !event.deleted && event.entry.mentions(TYPE);
            return if ours {
                vec![Key::new(&TABLE.into(), &meta.namespace, &meta.name)]
            } else {
                Vec::new()
            };
        }
        if !event.deleted {
            return Vec::new();
        }
        let secrets = self.local.entries::<Secret>(Some(&meta.namespace));
        let ours = secrets.iter().filter(|entry| entry.mentions(TYPE));
        ours.map(|entry| Key::new(&TABLE.into(), &meta.namespace, &entry.meta.name)).collect()
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        self.look_at(key.namespace(), key.name()).map(|result| result.map(|()| None)).boxed()
    }
}

impl TokenSecrets {
    async fn look_at(&self, namespace: &str, name: &str) -> Result<(), ApiError> {
        let Some(secret) = self.local.get::<Secret>(namespace, name) else { return Ok(()) };
        if secret.type_.as_deref() != Some(TYPE) || secret.metadata.deletion_timestamp.is_some() {
            return Ok(());
        }
        let noted = |key: &str| {
            let annotations = secret.metadata.annotations.as_ref();
            annotations.and_then(|all| all.get(key)).map_or("", String::as_str)
        };
        let uid = secret.metadata.uid.clone().unwrap_or_default();
        let wanted = noted(ACCOUNT_UID);
        let account = self
            .local
            .entry::<ServiceAccount>(namespace, noted(ACCOUNT_NAME))
            .filter(|account| wanted.is_empty() || wanted == &*account.meta.uid);
        let Some(account) = account else {
            return self.local.delete::<Secret>(namespace, name, &DeleteOptions::of_uid(&uid)).await;
        };
        let account = Reference { name: account.meta.name.to_string(), uid: account.meta.uid.to_string() };
        let missing = self.missing(&secret, namespace, &account)?;
        if missing.is_empty() && !wanted.is_empty() {
            return Ok(());
        }
        let change = |secret: &mut Secret| {
            let annotations = secret.metadata.annotations.get_or_insert_default();
            annotations.insert(ACCOUNT_UID.to_owned(), account.uid.clone());
            secret.data.get_or_insert_default().extend(missing.clone());
        };
        self.local.modify(namespace, name, change).await.map(|_| ())
    }

    /// What the Secret should hold and does not.
    fn missing(
        &self,
        secret: &Secret,
        namespace: &str,
        account: &Reference,
    ) -> Result<BTreeMap<String, ByteString>, ApiError> {
        let has = |key: &str| secret.data.as_ref().and_then(|data| data.get(key)).map(|value| &value.0);
        let mut missing = BTreeMap::new();
        for (key, value) in [("ca.crt", self.local.server().root_ca()?), ("namespace", namespace.to_owned())]
        {
            if has(key).map(Vec::as_slice) != Some(value.as_bytes()) {
                missing.insert(key.to_owned(), ByteString(value.into_bytes()));
            }
        }
        if has("token").is_none_or(Vec::is_empty) {
            let token = self.token(secret, namespace, account)?;
            missing.insert("token".to_owned(), ByteString(token.into_bytes()));
        }
        Ok(missing)
    }

    fn token(&self, secret: &Secret, namespace: &str, account: &Reference) -> Result<String, ApiError> {
        let server = self.local.server();
        let own = Reference {
            name: secret.metadata.name.clone().unwrap_or_default(),
            uid: secret.metadata.uid.clone().unwrap_or_default(),
        };
        let bound = Bound {
            namespace: namespace.to_owned(),
            serviceaccount: account.clone(),
            secret: Some(own),
            ..Bound::default()
        };
        let claims = server.claims(bound, vec![ISSUER.to_owned()], server.world.clock.now(), MOST_SECONDS);
        server.sign_token(&claims).map_err(ApiError::internal)
    }
}
