//! What a provider says of somebody: who it is, and how he is called.

use std::collections::BTreeSet;

use maar_records::Identity;
use serde_json::{Map, Value};

/// What a provider says of somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Profile {
    /// Decides who it is, alone.
    pub(super) identity: Identity,
    /// A label, as all that follows.
    pub(super) name: Option<String>,
    pub(super) display_name: Option<String>,
    pub(super) email: Option<String>,
    pub(super) groups: BTreeSet<String>,
}

impl Profile {
    pub(super) fn of(identity: Identity) -> Self {
        Self { identity, name: None, display_name: None, email: None, groups: BTreeSet::new() }
    }

    /// What he is called, fit to be shown on a line; none if nothing is left.
    pub(super) fn shown_name(&self) -> Option<String> {
        let text = self.display_name.as_deref().unwrap_or_default();
        let shown: String = text.chars().filter(|one| !one.is_control()).take(256).collect();
        Some(shown.trim().to_owned()).filter(|shown| !shown.is_empty())
    }

    /// Where he is reached, if it looks like that.
    pub(super) fn shown_email(&self) -> Option<String> {
        let fine = |text: &&String| {
            text.contains('@') && text.chars().count() <= 320 && !text.chars().any(char::is_control)
        };
        self.email.as_ref().filter(fine).cloned()
    }
}

/// Where a provider says what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) name: String,
    pub(super) display_name: String,
    pub(super) email: String,
    pub(super) groups: String,
}

impl Fields {
    /// A profile from the fields of a JSON object.
    pub(super) fn profile(&self, identity: Identity, said: &Map<String, Value>) -> Profile {
        let word = |place: &str| at(said, place).and_then(text);
        Profile {
            identity,
            name: word(&self.name),
            display_name: word(&self.display_name),
            email: word(&self.email),
            groups: at(said, &self.groups).map(texts).unwrap_or_default(),
        }
    }
}

/// What stands at a place: a field, or a path of fields such as `/realm_access/roles`.
pub(super) fn at<'a>(said: &'a Map<String, Value>, place: &str) -> Option<&'a Value> {
    let Some(path) = place.strip_prefix('/') else { return said.get(place) };
    let mut parts = path.split('/');
    let first = said.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

/// A word, or a number as one: some providers number people.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) if number.is_u64() || number.is_i64() => Some(number.to_string()),
        _ => None,
    }
}

fn texts(value: &Value) -> BTreeSet<String> {
    match value {
        Value::Array(all) => all.iter().filter_map(text).collect(),
        one => text(one).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_found_and_what_is_odd_is_left_out() {
        let fields = Fields {
            name: "login".to_owned(),
            display_name: "name".to_owned(),
            email: "mail".to_owned(),
            groups: "/realm/roles".to_owned(),
        };
        let said = json!({ "login": "ada", "name": "Ada\u{7} L", "mail": "nowhere", "realm": { "roles": ["a", 7, null, {}] } });
        let profile = fields.profile(Identity::new("p", "s"), said.as_object().unwrap());
        assert_eq!(profile.name.as_deref(), Some("ada"));
        assert_eq!(profile.shown_name().as_deref(), Some("Ada L"));
        assert_eq!(profile.shown_email(), None);
        assert_eq!(profile.groups, BTreeSet::from(["a".to_owned(), "7".to_owned()]));
        let odd = json!({ "login": ["ada"], "name": "", "realm": "roles" });
        let profile = fields.profile(Identity::new("p", "s"), odd.as_object().unwrap());
        assert_eq!(profile, Profile::of(Identity::new("p", "s")));
    }
}
