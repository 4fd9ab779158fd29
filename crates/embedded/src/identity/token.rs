//! Service-account tokens: signed statements that hold only as long as what they are bound to exists.

use std::collections::BTreeMap;

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};

use super::authenticate::service_account_groups;
use super::pki::PkiError;
use super::policy::service_account_user;
use super::published::key_id;
use crate::server::{Server, UserInfo};
use crate::store::Key;

/// Who signs, and the audience of tokens for the API server itself.
pub(super) const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// What a token says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Claims {
    pub(super) aud: Vec<String>,
    pub(super) exp: i64,
    pub(super) iat: i64,
    pub(super) iss: String,
    pub(super) jti: String,
    #[serde(rename = "kubernetes.io")]
    pub(super) kubernetes: Bound,
    pub(super) nbf: i64,
    pub(super) sub: String,
}

/// What a token is bound to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Bound {
    pub(super) namespace: String,
    pub(super) serviceaccount: Reference,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pod: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<Reference>,
}

/// An object by name and identity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) uid: String,
}

/// A token that holds.
#[derive(Debug)]
pub(super) struct Verified {
    pub(super) user: UserInfo,
    /// The audiences it is meant for and that were asked about.
    pub(super) audiences: Vec<String>,
}

/// Why a token does not hold.
#[derive(Debug, thiserror::Error)]
pub(super) enum TokenError {
    #[error(transparent)]
    Keys(#[from] PkiError),
    #[error("the token is not one of this cluster: {0}")]
    Signature(#[from] jsonwebtoken::errors::Error),
    #[error("the token is not valid at this time")]
    Time,
    #[error("the token audiences {given:?} are not among {wanted:?}")]
    Audience { given: Vec<String>, wanted: Vec<String> },
    #[error("the {0} the token is bound to no longer exists")]
    Gone(&'static str),
}

impl Server {
    /// Signs a statement.
    pub(super) fn sign_token(&self, claims: &Claims) -> Result<String, TokenError> {
        let pair = self.identity.pki.token_key()?;
        let header = Header { kid: Some(key_id(pair)), ..Header::new(Algorithm::ES256) };
        Ok(jsonwebtoken::encode(&header, claims, &EncodingKey::from_ec_der(pair.serialized_der()))?)
    }

    /// Checks a token for the audiences asked about, or for the API server if none.
    pub(super) fn verify_token(&self, token: &str, audiences: &[String]) -> Result<Verified, TokenError> {
        let claims = self.read_token(token)?;
        let now = self.world.clock.now().as_second();
        if now >= claims.exp || now < claims.nbf {
            return Err(TokenError::Time);
        }
        let own = [ISSUER.to_owned()];
        let wanted = if audiences.is_empty() { &own[..] } else { audiences };
        let met: Vec<String> = wanted.iter().filter(|one| claims.aud.contains(one)).cloned().collect();
        if met.is_empty() {
            return Err(TokenError::Audience { given: claims.aud, wanted: wanted.to_vec() });
        }
        self.check_bound(&claims.kubernetes)?;
        Ok(Verified { user: user(&claims), audiences: met })
    }

    fn read_token(&self, token: &str) -> Result<Claims, TokenError> {
        let key = DecodingKey::from_ec_der(self.identity.pki.token_key()?.public_key_raw());
        let mut validation = Validation::new(Algorithm::ES256);
        validation.set_issuer(&[ISSUER]);
        // Judged by the cluster's clock and against the audiences asked about, not here.
        validation.validate_exp = false;
        validation.validate_aud = false;
        validation.required_spec_claims.clear();
        validation.required_spec_claims.insert("iss".to_owned());
        Ok(jsonwebtoken::decode::<Claims>(token, &key, &validation)?.claims)
    }

    /// A token dies with its service account, and with the Pod, Node or Secret it was made for.
    fn check_bound(&self, bound: &Bound) -> Result<(), TokenError> {
        let namespace = bound.namespace.as_str();
        let objects = [
            ("serviceaccounts", "service account", namespace, Some(&bound.serviceaccount)),
            ("pods", "pod", namespace, bound.pod.as_ref()),
            ("secrets", "secret", namespace, bound.secret.as_ref()),
        ];
        // A token bound to a Pod only mentions the node; bound to a node alone, it needs it.
        let node = bound.node.as_ref().filter(|_| bound.pod.is_none());
        for (table, what, namespace, reference) in objects.into_iter().chain([("nodes", "node", "", node)]) {
            let Some(reference) = reference else { continue };
            if self.uid_of(table, namespace, &reference.name).as_deref() != Some(reference.uid.as_str()) {
                return Err(TokenError::Gone(what));
            }
        }
        Ok(())
    }

    /// The identity of a stored object.
    pub(super) fn uid_of(&self, table: &str, namespace: &str, name: &str) -> Option<String> {
        let entry = self.store.get(&Key::new(&table.into(), namespace, name))?;
        Some(entry.meta.uid.to_string())
    }
}

fn user(claims: &Claims) -> UserInfo {
    let bound = &claims.kubernetes;
    let mut extra = BTreeMap::new();
    let mut say = |key: &str, value: String| {
        extra.insert(format!("authentication.kubernetes.io/{key}"), vec![value]);
    };
    say("credential-id", format!("JTI={}", claims.jti));
    if let Some(pod) = &bound.pod {
        say("pod-name", pod.name.clone());
        say("pod-uid", pod.uid.clone());
    }
    if let Some(node) = &bound.node {
        say("node-name", node.name.clone());
        // The node of a Pod may be gone, or not be there yet.
        if !node.uid.is_empty() {
            say("node-uid", node.uid.clone());
        }
    }
    UserInfo {
        username: service_account_user(&bound.namespace, &bound.serviceaccount.name),
        uid: bound.serviceaccount.uid.clone(),
        groups: service_account_groups(&bound.namespace),
        extra,
    }
}
