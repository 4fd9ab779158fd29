//! Builders for tests.

use std::collections::BTreeMap;

use crate::{
    access::{AccountRole, Person, Subject},
    namespace::namespace_of,
};

/// A user without parts in accounts but the one of everyone.
pub(crate) fn person(name: &str) -> Person {
    let id = format!("u-{name}");
    Person {
        namespace: namespace_of(name, &id),
        id,
        name: name.to_owned(),
        platform_admin: false,
        accounts: BTreeMap::from([("default".to_owned(), AccountRole::Guest)]),
        must_change_password: false,
        limits: BTreeMap::new(),
        scopes: None,
    }
}

pub(crate) fn subject(person: Person) -> Subject {
    Subject::Person(Box::new(person))
}
