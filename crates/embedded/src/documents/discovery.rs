//! What the server serves, in the old form (one document per group version) and in one document for all.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::response::Response;
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use crate::metrics;
use crate::resource::{Resource, Subresource, TRANSIENTS, api_version};
use crate::server::{Server, respond_value};
use crate::status::ApiError;

const STORED_VERBS: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// One line of discovery, whichever form it is shown in.
struct Line {
    plural: String,
    singular: String,
    kind: String,
    /// The kind's group and version where it is not the resource's own.
    of: Option<(&'static str, &'static str)>,
    namespaced: bool,
    verbs: Vec<&'static str>,
    short_names: Vec<String>,
    categories: Vec<String>,
    subresource: Option<&'static str>,
}

impl Server {
    /// The groups other than core, with their versions, preferred first.
    pub(super) fn group_versions(&self) -> Vec<(String, String)> {
        let registry = self.registry();
        let mut found: Vec<(String, String)> = registry
            .iter()
            .map(|resource| (resource.group.clone(), resource.version.clone()))
            .chain(TRANSIENTS.iter().map(|fact| (fact.group.to_owned(), "v1".to_owned())))
            .filter(|(group, _)| !group.is_empty())
            .collect();
        if self.has_metrics() {
            found.push((metrics::GROUP.to_owned(), metrics::VERSION.to_owned()));
        }
        found.sort_by(|one, other| one.0.cmp(&other.0).then_with(|| version_order(&one.1, &other.1)));
        found.dedup();
        found
    }

    fn groups(&self) -> BTreeMap<String, Vec<String>> {
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (group, version) in self.group_versions() {
            groups.entry(group).or_default().push(version);
        }
        groups
    }

    pub(super) fn discovery(self: &Arc<Self>, path: &str, parts: &Parts) -> Result<Response, ApiError> {
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let aggregated = wants_aggregated(parts);
        match segments.as_slice() {
            ["api"] if aggregated => {
                Ok(self.aggregated(&BTreeMap::from([(String::new(), vec!["v1".into()])])))
            }
            ["apis"] if aggregated => Ok(self.aggregated(&self.groups())),
            ["api"] => Ok(respond_value(
                StatusCode::OK,
                &json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}),
            )),
            ["apis"] => {
                let groups: Vec<Value> =
                    self.groups().iter().map(|(group, versions)| group_value(group, versions)).collect();
                Ok(respond_value(
                    StatusCode::OK,
                    &json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}),
                ))
            }
            ["apis", group] => {
                let groups = self.groups();
                let versions = groups.get(*group).ok_or_else(ApiError::no_such_path)?;
                let mut value = group_value(group, versions);
                value["kind"] = json!("APIGroup");
                value["apiVersion"] = json!("v1");
                Ok(respond_value(StatusCode::OK, &value))
            }
            ["api", version] => self.resource_list("", version),
            ["apis", group, version] => self.resource_list(group, version),
            _ => Err(ApiError::no_such_path()),
        }
    }

    fn resource_list(&self, group: &str, version: &str) -> Result<Response, ApiError> {
        let lines = self.lines(group, version);
        if lines.is_empty() {
            return Err(ApiError::no_such_path());
        }
        let resources: Vec<Value> = lines.iter().map(plain_line).collect();
        Ok(respond_value(
            StatusCode::OK,
            &json!({
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": api_version(group, version),
                "resources": resources,
            }),
        ))
    }

    fn lines(&self, group: &str, version: &str) -> Vec<Line> {
        let registry = self.registry();
        let mut lines = Vec::new();
        for resource in registry.iter().filter(|it| it.group == group && it.version == version) {
            lines.push(stored_line(resource));
            lines.extend(resource.subresources.iter().map(|sub| subresource_line(resource, *sub)));
        }
        if version == "v1" {
            for fact in TRANSIENTS.iter().filter(|fact| fact.group == group) {
                lines.push(Line {
                    plural: fact.plural.into(),
                    singular: fact.kind.to_lowercase(),
                    kind: fact.kind.into(),
                    of: None,
                    namespaced: fact.namespaced,
                    verbs: vec!["create"],
                    short_names: Vec::new(),
                    categories: Vec::new(),
                    subresource: None,
                });
            }
        }
        if (group, version) == (metrics::GROUP, metrics::VERSION) && self.has_metrics() {
            lines.extend(metrics::RESOURCES.map(metrics_line));
        }
        lines.sort_by(|one, other| (&one.plural, one.subresource).cmp(&(&other.plural, other.subresource)));
        lines
    }

    fn aggregated(&self, groups: &BTreeMap<String, Vec<String>>) -> Response {
        let items: Vec<Value> = groups
            .iter()
            .map(|(group, versions)| {
                let versions: Vec<Value> = versions
                    .iter()
                    .map(|version| {
                        json!({
                            "version": version,
                            "freshness": "Current",
                            "resources": aggregated_lines(group, version, &self.lines(group, version)),
                        })
                    })
                    .collect();
                let metadata = if group.is_empty() {
                    json!({"creationTimestamp": null})
                } else {
                    json!({"name": group, "creationTimestamp": null})
                };
                json!({"metadata": metadata, "versions": versions})
            })
            .collect();
        let list = json!({
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": items,
        });
        let mut response = respond_value(StatusCode::OK, &list);
        response.headers_mut().insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
        );
        response
    }
}

fn wants_aggregated(parts: &Parts) -> bool {
    parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).is_some_and(|accept| {
        accept.split(',').any(|choice| {
            choice.contains("as=APIGroupDiscoveryList")
                && choice.contains("v=v2")
                && !choice.contains("v2beta1")
        })
    })
}

/// `v2` before `v1` before `v1beta1`: stable before unstable, newer before older.
fn version_order(one: &str, other: &str) -> std::cmp::Ordering {
    let rank = |version: &str| {
        let rest = version.strip_prefix('v').unwrap_or(version);
        let major: u32 =
            rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0);
        let stability = if rest.contains("alpha") {
            0
        } else if rest.contains("beta") {
            1
        } else {
            2
        };
        (stability, major)
    };
    rank(other).cmp(&rank(one)).then_with(|| other.cmp(one))
}

fn group_value(group: &str, versions: &[String]) -> Value {
    let version = |version: &String| json!({"groupVersion": api_version(group, version), "version": version});
    json!({
        "name": group,
        "versions": versions.iter().map(version).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(version),
    })
}

fn stored_line(resource: &Resource) -> Line {
    Line {
        plural: resource.plural.clone(),
        singular: resource.singular.clone(),
        kind: resource.kind.clone(),
        of: None,
        namespaced: resource.namespaced,
        // Namespaces go one by one.
        verbs: STORED_VERBS
            .iter()
            .copied()
            .filter(|verb| *verb != "deletecollection" || !resource.is("namespaces"))
            .collect(),
        short_names: resource.short_names.clone(),
        categories: resource.categories.clone(),
        subresource: None,
    }
}

fn metrics_line((plural, kind, namespaced): (&str, &str, bool)) -> Line {
    Line {
        plural: plural.to_owned(),
        singular: String::new(),
        kind: kind.to_owned(),
        of: None,
        namespaced,
        verbs: vec!["get", "list"],
        short_names: Vec::new(),
        categories: Vec::new(),
        subresource: None,
    }
}

fn subresource_line(resource: &Resource, subresource: Subresource) -> Line {
    let (kind, of, verbs): (&str, _, &[&'static str]) = match subresource {
        Subresource::Status | Subresource::Approval => (&resource.kind, None, &["get", "patch", "update"]),
        Subresource::Scale => ("Scale", Some(("autoscaling", "v1")), &["get", "patch", "update"]),
        Subresource::Binding => ("Binding", None, &["create"]),
        Subresource::Eviction => ("Eviction", Some(("policy", "v1")), &["create"]),
        Subresource::Log => ("Pod", None, &["get"]),
        Subresource::Exec => ("PodExecOptions", None, &["create", "get"]),
        Subresource::Attach => ("PodAttachOptions", None, &["create", "get"]),
        Subresource::PortForward => ("PodPortForwardOptions", None, &["create", "get"]),
        Subresource::Proxy => match resource.kind.as_str() {
            "Node" => ("NodeProxyOptions", None, &["create", "delete", "get", "patch", "update"]),
            "Service" => ("ServiceProxyOptions", None, &["create", "delete", "get", "patch", "update"]),
            _ => ("PodProxyOptions", None, &["create", "delete", "get", "patch", "update"]),
        },
        Subresource::Token => ("TokenRequest", Some(("authentication.k8s.io", "v1")), &["create"]),
        Subresource::Finalize => ("Namespace", None, &["update"]),
        Subresource::EphemeralContainers | Subresource::Resize => ("Pod", None, &["get", "patch", "update"]),
    };
    Line {
        plural: resource.plural.clone(),
        singular: String::new(),
        kind: kind.to_owned(),
        of,
        namespaced: resource.namespaced,
        verbs: verbs.to_vec(),
        short_names: Vec::new(),
        categories: Vec::new(),
        subresource: Some(subresource.name()),
    }
}

fn plain_line(line: &Line) -> Value {
    let name = match line.subresource {
        Some(subresource) => format!("{}/{subresource}", line.plural),
        None => line.plural.clone(),
    };
    let mut value = json!({
        "name": name,
        "singularName": line.singular,
        "namespaced": line.namespaced,
        "kind": line.kind,
        "verbs": line.verbs,
    });
    if let Some((group, version)) = line.of {
        value["group"] = json!(group);
        value["version"] = json!(version);
    }
    add_names(&mut value, line);
    value
}

fn add_names(value: &mut Value, line: &Line) {
    if !line.short_names.is_empty() {
        value["shortNames"] = json!(line.short_names);
    }
    if !line.categories.is_empty() {
        value["categories"] = json!(line.categories);
    }
}

fn aggregated_lines(group: &str, version: &str, lines: &[Line]) -> Vec<Value> {
    let kind = |line: &Line| {
        let (group, version) = line.of.unwrap_or((group, version));
        json!({"group": group, "version": version, "kind": line.kind})
    };
    let mut shown: Vec<Value> = Vec::new();
    for line in lines {
        let Some(subresource) = line.subresource else {
            let mut value = json!({
                "resource": line.plural,
                "responseKind": kind(line),
                "scope": if line.namespaced { "Namespaced" } else { "Cluster" },
                "singularResource": line.singular,
                "verbs": line.verbs,
            });
            add_names(&mut value, line);
            shown.push(value);
            continue;
        };
        let part = json!({"subresource": subresource, "responseKind": kind(line), "verbs": line.verbs});
        // Lines are sorted, so a subresource follows the resource it belongs to.
        if let Some(owner) = shown.last_mut() {
            match owner["subresources"].as_array_mut() {
                Some(list) => list.push(part),
                None => owner["subresources"] = json!([part]),
            }
        }
    }
    shown
}
