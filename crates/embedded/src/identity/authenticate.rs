//! The user of a request: from a transport that knows, a client certificate or a bearer token; then, if the
//! request says so and the user may, somebody else.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, HeaderName};

use super::policy::MASTERS;
use super::rbac::Ask;
use super::transport::Peer;
use crate::server::{Caller, Server, UserInfo};
use crate::status::ApiError;

const AUTHENTICATED: &str = "system:authenticated";
const AUTHENTICATION_GROUP: &str = "authentication.k8s.io";

/// How browsers, which cannot set headers on a WebSocket, send a token.
const BEARER_PROTOCOL: &str = "base64url.bearer.authorization.k8s.io.";

const IMPERSONATE_USER: HeaderName = HeaderName::from_static("impersonate-user");
const IMPERSONATE_GROUP: HeaderName = HeaderName::from_static("impersonate-group");
const IMPERSONATE_UID: HeaderName = HeaderName::from_static("impersonate-uid");
const IMPERSONATE_EXTRA: &str = "impersonate-extra-";

/// Put into a request's extensions by a transport that already knows the user: the in-process client.
#[derive(Clone, Debug)]
pub(crate) struct Trusted(pub(crate) UserInfo);

impl Server {
    /// The user of a request.
    pub(crate) fn authenticate(&self, parts: &Parts) -> Result<Caller, ApiError> {
        let mut user = self.own_user(parts)?;
        add_group(&mut user, AUTHENTICATED);
        if let Some(wanted) = impersonated(&parts.headers)? {
            user = self.impersonate(&user, wanted)?;
        }
        let agent = parts.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
        let manager = agent.and_then(|agent| agent.split('/').next()).unwrap_or("unknown");
        Ok(Caller { user, manager: manager.to_owned() })
    }

    fn own_user(&self, parts: &Parts) -> Result<UserInfo, ApiError> {
        if let Some(Trusted(user)) = parts.extensions.get() {
            return Ok(user.clone());
        }
        // A certificate that says nothing here does not stand in the way of a token.
        if let Some(Peer::User(user)) = parts.extensions.get() {
            return Ok(user.clone());
        }
        let token = bearer(&parts.headers).ok_or_else(ApiError::unauthorized)?;
        self.user_of_token(&token)
    }

    /// The user a token stands for at the API server itself.
    fn user_of_token(&self, token: &str) -> Result<UserInfo, ApiError> {
        let admin = self.identity.pki.admin_token().map_err(ApiError::internal)?;
        if same_secret(token, admin) {
            return Ok(UserInfo {
                username: "kubernetes-admin".into(),
                groups: vec![MASTERS.into()],
                ..UserInfo::default()
            });
        }
        self.verify_token(token, &[]).map(|verified| verified.user).map_err(|error| {
            tracing::debug!(%error, "a bearer token was refused");
            ApiError::unauthorized()
        })
    }

    fn impersonate(&self, user: &UserInfo, mut wanted: UserInfo) -> Result<UserInfo, ApiError> {
        let service_account = service_account(&wanted.username);
        match service_account {
            Some((namespace, name)) => {
                self.may(user, &Ask::object("impersonate", "", "serviceaccounts", namespace, name))?;
            }
            None => self.may(user, &Ask::object("impersonate", "", "users", "", &wanted.username))?,
        }
        for group in &wanted.groups {
            self.may(user, &Ask::object("impersonate", "", "groups", "", group))?;
        }
        if !wanted.uid.is_empty() {
            self.may(user, &Ask::object("impersonate", AUTHENTICATION_GROUP, "uids", "", &wanted.uid))?;
        }
        for (key, values) in &wanted.extra {
            for value in values {
                self.may(
                    user,
                    &Ask::Resource {
                        verb: "impersonate",
                        group: AUTHENTICATION_GROUP,
                        resource: "userextras",
                        subresource: key,
                        namespace: "",
                        name: value,
                    },
                )?;
            }
        }
        if let Some((namespace, _)) = service_account
            && wanted.groups.is_empty()
        {
            wanted.groups = service_account_groups(namespace);
        }
        if wanted.username != "system:anonymous" {
            add_group(&mut wanted, AUTHENTICATED);
        }
        Ok(wanted)
    }
}

/// The groups of every service account of a namespace.
pub(super) fn service_account_groups(namespace: &str) -> Vec<String> {
    vec!["system:serviceaccounts".into(), format!("system:serviceaccounts:{namespace}")]
}

fn service_account(username: &str) -> Option<(&str, &str)> {
    username.strip_prefix("system:serviceaccount:")?.split_once(':')
}

fn add_group(user: &mut UserInfo, group: &str) {
    if !user.groups.iter().any(|own| own == group) {
        user.groups.push(group.to_owned());
    }
}

/// Takes as long for a near miss as for a far one.
fn same_secret(one: &str, other: &str) -> bool {
    let differences = one.bytes().zip(other.bytes()).fold(0, |sum, (one, other)| sum | (one ^ other));
    one.len() == other.len() && differences == 0
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    if let Some(value) = headers.get(AUTHORIZATION) {
        let (scheme, token) = value.to_str().ok()?.trim().split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned());
    }
    let protocols = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    let encoded = protocols
        .flat_map(|list| list.split(','))
        .find_map(|protocol| protocol.trim().strip_prefix(BEARER_PROTOCOL))?;
    String::from_utf8(URL_SAFE_NO_PAD.decode(encoded).ok()?).ok()
}

/// Whom the request wants to act as.
fn impersonated(headers: &HeaderMap) -> Result<Option<UserInfo>, ApiError> {
    let texts = |name: &HeaderName| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    let username = texts(&IMPERSONATE_USER).into_iter().next().unwrap_or_default();
    let groups = texts(&IMPERSONATE_GROUP);
    let uid = texts(&IMPERSONATE_UID).into_iter().next().unwrap_or_default();
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in headers.keys() {
        if let Some(key) = name.as_str().strip_prefix(IMPERSONATE_EXTRA) {
            extra.insert(crate::request::decode(key).into_owned(), texts(name));
        }
    }
    if username.is_empty() {
        if groups.is_empty() && uid.is_empty() && extra.is_empty() {
            return Ok(None);
        }
        return Err(ApiError::bad_request(
            "requested groups, uid or extra without impersonating a user: Impersonate-User is missing",
        ));
    }
    Ok(Some(UserInfo { username, uid, groups, extra }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn tokens_come_in_a_header_or_as_a_websocket_protocol() {
        assert_eq!(bearer(&headers(&[("authorization", "Bearer abc")])).as_deref(), Some("abc"));
        assert_eq!(bearer(&headers(&[("authorization", "bearer abc")])).as_deref(), Some("abc"));
        assert_eq!(bearer(&headers(&[("authorization", "Basic abc")])), None);
        let protocols = "v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.YWJj";
        assert_eq!(bearer(&headers(&[("sec-websocket-protocol", protocols)])).as_deref(), Some("abc"));
        assert_eq!(bearer(&headers(&[])), None);
    }

    #[test]
    fn impersonation_needs_a_user() {
        assert_eq!(impersonated(&headers(&[])), Ok(None));
        assert!(impersonated(&headers(&[("impersonate-group", "g")])).is_err());
        let wanted = impersonated(&headers(&[
            ("impersonate-user", "jane"),
            ("impersonate-group", "one"),
            ("impersonate-group", "two"),
            ("impersonate-extra-example.com%2fscope", "view"),
        ]));
        let wanted = wanted.unwrap().unwrap();
        assert_eq!(wanted.groups, ["one", "two"]);
        assert_eq!(wanted.extra["example.com/scope"], ["view"]);
    }

    #[test]
    fn secrets_are_equal_only_when_whole() {
        assert!(same_secret("abc", "abc"));
        assert!(!same_secret("abc", "abd"));
        assert!(!same_secret("ab", "abc"));
        assert!(!same_secret("", "abc"));
    }
}
