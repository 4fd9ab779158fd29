//! Directories: the entry of a name is found, and whoever can bind as it is it.

use std::{fmt, panic::AssertUnwindSafe, path::PathBuf, sync::Arc, time::Duration};

use futures::FutureExt as _;
use kube::{Config, client::ConfigExt as _};
use ldap3::{
    Ldap as Connection, LdapConnAsync, LdapConnSettings, LdapError, Scope, SearchEntry, SearchOptions,
    ldap_escape,
};
use maar_records::Identity;
use serde::Deserialize;
use tokio::time::timeout;

use super::{
    Admission,
    profile::Profile,
    secret::{Files, Secret},
    url::is_loopback,
};
use crate::{
    error::ApiError,
    identity::{login::Refusal, token::hex},
    rules::Wrong,
};

/// How long one step may take, and all of them.
const STEP: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(15);
/// What stands for what was typed, and for the entry that was found.
const NAME: &str = "{name}";
const DN: &str = "{dn}";
/// Results by number (RFC 4511).
const INVALID_CREDENTIALS: u32 = 49;
const SIZE_LIMIT: u32 = 4;
/// So many groups are read.
const MOST_GROUPS: i32 = 1000;

/// What an operator writes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct LdapConfig {
    pub(super) id: String,
    pub(super) title: Option<String>,
    url: String,
    #[serde(default)]
    start_tls: bool,
    ca_file: Option<PathBuf>,
    bind_dn: Option<String>,
    bind_password_file: Option<PathBuf>,
    base_dn: String,
    #[serde(default = "usual_filter")]
    filter: String,
    #[serde(default = "usual_subject")]
    subject_attribute: String,
    #[serde(default = "usual_name")]
    name_attribute: String,
    #[serde(default = "usual_display_name")]
    display_name_attribute: String,
    #[serde(default = "usual_email")]
    email_attribute: String,
    groups: Option<GroupsConfig>,
    #[serde(default)]
    admin_groups: Vec<String>,
    #[serde(default)]
    trust_names: bool,
}

/// Where groups are.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GroupsConfig {
    base_dn: String,
    filter: String,
    attribute: String,
}

fn usual_filter() -> String {
    "(uid={name})".to_owned()
}

fn usual_subject() -> String {
    "entryUUID".to_owned()
}

fn usual_name() -> String {
    "uid".to_owned()
}

fn usual_display_name() -> String {
    "cn".to_owned()
}

fn usual_email() -> String {
    "mail".to_owned()
}

/// A directory.
pub(super) struct Ldap {
    provider: String,
    url: String,
    settings: LdapConnSettings,
    service: Option<(String, Secret)>,
    base: String,
    filter: String,
    subject: String,
    name: String,
    display_name: String,
    email: String,
    groups: Option<GroupsConfig>,
}

impl fmt::Debug for Ldap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Ldap").field("url", &self.url).finish_non_exhaustive()
    }
}

impl LdapConfig {
    pub(super) fn build(self, files: &Files<'_>) -> Result<(Admission, Ldap), Wrong> {
        check_url(&self.url, self.start_tls)?;
        check_filter("filter", &self.filter, NAME)?;
        if let Some(groups) = &self.groups {
            check_filter("groups.filter", &groups.filter, DN)?;
        }
        let service = match (&self.bind_dn, &self.bind_password_file) {
            (Some(dn), Some(file)) => Some((dn.clone(), files.secret("bindPasswordFile", file)?)),
            (None, None) => None,
            // A bind without a password is anonymous, whatever name it gives.
            _ => return Err(Wrong::new("bindDn", "needs bindPasswordFile, and the other way round")),
        };
        let roots = files.roots(self.ca_file.as_ref())?;
        let admission = Admission { admin_groups: self.admin_groups, trust_names: self.trust_names };
        let ldap = Ldap {
            provider: format!("ldap:{}", self.id),
            settings: settings(roots, self.start_tls)?,
            url: self.url,
            service,
            base: self.base_dn,
            filter: self.filter,
            subject: self.subject_attribute,
            name: self.name_attribute,
            display_name: self.display_name_attribute,
            email: self.email_attribute,
            groups: self.groups,
        };
        Ok((admission, ldap))
    }
}

fn settings(roots: Option<Vec<Vec<u8>>>, start_tls: bool) -> Result<LdapConnSettings, Wrong> {
    // Certificates are checked as for every other server that is talked to.
    let mut config = Config::new(http::Uri::from_static("https://localhost"));
    config.root_cert = roots;
    let config = config.rustls_client_config().map_err(|error| Wrong::new("caFile", error.to_string()))?;
    Ok(LdapConnSettings::new().set_conn_timeout(STEP).set_starttls(start_tls).set_config(Arc::new(config)))
}

/// Passwords go over it, so it is encrypted unless it stays on this machine.
fn check_url(url: &str, start_tls: bool) -> Result<(), Wrong> {
    let wrong = |why: &str| Err(Wrong::new("url", format!("{url:?} {why}")));
    let Some((scheme, rest)) = url.split_once("://") else {
        return wrong("is no URL such as ldaps://directory.example");
    };
    let host = rest.strip_suffix('/').unwrap_or(rest);
    if host.is_empty() || host.contains(['/', '@', '?', '#']) {
        return wrong("is no URL such as ldaps://directory.example");
    }
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|one| one.is_ascii_digit()) => name,
        _ => host,
    };
    match (scheme, start_tls) {
        ("ldaps", false) | ("ldap", true) => Ok(()),
        ("ldaps", true) => {
            Err(Wrong::new("startTls", "is for ldap://; ldaps:// is encrypted from the start"))
        }
        ("ldap", false) if is_loopback(name) => Ok(()),
        ("ldap", false) => wrong("must be ldaps, or have startTls, unless it is on this machine"),
        _ => wrong("is neither ldap:// nor ldaps://"),
    }
}

fn check_filter(field: &str, filter: &str, place: &str) -> Result<(), Wrong> {
    let tried = filter.replace(place, "x");
    if !filter.contains(place) || ldap3::parse_filter(&tried).is_err() {
        return Err(Wrong::new(
            field,
            format!("{filter:?} is no filter with {place} in it, such as (uid={place})"),
        ));
    }
    Ok(())
}

/// A filter with a text in its place, which stays a text whatever signs are in it.
fn filled(filter: &str, place: &str, text: &str) -> String {
    filter.replace(place, &ldap_escape(text))
}

impl Ldap {
    /// Who it is that has this name and password.
    pub(super) async fn check(&self, name: &str, password: &str) -> Result<Profile, Refusal> {
        // A bind with an empty password succeeds as nobody, on every directory.
        if password.is_empty() {
            return Err(Refusal::wrong("the password is empty"));
        }
        if name.is_empty() || name.chars().count() > 256 {
            return Err(Refusal::wrong("nobody has such a name"));
        }
        // The library panics on answers that are no LDAP. A directory that sends such does not answer, and no more.
        let asked = AssertUnwindSafe(self.ask(name, password)).catch_unwind();
        match timeout(PATIENCE, asked).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(_)) => Err(unavailable("what it answers is no LDAP")),
            Err(_) => Err(unavailable("no answer in time")),
        }
    }

    async fn ask(&self, name: &str, password: &str) -> Result<Profile, Refusal> {
        let (connection, mut ldap) =
            LdapConnAsync::with_settings(self.settings.clone(), &self.url).await.map_err(failed)?;
        ldap3::drive!(connection);
        let asked = self.ask_over(&mut ldap, name, password).await;
        // However that ends: nothing more is asked.
        let _ = ldap.unbind().await;
        asked
    }

    async fn ask_over(&self, ldap: &mut Connection, name: &str, password: &str) -> Result<Profile, Refusal> {
        self.bind_service(ldap).await?;
        let entry = self.find(ldap, name).await?;
        let bound = ldap.with_timeout(STEP).simple_bind(&entry.dn, password).await.map_err(failed)?;
        match bound.rc {
            0 => {}
            INVALID_CREDENTIALS => return Err(Refusal::wrong("the directory does not take the password")),
            _ => return Err(failed(LdapError::from(bound))),
        }
        let mut profile = self.profile(&entry)?;
        if let Some(groups) = &self.groups {
            // Not as the user, who may not be allowed to see all of them.
            self.bind_service(ldap).await?;
            profile.groups = read_groups(ldap, groups, &entry.dn).await?;
        }
        Ok(profile)
    }

    async fn bind_service(&self, ldap: &mut Connection) -> Result<(), Refusal> {
        let (dn, password) = self.service.as_ref().map_or(("", ""), |(dn, secret)| (dn, secret.reveal()));
        let bound = ldap.with_timeout(STEP).simple_bind(dn, password).await.map_err(failed)?;
        bound.success().map(|_| ()).map_err(failed)
    }

    /// The one entry of a name.
    async fn find(&self, ldap: &mut Connection, name: &str) -> Result<SearchEntry, Refusal> {
        let filter = filled(&self.filter, NAME, name);
        let wanted = [&self.subject, &self.name, &self.display_name, &self.email].map(String::as_str);
        let options = SearchOptions::new().sizelimit(2).timelimit(5);
        let ldap = ldap.with_search_options(options).with_timeout(STEP);
        let found = ldap.search(&self.base, Scope::Subtree, &filter, wanted).await.map_err(failed)?;
        if found.1.rc != SIZE_LIMIT && found.1.rc != 0 {
            return Err(failed(LdapError::from(found.1)));
        }
        // References to other directories are no entries.
        let mut entries = found.0.into_iter().filter(|entry| !entry.is_ref() && !entry.is_intermediate());
        match (entries.next(), entries.next()) {
            (None, _) => Err(Refusal::wrong("the directory has no such entry")),
            (Some(entry), None) if found.1.rc == 0 => Ok(SearchEntry::construct(entry)),
            _ => Err(Refusal::wrong("the directory has several such entries")),
        }
    }

    fn profile(&self, entry: &SearchEntry) -> Result<Profile, Refusal> {
        let subject = subject(entry, &self.subject);
        let subject =
            subject.ok_or_else(|| Refusal::refused(format!("the entry has not one {}", self.subject)))?;
        let first = |name: &str| values(entry, name).and_then(|all| all.first()).cloned();
        Ok(Profile {
            name: first(&self.name),
            display_name: first(&self.display_name),
            email: first(&self.email),
            ..Profile::of(Identity::new(&self.provider, subject))
        })
    }
}

async fn read_groups(
    ldap: &mut Connection,
    groups: &GroupsConfig,
    dn: &str,
) -> Result<std::collections::BTreeSet<String>, Refusal> {
    let filter = filled(&groups.filter, DN, dn);
    let options = SearchOptions::new().sizelimit(MOST_GROUPS).timelimit(5);
    let ldap = ldap.with_search_options(options).with_timeout(STEP);
    let found = ldap.search(&groups.base_dn, Scope::Subtree, &filter, [groups.attribute.as_str()]).await;
    let (found, _) = found.and_then(ldap3::SearchResult::success).map_err(failed)?;
    let entries = found.into_iter().filter(|entry| !entry.is_ref() && !entry.is_intermediate());
    let named =
        entries.map(SearchEntry::construct).filter_map(|entry| values(&entry, &groups.attribute).cloned());
    Ok(named.flatten().collect())
}

/// The values of an attribute, however its name is written.
fn values<'a>(entry: &'a SearchEntry, name: &str) -> Option<&'a Vec<String>> {
    entry.attrs.iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, values)| values)
}

/// What an entry is known by: the one value of an attribute, or where it is.
fn subject(entry: &SearchEntry, attribute: &str) -> Option<String> {
    if attribute.eq_ignore_ascii_case("dn") {
        return Some(entry.dn.clone());
    }
    // These are bytes, which now and then look like text.
    if attribute.eq_ignore_ascii_case("objectGUID") || attribute.eq_ignore_ascii_case("objectSid") {
        let same = |found: &String| found.eq_ignore_ascii_case(attribute);
        let bytes = entry.bin_attrs.iter().find(|(found, _)| same(found)).map(|(_, values)| values.clone());
        let text =
            || values(entry, attribute).map(|all| all.iter().map(|one| one.clone().into_bytes()).collect());
        return bytes.or_else(text).filter(|all| all.len() == 1).map(|all| hex(&all[0]));
    }
    values(entry, attribute).filter(|all| all.len() == 1 && !all[0].is_empty()).map(|all| all[0].clone())
}

fn failed(error: LdapError) -> Refusal {
    let why = format!("the directory: {error}");
    Refusal { told: ApiError::unavailable("the directory", error), why }
}

fn unavailable(why: &str) -> Refusal {
    Refusal {
        told: ApiError::unavailable("the directory", why.to_owned()),
        why: format!("the directory: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn passwords_go_over_what_is_encrypted_or_stays_here() {
        for (url, start_tls) in [
            ("ldaps://directory.example", false),
            ("ldaps://directory.example:6360/", false),
            ("ldap://directory.example", true),
            ("ldap://127.0.0.1:3890", false),
            ("ldap://localhost", false),
        ] {
            assert_eq!(check_url(url, start_tls), Ok(()), "{url}");
        }
        for (url, start_tls, field) in [
            ("ldap://directory.example", false, "url"),
            ("ldap://localhost.evil.example", false, "url"),
            ("ldap://127.0.0.1@evil.example", false, "url"),
            ("ldaps://directory.example", true, "startTls"),
            ("ldapi:///run/slapd", false, "url"),
            ("http://directory.example", false, "url"),
            ("directory.example", false, "url"),
            ("ldaps://", false, "url"),
            ("ldaps://directory.example/dc=x??sub", false, "url"),
        ] {
            assert_eq!(check_url(url, start_tls).unwrap_err().field, field, "{url}");
        }
    }

    #[test]
    fn filters_have_a_place_for_the_name() {
        assert_eq!(
            check_filter("filter", "(&(objectClass=person)(|(uid={name})(mail={name})))", NAME),
            Ok(())
        );
        for wrong in ["", "uid={name", "(uid=ada)", "(&(uid={name})", "({name})("] {
            assert!(check_filter("filter", wrong, NAME).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_entry_is_known_by_one_value() {
        let texts = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        let entry = SearchEntry {
            dn: "uid=ada,dc=x".to_owned(),
            attrs: HashMap::from([
                ("entryUUID".to_owned(), texts(&["1-2"])),
                ("many".to_owned(), texts(&["a", "b"])),
                ("objectSid".to_owned(), texts(&["ab"])),
            ]),
            bin_attrs: HashMap::from([("objectGUID".to_owned(), vec![vec![255, 0]])]),
        };
        assert_eq!(subject(&entry, "entryuuid").as_deref(), Some("1-2"));
        assert_eq!(subject(&entry, "dn").as_deref(), Some("uid=ada,dc=x"));
        assert_eq!(subject(&entry, "objectGUID").as_deref(), Some("ff00"));
        assert_eq!(subject(&entry, "objectSid").as_deref(), Some("6162"));
        assert_eq!(subject(&entry, "many"), None);
        assert_eq!(subject(&entry, "none"), None);
    }

    proptest! {
        /// Whatever is typed, it is one value and nothing of the filter's own.
        #[test]
        fn names_do_not_change_a_filter(name in "(\\PC|[()*\\\\\\x00|&!=]){0,24}") {
            let filter = filled("(&(objectClass=person)(uid={name}))", NAME, &name);
            let value = filter.strip_prefix("(&(objectClass=person)(uid=").and_then(|rest| rest.strip_suffix("))"));
            let value = value.expect("the frame stays");
            prop_assert!(!value.contains(['(', ')', '*', '\0']), "{value}");
            prop_assert_eq!(ldap3::ldap_unescape(value).unwrap(), name.as_str());
            prop_assert!(name.is_empty() || ldap3::parse_filter(&filter).is_ok(), "{filter}");
        }
    }
}
