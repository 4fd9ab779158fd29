//! Signing in by sending the browser to a provider, which sends it back with a code (OAuth2, and OIDC upon it).

use std::path::PathBuf;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::Uri;
use jiff::Timestamp;
use serde::Deserialize;

use super::{
    ProviderKind,
    fetch::{FetchError, Fetcher},
    flow::Flow,
    oauth2::OAuth2,
    oidc::Oidc,
    profile::Profile,
    secret::{Files, Secret},
    url::form,
};
use crate::{identity::login::Refusal, rules::Wrong};

/// A provider that browsers are sent to.
pub(super) enum CodeProvider {
    Oidc(Oidc),
    OAuth2(OAuth2),
}

/// What a browser came back with.
pub(super) struct Returned<'a> {
    pub(super) code: &'a str,
    /// Who says so, where the provider says it (RFC 9207).
    pub(super) issuer: Option<&'a str>,
    /// Where it came back to.
    pub(super) redirect: &'a str,
}

impl CodeProvider {
    pub(super) const fn kind(&self) -> ProviderKind {
        match self {
            Self::Oidc(_) => ProviderKind::Oidc,
            Self::OAuth2(_) => ProviderKind::Oauth2,
        }
    }

    /// Where a browser is sent to.
    pub(super) async fn authorize(&self, flow: &Flow, redirect: &str) -> Result<String, Refusal> {
        match self {
            Self::Oidc(oidc) => oidc.authorize(flow, redirect).await,
            Self::OAuth2(oauth2) => Ok(oauth2.authorize(flow, redirect)),
        }
    }

    /// Who it is that came back.
    pub(super) async fn finish(
        &self,
        flow: &Flow,
        returned: &Returned<'_>,
        now: Timestamp,
    ) -> Result<Profile, Refusal> {
        match self {
            Self::Oidc(oidc) => oidc.finish(flow, returned, now).await,
            Self::OAuth2(oauth2) => oauth2.finish(flow, returned).await,
        }
    }
}

/// How we show the provider who we are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ClientAuthentication {
    /// In a header, as the standard prefers.
    #[default]
    Basic,
    /// In the form.
    Post,
}

/// Us, to a provider.
#[derive(Debug)]
pub(super) struct CodeClient {
    pub(super) id: String,
    secret: Option<Secret>,
    authentication: ClientAuthentication,
}

/// What is given for a code.
#[derive(Deserialize)]
pub(super) struct Tokens {
    pub(super) access_token: Option<String>,
    token_type: Option<String>,
    pub(super) id_token: Option<String>,
}

impl Tokens {
    /// The token for asking who it is.
    pub(super) fn bearer(&self) -> Result<&str, Refusal> {
        let bearer = self.token_type.as_ref().is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
        let token = self.access_token.as_deref().filter(|_| bearer);
        token.ok_or_else(|| Refusal::refused("the provider gave no bearer token"))
    }
}

impl CodeClient {
    pub(super) fn new(
        id: String,
        secret: Option<&PathBuf>,
        authentication: ClientAuthentication,
        files: &Files<'_>,
    ) -> Result<Self, Wrong> {
        if id.is_empty() || id.chars().any(char::is_control) {
            return Err(Wrong::new("clientId", "is what the provider calls this portal, in one line"));
        }
        let secret = secret.map(|path| files.secret("clientSecretFile", path)).transpose()?;
        Ok(Self { id, secret, authentication })
    }

    /// The fields of the question that a browser takes along.
    pub(super) fn question<'a>(
        &'a self,
        redirect: &'a str,
        scope: &'a str,
        state: &'a str,
        challenge: &'a str,
    ) -> Vec<(&'static str, &'a str)> {
        vec![
            ("response_type", "code"),
            ("client_id", &self.id),
            ("redirect_uri", redirect),
            ("scope", scope),
            ("state", state),
            ("code_challenge", challenge),
            ("code_challenge_method", "S256"),
        ]
    }

    /// Gives a code for tokens.
    pub(super) async fn exchange(
        &self,
        fetcher: &Fetcher,
        token_url: &Uri,
        flow: &Flow,
        returned: &Returned<'_>,
    ) -> Result<Tokens, FetchError> {
        let verifier = flow.verifier();
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", returned.code),
            ("redirect_uri", returned.redirect),
            ("code_verifier", &verifier),
        ];
        let mut authorization = None;
        match (&self.secret, self.authentication) {
            (Some(secret), ClientAuthentication::Basic) => authorization = Some(basic(&self.id, secret)),
            (Some(secret), ClientAuthentication::Post) => {
                fields.push(("client_id", &self.id));
                fields.push(("client_secret", secret.reveal()));
            }
            (None, _) => fields.push(("client_id", &self.id)),
        }
        fetcher.post(token_url, form(&fields), authorization).await
    }
}

/// Both parts are escaped as in forms first (RFC 6749, 2.3.1).
fn basic(id: &str, secret: &Secret) -> String {
    let escaped = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", escaped(id), escaped(secret.reveal()));
    format!("Basic {}", BASE64_STANDARD.encode(pair))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_show_who_we_are_as_the_standard_says() {
        // The separator cannot be smuggled in.
        let header = basic("a:b", &Secret::new("c d"));
        assert_eq!(BASE64_STANDARD.decode(header.strip_prefix("Basic ").unwrap()).unwrap(), b"a%3Ab:c+d");
    }

    #[test]
    fn tokens_are_bearer_tokens() {
        let of = |text: &str| serde_json::from_str::<Tokens>(text).unwrap().bearer().map(str::to_owned).ok();
        assert_eq!(of(r#"{"access_token":"x","token_type":"Bearer"}"#).as_deref(), Some("x"));
        assert_eq!(of(r#"{"access_token":"x"}"#).as_deref(), Some("x"));
        assert_eq!(of(r#"{"access_token":"x","token_type":"mac"}"#), None);
        assert_eq!(of(r#"{"token_type":"Bearer"}"#), None);
    }
}
