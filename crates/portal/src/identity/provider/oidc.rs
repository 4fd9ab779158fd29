//! OpenID Connect: discovery, the code flow, and an ID token that is believed only after every check.

mod keys;
mod token;

use std::{path::PathBuf, sync::Arc, time::Duration};

use http::Uri;
use jiff::Timestamp;
use jsonwebtoken::jwk::JwkSet;
use maar_records::Identity;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::{sync::Mutex, time::Instant};

use self::{
    keys::Keys,
    token::{Expected, TokenError},
};
use super::{
    Admission,
    code::{ClientAuthentication, CodeClient, Returned},
    fetch::Fetcher,
    flow::Flow,
    profile::{Fields, Profile},
    secret::Files,
    url,
};
use crate::{identity::login::Refusal, rules::Wrong};

/// How long what a provider says of itself is kept.
const KEPT: Duration = Duration::from_hours(1);

/// What an operator writes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OidcConfig {
    pub(super) id: String,
    pub(super) title: Option<String>,
    issuer: String,
    client_id: String,
    client_secret_file: Option<PathBuf>,
    #[serde(default)]
    client_authentication: ClientAuthentication,
    #[serde(default = "usual_scopes")]
    scopes: Vec<String>,
    #[serde(default = "usual_name")]
    name_claim: String,
    #[serde(default = "usual_display_name")]
    display_name_claim: String,
    #[serde(default = "usual_email")]
    email_claim: String,
    #[serde(default = "usual_groups")]
    groups_claim: String,
    #[serde(default)]
    userinfo: bool,
    #[serde(default)]
    admin_groups: Vec<String>,
    #[serde(default)]
    trust_names: bool,
    ca_file: Option<PathBuf>,
}

fn usual_scopes() -> Vec<String> {
    ["openid", "profile", "email"].map(str::to_owned).to_vec()
}

fn usual_name() -> String {
    "preferred_username".to_owned()
}

fn usual_display_name() -> String {
    "name".to_owned()
}

fn usual_email() -> String {
    "email".to_owned()
}

fn usual_groups() -> String {
    "groups".to_owned()
}

/// A provider.
pub(super) struct Oidc {
    issuer: String,
    client: CodeClient,
    scope: String,
    fields: Fields,
    userinfo: bool,
    fetcher: Fetcher,
    document: Mutex<Option<(Instant, Arc<Document>)>>,
    keys: Keys,
}

/// What a provider says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Document {
    authorize: String,
    token: Uri,
    keys: Uri,
    userinfo: Option<Uri>,
}

impl OidcConfig {
    pub(super) fn build(self, files: &Files<'_>) -> Result<(Admission, Oidc), Wrong> {
        url::check("issuer", &self.issuer)?;
        if self.issuer.contains('?') {
            return Err(Wrong::new("issuer", "has no query"));
        }
        if !self.scopes.iter().any(|scope| scope == "openid") {
            return Err(Wrong::new("scopes", "must name openid"));
        }
        let client = CodeClient::new(
            self.client_id,
            self.client_secret_file.as_ref(),
            self.client_authentication,
            files,
        )?;
        let admission = Admission { admin_groups: self.admin_groups, trust_names: self.trust_names };
        let fields = Fields {
            name: self.name_claim,
            display_name: self.display_name_claim,
            email: self.email_claim,
            groups: self.groups_claim,
        };
        let oidc = Oidc {
            issuer: self.issuer,
            client,
            scope: self.scopes.join(" "),
            fields,
            userinfo: self.userinfo,
            fetcher: Fetcher::new(files.roots(self.ca_file.as_ref())?),
            document: Mutex::default(),
            keys: Keys::default(),
        };
        Ok((admission, oidc))
    }
}

impl Oidc {
    pub(super) async fn authorize(&self, flow: &Flow, redirect: &str) -> Result<String, Refusal> {
        let document = self.document().await?;
        let (state, challenge, nonce) = (flow.state(), flow.challenge(), flow.nonce());
        let mut fields = self.client.question(redirect, &self.scope, &state, &challenge);
        fields.push(("nonce", &nonce));
        Ok(url::with_query(&document.authorize, &fields))
    }

    pub(super) async fn finish(
        &self,
        flow: &Flow,
        returned: &Returned<'_>,
        now: Timestamp,
    ) -> Result<Profile, Refusal> {
        if returned.issuer.is_some_and(|issuer| issuer != self.issuer) {
            return Err(Refusal::refused("another provider than asked has answered"));
        }
        let document = self.document().await?;
        let tokens = self.client.exchange(&self.fetcher, &document.token, flow, returned).await?;
        let id_token = tokens.id_token.as_deref().ok_or_else(|| Refusal::refused("there is no ID token"))?;
        let nonce = flow.nonce();
        let expected = Expected { issuer: &self.issuer, client: &self.client.id, nonce: &nonce };
        let mut claims = self.verified(&document, id_token, &expected, now).await?;
        let subject = token::subject(&claims)?;
        if self.userinfo
            && let Some(uri) = &document.userinfo
        {
            let said: Map<String, Value> = self.fetcher.get(uri, Some(tokens.bearer()?)).await?;
            if said.get("sub").and_then(Value::as_str) != Some(&subject) {
                return Err(Refusal::refused("the userinfo is of somebody else"));
            }
            // What is signed stays.
            for (name, value) in said {
                claims.entry(name).or_insert(value);
            }
        }
        // A URL holds no space, so no two pairs of issuer and subject are alike.
        let identity = Identity::new("oidc", format!("{} {subject}", self.issuer));
        Ok(self.fields.profile(identity, &claims))
    }

    /// The claims of a token, whose key may be newer than those we know.
    async fn verified(
        &self,
        document: &Document,
        id_token: &str,
        expected: &Expected<'_>,
        now: Timestamp,
    ) -> Result<Map<String, Value>, Refusal> {
        let ask = || self.fetcher.get::<JwkSet>(&document.keys, None);
        let keys = self.keys.known(ask()).await?;
        match token::verify(id_token, &keys, expected, now) {
            Err(TokenError::UnknownKey) => {
                let keys = self.keys.newer(ask()).await?;
                Ok(token::verify(id_token, &keys, expected, now)?)
            }
            other => Ok(other?),
        }
    }

    async fn document(&self) -> Result<Arc<Document>, Refusal> {
        let mut kept = self.document.lock().await;
        if let Some((read, document)) = &*kept
            && read.elapsed() < KEPT
        {
            return Ok(Arc::clone(document));
        }
        let address = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let uri = url::check("issuer", &address).map_err(|wrong| Refusal::refused(wrong.why))?;
        let said: Map<String, Value> = self.fetcher.get(&uri, None).await?;
        let document = Arc::new(read_document(&self.issuer, &said).map_err(Refusal::refused)?);
        *kept = Some((Instant::now(), Arc::clone(&document)));
        Ok(document)
    }
}

/// What a provider says of itself, if it is the one that was asked.
fn read_document(issuer: &str, said: &Map<String, Value>) -> Result<Document, String> {
    if said.get("issuer").and_then(Value::as_str) != Some(issuer) {
        return Err(format!("the provider at {issuer} says it is another"));
    }
    let address = |name: &str| {
        let text = said.get(name).and_then(Value::as_str).unwrap_or_default();
        url::check(name, text).map_err(|wrong| format!("the provider says that its {name} is {}", wrong.why))
    };
    address("authorization_endpoint")?;
    let authorize = said.get("authorization_endpoint").and_then(Value::as_str).unwrap_or_default();
    let userinfo =
        said.contains_key("userinfo_endpoint").then(|| address("userinfo_endpoint")).transpose()?;
    Ok(Document {
        authorize: authorize.to_owned(),
        token: address("token_endpoint")?,
        keys: address("jwks_uri")?,
        userinfo,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_is_of_the_provider_that_was_asked_and_leads_nowhere_in_the_clear() {
        let good = json!({
            "issuer": "https://id.example", "authorization_endpoint": "https://id.example/auth",
            "token_endpoint": "https://id.example/token", "jwks_uri": "https://keys.example/jwks",
        });
        let read = |change: Value| {
            let mut said = good.as_object().unwrap().clone();
            said.extend(change.as_object().unwrap().clone());
            read_document("https://id.example", &said)
        };
        assert!(read(json!({})).unwrap().userinfo.is_none());
        for wrong in [
            json!({ "issuer": "https://id.example/" }),
            json!({ "issuer": "https://evil.example" }),
            json!({ "issuer": null }),
            json!({ "token_endpoint": "http://id.example/token" }),
            json!({ "jwks_uri": null }),
            json!({ "authorization_endpoint": "javascript:alert(1)" }),
            json!({ "userinfo_endpoint": "http://id.example/me" }),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
