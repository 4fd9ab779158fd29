//! From what a provider says of somebody to a user of ours.
//!
//! The identity decides, and nothing else: names and addresses can be chosen, so two people with one name are two users,
//! and one who takes the name of another gets one of his own.

use maar_records::{NewUser, User, UserChange, UserId};
use sha2::{Digest as _, Sha256};

use super::{Admission, profile::Profile};
use crate::{
    access::AccountRole,
    identity::{
        login::Refusal,
        token::{hex, identifier},
    },
    portal::Portal,
};

/// The longest name of a user that still has room for what tells him from others.
const LONGEST: usize = 46;

/// The user of a profile; a new one if he comes for the first time.
pub(super) async fn admit(
    portal: &Portal,
    profile: &Profile,
    admission: &Admission,
) -> Result<User, Refusal> {
    let identity = &profile.identity;
    if let Some(user) = portal.records.user_by_identity(&identity.provider, &identity.subject).await? {
        return refresh(portal, user, profile, admission).await;
    }
    create(portal, profile, admission).await
}

async fn create(portal: &Portal, profile: &Profile, admission: &Admission) -> Result<User, Refusal> {
    let identity = &profile.identity;
    let taken = |name: &str| !admission.trust_names && means_somebody(portal, name);
    for name in names(profile.name.as_deref(), &identity.provider, &identity.subject) {
        if taken(&name) {
            continue;
        }
        let id = UserId::new(identifier(&portal.entropy, "u")?);
        let user = NewUser {
            display_name: profile.shown_name().unwrap_or_else(|| name.clone()),
            email: profile.shown_email(),
            admin: administers(profile, admission).unwrap_or(false),
            identity: Some(identity.clone()),
            ..NewUser::named(id, &name)
        };
        match portal.records.create_user(&user, portal.clock.now()).await {
            Ok(user) => return Ok(user),
            Err(maar_records::Error::Conflict { .. }) => {}
            Err(other) => return Err(other.into()),
        }
        // Either the name is taken, or he has come in at another door in this moment.
        if let Some(user) = portal.records.user_by_identity(&identity.provider, &identity.subject).await? {
            return Ok(user);
        }
    }
    Err(Refusal::refused("no name is left for this user"))
}

/// Accounts, profiles and limits list people by name, also before they have ever signed in. A name to which something is
/// given there is not for the first who chooses it.
fn means_somebody(portal: &Portal, name: &str) -> bool {
    let settings = &portal.settings;
    portal.live.roles(name).values().any(|role| *role > AccountRole::Guest)
        || settings.profiles.lists(name)
        || settings.special_limits.users.contains_key(name)
}

/// Brings up to date what the provider decides.
async fn refresh(
    portal: &Portal,
    user: User,
    profile: &Profile,
    admission: &Admission,
) -> Result<User, Refusal> {
    let now = portal.clock.now();
    if !user.is_active(now) {
        return Ok(user);
    }
    let mut user = user;
    let display_name = profile.shown_name().filter(|shown| *shown != user.display_name);
    let email = profile.shown_email().filter(|email| user.email.as_ref() != Some(email));
    if display_name.is_some() || email.is_some() {
        let change = UserChange { display_name, email: email.map(Some) };
        user = portal.records.update_user(&user.id, &change, now).await?;
    }
    match administers(profile, admission) {
        Some(admin) if admin != user.admin => Ok(portal.records.set_admin(&user.id, admin, now).await?),
        _ => Ok(user),
    }
}

/// Whether he administers the platform, where the provider decides it.
fn administers(profile: &Profile, admission: &Admission) -> Option<bool> {
    let groups = &admission.admin_groups;
    (!groups.is_empty()).then(|| groups.iter().any(|group| profile.groups.contains(group)))
}

/// Names for a new user, the nicest first: what the provider calls him as far as it can be one, then the same with a
/// part of the hash of his identity.
fn names(wanted: Option<&str>, provider: &str, subject: &str) -> Vec<String> {
    let hash = hex(&Sha256::digest(format!("{provider}\n{subject}").as_bytes()));
    let plain = plain(wanted.unwrap_or_default());
    let base = if plain.is_empty() { "user".to_owned() } else { plain.clone() };
    let told_apart = [6, 16].map(|length| format!("{base}-{}", &hash[..length]));
    Some(plain).filter(|plain| !plain.is_empty()).into_iter().chain(told_apart).collect()
}

/// What is left of a text as the name of a user.
fn plain(text: &str) -> String {
    let mut name = String::new();
    for one in text.to_lowercase().chars() {
        match one {
            'a'..='z' | '0'..='9' => name.push(one),
            '.' | '_' if !name.is_empty() => name.push(one),
            _ if !name.is_empty() && !name.ends_with('-') => name.push('-'),
            _ => {}
        }
        if name.len() == LONGEST {
            break;
        }
    }
    name.trim_end_matches(['.', '_', '-']).to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use maar_records::Identity;
    use proptest::prelude::*;

    use super::*;
    use crate::identity::users::check_name;

    #[test]
    fn names_are_nice_where_they_can_be() {
        let first = |wanted: &str| names(Some(wanted), "corp", "1").remove(0);
        assert_eq!(first("ada"), "ada");
        assert_eq!(first("Ada.Lovelace"), "ada.lovelace");
        assert_eq!(first("ada@corp.example"), "ada-corp.example");
        assert_eq!(first("CORP\\Ada  L."), "corp-ada-l");
        assert!(first("李雷").starts_with("user-"));
        assert_eq!(names(None, "corp", "1").len(), 2);
        let [one, other] = ["1", "2"].map(|subject| names(Some("ada"), "corp", subject)[1].clone());
        assert_ne!(one, other);
    }

    #[test]
    fn groups_decide_only_where_it_is_said() {
        let mut profile = Profile::of(Identity::new("corp", "1"));
        profile.groups = BTreeSet::from(["staff".to_owned()]);
        let admission = |groups: &[&str]| Admission {
            admin_groups: groups.iter().map(ToString::to_string).collect(),
            trust_names: false,
        };
        assert_eq!(administers(&profile, &admission(&[])), None);
        assert_eq!(administers(&profile, &admission(&["root", "staff"])), Some(true));
        assert_eq!(administers(&profile, &admission(&["Staff"])), Some(false));
    }

    proptest! {
        #[test]
        fn whatever_a_provider_says_becomes_names_that_users_can_have(wanted in ".{0,80}", subject in ".{1,20}") {
            let all = names(Some(&wanted), "corp", &subject);
            prop_assert!(all.len() >= 2);
            for name in all {
                prop_assert!(check_name(&name).is_ok(), "{name:?}");
            }
        }
    }
}
