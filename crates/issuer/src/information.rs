//! What the provider tells: of itself, and of users to those who hold a token. And taking tokens back.

use maar_records::TokenKind;
use serde_json::{Value, json};

use crate::{
    Issuer, Params, Refusal,
    scope::{OPENID, USUAL, claims},
    secret::hash,
};

impl Issuer {
    /// The discovery document.
    pub fn discovery(&self) -> Value {
        let algorithms: &[&str] = if self.settings.rsa.is_empty() { &["ES256"] } else { &["ES256", "RS256"] };
        json!({
            "issuer": self.settings.issuer,
            "authorization_endpoint": self.url("/oauth/authorize"),
            "token_endpoint": self.url("/oauth/token"),
            "userinfo_endpoint": self.url("/oauth/userinfo"),
            "revocation_endpoint": self.url("/oauth/revoke"),
            "device_authorization_endpoint": self.url("/oauth/device"),
            "jwks_uri": self.url("/oauth/keys"),
            "scopes_supported": USUAL,
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": [
                "authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code",
            ],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": algorithms,
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
            "revocation_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
            "code_challenge_methods_supported": ["S256"],
            "claims_supported": [
                "iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "name", "preferred_username", "email",
                "email_verified", "groups",
            ],
            "prompt_values_supported": ["none", "login", "consent", "select_account"],
            "claims_parameter_supported": false,
            "request_parameter_supported": false,
            "request_uri_parameter_supported": false,
            "authorization_response_iss_parameter_supported": true,
        })
    }

    /// Who the user of an access token is; `authorization` is the header of that name.
    pub async fn userinfo(&self, authorization: Option<&str>) -> Result<Value, Refusal> {
        let refused = || Refusal::new("invalid_token", "the access token is not valid, or not any more");
        let token = authorization.and_then(|text| text.split_once(' '));
        let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).ok_or_else(refused)?.1;
        let now = self.host.now();
        let found = self.records.access_token(&hash(token.trim()), now).await?;
        let (id, less) = found.ok_or_else(refused)?;
        let (grant, user) = self.records.live_grant(&id, now).await?.ok_or_else(refused)?;
        let scopes = less.unwrap_or(grant.scopes);
        if !scopes.iter().any(|scope| scope == OPENID) {
            return Err(Refusal::new("insufficient_scope", "the token was not made for that"));
        }
        Ok(Value::Object(claims(&scopes, &user, || self.host.groups(&user))))
    }

    /// Takes a token back (RFC 7009), also one that is an API key; with a refresh token, all that came of the same grant.
    /// Says nothing of tokens that are not the client's.
    pub async fn revoke(&self, params: &Params, authorization: Option<&str>) -> Result<(), Refusal> {
        params.once()?;
        let client = self.client(params, authorization)?;
        let (token, now) = (hash(params.need("token")?), self.host.now());
        let Some((id, kind)) = self.records.grant_of_token(&token).await? else { return Ok(()) };
        let Some((grant, _)) = self.records.live_grant(&id, now).await? else { return Ok(()) };
        if grant.client != client.id {
            return Ok(());
        }
        match kind {
            TokenKind::Access => self.records.end_access_token(&token, now).await?,
            TokenKind::Refresh => self.records.revoke_grant(&id, now).await?,
        }
        Ok(())
    }
}
