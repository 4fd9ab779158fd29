//! Which webhooks a request concerns.

use maar_machinery::selector::{LabelSelector, Labels};
use serde_json::Value;

use super::configuration::{Rule, Webhook};

/// A resource in one version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) group: &'a str,
    pub(super) version: &'a str,
    pub(super) resource: &'a str,
    pub(super) subresource: &'a str,
}

/// What the rules of a webhook look at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    pub(super) operation: &'a str,
    pub(super) namespaced: bool,
}

impl Rule {
    pub(super) fn matches(&self, asked: Asked<'_>, place: Place<'_>) -> bool {
        let any = |list: &[String], value: &str| list.iter().any(|one| one == "*" || one == value);
        let scope = match self.scope.as_deref() {
            Some("Namespaced") => asked.namespaced,
            Some("Cluster") => !asked.namespaced,
            _ => true,
        };
        scope
            && any(&self.operations, asked.operation)
            && any(&self.api_groups, place.group)
            && any(&self.api_versions, place.version)
            && self.resources.iter().any(|pattern| names(pattern, place))
    }
}

/// `pods`, `pods/status`, `pods/*`, `*/scale`, `*` (no subresources) and `*/*`.
fn names(pattern: &str, place: Place<'_>) -> bool {
    let (resource, subresource) = pattern.split_once('/').unwrap_or((pattern, ""));
    (resource == "*" || resource == place.resource)
        && (subresource == "*" || subresource == place.subresource)
}

/// The version of the resource in which a webhook wants to hear of the request: the request's own if a rule names
/// it, otherwise, unless the webhook insists, another in which the same objects are served.
pub(super) fn wanted<'a>(
    webhook: &Webhook,
    asked: Asked<'_>,
    own: Place<'a>,
    others: impl Iterator<Item = Place<'a>>,
) -> Option<Place<'a>> {
    let matches = |place: &Place<'_>| webhook.rules.iter().any(|rule| rule.matches(asked, *place));
    if matches(&own) {
        return Some(own);
    }
    if webhook.match_policy.as_deref() == Some("Exact") {
        return None;
    }
    let mut others = others;
    others.find(matches)
}

/// The labels of an object in JSON.
struct Given<'a>(&'a Value);

impl Labels for Given<'_> {
    fn label(&self, key: &str) -> Option<&str> {
        self.0["metadata"]["labels"].get(key)?.as_str()
    }
}

/// Whether either object has the labels that a webhook asks for.
pub(super) fn selects_object(webhook: &Webhook, object: Option<&Value>, old: Option<&Value>) -> bool {
    let Some(selector) = selector(&webhook.object_selector) else { return false };
    selector.is_empty() || [object, old].into_iter().flatten().any(|object| selector.matches(&Given(object)))
}

/// Whether a namespace has the labels that a webhook asks for.
pub(super) fn selects_namespace(webhook: &Webhook, labels: &(impl Labels + ?Sized)) -> bool {
    selector(&webhook.namespace_selector).is_some_and(|selector| selector.matches(labels))
}

/// The same for a namespace that is itself the object.
pub(super) fn selects_as_namespace(webhook: &Webhook, namespace: &Value) -> bool {
    selects_namespace(webhook, &Given(namespace))
}

/// An absent selector selects everything, as its default does.
fn selector(value: &Value) -> Option<LabelSelector> {
    if value.is_null() {
        return Some(LabelSelector::everything());
    }
    LabelSelector::from_object(value).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    fn place<'a>(version: &'a str, resource: &'a str, subresource: &'a str) -> Place<'a> {
        Place { group: "apps", version, resource, subresource }
    }

    fn webhook(rule: &Value, more: &Value) -> Webhook {
        let mut webhook = json!({"name": "w", "clientConfig": {}, "rules": [{"operations": ["CREATE"],
            "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]}]});
        for (field, value) in rule.as_object().unwrap() {
            webhook["rules"][0][field] = value.clone();
        }
        for (field, value) in more.as_object().unwrap() {
            webhook[field] = value.clone();
        }
        from_value(webhook).unwrap()
    }

    #[test]
    fn rules_name_requests() {
        let rows = [
            (json!({}), "CREATE", place("v1", "deployments", ""), true),
            (json!({}), "UPDATE", place("v1", "deployments", ""), false),
            (json!({"operations": ["*"]}), "DELETE", place("v1", "deployments", ""), true),
            (json!({}), "CREATE", place("v1", "deployments", "scale"), false),
            (json!({"resources": ["deployments/*"]}), "CREATE", place("v1", "deployments", "scale"), true),
            (json!({"resources": ["*/scale"]}), "CREATE", place("v1", "deployments", "scale"), true),
            (json!({"resources": ["*"]}), "CREATE", place("v1", "deployments", "scale"), false),
            (json!({"resources": ["*/*"]}), "CREATE", place("v1", "replicasets", "status"), true),
            (
                json!({"apiGroups": ["*"], "apiVersions": ["*"]}),
                "CREATE",
                place("v2", "deployments", ""),
                true,
            ),
            (json!({"apiGroups": [""]}), "CREATE", place("v1", "deployments", ""), false),
            (json!({"scope": "Namespaced"}), "CREATE", place("v1", "deployments", ""), true),
            (json!({"scope": "Cluster"}), "CREATE", place("v1", "deployments", ""), false),
        ];
        for (rule, operation, place, want) in rows {
            let asked = Asked { operation, namespaced: true };
            let webhook = webhook(&rule, &json!({}));
            assert_eq!(webhook.rules[0].matches(asked, place), want, "{rule} {operation} {place:?}");
        }
    }

    #[test]
    fn another_version_will_do_unless_the_webhook_insists() {
        let asked = Asked { operation: "CREATE", namespaced: true };
        let (own, other) = (place("v2", "deployments", ""), place("v1", "deployments", ""));
        let found =
            |webhook: &Webhook| wanted(webhook, asked, own, [other].into_iter()).map(|place| place.version);
        assert_eq!(found(&webhook(&json!({}), &json!({}))), Some("v1"));
        assert_eq!(found(&webhook(&json!({}), &json!({"matchPolicy": "Exact"}))), None);
        assert_eq!(found(&webhook(&json!({"apiVersions": ["v2", "v1"]}), &json!({}))), Some("v2"));
    }

    #[test]
    fn labels_narrow_it_down() {
        let selective = webhook(&json!({}), &json!({"objectSelector": {"matchLabels": {"a": "b"}}}));
        let (with, without) = (json!({"metadata": {"labels": {"a": "b"}}}), json!({"metadata": {}}));
        assert!(selects_object(&selective, Some(&with), None));
        assert!(selects_object(&selective, Some(&without), Some(&with)), "either will do");
        assert!(!selects_object(&selective, Some(&without), None));
        assert!(selects_object(&webhook(&json!({}), &json!({})), None, None));
        let by_namespace = webhook(&json!({}), &json!({"namespaceSelector": {"matchLabels": {"a": "b"}}}));
        assert!(selects_as_namespace(&by_namespace, &with));
        assert!(!selects_as_namespace(&by_namespace, &without));
    }
}
