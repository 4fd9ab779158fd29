//! Webhook configurations as they are stored.

use serde::Deserialize;
use serde_json::Value;

pub(super) const MUTATING: &str = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
pub(super) const VALIDATING: &str = "validatingwebhookconfigurations.admissionregistration.k8s.io";

/// One object; its webhooks are called in this order.
#[derive(Debug, Deserialize)]
pub(super) struct Configuration {
    #[serde(default)]
    pub(super) webhooks: Vec<Webhook>,
}

/// Who is asked about what.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Webhook {
    pub(super) name: String,
    pub(super) client_config: ClientConfig,
    #[serde(default)]
    pub(super) rules: Vec<Rule>,
    pub(super) failure_policy: Option<String>,
    pub(super) match_policy: Option<String>,
    #[serde(default)]
    pub(super) namespace_selector: Value,
    #[serde(default)]
    pub(super) object_selector: Value,
    pub(super) side_effects: Option<String>,
    pub(super) timeout_seconds: Option<u64>,
    #[serde(default)]
    pub(super) admission_review_versions: Vec<String>,
    pub(super) reinvocation_policy: Option<String>,
    #[serde(default)]
    pub(super) match_conditions: Vec<MatchCondition>,
}

/// How it is reached: by a URL or as a Service.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClientConfig {
    pub(super) url: Option<String>,
    pub(super) service: Option<Service>,
    /// The certificates that may have signed its own, in PEM, base64 as all bytes are.
    pub(super) ca_bundle: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Service {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) path: Option<String>,
    pub(super) port: Option<u16>,
}

/// Which requests; an asterisk stands for all.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Rule {
    pub(super) operations: Vec<String>,
    pub(super) api_groups: Vec<String>,
    pub(super) api_versions: Vec<String>,
    pub(super) resources: Vec<String>,
    pub(super) scope: Option<String>,
}

/// An expression that must be true of the request.
#[derive(Debug, Deserialize)]
pub(super) struct MatchCondition {
    pub(super) expression: String,
}

impl Webhook {
    /// Whether a request goes on when the webhook cannot be asked.
    pub(super) fn fails_open(&self) -> bool {
        self.failure_policy.as_deref() == Some("Ignore")
    }

    /// Whether it is asked again after others changed the object.
    pub(super) fn is_reinvocable(&self) -> bool {
        self.reinvocation_policy.as_deref() == Some("IfNeeded")
    }

    /// Whether it leaves nothing behind when asked about a dry run.
    pub(super) fn allows_dry_run(&self) -> bool {
        matches!(self.side_effects.as_deref(), Some("None" | "NoneOnDryRun"))
    }

    pub(super) fn timeout_seconds(&self) -> u64 {
        self.timeout_seconds.unwrap_or(10)
    }
}
