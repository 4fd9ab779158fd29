//! Pods by themselves, for programs that make their own: under the same rules as Pods of jobs.

use axum::body::Body;
use k8s_openapi::api::core::v1::{Pod, PodSpec, PodTemplateSpec};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ObjectMeta, Preconditions},
};
use maar_api::names;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{LogQuery, logs, portable};
use crate::{
    access::{Kind, Object, Person, Verb},
    error::ApiError,
    job::NewMetadata,
    live::{PodFacts, Work},
    page::{Page, PageQuery, page},
    profile::Profiles,
    route::{
        Answer, Call,
        Method::{Delete, Get, Post},
        Route, Target,
    },
    rules::{Wrong, check_name, check_template},
};

pub(crate) fn routes() -> Vec<Route> {
    let (list_of, one) = (Target::Asker(Kind::Pod), Target::Pod);
    vec![
        Route::at_once(Get, "/pods", "listPods", (Verb::See, list_of), list)
            .says("Pods of the own namespace, whatever made them")
            .query::<PageQuery>()
            .answers::<Page<PodView>>(),
        Route::new(Post, "/pods", "createPod", (Verb::Start, Target::New(Kind::Pod, "/account")), create)
            .says("Make a Pod in the own namespace, under the same rules as Pods of jobs")
            .takes::<NewPod>()
            .answers::<PodView>(),
        Route::at_once(Get, "/pods/{namespace}/{name}", "getPod", (Verb::See, one), get)
            .says("One Pod")
            .answers::<PodView>(),
        Route::new(Delete, "/pods/{namespace}/{name}", "deletePod", (Verb::Delete, one), delete)
            .says("Delete a Pod; what a workspace or a job needs is made again"),
        Route::new(Get, "/pods/{namespace}/{name}/logs", "getPodLogs", (Verb::Read, one), read_logs)
            .says("What a program of it says")
            .query::<LogQuery>()
            .answers_text("text/plain"),
        Route::new(Get, "/pods/{namespace}/{name}/yaml", "exportPod", (Verb::Read, one), yaml)
            .says("The Pod as a manifest")
            .answers_text("application/yaml"),
    ]
}

/// A manifest of a Pod, as for kubectl, and who pays.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewPod {
    /// `v1`, if it is said.
    #[serde(default)]
    api_version: Option<String>,
    /// `Pod`, if it is said.
    #[serde(default)]
    kind: Option<String>,
    metadata: NewMetadata,
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    spec: PodSpec,
    /// Who pays; the account of everyone if it is not said.
    #[serde(default)]
    account: Option<String>,
}

/// A Pod.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodView {
    namespace: String,
    name: String,
    phase: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    /// The workspace that it is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    /// The job that it is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    /// Cards that were given, such as `nvidia.com/gpu=2,3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    cards: Option<String>,
    restarts: i32,
    /// Why it has no node.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// What access to it is decided by. A Pod that no account pays for, such as one of the cluster itself, is not that of the
/// account of everyone.
pub(crate) fn object_of(pod: &PodFacts) -> Object {
    Object { account: pod.account.clone(), ..Object::work(Kind::Pod, &pod.namespace, None) }
}

fn view(pod: &PodFacts) -> PodView {
    let (workspace, job) = match &pod.work {
        Work::Workspace(name) => (Some(name.clone()), None),
        Work::Job(name) => (None, Some(name.clone())),
        Work::Other => (None, None),
    };
    PodView {
        namespace: pod.namespace.clone(),
        name: pod.name.clone(),
        phase: pod.phase.clone(),
        node: pod.node.clone(),
        account: pod.account.clone(),
        user: pod.user.clone(),
        workspace,
        job,
        cards: pod.cards.clone(),
        restarts: pod.restarts,
        message: pod.refusal.clone(),
    }
}

/// The Pod that `person` asks for: in his namespace and his name, and for the scheduler that counts it.
fn plan(asked: NewPod, person: &Person, profiles: &Profiles) -> Result<Pod, Wrong> {
    let NewPod { api_version, kind, metadata, mut spec, account } = asked;
    if api_version.is_some_and(|version| version != "v1") {
        return Err(Wrong::new("apiVersion", "is v1"));
    }
    if kind.is_some_and(|kind| kind != "Pod") {
        return Err(Wrong::new("kind", "is Pod"));
    }
    if metadata.namespace.as_ref().is_some_and(|namespace| *namespace != person.namespace) {
        return Err(Wrong::new("metadata.namespace", format!("is your own, {}", person.namespace)));
    }
    check_name("metadata.name", &metadata.name, 63)?;
    let words = ObjectMeta {
        labels: Some(metadata.labels.clone()),
        annotations: Some(metadata.annotations.clone()),
        ..ObjectMeta::default()
    };
    let template = PodTemplateSpec { metadata: Some(words), spec: Some(spec.clone()) };
    let account = account.unwrap_or_else(|| names::DEFAULT_ACCOUNT.to_owned());
    check_template("", &template, &profiles.granted(person, &account))
        .map_err(|wrong| Wrong { field: wrong.field.trim_start_matches('.').to_owned(), ..wrong })?;
    spec.scheduler_name = Some(names::SCHEDULER_NAME.to_owned());
    spec.automount_service_account_token = Some(false);
    maar_jobs::hide_cards(&mut spec);
    let mut labels = metadata.labels;
    labels.insert(names::LABEL_ACCOUNT.to_owned(), account);
    labels.insert(names::LABEL_USER.to_owned(), person.name.clone());
    let metadata = ObjectMeta {
        name: Some(metadata.name),
        namespace: Some(person.namespace.clone()),
        labels: Some(labels),
        annotations: (!metadata.annotations.is_empty()).then_some(metadata.annotations),
        ..ObjectMeta::default()
    };
    Ok(Pod { metadata, spec: Some(spec), status: None })
}

fn list(call: &Call) -> Result<Answer, ApiError> {
    let found = call.portal.live.pods.list(Some(&call.person()?.namespace));
    let found = page(found, &call.query::<PageQuery>()?, |pod| pod.name.clone())?;
    Answer::json(&found.map(|pod| view(&pod)))
}

fn get(call: &Call) -> Result<Answer, ApiError> {
    Answer::json(&view(call.pod()?))
}

fn api(call: &Call, namespace: &str) -> Api<Pod> {
    Api::namespaced(call.portal.client.clone(), namespace)
}

async fn create(call: Call) -> Result<Answer, ApiError> {
    let (portal, person) = (&call.portal, call.person()?);
    let pod = plan(call.body()?, person, &portal.settings.profiles)?;
    let (namespace, name) = (&person.namespace, pod.name_any());
    let made = portal.namespaces.create(person, &format!("Pod {name}"), &pod).await?;
    portal.live.pods.seen(namespace, &name).await;
    let facts = PodFacts::of(&made, &portal.settings.pod_kinds);
    let after = json!({ "account": facts.account, "requests": facts.requests });
    Ok(Answer::created(&view(&facts))?.about(format!("{namespace}/{name}")).change(None, Some(after)))
}

async fn delete(call: Call) -> Result<Answer, ApiError> {
    let pod = call.pod()?;
    // The Pod that was looked at, and no namesake that has taken its place.
    let only = Preconditions { uid: pod.uid.clone(), resource_version: None };
    let how = DeleteParams::default().preconditions(only);
    let result = api(&call, &pod.namespace).delete(&pod.name, &how).await;
    result.map_err(|error| ApiError::of_cluster("this pod", error))?;
    Ok(Answer::done().change(Some(json!({ "account": pod.account, "node": pod.node })), None))
}

async fn read_logs(call: Call) -> Result<Answer, ApiError> {
    let pod = call.pod()?;
    logs(&call, &pod.namespace, &pod.name, object_of(pod)).await
}

async fn yaml(call: Call) -> Result<Answer, ApiError> {
    let pod = call.pod()?;
    let found = api(&call, &pod.namespace).get(&pod.name).await;
    let found = found.map_err(|error| ApiError::of_cluster("this pod", error))?;
    Ok(Answer::stream("application/yaml", Body::from(portable(&found)?)))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::testing::person;

    fn asked(metadata: &Value, spec: &Value) -> NewPod {
        let mut body = json!({
            "metadata": { "name": "one" }, "account": "lab",
            "spec": { "containers": [{ "name": "main", "image": "busybox" }] },
        });
        body["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        body["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn a_pod_is_its_makers_and_counted() {
        let made = plan(asked(&json!({}), &json!({})), &person("ada"), &Profiles::default()).unwrap();
        assert_eq!(made.metadata.namespace, Some(person("ada").namespace));
        let labels = made.metadata.labels.unwrap();
        assert_eq!(
            (labels[names::LABEL_ACCOUNT].as_str(), labels[names::LABEL_USER].as_str()),
            ("lab", "ada")
        );
        assert_eq!(made.spec.unwrap().scheduler_name.as_deref(), Some(names::SCHEDULER_NAME));
    }

    #[test]
    fn cards_that_were_not_asked_for_stay_hidden() {
        let cards = json!({ "limits": { "nvidia.com/gpu": "1" } });
        let from = json!([{ "configMapRef": { "name": "all" } }]);
        let spec = json!({
            "containers": [
                { "name": "main", "image": "busybox", "resources": cards },
                { "name": "side", "image": "busybox", "envFrom": from },
            ],
            "initContainers": [{ "name": "first", "image": "busybox" }],
        });
        let made =
            plan(asked(&json!({}), &spec), &person("ada"), &Profiles::default()).unwrap().spec.unwrap();
        let said = |container: &k8s_openapi::api::core::v1::Container| {
            let all = container.env.iter().flatten();
            all.clone().find(|one| one.name == "NVIDIA_VISIBLE_DEVICES").cloned().unwrap()
        };
        assert!(
            said(&made.containers[0]).value_from.unwrap().field_ref.is_some(),
            "what the scheduler gives"
        );
        assert_eq!(said(&made.containers[1]).value.as_deref(), Some("void"));
        assert_eq!(said(&made.init_containers.unwrap()[0]).value.as_deref(), Some("void"));
    }

    #[test]
    fn pods_of_the_cluster_are_not_for_those_who_look_after_the_account_of_everyone() {
        let system: Pod =
            serde_json::from_value(json!({ "metadata": { "name": "etcd", "namespace": "kube-system" } }))
                .unwrap();
        let mut amy = person("amy");
        amy.accounts.insert(names::DEFAULT_ACCOUNT.to_owned(), crate::access::AccountRole::Admin);
        let (amy, object) = (
            crate::testing::subject(amy),
            object_of(&PodFacts::of(&system, &maar_jobs::PodKinds::default())),
        );
        for verb in [Verb::See, Verb::Read, Verb::Delete] {
            assert!(!crate::access::may(&amy, verb, &object), "{verb:?}");
        }
    }

    #[test]
    fn what_leads_out_is_refused_with_its_field() {
        let field = |metadata: Value, spec: Value| {
            plan(asked(&metadata, &spec), &person("ada"), &Profiles::default()).unwrap_err().field
        };
        assert_eq!(field(json!({ "namespace": "kube-system" }), json!({})), "metadata.namespace");
        assert_eq!(field(json!({ "labels": { "maar.io/account": "rich" } }), json!({})), "metadata");
        assert_eq!(field(json!({}), json!({ "hostNetwork": true })), "spec.hostNetwork");
        assert_eq!(field(json!({}), json!({ "nodeName": "gpu-1" })), "spec.nodeName");
        assert_eq!(field(json!({}), json!({ "schedulerName": "default-scheduler" })), "spec.schedulerName");
        let host = json!({ "volumes": [{ "name": "a", "hostPath": { "path": "/" } }] });
        assert_eq!(field(json!({}), host), "spec.volumes[0].hostPath");
    }
}
