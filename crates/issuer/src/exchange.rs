//! The token endpoint: a code, a refresh token or a device becomes tokens.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::SignedDuration;
use maar_records::{DeviceState, Grant, NewToken, Spent, TokenKind, User};
use serde_json::{Value, json};

use crate::{
    Issuer, Params, Refusal,
    client::Client,
    pkce,
    scope::{API, OFFLINE, OPENID, claims, granted},
    secret::{hash, secret},
};

const DEVICE: &str = "urn:ietf:params:oauth:grant-type:device_code";

impl Issuer {
    /// Tokens for what a client has; `authorization` is the header of that name.
    pub async fn token(&self, params: &Params, authorization: Option<&str>) -> Result<Value, Refusal> {
        params.once()?;
        let client = self.client(params, authorization)?;
        match params.need("grant_type")? {
            "authorization_code" => self.by_code(params, client).await,
            "refresh_token" => self.by_refresh(params, client).await,
            DEVICE => self.by_device(params, client).await,
            _ => Err(Refusal::new(
                "unsupported_grant_type",
                "grant_type is authorization_code, refresh_token or the device code of RFC 8628",
            )),
        }
    }

    /// The client that asks, if it shows that it is it.
    pub(crate) fn client(&self, params: &Params, authorization: Option<&str>) -> Result<&Client, Refusal> {
        let basic =
            authorization.map(|text| basic(text).ok_or_else(|| Refusal::client("the header is no Basic")));
        let basic = basic.transpose()?;
        let (said, secret) = (params.get("client_id"), params.get("client_secret"));
        let (id, secret) = match &basic {
            Some(_) if secret.is_some() => {
                return Err(Refusal::request("the client shows who it is in two ways"));
            }
            Some((id, _)) if said.is_some_and(|said| said != id) => {
                return Err(Refusal::request("client_id is another than that of the header"));
            }
            Some((id, secret)) => (id.as_str(), Some(secret.as_str())),
            None => (params.need("client_id")?, secret),
        };
        // One answer for every reason: nobody learns which clients there are.
        let refused = || Refusal::client("the client is not known, or has another secret");
        let client = self.settings.clients.get(id).ok_or_else(refused)?;
        let shown = match secret {
            Some(secret) => client.knows(secret),
            None => client.is_public(),
        };
        if shown { Ok(client) } else { Err(refused()) }
    }

    async fn by_code(&self, params: &Params, client: &Client) -> Result<Value, Refusal> {
        let refused = || Refusal::grant("the code is not valid for this client, address and verifier");
        let now = self.host.now();
        let code = match self.records.spend_code(&hash(params.need("code")?), now).await? {
            Spent::First(code) => code,
            Spent::Again(code) => {
                // One of the two who had it is not the client, and nobody can say which.
                tracing::warn!(client = client.id, "a code was used twice: what it gave is revoked");
                self.records.revoke_grant(&code.grant, now).await?;
                return Err(refused());
            }
            Spent::Unknown => return Err(refused()),
        };
        let proven = match (&code.challenge, params.get("code_verifier")) {
            (Some(challenge), Some(verifier)) => pkce::proves(verifier, challenge),
            (None, None) => !client.is_public(),
            _ => false,
        };
        let found = self.records.live_grant(&code.grant, now).await?;
        let right = proven && params.get("redirect_uri") == Some(&code.redirect);
        match found {
            Some((grant, user)) if right && grant.client == client.id => {
                let made = self.made(client, &grant, &user, (&grant.scopes, code.nonce.as_deref())).await?;
                self.records.create_tokens(&made.tokens).await?;
                Ok(made.told)
            }
            _ => {
                self.records.revoke_grant(&code.grant, now).await?;
                Err(refused())
            }
        }
    }

    async fn by_refresh(&self, params: &Params, client: &Client) -> Result<Value, Refusal> {
        let refused = || Refusal::grant("the refresh token is not valid for this client, or not any more");
        let (token, now) = (hash(params.need("refresh_token")?), self.host.now());
        let Some((id, TokenKind::Refresh)) = self.records.grant_of_token(&token).await? else {
            return Err(refused());
        };
        let Some((grant, user)) = self.records.live_grant(&id, now).await? else { return Err(refused()) };
        if grant.client != client.id {
            return Err(refused());
        }
        let less = granted(params.get("scope"), |_| true);
        if let Some(more) = less.iter().find(|scope| !grant.scopes.contains(scope)) {
            return Err(Refusal::new("invalid_scope", format!("{more} was not granted")));
        }
        if !self.may_give(&user, &grant.scopes).await? {
            self.records.revoke_grant(&id, now).await?;
            return Err(refused());
        }
        let scopes = if less.is_empty() { &grant.scopes } else { &less };
        // All that can fail comes before the token is used up.
        let made = self.made(client, &grant, &user, (scopes, None)).await?;
        match self.records.replace_refresh_token(&token, &made.tokens, now).await? {
            Spent::First(_) => Ok(made.told),
            Spent::Again(_) => {
                tracing::warn!(
                    client = client.id,
                    "a refresh token was used twice: all that came of it is revoked"
                );
                self.records.revoke_grant(&id, now).await?;
                Err(refused())
            }
            Spent::Unknown => Err(refused()),
        }
    }

    async fn by_device(&self, params: &Params, client: &Client) -> Result<Value, Refusal> {
        let (token, now) = (hash(params.need("device_code")?), self.host.now());
        match self.records.poll_device(&token, &client.id, now).await? {
            DeviceState::Pending => Err(Refusal::new("authorization_pending", "nobody has answered yet")),
            DeviceState::TooFast => {
                Err(Refusal::new("slow_down", "wait five seconds more between two questions"))
            }
            DeviceState::Denied => Err(Refusal::new("access_denied", "the user said no")),
            DeviceState::Expired => Err(Refusal::new("expired_token", "nobody answered in time: begin anew")),
            DeviceState::Unknown => {
                Err(Refusal::grant("the device code is not valid for this client, or was used"))
            }
            DeviceState::Granted(id) => {
                let found = self.records.live_grant(&id, now).await?;
                let (grant, user) = found.ok_or_else(|| Refusal::grant("what was granted is revoked"))?;
                let made = self.made(client, &grant, &user, (&grant.scopes, None)).await?;
                self.records.create_tokens(&made.tokens).await?;
                Ok(made.told)
            }
        }
    }

    /// All tokens that a grant gives now, for these scopes of it.
    async fn made(
        &self,
        client: &Client,
        grant: &Grant,
        user: &User,
        (scopes, nonce): (&[String], Option<&str>),
    ) -> Result<Made, Refusal> {
        let has = |scope: &str| scopes.iter().any(|one| one == scope);
        let less = (scopes != grant.scopes).then(|| scopes.to_vec());
        let token = |secret: &str, kind, life, scopes| NewToken {
            token: hash(secret),
            kind,
            grant: grant.id.clone(),
            scopes,
            expires_at: self.after(life).min(grant.expires_at),
        };
        let mut told = json!({ "token_type": "Bearer", "scope": scopes.join(" ") });
        if has(OPENID) {
            told["id_token"] = self.id_token(client, (grant, scopes), user, nonce).await?.into();
        }
        let (access, life) = if has(API) {
            let key = self.host.api_key(user, &client.id).await;
            let key = key.map_err(|error| Refusal::unavailable(error.as_ref()))?;
            (key.secret, SignedDuration::from_secs(key.seconds))
        } else {
            (secret(&*self.host, "maar-at-")?, self.settings.lives.token)
        };
        let mut tokens = vec![token(&access, TokenKind::Access, life, less)];
        told["access_token"] = access.into();
        told["expires_in"] = life.as_secs().into();
        if grant.scopes.iter().any(|one| one == OFFLINE) {
            // It is worth as much as the one before, however little was asked for now (RFC 6749, 6).
            let refresh = secret(&*self.host, "maar-rt-")?;
            tokens.push(token(&refresh, TokenKind::Refresh, self.settings.lives.refresh, None));
            told["refresh_token"] = refresh.into();
        }
        Ok(Made { told, tokens })
    }

    async fn id_token(
        &self,
        client: &Client,
        (grant, scopes): (&Grant, &[String]),
        user: &User,
        nonce: Option<&str>,
    ) -> Result<String, Refusal> {
        let now = self.host.now().as_second();
        let mut told = claims(scopes, user, || self.host.groups(user));
        told.insert("iss".to_owned(), json!(self.settings.issuer));
        told.insert("aud".to_owned(), json!(client.id));
        told.insert("iat".to_owned(), json!(now));
        told.insert("exp".to_owned(), json!(now + self.settings.lives.token.as_secs()));
        if let Some(at) = grant.signed_in_at {
            told.insert("auth_time".to_owned(), json!(at.as_second()));
        }
        if let Some(nonce) = nonce {
            told.insert("nonce".to_owned(), json!(nonce));
        }
        let signer = self.signer(client).await?;
        signer.token(&Value::Object(told)).map_err(|error| Refusal::unavailable(&error))
    }
}

/// Tokens that are not kept yet.
struct Made {
    /// What the client is told.
    told: Value,
    tokens: Vec<NewToken>,
}

/// The client and its secret of a header (RFC 6749, 2.3.1).
fn basic(header: &str) -> Option<(String, String)> {
    let (scheme, rest) = header.split_once(' ')?;
    let rest = scheme.eq_ignore_ascii_case("basic").then(|| BASE64_STANDARD.decode(rest.trim()).ok())??;
    let text = String::from_utf8(rest).ok()?;
    let (id, secret) = text.split_once(':')?;
    Some((decoded(id)?, decoded(secret)?))
}

fn decoded(text: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(text.as_bytes());
    match (pairs.next(), pairs.next()) {
        (Some((value, rest)), None) if rest.is_empty() => Some(value.into_owned()),
        (None, None) => Some(String::new()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_a_client_is_read_as_it_is_written() {
        let header = |text: &str| format!("Basic {}", BASE64_STANDARD.encode(text));
        let read = |text: &str| basic(&header(text));
        assert_eq!(read("a:b+c%3A"), Some(("a".to_owned(), "b c:".to_owned())));
        assert_eq!(basic("bAsIc YTo="), Some(("a".to_owned(), String::new())));
        for wrong in ["", "Basic", "Basic !", "Bearer YTpi", "Basic YQ=="] {
            assert_eq!(basic(wrong), None, "{wrong}");
        }
    }
}
