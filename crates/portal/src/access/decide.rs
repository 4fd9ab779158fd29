//! The decision.

use super::{AccountRole, Kind, Object, Person, Scope, Subject, Verb};

/// Why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied {
    /// Nobody is signed in.
    SignedOut,
    /// The password must be changed first.
    PasswordChange,
    /// The API key is not made for it.
    Scope,
    /// The asker may not even know of it.
    Hidden,
    /// The asker may know of it, and no more.
    Forbidden,
}

/// Whether `subject` may do `verb` with `object`.
pub(crate) fn decide(subject: &Subject, verb: Verb, object: &Object) -> Result<(), Denied> {
    if object.kind == Kind::Public {
        return Ok(());
    }
    let Subject::Person(person) = subject else { return Err(Denied::SignedOut) };
    if person.must_change_password && object.kind != Kind::Own {
        return Err(Denied::PasswordChange);
    }
    if let Some(scopes) = &person.scopes {
        // Whose key it is, every key may ask.
        let own = object.kind == Kind::Own && verb == Verb::See;
        let enough = Scope::needed(verb, object.kind).is_some_and(|needed| scopes.contains(&needed));
        if !own && !enough {
            return Err(Denied::Scope);
        }
    }
    if allowed(person, verb, object) {
        return Ok(());
    }
    Err(if allowed(person, Verb::See, object) { Denied::Forbidden } else { Denied::Hidden })
}

/// [`decide`] where the reason does not matter.
pub(crate) fn may(subject: &Subject, verb: Verb, object: &Object) -> bool {
    decide(subject, verb, object).is_ok()
}

#[expect(clippy::match_same_arms, reason = "each line is one rule, beside its reason")]
fn allowed(person: &Person, verb: Verb, object: &Object) -> bool {
    let (own, admin) = (person.owns(object), person.is_platform_admin());
    let role = person.role_for(object);
    match (object.kind, verb) {
        (Kind::Public, _) => true,
        (Kind::Own, _) => own,
        // Nobody starts work in the name of another, and nobody for an account that is not his.
        (Kind::Workspace | Kind::Job | Kind::Pod, Verb::Start) => {
            own && role.is_some_and(AccountRole::may_start)
        }
        // Whoever is inside acts in the owner's name, with his files and his secrets: administrators do not, either.
        (Kind::Workspace | Kind::Job | Kind::Pod, Verb::Enter) => own,
        // What is shared is shared with those who see the work of the account; no more with administrators than entering.
        (Kind::Workspace | Kind::Job | Kind::Pod, Verb::Visit) => own || role >= Some(AccountRole::Viewer),
        (Kind::Workspace | Kind::Job | Kind::Pod, Verb::See) => {
            own || admin || role >= Some(AccountRole::Viewer)
        }
        (Kind::Workspace | Kind::Job | Kind::Pod, _) => own || admin || role == Some(AccountRole::Admin),
        (Kind::Volume, _) => own,
        // What is not shared is its owner's alone: people save secrets in environments.
        (Kind::Template, _) if object.account.is_none() => own,
        (Kind::Template, Verb::See | Verb::Read) => own || admin || role.is_some(),
        // To share is to put something before all of an account.
        (Kind::Template, Verb::Start) => own && (admin || role >= Some(AccountRole::Member)),
        (Kind::Template, _) => own || admin || role == Some(AccountRole::Admin),
        (Kind::Node, Verb::See) => true,
        // The list, which shows only those he has a part in, is his own.
        (Kind::Account, Verb::See) => own || admin || role.is_some(),
        (Kind::Account, Verb::Read) => admin || role >= Some(AccountRole::Viewer),
        (Kind::Account, Verb::Change) => admin || role == Some(AccountRole::Admin),
        // A secret that somebody else made is nobody's secret.
        (Kind::Key | Kind::Kubeconfig, Verb::Start) => own,
        (Kind::Session | Kind::Key | Kind::Kubeconfig, Verb::See | Verb::Delete) => own || admin,
        (Kind::Node | Kind::User | Kind::Audit | Kind::Account, _) => admin,
        (Kind::Session | Kind::Key | Kind::Kubeconfig, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::access::Owner;

    fn person(name: &str) -> Person {
        Person {
            id: format!("id-{name}"),
            name: name.to_owned(),
            namespace: format!("user-{name}"),
            platform_admin: false,
            accounts: BTreeMap::new(),
            must_change_password: false,
            limits: BTreeMap::new(),
            scopes: None,
        }
    }

    fn subject(person: Person) -> Subject {
        Subject::Person(Box::new(person))
    }

    const VERBS: [Verb; 7] =
        [Verb::See, Verb::Read, Verb::Start, Verb::Change, Verb::Delete, Verb::Enter, Verb::Visit];

    fn work(owner: &str) -> Object {
        Object::work(Kind::Workspace, &format!("user-{owner}"), Some("lab"))
    }

    fn allowed_verbs(subject: &Subject, object: &Object) -> Vec<Verb> {
        VERBS.into_iter().filter(|verb| may(subject, *verb, object)).collect()
    }

    #[test]
    fn work_is_for_its_owner_and_those_who_look_after_the_account() {
        let with =
            |role| subject(Person { accounts: BTreeMap::from([("lab".to_owned(), role)]), ..person("eve") });
        let theirs = work("ada");
        assert_eq!(allowed_verbs(&subject(person("eve")), &theirs), []);
        assert_eq!(allowed_verbs(&with(AccountRole::Guest), &theirs), []);
        assert_eq!(allowed_verbs(&with(AccountRole::Viewer), &theirs), [Verb::See, Verb::Visit]);
        assert_eq!(allowed_verbs(&with(AccountRole::Member), &theirs), [Verb::See, Verb::Visit]);
        let all_but_start = [Verb::See, Verb::Read, Verb::Change, Verb::Delete, Verb::Enter, Verb::Visit];
        let looks_after = [Verb::See, Verb::Read, Verb::Change, Verb::Delete];
        let with_part = [Verb::See, Verb::Read, Verb::Change, Verb::Delete, Verb::Visit];
        assert_eq!(allowed_verbs(&with(AccountRole::Admin), &theirs), with_part);
        let root = subject(Person { platform_admin: true, ..person("root") });
        assert_eq!(allowed_verbs(&root, &theirs), looks_after);
        // Who has left the account may still end what he has, and starts nothing.
        assert_eq!(allowed_verbs(&subject(person("eve")), &work("eve")), all_but_start);
        assert_eq!(allowed_verbs(&with(AccountRole::Viewer), &work("eve")), all_but_start);
        assert_eq!(allowed_verbs(&with(AccountRole::Guest), &work("eve")), VERBS);
    }

    #[test]
    fn nothing_is_allowed_to_nobody_and_before_the_password_is_changed() {
        assert_eq!(decide(&Subject::Nobody, Verb::See, &work("ada")), Err(Denied::SignedOut));
        let new = subject(Person { must_change_password: true, platform_admin: true, ..person("root") });
        assert_eq!(decide(&new, Verb::See, &work("ada")), Err(Denied::PasswordChange));
        assert_eq!(decide(&new, Verb::Change, &Object::of_user(Kind::Own, "id-root")), Ok(()));
    }

    #[test]
    fn a_key_does_what_it_was_made_for_and_no_administration_unless_that_is_said() {
        let key = |scopes: &[Scope]| {
            let scopes = Some(scopes.iter().copied().collect::<BTreeSet<_>>());
            subject(Person { platform_admin: true, scopes, ..person("root") })
        };
        let read = key(&[Scope::WorkspacesRead]);
        assert_eq!(decide(&read, Verb::See, &work("root")), Ok(()));
        assert_eq!(decide(&read, Verb::Delete, &work("root")), Err(Denied::Scope));
        assert_eq!(decide(&read, Verb::See, &work("ada")), Err(Denied::Hidden), "admin was not said");
        assert!(may(&key(&[Scope::WorkspacesRead, Scope::Admin]), Verb::See, &work("ada")));
        let all = key(&Scope::ALL);
        for kind in [Kind::User, Kind::Session, Kind::Key, Kind::Audit] {
            let object = Object { kind, owner: Owner::User("id-root".to_owned()), account: None };
            assert_eq!(allowed_verbs(&all, &object), [], "{kind:?} is for people");
        }
        assert!(may(&all, Verb::See, &Object::of_user(Kind::Own, "id-root")));
        assert!(
            !may(&all, Verb::Change, &Object::of_user(Kind::Own, "id-root")),
            "a key changes no password"
        );
    }

    #[test]
    fn templates_are_their_owners_until_they_are_shared() {
        let template = |account: Option<&str>| Object {
            kind: Kind::Template,
            owner: Owner::User("id-ada".to_owned()),
            account: account.map(str::to_owned),
        };
        let with = |name, role| {
            subject(Person { accounts: BTreeMap::from([("lab".to_owned(), role)]), ..person(name) })
        };
        let root = subject(Person { platform_admin: true, ..person("root") });
        for asker in [&root, &with("eve", AccountRole::Admin)] {
            assert_eq!(allowed_verbs(asker, &template(None)), []);
        }
        assert_eq!(allowed_verbs(&with("ada", AccountRole::Guest), &template(None)), VERBS);
        let shared = template(Some("lab"));
        assert_eq!(allowed_verbs(&subject(person("eve")), &shared), []);
        assert_eq!(allowed_verbs(&with("eve", AccountRole::Guest), &shared), [Verb::See, Verb::Read]);
        assert!(may(&with("eve", AccountRole::Admin), Verb::Delete, &shared));
        assert!(!may(&with("ada", AccountRole::Viewer), Verb::Start, &shared), "a viewer shares nothing");
        assert!(may(&with("ada", AccountRole::Member), Verb::Start, &shared));
    }

    proptest::proptest! {
        /// Whatever the parts are: who may not see an object may do nothing else with it, except that starting is
        /// never for another.
        #[test]
        fn what_is_hidden_is_closed(kind in 1_usize..14, verb in 0_usize..7, role in 0_usize..5, admin: bool, own: bool) {
            let kinds = [
                Kind::Public, Kind::Own, Kind::Workspace, Kind::Job, Kind::Node, Kind::Account, Kind::User,
                Kind::Session, Kind::Key, Kind::Audit, Kind::Pod, Kind::Volume, Kind::Template, Kind::Kubeconfig,
            ];
            let roles = [AccountRole::Guest, AccountRole::Viewer, AccountRole::Member, AccountRole::Admin];
            let accounts = roles.get(role).map(|role| ("lab".to_owned(), *role)).into_iter().collect();
            let asker = subject(Person { accounts, platform_admin: admin, ..person("eve") });
            let owner = Owner::User(if own { "id-eve" } else { "id-ada" }.to_owned());
            let object = Object { kind: kinds[kind], owner, account: Some("lab".to_owned()) };
            if may(&asker, VERBS[verb], &object) {
                proptest::prop_assert!(may(&asker, Verb::See, &object));
            }
            if VERBS[verb] == Verb::Start && !own && !matches!(kinds[kind], Kind::Node | Kind::User | Kind::Audit | Kind::Account) {
                proptest::prop_assert!(!may(&asker, Verb::Start, &object));
            }
        }
    }
}
