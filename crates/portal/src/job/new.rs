//! A job that somebody submits, and the AIJob it becomes. Pure.

use std::collections::BTreeMap;

use kube::api::ObjectMeta;
use maar_api::{
    names,
    v1alpha1::{AIJob, AIJobSpec, Backend},
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    access::Person,
    profile::Profiles,
    rules::{Wrong, check_mounts, check_name, check_stop, check_template, check_word},
};

/// A manifest of an AIJob, as for kubectl; namespace and user are the asker's.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewJob {
    /// `maar.io/v1alpha1`, if it is said.
    #[serde(default)]
    api_version: Option<String>,
    /// `AIJob`, if it is said.
    #[serde(default)]
    kind: Option<String>,
    metadata: NewMetadata,
    spec: AIJobSpec,
    /// Begin from this template, by its identifier: what else is said here wins.
    #[serde(default)]
    #[expect(dead_code, reason = "taken out of the request before it is read; here for the document")]
    template: Option<String>,
}

/// What people say of an object.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewMetadata {
    /// Its name: a letter, then letters, digits and dashes, at most 40.
    pub(crate) name: String,
    /// The own namespace, if it is said.
    #[serde(default)]
    pub(crate) namespace: Option<String>,
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
}

/// The AIJob that `person` submits: in his namespace and his name.
pub(crate) fn plan(asked: NewJob, person: &Person, profiles: &Profiles) -> Result<AIJob, Wrong> {
    let NewJob { api_version, kind, metadata, mut spec, .. } = asked;
    if api_version.is_some_and(|version| version != names::API_VERSION) {
        return Err(Wrong::new("apiVersion", format!("is {}", names::API_VERSION)));
    }
    if kind.is_some_and(|kind| kind != "AIJob") {
        return Err(Wrong::new("kind", "is AIJob"));
    }
    if metadata.namespace.as_ref().is_some_and(|namespace| *namespace != person.namespace) {
        return Err(Wrong::new("metadata.namespace", format!("is your own, {}", person.namespace)));
    }
    if spec.user.as_ref().is_some_and(|user| *user != person.name) {
        return Err(Wrong::new("spec.user", format!("is you, {}", person.name)));
    }
    check_name("metadata.name", &metadata.name, 40)?;
    let words = [("metadata.labels", &metadata.labels), ("metadata.annotations", &metadata.annotations)];
    for (field, words) in words {
        for name in words.keys() {
            check_word(field, name)?;
        }
    }
    check_mounts("spec.mounts", &spec.mounts)?;
    let granted = profiles.granted(person, spec.account());
    if spec.backend != Backend::Maar && !granted.left_to(spec.backend) {
        let why =
            "another scheduler counts neither accounts nor what their members may have: only with a profile";
        return Err(Wrong::new("spec.backend", why));
    }
    if let Some(stop) = &spec.stop {
        check_stop("spec.stop.noticeSeconds", stop.notice_seconds, &granted)?;
        check_stop("spec.stop.graceSeconds", Some(stop.grace_seconds), &granted)?;
    }
    for (index, task) in spec.tasks.iter().enumerate() {
        check_template(&format!("spec.tasks[{index}].template"), &task.template, &granted)?;
    }
    spec.user = Some(person.name.clone());
    let mut labels = metadata.labels;
    labels.insert(names::LABEL_MANAGED_BY.to_owned(), names::MANAGED_BY.to_owned());
    let metadata = ObjectMeta {
        name: Some(metadata.name),
        namespace: Some(person.namespace.clone()),
        labels: Some(labels),
        annotations: (!metadata.annotations.is_empty()).then_some(metadata.annotations),
        ..ObjectMeta::default()
    };
    Ok(AIJob { metadata, spec, status: None })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::person;

    fn job(metadata: &Value, spec: &Value) -> NewJob {
        let mut body = json!({
            "metadata": { "name": "train" },
            "spec": { "tasks": [{ "name": "main", "template": { "spec": { "containers": [{ "name": "main", "image": "busybox" }] } } }] },
        });
        body["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        body["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn a_job_is_its_submitters_whatever_it_says() {
        let made = plan(job(&json!({}), &json!({ "account": "lab" })), &person("ada"), &Profiles::default())
            .unwrap();
        assert_eq!(made.metadata.namespace, Some(person("ada").namespace));
        assert_eq!((made.spec.user.as_deref(), made.spec.account()), (Some("ada"), "lab"));
    }

    #[test]
    fn what_is_not_the_submitters_is_named() {
        let field = |metadata: Value, spec: Value| {
            plan(job(&metadata, &spec), &person("ada"), &Profiles::default()).unwrap_err().field
        };
        assert_eq!(field(json!({ "namespace": "kube-system" }), json!({})), "metadata.namespace");
        assert_eq!(field(json!({}), json!({ "user": "bob" })), "spec.user");
        assert_eq!(field(json!({ "name": "a.b" }), json!({})), "metadata.name");
        assert_eq!(
            field(json!({ "annotations": { "maar.io/keep": "true" } }), json!({})),
            "metadata.annotations"
        );
        assert_eq!(
            field(json!({}), json!({ "mounts": [{ "path": "/a", "claim": "c", "subPath": "a/../.." }] })),
            "spec.mounts[0].subPath"
        );
        let queue = json!({ "annotations": { "scheduling.volcano.sh/queue-name": "rich" } });
        assert_eq!(field(queue, json!({})), "metadata.annotations");
        assert_eq!(field(json!({}), json!({ "backend": "Volcano" })), "spec.backend");
        let privileged = json!({ "tasks": [{ "name": "main", "template": { "spec": { "containers": [
            { "name": "main", "image": "busybox", "securityContext": { "privileged": true } },
        ] } } }] });
        assert_eq!(
            field(json!({}), privileged),
            "spec.tasks[0].template.spec.containers[0].securityContext.privileged"
        );
    }

    #[test]
    fn nobody_keeps_a_place_for_a_day_by_taking_long_to_stop() {
        let profiles = Profiles::parse(
            "longestStopSeconds: 120\nprofiles: [{ name: slow, accounts: [lab], longestStopSeconds: 7200 }]",
        )
        .unwrap();
        let asked = |profiles: &Profiles, account: &str, stop: Value| {
            let asked = job(&json!({}), &json!({ "account": account, "stop": stop }));
            plan(asked, &person("ada"), profiles).err().map(|wrong| (wrong.field, wrong.why))
        };
        let refused = |profiles: &Profiles, account: &str, stop: Value| {
            asked(profiles, account, stop).map_or_else(String::new, |(field, _)| field)
        };
        let usual = Profiles::default();
        assert_eq!(refused(&usual, "lab", json!({ "graceSeconds": 900, "noticeSeconds": 900 })), "");
        assert_eq!(refused(&usual, "lab", json!({ "graceSeconds": 901 })), "spec.stop.graceSeconds");
        assert_eq!(refused(&usual, "lab", json!({ "noticeSeconds": 901 })), "spec.stop.noticeSeconds");
        assert_eq!(refused(&usual, "lab", json!({ "noticeSeconds": -1 })), "spec.stop.noticeSeconds");
        assert_eq!(refused(&profiles, "other", json!({ "graceSeconds": 121 })), "spec.stop.graceSeconds");
        assert_eq!(refused(&profiles, "lab", json!({ "graceSeconds": 7200, "noticeSeconds": 7200 })), "");
        assert_eq!(refused(&profiles, "lab", json!({ "graceSeconds": 7201 })), "spec.stop.graceSeconds");
        let (_, why) = asked(&profiles, "other", json!({ "graceSeconds": 121 })).unwrap();
        assert!(why.contains("between 0 and 120") && why.contains("profile"), "{why}");
    }

    #[test]
    fn a_profile_leaves_jobs_to_volcano() {
        let profiles =
            Profiles::parse("profiles: [{ name: a, accounts: [lab], backends: [Volcano] }]").unwrap();
        let asked = |account: &str| job(&json!({}), &json!({ "backend": "Volcano", "account": account }));
        assert_eq!(plan(asked("lab"), &person("ada"), &profiles).unwrap().spec.backend, Backend::Volcano);
        assert_eq!(plan(asked("other"), &person("ada"), &profiles).unwrap_err().field, "spec.backend");
    }
}
