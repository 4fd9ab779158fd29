//! Mutating and validating webhook configurations.

use serde_json::Value;

use super::Strategy;
use super::value::{Object, child, fill, items_mut};

/// The strategy of both kinds of webhook configurations.
#[derive(Debug)]
pub(crate) struct WebhookConfiguration;

impl Strategy for WebhookConfiguration {
    fn default(&self, object: &mut Value) {
        let mutating = object["kind"] == "MutatingWebhookConfiguration";
        let Some(object) = object.as_object_mut() else { return };
        for webhook in items_mut(object, "webhooks") {
            default_webhook(webhook);
            if mutating {
                fill(webhook, "reinvocationPolicy", "Never");
            }
        }
    }

    fn changes_generation(&self, new: &Value, old: &Value) -> bool {
        new["webhooks"] != old["webhooks"]
    }
}

fn default_webhook(webhook: &mut Object) {
    fill(webhook, "failurePolicy", "Fail");
    fill(webhook, "matchPolicy", "Equivalent");
    fill(webhook, "namespaceSelector", Object::new());
    fill(webhook, "objectSelector", Object::new());
    fill(webhook, "timeoutSeconds", 10);
    for rule in items_mut(webhook, "rules") {
        fill(rule, "scope", "*");
    }
    if let Some(client) = child(webhook, "clientConfig")
        && let Some(service) = child(client, "service")
    {
        fill(service, "port", 443);
    }
}
