//! Who may ask: whoever may `get` the object that is asked about. The API server says who somebody is and what they may.

use std::time::Duration;

use axum::http::{HeaderMap, StatusCode, header};
use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewSpec, UserInfo},
    authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
};
use kube::{Api, Client, api::PostParams};
use maar_controller::error::chain;
use tokio::time::timeout;

/// How long the API server may take for one question.
const REVIEW: Duration = Duration::from_secs(5);
/// No token is longer.
const LONGEST_TOKEN: usize = 16 * 1024;

/// Who may ask why something waits.
#[derive(Clone)]
pub enum Access {
    /// Whoever can reach the address; for addresses that only this machine reaches.
    Anybody,
    /// Who brings a token of the cluster and may `get` the object.
    Reviewed(Client),
}

impl std::fmt::Debug for Access {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Anybody => "Anybody",
            Self::Reviewed(_) => "Reviewed",
        })
    }
}

/// Why somebody may not ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Denied {
    /// Nobody knows who it is.
    Unknown,
    /// They may not see the object.
    Forbidden,
    /// The API server could not be asked, so nobody may.
    Unavailable,
}

impl Denied {
    pub(super) const fn answer(self) -> (StatusCode, &'static str) {
        match self {
            Self::Unknown => {
                (StatusCode::UNAUTHORIZED, "bring a token of the cluster as Authorization: Bearer")
            }
            Self::Forbidden => (StatusCode::FORBIDDEN, "you may not get that object"),
            Self::Unavailable => {
                (StatusCode::SERVICE_UNAVAILABLE, "the API server could not say who you are or what you may")
            }
        }
    }
}

/// Somebody whose name is known, or need not be.
#[derive(Debug, Clone)]
pub(super) enum Caller {
    Anybody,
    Known(Box<UserInfo>),
}

/// An object in a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Subject<'a> {
    pub(super) group: &'a str,
    pub(super) resource: &'a str,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

impl Access {
    /// Who asks.
    pub(super) async fn caller(&self, headers: &HeaderMap) -> Result<Caller, Denied> {
        let Self::Reviewed(client) = self else { return Ok(Caller::Anybody) };
        let token = bearer(headers).ok_or(Denied::Unknown)?;
        let review = TokenReview {
            spec: TokenReviewSpec { token: token.to_owned(), ..TokenReviewSpec::default() },
            ..TokenReview::default()
        };
        let reviewed = ask(Api::<TokenReview>::all(client.clone()), &review).await?;
        let status = reviewed.status.unwrap_or_default();
        match status.user.filter(|_| status.authenticated == Some(true)) {
            Some(user) if user.username.is_some() => Ok(Caller::Known(Box::new(user))),
            _ => Err(Denied::Unknown),
        }
    }

    /// Whether the caller may see an object.
    pub(super) async fn may_get(&self, caller: &Caller, subject: Subject<'_>) -> Result<(), Denied> {
        let Self::Reviewed(client) = self else { return Ok(()) };
        let Caller::Known(user) = caller else { return Err(Denied::Unknown) };
        let attributes = ResourceAttributes {
            verb: Some("get".to_owned()),
            group: Some(subject.group.to_owned()),
            resource: Some(subject.resource.to_owned()),
            namespace: Some(subject.namespace.to_owned()),
            name: Some(subject.name.to_owned()),
            ..ResourceAttributes::default()
        };
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: user.username.clone(),
                groups: user.groups.clone(),
                uid: user.uid.clone(),
                extra: user.extra.clone(),
                resource_attributes: Some(attributes),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let reviewed = ask(Api::<SubjectAccessReview>::all(client.clone()), &review).await?;
        let status = reviewed.status.unwrap_or_default();
        if status.allowed && status.denied != Some(true) { Ok(()) } else { Err(Denied::Forbidden) }
    }
}

async fn ask<K>(api: Api<K>, review: &K) -> Result<K, Denied>
where
    K: Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
{
    match timeout(REVIEW, api.create(&PostParams::default(), review)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => {
            tracing::warn!("asking who may see why something waits: {}", chain(&error));
            Err(Denied::Unavailable)
        }
        Err(_) => Err(Denied::Unavailable),
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = text.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.len() <= LONGEST_TOKEN)
        .then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bearer_token_is_one() {
        let long = format!("Bearer {}", "a".repeat(LONGEST_TOKEN + 1));
        let rows = [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("Basic abc", None),
            ("Bearer", None),
            ("Bearer  ", None),
            (&long, None),
        ];
        for (text, want) in rows {
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, text.parse().unwrap())]);
            assert_eq!(bearer(&headers), want, "{text}");
        }
        assert_eq!(bearer(&HeaderMap::new()), None);
    }
}
