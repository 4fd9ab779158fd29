//! The matrix of permissions: each route, each part, own and foreign things. The snapshot is the report.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::Value;

use super::{Target, table};
use crate::{
    access::{AccountRole, Denied, Kind, Object, Person, Scope, Subject, decide},
    testing::{person, subject},
};

/// Who asks, by the head of the column.
fn askers() -> Vec<(&'static str, Subject)> {
    let with = |role| {
        let mut one = person("asker");
        one.accounts = BTreeMap::from([("lab".to_owned(), role), ("default".to_owned(), AccountRole::Guest)]);
        one
    };
    let key = |scopes: &[Scope], admin| Person {
        scopes: Some(scopes.iter().copied().collect()),
        platform_admin: admin,
        ..with(AccountRole::Member)
    };
    vec![
        ("nobody", Subject::Nobody),
        ("outsider", subject(person("asker"))),
        ("viewer", subject(with(AccountRole::Viewer))),
        ("member", subject(with(AccountRole::Member))),
        ("accadmin", subject(with(AccountRole::Admin))),
        ("platform", subject(Person { platform_admin: true, ..person("asker") })),
        ("new", subject(Person { must_change_password: true, platform_admin: true, ..person("asker") })),
        ("readkey", subject(key(&[Scope::WorkspacesRead, Scope::JobsRead, Scope::ClusterRead], true))),
        ("fullkey", subject(key(&Scope::ALL, true))),
    ]
}

/// What a route is about: something of the asker, and of somebody else.
fn things(target: Target, asker: &Subject) -> Vec<(&'static str, Object)> {
    let own = asker.person().map_or_else(|| person("asker"), Clone::clone);
    let other = person("other");
    let body = |account: &str| serde_json::json!({ "account": account, "spec": { "account": account } });
    match target {
        Target::Workspace => both(Kind::Workspace, &own, &other),
        Target::Job => both(Kind::Job, &own, &other),
        Target::Pod => both(Kind::Pod, &own, &other),
        Target::Template => [("own", &own, None), ("foreign", &other, None), ("shared", &other, Some("lab"))]
            .map(|(thing, owner, account)| {
                let account = account.map(str::to_owned);
                (thing, Object { account, ..Object::of_user(Kind::Template, &owner.id) })
            })
            .to_vec(),
        Target::Session | Target::Key | Target::SshKey | Target::Kubeconfig => vec![
            ("own", Object::of_user(target.kind(), &own.id)),
            ("foreign", Object::of_user(target.kind(), &other.id)),
        ],
        Target::Account => vec![("lab", Object::account("lab")), ("other", Object::account("other"))],
        Target::New(..) => vec![
            ("for lab", target.object(asker, &body("lab"))),
            ("for other", target.object(asker, &body("other"))),
        ],
        _ => vec![("", target.object(asker, &Value::Null))],
    }
}

/// Both are paid for by the account `lab`.
fn both(kind: Kind, own: &Person, other: &Person) -> Vec<(&'static str, Object)> {
    vec![
        ("own", Object::work(kind, &own.namespace, Some("lab"))),
        ("foreign", Object::work(kind, &other.namespace, Some("lab"))),
    ]
}

const fn word(decision: Result<(), Denied>) -> &'static str {
    match decision {
        Ok(()) => "yes",
        Err(Denied::SignedOut) => "sign in",
        Err(Denied::PasswordChange) => "password",
        Err(Denied::Scope) => "scope",
        Err(Denied::Hidden) => "hidden",
        Err(Denied::Forbidden) => "no",
    }
}

fn report() -> String {
    let askers = askers();
    let mut text = format!("{:<58}", "route, thing");
    for (name, _) in &askers {
        // Writing to a String cannot fail, here and below.
        let _ = write!(text, "{name:>9}");
    }
    for route in table() {
        let columns: Vec<Vec<(&str, Object)>> =
            askers.iter().map(|(_, asker)| things(route.target, asker)).collect();
        for (row, (thing, _)) in columns[0].iter().enumerate() {
            let _ = write!(text, "\n{:<58}", format!("{} {} {thing}", route.method.as_str(), route.path));
            for ((_, asker), things) in askers.iter().zip(&columns) {
                let _ = write!(text, "{:>9}", word(decide(asker, route.verb, &things[row].1)));
            }
        }
    }
    text
}

#[test]
fn the_matrix_of_permissions() {
    insta::assert_snapshot!(report());
}

#[test]
fn nothing_but_what_is_public_is_open_to_nobody() {
    for route in table().iter().filter(|route| route.target != Target::Public) {
        let object = route.target.object(&Subject::Nobody, &Value::Null);
        assert_eq!(decide(&Subject::Nobody, route.verb, &object), Err(Denied::SignedOut), "{route:?}");
    }
}
