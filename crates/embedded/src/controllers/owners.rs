//! Who manages an object: taking in orphans that match a selector, letting go of those that no longer do.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use maar_machinery::selector::LabelSelector;

use crate::local::Kind;
use crate::store::Meta;

/// What to do about an object that may belong to a controller's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It belongs to it.
    Keep,
    /// It belongs to nobody and matches.
    Adopt,
    /// It belongs to it and does not match.
    Release,
    /// It is none of its business.
    Ignore,
}

/// Decides about one object.
pub(crate) fn claim(owner_uid: &str, owner_deleting: bool, selector: &LabelSelector, object: &Meta) -> Claim {
    let matches = selector.matches(object);
    match object.controller() {
        Some(controller) if *controller.uid != *owner_uid => Claim::Ignore,
        Some(_) if matches => Claim::Keep,
        Some(_) if owner_deleting => Claim::Ignore,
        Some(_) => Claim::Release,
        None if owner_deleting || !matches || object.deleting => Claim::Ignore,
        None => Claim::Adopt,
    }
}

/// The reference by which an object's controller marks what it manages.
pub(crate) fn controller_reference<K: Kind>(owner: &K) -> OwnerReference {
    OwnerReference {
        api_version: K::api_version(&()).into_owned(),
        kind: K::kind(&()).into_owned(),
        name: owner.meta().name.clone().unwrap_or_default(),
        uid: owner.meta().uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Makes `owner` the controller, unless there is one.
pub(crate) fn adopt(metadata: &mut ObjectMeta, owner: &OwnerReference) {
    let owners = metadata.owner_references.get_or_insert_default();
    if owners.iter().any(|existing| existing.controller == Some(true)) {
        return;
    }
    owners.retain(|existing| existing.uid != owner.uid);
    owners.push(owner.clone());
}

/// Takes the owner off.
pub(crate) fn release(metadata: &mut ObjectMeta, owner_uid: &str) {
    if let Some(owners) = &mut metadata.owner_references {
        owners.retain(|owner| owner.uid != owner_uid);
        if owners.is_empty() {
            metadata.owner_references = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Owner;

    fn object(label: &str, controller: Option<&str>, deleting: bool) -> Meta {
        let owner = |uid: &str| Owner {
            api_version: "apps/v1".into(),
            kind: "ReplicaSet".into(),
            name: "x".into(),
            uid: uid.into(),
            controller: true,
            block_owner_deletion: true,
        };
        Meta {
            labels: [("app".into(), label.into())].into(),
            owners: controller.map(owner).into_iter().collect(),
            deleting,
            ..Meta::default()
        }
    }

    #[test]
    fn orphans_are_taken_in_and_strays_let_go() {
        let selector = LabelSelector::parse("app=web").unwrap();
        let rows = [
            ("own and matching", object("web", Some("me"), false), false, Claim::Keep),
            ("own and matching while deleted", object("web", Some("me"), true), true, Claim::Keep),
            ("own, matching no more", object("db", Some("me"), false), false, Claim::Release),
            ("own, matching no more, owner going", object("db", Some("me"), false), true, Claim::Ignore),
            ("somebody else's", object("web", Some("you"), false), false, Claim::Ignore),
            ("orphan", object("web", None, false), false, Claim::Adopt),
            ("orphan of another kind", object("db", None, false), false, Claim::Ignore),
            ("orphan on its way out", object("web", None, true), false, Claim::Ignore),
            ("orphan, owner going", object("web", None, false), true, Claim::Ignore),
        ];
        for (name, object, owner_deleting, want) in rows {
            assert_eq!(claim("me", owner_deleting, &selector, &object), want, "{name}");
        }
    }

    #[test]
    fn adopting_twice_or_against_another_controller_changes_nothing() {
        let me = OwnerReference { uid: "me".into(), controller: Some(true), ..OwnerReference::default() };
        let you = OwnerReference { uid: "you".into(), controller: Some(true), ..OwnerReference::default() };
        let mut metadata = ObjectMeta::default();
        adopt(&mut metadata, &me);
        adopt(&mut metadata, &me);
        adopt(&mut metadata, &you);
        assert_eq!(metadata.owner_references.as_deref(), Some(&[me][..]));
        release(&mut metadata, "me");
        assert_eq!(metadata.owner_references, None);
    }
}
