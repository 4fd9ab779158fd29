//! Others who know who somebody is: OIDC and OAuth2 providers, directories, proxies; several at once.
//!
//! Each of them ends in a [`Profile`](profile::Profile): a stable identity that nobody can choose, and labels. [`admit`]
//! makes a user of it. Start reading at `handlers`; what is decided is in pure functions beside: `back`, `flow`,
//! `oidc::token`, `proxy`, `url`. `config` is what an operator writes.

mod admit;
mod back;
mod code;
mod config;
mod development;
mod fetch;
mod flow;
mod handlers;
mod ldap;
mod oauth2;
mod oidc;
mod profile;
mod proxy;
mod secret;
mod url;

use std::{fmt, io, path::Path, sync::Arc};

use schemars::JsonSchema;
use serde::Serialize;

pub use config::ProviderError;
pub(super) use development::{DevelopmentLogin, development};
pub(super) use handlers::{BackQuery, CallbackQuery, LoginProviders, begin, callback, list, login};
pub(super) use proxy::vouched;

use self::{code::CodeProvider, ldap::Ldap, proxy::Proxy};

/// Those who are asked who somebody is.
#[derive(Clone, Default)]
pub struct Providers(Arc<[Provider]>);

impl fmt::Debug for Providers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.0.iter().map(|provider| &provider.id)).finish()
    }
}

impl Providers {
    /// Those that a file names. Files with secrets are looked for beside it, unless their paths begin at the root.
    pub fn load(file: &Path) -> Result<Self, ProviderError> {
        let text = std::fs::read_to_string(file)
            .map_err(|source| ProviderError::File { path: file.to_owned(), source })?;
        let folder = file.parent().unwrap_or_else(|| Path::new("."));
        Self::parse(&text, &|path| std::fs::read_to_string(folder.join(path)))
    }

    /// Those that a text in YAML names; `read` reads the files that it refers to.
    pub fn parse(text: &str, read: &dyn Fn(&Path) -> io::Result<String>) -> Result<Self, ProviderError> {
        config::parse(text, read).map(|all| Self(all.into()))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Headers by which proxies tell the portal who somebody is, and that they may.
    pub(crate) fn headers(&self) -> Vec<http::HeaderName> {
        let proxies = self.iter().filter_map(|provider| match &provider.way {
            Way::Proxy(proxy) => Some(proxy.headers()),
            Way::Code(_) | Way::Ldap(_) => None,
        });
        proxies.flatten().collect()
    }

    fn iter(&self) -> impl Iterator<Item = &Provider> {
        self.0.iter()
    }

    fn get(&self, id: &str) -> Option<&Provider> {
        self.iter().find(|provider| provider.id == id)
    }
}

/// One of them.
struct Provider {
    /// In addresses.
    id: String,
    /// For people.
    title: String,
    admission: Admission,
    way: Way,
}

/// How one asks it.
enum Way {
    /// By sending browsers there: OIDC and OAuth2.
    Code(Box<CodeProvider>),
    Ldap(Box<Ldap>),
    Proxy(Box<Proxy>),
}

/// What becomes of those it knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Admission {
    /// Members of these administer the platform, others do not; none says nothing.
    admin_groups: Vec<String>,
    /// Names are given by who runs the provider, not chosen by those who have them.
    trust_names: bool,
}

/// What kind of provider it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProviderKind {
    /// Browsers go there.
    Oidc,
    /// Browsers go there.
    Oauth2,
    /// Takes name and password.
    Ldap,
}

impl Way {
    /// None for what people do not choose.
    fn kind(&self) -> Option<ProviderKind> {
        match self {
            Self::Code(code) => Some(code.kind()),
            Self::Ldap(_) => Some(ProviderKind::Ldap),
            Self::Proxy(_) => None,
        }
    }
}
