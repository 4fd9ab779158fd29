//! What rules allow: pure functions over rules and questions, as RBAC defines them.

use serde::{Deserialize, Deserializer, Serialize};

/// One rule of a role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Rule {
    #[serde(deserialize_with = "list")]
    pub(crate) verbs: Vec<String>,
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub(crate) api_groups: Vec<String>,
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub(crate) resources: Vec<String>,
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub(crate) resource_names: Vec<String>,
    #[serde(rename = "nonResourceURLs", deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub(crate) paths: Vec<String>,
}

/// A list that may also be null.
fn list<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<String>, D::Error> {
    Ok(Option::deserialize(input)?.unwrap_or_default())
}

/// What somebody wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask<'a> {
    /// Something with objects. An empty name is all of them, an empty namespace the whole cluster.
    Resource {
        verb: &'a str,
        group: &'a str,
        resource: &'a str,
        subresource: &'a str,
        namespace: &'a str,
        name: &'a str,
    },
    /// Something with a path that is not a resource.
    Path { verb: &'a str, path: &'a str },
}

impl<'a> Ask<'a> {
    /// A question about objects as such, without subresource.
    pub(crate) fn object(
        verb: &'a str,
        group: &'a str,
        resource: &'a str,
        namespace: &'a str,
        name: &'a str,
    ) -> Self {
        Self::Resource { verb, group, resource, subresource: "", namespace, name }
    }

    pub(crate) fn namespace(&self) -> &'a str {
        match self {
            Self::Resource { namespace, .. } => namespace,
            Self::Path { .. } => "",
        }
    }
}

/// Whether any of the rules allows what is asked.
pub(crate) fn allows(rules: &[Rule], ask: &Ask<'_>) -> bool {
    rules.iter().any(|rule| rule.allows(ask))
}

impl Rule {
    fn allows(&self, ask: &Ask<'_>) -> bool {
        match *ask {
            Ask::Resource { verb, group, resource, subresource, name, .. } => {
                has(&self.verbs, verb)
                    && has(&self.api_groups, group)
                    && self.resources.iter().any(|rule| resource_matches(rule, resource, subresource))
                    && (self.resource_names.is_empty() || self.resource_names.iter().any(|own| own == name))
            }
            Ask::Path { verb, path } => {
                has(&self.verbs, verb) && self.paths.iter().any(|rule| path_matches(rule, path))
            }
        }
    }

    /// Whether whoever has this rule could also have `other`, which is about one thing only.
    fn covers(&self, other: &Rule) -> bool {
        let all = |own: &[String], others: &[String]| others.iter().all(|other| has(own, other));
        let resource_covered = |other: &String| {
            let (resource, subresource) = other.split_once('/').unwrap_or((other, ""));
            self.resources.iter().any(|own| resource_matches(own, resource, subresource))
        };
        let names_covered = self.resource_names.is_empty()
            || (!other.resource_names.is_empty()
                && other.resource_names.iter().all(|name| self.resource_names.contains(name)));
        let path_covered = |other: &String| {
            let within = |own: &String| own.strip_suffix('*').is_some_and(|prefix| other.starts_with(prefix));
            self.paths.iter().any(|own| own == other || within(own))
        };
        all(&self.verbs, &other.verbs)
            && all(&self.api_groups, &other.api_groups)
            && other.resources.iter().all(resource_covered)
            && names_covered
            && other.paths.iter().all(path_covered)
    }

    /// The same rule as rules about one thing each.
    fn single(&self) -> Vec<Rule> {
        let one = |text: &String| vec![text.clone()];
        let mut single = Vec::new();
        for verb in &self.verbs {
            for path in &self.paths {
                single.push(Rule { verbs: one(verb), paths: one(path), ..Rule::default() });
            }
            for group in &self.api_groups {
                for resource in &self.resources {
                    let rule = Rule {
                        verbs: one(verb),
                        api_groups: one(group),
                        resources: one(resource),
                        ..Rule::default()
                    };
                    if self.resource_names.is_empty() {
                        single.push(rule);
                    } else {
                        let named = |name| Rule { resource_names: one(name), ..rule.clone() };
                        single.extend(self.resource_names.iter().map(named));
                    }
                }
            }
        }
        single
    }
}

/// What of `wanted` the holder of `held` does not have.
pub(crate) fn missing(held: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let covered = |rule: &Rule| held.iter().any(|own| own.covers(rule));
    wanted.iter().flat_map(Rule::single).filter(|rule| !covered(rule)).collect()
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|entry| entry == "*" || entry == wanted)
}

/// `*`, `pods`, `pods/log` and `*/scale` are understood; `pods/*` means nothing to RBAC.
fn resource_matches(rule: &str, resource: &str, subresource: &str) -> bool {
    if rule == "*" {
        return true;
    }
    match rule.split_once('/') {
        None => subresource.is_empty() && rule == resource,
        Some((own, part)) => {
            !subresource.is_empty() && part == subresource && (own == "*" || own == resource)
        }
    }
}

/// A star at the end stands for any rest.
fn path_matches(rule: &str, path: &str) -> bool {
    match rule.strip_suffix('*') {
        Some(prefix) => path.starts_with(prefix),
        None => rule == path,
    }
}

/// How refusals show a rule.
impl std::fmt::Display for Rule {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fields = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("ResourceNames", &self.resource_names),
            ("NonResourceURLs", &self.paths),
            ("Verbs", &self.verbs),
        ];
        let shown: Vec<String> = fields
            .iter()
            .filter(|(_, list)| !list.is_empty())
            .map(|(name, list)| format!("{name}:[{}]", quoted(list)))
            .collect();
        write!(formatter, "{{{}}}", shown.join(", "))
    }
}

/// `"a" "b"`.
pub(crate) fn quoted(list: &[String]) -> String {
    list.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rule(verbs: &[&str], groups: &[&str], resources: &[&str], names: &[&str]) -> Rule {
        let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        Rule {
            verbs: owned(verbs),
            api_groups: owned(groups),
            resources: owned(resources),
            resource_names: owned(names),
            paths: Vec::new(),
        }
    }

    fn ask<'a>(verb: &'a str, group: &'a str, resource: &'a str, sub: &'a str, name: &'a str) -> Ask<'a> {
        Ask::Resource { verb, group, resource, subresource: sub, namespace: "default", name }
    }

    #[test]
    fn rules_allow_what_they_name() {
        let reader = rule(&["get", "list"], &[""], &["pods", "pods/log"], &[]);
        let scaler = rule(&["*"], &["apps"], &["*/scale"], &[]);
        let named = rule(&["get"], &["*"], &["*"], &["one"]);
        let stars = rule(&["get"], &[""], &["pods/*"], &[]);
        let table = [
            (&reader, ask("get", "", "pods", "", "x"), true),
            (&reader, ask("get", "", "pods", "log", "x"), true),
            (&reader, ask("get", "", "pods", "exec", "x"), false),
            (&reader, ask("get", "apps", "pods", "", "x"), false),
            (&reader, ask("delete", "", "pods", "", "x"), false),
            (&scaler, ask("update", "apps", "deployments", "scale", "x"), true),
            (&scaler, ask("update", "apps", "deployments", "", "x"), false),
            (&named, ask("get", "any", "things", "status", "one"), true),
            (&named, ask("get", "any", "things", "", "two"), false),
            (&named, ask("get", "any", "things", "", ""), false),
            (&stars, ask("get", "", "pods", "log", "x"), false),
        ];
        for (rule, ask, want) in table {
            assert_eq!(allows(std::slice::from_ref(rule), &ask), want, "{rule} {ask:?}");
        }
    }

    #[test]
    fn paths_match_whole_or_by_prefix() {
        let rule = |paths: &[&str]| Rule {
            verbs: vec!["get".into()],
            paths: paths.iter().map(ToString::to_string).collect(),
            ..Rule::default()
        };
        let allowed = |paths: &[&str], path| allows(&[rule(paths)], &Ask::Path { verb: "get", path });
        assert!(allowed(&["/healthz"], "/healthz"));
        assert!(!allowed(&["/healthz"], "/healthz/ping"));
        assert!(allowed(&["/api/*"], "/api/v1"));
        assert!(!allowed(&["/api/*"], "/apis"));
        assert!(allowed(&["*"], "/anything"));
        assert!(!missing(&[rule(&["/api", "/x*"])], &[rule(&["/api*"])]).is_empty());
        assert!(missing(&[rule(&["/api*"])], &[rule(&["/api/v1*", "/apis"])]).is_empty());
    }

    #[test]
    fn only_what_is_held_can_be_granted() {
        let held = [rule(&["get", "list"], &[""], &["pods"], &[]), rule(&["*"], &["apps"], &["*"], &["one"])];
        assert!(missing(&held, &[rule(&["get"], &[""], &["pods"], &["a"])]).is_empty());
        assert!(missing(&held, &[rule(&["delete"], &["apps"], &["deployments/scale"], &["one"])]).is_empty());
        let lacking = missing(&held, &[rule(&["get", "delete"], &[""], &["pods", "secrets"], &[])]);
        let shown: Vec<String> = lacking.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                r#"{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}"#,
                r#"{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}"#,
                r#"{APIGroups:[""], Resources:["secrets"], Verbs:["delete"]}"#,
            ]
        );
    }

    fn some(of: &'static [&'static str], at_least: usize) -> impl Strategy<Value = Vec<String>> {
        let chosen = prop::sample::subsequence(of, at_least..=of.len());
        chosen.prop_map(|list| list.iter().map(ToString::to_string).collect())
    }

    fn any_rule() -> impl Strategy<Value = Rule> {
        let verbs = some(&["get", "list", "*"], 1);
        let groups = some(&["", "apps", "*"], 1);
        let resources = some(&["pods", "pods/log", "*/log", "*"], 1);
        (verbs, groups, resources, some(&["a", "b"], 0)).prop_map(|(verbs, api_groups, resources, names)| {
            Rule { verbs, api_groups, resources, resource_names: names, paths: Vec::new() }
        })
    }

    proptest! {
        /// What may be granted allows nothing that its giver may not do.
        #[test]
        fn granting_never_widens(held in prop::collection::vec(any_rule(), 0..3), wanted in any_rule()) {
            if missing(&held, std::slice::from_ref(&wanted)).is_empty() {
                for verb in ["get", "list", "delete"] {
                    for group in ["", "apps", "other"] {
                        for (resource, sub) in [("pods", ""), ("pods", "log"), ("nodes", ""), ("nodes", "log")] {
                            for name in ["", "a", "c"] {
                                let ask = ask(verb, group, resource, sub, name);
                                if allows(std::slice::from_ref(&wanted), &ask) {
                                    prop_assert!(allows(&held, &ask), "{ask:?}");
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
