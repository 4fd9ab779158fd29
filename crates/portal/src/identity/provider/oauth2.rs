//! OAuth2 providers that are no OIDC providers: who it is says their userinfo.

use std::path::PathBuf;

use http::Uri;
use maar_records::Identity;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    Admission,
    code::{ClientAuthentication, CodeClient, Returned},
    fetch::Fetcher,
    flow::Flow,
    profile::{Fields, Profile, at, text},
    secret::Files,
    url,
};
use crate::{identity::login::Refusal, rules::Wrong};

/// What an operator writes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OAuth2Config {
    pub(super) id: String,
    pub(super) title: Option<String>,
    authorize_url: String,
    token_url: String,
    userinfo_url: String,
    client_id: String,
    client_secret_file: Option<PathBuf>,
    #[serde(default)]
    client_authentication: ClientAuthentication,
    #[serde(default)]
    scopes: Vec<String>,
    /// Must never change and never be given to another: no default fits all.
    subject_field: String,
    name_field: String,
    #[serde(default = "usual_display_name")]
    display_name_field: String,
    #[serde(default = "usual_email")]
    email_field: String,
    #[serde(default = "usual_groups")]
    groups_field: String,
    #[serde(default)]
    admin_groups: Vec<String>,
    #[serde(default)]
    trust_names: bool,
    ca_file: Option<PathBuf>,
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
pub(super) struct OAuth2 {
    provider: String,
    authorize: String,
    token: Uri,
    userinfo: Uri,
    client: CodeClient,
    scope: String,
    subject: String,
    fields: Fields,
    fetcher: Fetcher,
}

impl OAuth2Config {
    pub(super) fn build(self, files: &Files<'_>) -> Result<(Admission, OAuth2), Wrong> {
        url::check("authorizeUrl", &self.authorize_url)?;
        let client = CodeClient::new(
            self.client_id,
            self.client_secret_file.as_ref(),
            self.client_authentication,
            files,
        )?;
        let admission = Admission { admin_groups: self.admin_groups, trust_names: self.trust_names };
        let fields = Fields {
            name: self.name_field,
            display_name: self.display_name_field,
            email: self.email_field,
            groups: self.groups_field,
        };
        let oauth2 = OAuth2 {
            provider: format!("oauth2:{}", self.id),
            token: url::check("tokenUrl", &self.token_url)?,
            userinfo: url::check("userinfoUrl", &self.userinfo_url)?,
            authorize: self.authorize_url,
            client,
            scope: self.scopes.join(" "),
            subject: self.subject_field,
            fields,
            fetcher: Fetcher::new(files.roots(self.ca_file.as_ref())?),
        };
        Ok((admission, oauth2))
    }
}

impl OAuth2 {
    pub(super) fn authorize(&self, flow: &Flow, redirect: &str) -> String {
        let (state, challenge) = (flow.state(), flow.challenge());
        url::with_query(&self.authorize, &self.client.question(redirect, &self.scope, &state, &challenge))
    }

    pub(super) async fn finish(&self, flow: &Flow, returned: &Returned<'_>) -> Result<Profile, Refusal> {
        let tokens = self.client.exchange(&self.fetcher, &self.token, flow, returned).await?;
        let said: Map<String, Value> = self.fetcher.get(&self.userinfo, Some(tokens.bearer()?)).await?;
        let subject = at(&said, &self.subject).and_then(text);
        let subject =
            subject.ok_or_else(|| Refusal::refused(format!("the userinfo has no {}", self.subject)))?;
        Ok(self.fields.profile(Identity::new(&self.provider, subject), &said))
    }
}
