//! Who may share an answer.

use super::{AccountRole, Person};

/// All to whom the same work is visible. Whatever [`decide`](super::decide) looks at to say who sees work must be
/// in it: two people of one audience get the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Audience(Option<String>);

impl Audience {
    pub(crate) fn of(person: &Person) -> Self {
        if person.is_platform_admin() && person.scopes.is_none() {
            return Self(None);
        }
        let mut text = person.namespace.clone();
        let sees = person.accounts.iter().filter(|(_, role)| **role >= AccountRole::Viewer);
        for (account, _) in sees {
            text.push('\n');
            text.push_str(account);
        }
        for scope in person.scopes.iter().flatten() {
            text.push('\t');
            text.push_str(scope.as_str());
        }
        text.push(if person.is_platform_admin() { '!' } else { '.' });
        text.push(if person.scopes.is_some() { '!' } else { '.' });
        Self(Some(text))
    }

    /// Of answers that are the same for everybody; nobody's namespace has such a name.
    pub(crate) fn everybody() -> Self {
        Self(Some(String::new()))
    }

    /// Whether it sees everything.
    pub(crate) const fn is_all(&self) -> bool {
        self.0.is_none()
    }

    #[cfg(test)]
    pub(crate) fn for_test(name: &str) -> Self {
        Self(Some(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::{
        access::{Kind, Object, Scope, Verb, may},
        testing::{person, subject},
    };

    fn people() -> impl Strategy<Value = Person> {
        let role = prop_oneof![
            Just(AccountRole::Guest),
            Just(AccountRole::Viewer),
            Just(AccountRole::Member),
            Just(AccountRole::Admin)
        ];
        let accounts = proptest::collection::btree_map(prop_oneof![Just("lab"), Just("default")], role, 0..3);
        let scopes = proptest::option::of(proptest::collection::btree_set(0_usize..6, 0..6));
        (prop_oneof![Just("ada"), Just("eve")], any::<bool>(), accounts, scopes).prop_map(
            |(name, admin, accounts, scopes)| Person {
                platform_admin: admin,
                accounts: accounts
                    .into_iter()
                    .map(|(name, role)| (name.to_owned(), role))
                    .collect::<BTreeMap<_, _>>(),
                scopes: scopes.map(|all| all.into_iter().map(|at| Scope::ALL[at]).collect::<BTreeSet<_>>()),
                ..person(name)
            },
        )
    }

    proptest! {
        // Two people are seldom of one audience.
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn people_of_one_audience_see_the_same_work(one in people(), other in people()) {
            if Audience::of(&one) != Audience::of(&other) {
                return Ok(());
            }
            for kind in [Kind::Workspace, Kind::Job, Kind::Pod] {
                for namespace in [&one.namespace, &other.namespace, "user-bob"] {
                    for account in [Some("lab"), Some("default"), Some("rich"), None] {
                        let account = account.map(str::to_owned);
                        let object = Object { account, ..Object::work(kind, namespace, None) };
                        let (one, other) = (subject(one.clone()), subject(other.clone()));
                        prop_assert_eq!(may(&one, Verb::See, &object), may(&other, Verb::See, &object));
                        if Audience::of(one.person().unwrap()).is_all() {
                            prop_assert!(may(&one, Verb::See, &object));
                        }
                    }
                }
            }
        }
    }
}
