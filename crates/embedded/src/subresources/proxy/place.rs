//! What the name in a proxy's path means: `[scheme:]name[:port]`, where a port may be a name.

use serde_json::Value;

use crate::status::ApiError;

/// Something behind a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place<'a> {
    pub(super) name: &'a str,
    /// Empty for whichever there is.
    pub(super) port: &'a str,
}

impl<'a> Place<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, ApiError> {
        let parts: Vec<&str> = text.split(':').collect();
        let (scheme, name, port) = match *parts.as_slice() {
            [name] => ("", name, ""),
            [name, port] => ("", name, port),
            [scheme, name, port] => (scheme, name, port),
            _ => return Err(ApiError::bad_request(format!("invalid proxy target {text:?}"))),
        };
        match scheme {
            "" | "http" => Ok(Self { name, port }),
            "https" => Err(ApiError::not_implemented("proxies to backends that speak TLS")),
            other => Err(ApiError::bad_request(format!("invalid scheme {other:?} in proxy target {text:?}"))),
        }
    }
}

fn ports<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    object[field].as_array().into_iter().flatten()
}

fn number(value: &Value) -> Option<u16> {
    value.as_u64().and_then(|number| u16::try_from(number).ok())
}

/// The port of a Pod: the one asked for, or the first that its containers name.
pub(super) fn pod_port(pod: &Value, place: &Place<'_>) -> Result<u16, ApiError> {
    let mut declared = ports(&pod["spec"], "containers").flat_map(|container| ports(container, "ports"));
    let found = match place.port {
        "" => declared.next().map_or(Some(80), |port| number(&port["containerPort"])),
        text => text.parse().ok().or_else(|| {
            declared.find(|port| port["name"] == text).and_then(|port| number(&port["containerPort"]))
        }),
    };
    found
        .filter(|port| *port > 0)
        .ok_or_else(|| ApiError::bad_request(format!("pod {:?} has no port {:?}", place.name, place.port)))
}

/// The port of a Service that is asked for by name or number; nothing means the one without a name.
pub(super) fn service_port(service: &Value, place: &Place<'_>) -> Result<Value, ApiError> {
    let wanted = place.port.parse::<u16>().ok();
    let fits = |port: &&Value| match wanted {
        Some(wanted) => number(&port["port"]) == Some(wanted),
        None => port["name"].as_str().unwrap_or_default() == place.port,
    };
    ports(&service["spec"], "ports").find(fits).cloned().ok_or_else(|| {
        ApiError::unavailable(format!("no service port {} found for service {:?}", place.port, place.name))
    })
}

/// Whether a Service's selector fits these labels; one without a selector has no Pods of its own.
pub(super) fn selects(service: &Value, labels: &[(Box<str>, Box<str>)]) -> bool {
    service["spec"]["selector"].as_object().is_some_and(|selector| {
        !selector.is_empty()
            && selector.iter().all(|(name, value)| {
                labels.iter().any(|(key, label)| **key == **name && value.as_str() == Some(label))
            })
    })
}

/// Those of a Service's Pods that are ready, with the port that each listens on.
pub(super) fn pods_behind(pods: &[Value], port: &Value) -> Vec<(String, u16)> {
    let is_ready = |pod: &&Value| {
        let mut conditions = ports(&pod["status"], "conditions");
        conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
    };
    let target = |pod: &Value| match port["targetPort"].as_str() {
        Some(name) => pod_port(pod, &Place { name: "", port: name }).ok(),
        None => number(&port["targetPort"]).or_else(|| number(&port["port"])),
    };
    let named = |pod: &Value| Some((pod["metadata"]["name"].as_str()?.to_owned(), target(pod)?));
    pods.iter().filter(is_ready).filter_map(named).collect()
}

/// The ready Pods behind a port of a Service, with the port that each listens on.
pub(super) fn ready_pods(slices: &[Value], port_name: &str) -> Vec<(String, u16)> {
    let mut found = Vec::new();
    for slice in slices {
        let port = ports(slice, "ports")
            .find(|port| port["name"].as_str().unwrap_or_default() == port_name)
            .and_then(|port| number(&port["port"]));
        let Some(port) = port else { continue };
        for endpoint in ports(slice, "endpoints") {
            let ready = endpoint["conditions"]["ready"].as_bool().unwrap_or(true);
            if let Some(pod) = endpoint["targetRef"]["name"].as_str().filter(|_| ready) {
                found.push((pod.to_owned(), port));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_carry_scheme_and_port() {
        assert_eq!(Place::parse("a"), Ok(Place { name: "a", port: "" }));
        assert_eq!(Place::parse("a:web"), Ok(Place { name: "a", port: "web" }));
        assert_eq!(Place::parse("http:a:80"), Ok(Place { name: "a", port: "80" }));
        assert_eq!(Place::parse("https:a:443").map_err(|error| error.code), Err(501));
        assert_eq!(Place::parse("ftp:a:1").map_err(|error| error.code), Err(400));
        assert_eq!(Place::parse("a:b:c:d").map_err(|error| error.code), Err(400));
    }

    #[test]
    fn a_pods_port_is_asked_for_or_the_first() {
        let pod = json!({"spec": {"containers": [{"ports": [{"name": "web", "containerPort": 8080}]}]}});
        let port = |port| pod_port(&pod, &Place { name: "a", port }).map_err(|error| error.code);
        assert_eq!(port(""), Ok(8080));
        assert_eq!(port("web"), Ok(8080));
        assert_eq!(port("99"), Ok(99));
        assert_eq!(port("other"), Err(400));
    }

    #[test]
    fn a_service_leads_to_its_ready_pods() {
        let service =
            json!({"spec": {"ports": [{"name": "http", "port": 80}, {"name": "admin", "port": 81}]}});
        let port = |port| service_port(&service, &Place { name: "s", port }).map_err(|error| error.code);
        assert_eq!(port("80").map(|port| port["name"].clone()), Ok(json!("http")));
        assert_eq!(port("admin").map(|port| port["port"].clone()), Ok(json!(81)));
        assert_eq!(port("82"), Err(503));
        assert_eq!(port(""), Err(503), "both have names");
        let slice = json!({
            "ports": [{"name": "http", "port": 8080}],
            "endpoints": [
                {"conditions": {"ready": false}, "targetRef": {"name": "slow"}},
                {"conditions": {"ready": true}, "targetRef": {"name": "good"}},
            ],
        });
        assert_eq!(ready_pods(std::slice::from_ref(&slice), "http"), [("good".to_owned(), 8080)]);
        assert_eq!(ready_pods(&[slice], "admin"), []);
    }

    #[test]
    fn pods_are_found_by_the_selector_too() {
        let service = json!({"spec": {"selector": {"app": "a"}}});
        let labels = |value: &str| [(Box::from("app"), Box::from(value))];
        assert!(selects(&service, &labels("a")) && !selects(&service, &labels("b")));
        assert!(!selects(&json!({"spec": {}}), &labels("a")));
        let pod = |name: &str, ready: &str| {
            json!({
                "metadata": {"name": name},
                "spec": {"containers": [{"ports": [{"name": "web", "containerPort": 8080}]}]},
                "status": {"conditions": [{"type": "Ready", "status": ready}]},
            })
        };
        let pods = [pod("slow", "False"), pod("good", "True")];
        assert_eq!(
            pods_behind(&pods, &json!({"port": 80, "targetPort": "web"})),
            [("good".to_owned(), 8080)]
        );
        assert_eq!(pods_behind(&pods, &json!({"port": 80, "targetPort": 81})), [("good".to_owned(), 81)]);
    }
}
