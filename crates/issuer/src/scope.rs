//! What a client may ask for.

use serde_json::{Map, Value, json};

use maar_records::User;

pub(crate) const OPENID: &str = "openid";
pub(crate) const PROFILE: &str = "profile";
pub(crate) const EMAIL: &str = "email";
pub(crate) const GROUPS: &str = "groups";
/// A refresh token.
pub(crate) const OFFLINE: &str = "offline_access";
/// A key for the API of the host in place of an access token.
pub(crate) const API: &str = "maar";
/// How scopes begin that tie a grant to a kubeconfig, so that it ends with it.
pub const DEVICE_PREFIX: &str = "kubeconfig:";

/// What every client may ask for.
pub(crate) const USUAL: [&str; 5] = [OPENID, PROFILE, EMAIL, GROUPS, OFFLINE];

/// Those of the scopes that are asked for that a client may have, each once. Others are passed over (OpenID Connect Core,
/// 3.1.2.1).
pub(crate) fn granted(asked: Option<&str>, may: impl Fn(&str) -> bool) -> Vec<String> {
    let mut scopes: Vec<String> = Vec::new();
    for word in asked.unwrap_or_default().split(' ').filter(|word| !word.is_empty() && may(word)) {
        if !scopes.iter().any(|scope| scope == word) {
            scopes.push(word.to_owned());
        }
    }
    scopes
}

/// What these scopes tell of a user.
pub(crate) fn claims(
    scopes: &[String],
    user: &User,
    groups: impl FnOnce() -> Vec<String>,
) -> Map<String, Value> {
    let has = |scope: &str| scopes.iter().any(|one| one == scope);
    let mut claims = Map::new();
    claims.insert("sub".to_owned(), json!(user.id.as_str()));
    if has(PROFILE) {
        claims.insert("name".to_owned(), json!(user.display_name));
        claims.insert("preferred_username".to_owned(), json!(user.name));
    }
    if has(EMAIL)
        && let Some(email) = &user.email
    {
        claims.insert("email".to_owned(), json!(email));
        // Nobody here has sent anything there to see who answers.
        claims.insert("email_verified".to_owned(), json!(false));
    }
    if has(GROUPS) {
        claims.insert("groups".to_owned(), json!(groups()));
    }
    claims
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_what_it_may_have_of_what_it_asks() {
        let may = |word: &str| USUAL.contains(&word);
        assert_eq!(granted(Some("openid groups admin openid  email"), may), ["openid", "groups", "email"]);
        assert!(granted(None, may).is_empty());
    }
}
