//! How the real kubelet words what happened.

use super::{News, Severity, Subject};
use crate::{
    lifecycle::{FAILED_MOUNT, Happening, Probe, What},
    pod::{Pod, Role},
};

pub(super) fn severity(happening: &Happening) -> Severity {
    match &happening.what {
        What::Started | What::Killing(_) => Severity::Normal,
        What::Refused { .. } | What::BackOff | What::Ended { .. } | What::Noted { .. } => Severity::Warning,
    }
}

/// The Pod, or the part of it that describes the container.
pub(super) fn subject(pod: &Pod, container: Option<usize>) -> Subject {
    let field = container.and_then(|position| pod.template.containers.get(position)).map(|container| {
        let list = if container.role == Role::Main { "containers" } else { "initContainers" };
        format!("spec.{list}{{{}}}", container.name)
    });
    Subject {
        kind: "Pod",
        namespace: pod.namespace.clone(),
        name: pod.name.clone(),
        uid: pod.uid.clone(),
        field: field.unwrap_or_default(),
    }
}

pub(super) fn news(pod: &Pod, happening: &Happening, scheme: &str) -> Vec<News> {
    let container = happening.container.and_then(|position| pod.template.containers.get(position));
    let name = container.map_or("", |container| &*container.name);
    match &happening.what {
        What::Started => {
            let image = container.map_or("", |container| &*container.image);
            vec![
                News::normal("Pulled", pulled(image, scheme)),
                News::normal("Created", "Container created"),
                News::normal("Started", "Container started"),
            ]
        }
        What::Killing(None) => vec![News::normal("Killing", format!("Stopping container {name}"))],
        What::Killing(Some(probe)) => vec![News::normal("Killing", unhealthy(pod, happening, name, *probe))],
        What::BackOff => vec![News::warning(
            "BackOff",
            format!(
                "Back-off restarting failed container {name} in pod {}_{}({})",
                pod.name, pod.namespace, pod.uid
            ),
        )],
        What::Refused { reason, message } => vec![refusal(reason, message)],
        What::Ended { reason, message } => vec![News::warning(reason.to_string(), &**message)],
        What::Noted { reason, message } => vec![News::warning(*reason, message.clone())],
    }
}

/// The local node has no images, and says so.
fn pulled(image: &str, scheme: &str) -> String {
    match scheme {
        "local" => {
            format!("Container image {image:?} is not needed: the local node runs programs of this machine")
        }
        _ => {
            format!("Container image {image:?} already present on machine and can be accessed by the pod")
        }
    }
}

fn unhealthy(pod: &Pod, happening: &Happening, name: &str, probe: Probe) -> String {
    let mut text = format!("Container {name} failed {} probe", probe.as_str());
    let container = happening.container.and_then(|position| pod.template.containers.get(position));
    // Whatever the code of a killed process, it is not zero.
    if container.is_some_and(|container| pod.template.restarts(container, 137)) {
        text.push_str(", will be restarted");
    }
    text
}

fn refusal(reason: &str, message: &str) -> News {
    match reason {
        FAILED_MOUNT => News::warning(FAILED_MOUNT, message),
        _ => News::warning("Failed", format!("Error: {message}")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::pod::{PodObject, Template};

    fn pod(policy: &str) -> Pod {
        let spec = json!({ "restartPolicy": policy, "containers": [{ "name": "main", "image": "img:1" }],
            "initContainers": [{ "name": "side", "restartPolicy": "Always" }] });
        let template = Template::read(&PodObject { spec, ..PodObject::default() }).unwrap();
        Pod {
            uid: "0a".into(),
            namespace: "ns".into(),
            name: "p".into(),
            node: "n".into(),
            generation: None,
            template: Arc::new(template),
            deletion: None,
            gates: Box::default(),
            fail: None,
        }
    }

    fn said(policy: &str, container: Option<usize>, what: What) -> Vec<String> {
        let news = news(&pod(policy), &Happening { container, what }, "sim");
        news.iter()
            .map(|news| format!("{} {}: {}", news.severity.as_str(), news.reason, news.message))
            .collect()
    }

    #[test]
    fn words_are_those_of_the_real_kubelet() {
        let rows: [(&str, What, &[&str]); 7] = [
            (
                "Always",
                What::Started,
                &[
                    "Normal Pulled: Container image \"img:1\" already present on machine and can be accessed by the pod",
                    "Normal Created: Container created",
                    "Normal Started: Container started",
                ],
            ),
            ("Always", What::Killing(None), &["Normal Killing: Stopping container main"]),
            (
                "Always",
                What::Killing(Some(Probe::Liveness)),
                &["Normal Killing: Container main failed liveness probe, will be restarted"],
            ),
            (
                "Never",
                What::Killing(Some(Probe::Startup)),
                &["Normal Killing: Container main failed startup probe"],
            ),
            (
                "Always",
                What::BackOff,
                &["Warning BackOff: Back-off restarting failed container main in pod p_ns(0a)"],
            ),
            (
                "Always",
                What::Refused { reason: "CreateContainerConfigError", message: "no".into() },
                &["Warning Failed: Error: no"],
            ),
            (
                "Always",
                What::Refused { reason: FAILED_MOUNT, message: "no volume".into() },
                &["Warning FailedMount: no volume"],
            ),
        ];
        for (policy, what, want) in rows {
            assert_eq!(said(policy, Some(1), what), want);
        }
        assert_eq!(subject(&pod("Always"), Some(1)).field, "spec.containers{main}");
        assert_eq!(subject(&pod("Always"), Some(0)).field, "spec.initContainers{side}");
        assert_eq!(subject(&pod("Always"), None).field, "");
    }
}
