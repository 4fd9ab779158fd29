//! The roles and bindings every cluster has from the start, in a short form of our own.

use std::sync::Arc;

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use serde_json::{Value, json};

use super::policy::GROUP;
use crate::local::{Kind, Local};
use crate::server::Server;
use crate::status::ApiError;

const READ: &str = "get list watch";
const WRITE: &str = "create delete deletecollection patch update";
const ALL: &str = "create delete deletecollection get list patch update watch";

/// Verbs, groups and resources, each separated by blanks; `core` is the group without a name, and where the
/// group is `/` the resources are paths.
type Line = (&'static str, &'static str, &'static str);

struct Role {
    name: &'static str,
    lines: &'static [Line],
    /// The role this one is part of.
    part_of: Option<&'static str>,
    /// Whether the rules are those of its parts.
    collects: bool,
}

const fn role(name: &'static str, lines: &'static [Line]) -> Role {
    Role { name, lines, part_of: None, collects: false }
}

const fn part(name: &'static str, part_of: &'static str, lines: &'static [Line]) -> Role {
    Role { name, lines, part_of: Some(part_of), collects: false }
}

const fn collecting(name: &'static str, part_of: Option<&'static str>) -> Role {
    Role { name, lines: &[], part_of, collects: true }
}

const CERTIFICATES: &str = "certificates.k8s.io";

static ROLES: &[Role] = &[
    role("cluster-admin", &[("*", "*", "*"), ("*", "/", "*")]),
    role(
        "system:discovery",
        &[(
            "get",
            "/",
            "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/",
        )],
    ),
    role(
        "system:service-account-issuer-discovery",
        &[(
            "get",
            "/",
            "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/",
        )],
    ),
    role("system:public-info-viewer", &[("get", "/", "/healthz /livez /readyz /version /version/")]),
    role(
        "system:monitoring",
        &[("get", "/", "/healthz /healthz/* /livez /livez/* /metrics /readyz /readyz/*")],
    ),
    role(
        "system:basic-user",
        &[
            ("create", "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"),
            ("create", "authentication.k8s.io", "selfsubjectreviews"),
        ],
    ),
    role(
        "system:auth-delegator",
        &[
            ("create", "authentication.k8s.io", "tokenreviews"),
            ("create", "authorization.k8s.io", "subjectaccessreviews"),
        ],
    ),
    collecting("admin", None),
    collecting("edit", Some("admin")),
    collecting("view", Some("edit")),
    part(
        "system:aggregate-to-admin",
        "admin",
        &[
            ("create", "authorization.k8s.io", "localsubjectaccessreviews"),
            (ALL, "rbac.authorization.k8s.io", "roles rolebindings"),
        ],
    ),
    part(
        "system:aggregate-to-edit",
        "edit",
        &[
            (READ, "core", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
            ("impersonate", "core", "serviceaccounts"),
            (WRITE, "core", "pods pods/attach pods/exec pods/portforward pods/proxy"),
            ("create", "core", "pods/eviction serviceaccounts/token"),
            (
                WRITE,
                "core",
                "configmaps events persistentvolumeclaims secrets serviceaccounts services services/proxy",
            ),
            (
                WRITE,
                "apps",
                "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale \
                 statefulsets statefulsets/scale",
            ),
            (WRITE, "batch", "cronjobs jobs"),
            (WRITE, "policy", "poddisruptionbudgets"),
            (WRITE, "networking.k8s.io", "ingresses networkpolicies"),
            (ALL, "coordination.k8s.io", "leases"),
        ],
    ),
    part(
        "system:aggregate-to-view",
        "view",
        &[
            (
                READ,
                "core",
                "bindings configmaps endpoints events limitranges namespaces namespaces/status \
                 persistentvolumeclaims persistentvolumeclaims/status pods pods/log pods/status resourcequotas \
                 resourcequotas/status serviceaccounts services services/status",
            ),
            (
                READ,
                "apps",
                "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status \
                 replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale \
                 statefulsets/status",
            ),
            (READ, "batch", "cronjobs cronjobs/status jobs jobs/status"),
            (READ, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
            (READ, "networking.k8s.io", "ingresses ingresses/status networkpolicies"),
            (READ, "discovery.k8s.io", "endpointslices"),
        ],
    ),
    // The metrics server brings this one with it.
    part("system:aggregated-metrics-reader", "view", &[(READ, "metrics.k8s.io", "nodes pods")]),
    role(
        "system:node",
        &[
            ("create", "authentication.k8s.io", "tokenreviews"),
            ("create", "authorization.k8s.io", "localsubjectaccessreviews subjectaccessreviews"),
            (READ, "core", "services"),
            ("create delete get list patch update watch", "core", "nodes"),
            ("patch update", "core", "nodes/status"),
            ("create patch update", "core events.k8s.io", "events"),
            ("create delete get list watch", "core", "pods"),
            ("patch update", "core", "pods/status"),
            ("create", "core", "pods/eviction serviceaccounts/token"),
            (READ, "core", "configmaps secrets"),
            ("get", "core", "persistentvolumeclaims persistentvolumes serviceaccounts"),
            ("create get list watch", CERTIFICATES, "certificatesigningrequests"),
            ("create delete get patch update", "coordination.k8s.io", "leases"),
            ("create delete get patch update", "storage.k8s.io", "csinodes"),
            (READ, "storage.k8s.io", "csidrivers volumeattachments"),
        ],
    ),
    role(
        "system:node-bootstrapper",
        &[("create get list watch", CERTIFICATES, "certificatesigningrequests")],
    ),
    role(
        "system:kubelet-api-admin",
        &[
            ("*", "core", "nodes/log nodes/metrics nodes/proxy nodes/stats"),
            ("get list watch proxy", "core", "nodes"),
        ],
    ),
    role(
        "system:kube-scheduler",
        &[
            ("create patch update", "core events.k8s.io", "events"),
            ("create get list update watch", "coordination.k8s.io", "leases"),
            (READ, "core", "namespaces nodes persistentvolumeclaims persistentvolumes services"),
            ("delete get list watch", "core", "pods"),
            ("create", "core", "bindings pods/binding"),
            ("patch update", "core", "persistentvolumeclaims pods/status"),
            (READ, "apps", "replicasets statefulsets"),
            (READ, "policy", "poddisruptionbudgets"),
            (READ, "storage.k8s.io", "csidrivers csinodes storageclasses volumeattachments"),
            ("create", "authentication.k8s.io", "tokenreviews"),
            ("create", "authorization.k8s.io", "subjectaccessreviews"),
        ],
    ),
    // Here one identity runs all loops; a real cluster gives each loop a service account of its own.
    role(
        "system:kube-controller-manager",
        &[(ALL, "*", "*"), ("approve sign", CERTIFICATES, "signers"), ("get", "/", "*")],
    ),
    role(
        "system:certificates.k8s.io:kube-apiserver-client-approver",
        &[("approve", CERTIFICATES, "signers")],
    ),
];

/// Role, kind of subject, its name.
static BINDINGS: &[(&str, &str, &str)] = &[
    ("cluster-admin", "Group", "system:masters"),
    ("system:basic-user", "Group", "system:authenticated"),
    ("system:discovery", "Group", "system:authenticated"),
    ("system:public-info-viewer", "Group", "system:authenticated"),
    ("system:monitoring", "Group", "system:monitoring"),
    ("system:service-account-issuer-discovery", "Group", "system:serviceaccounts"),
    ("system:kube-scheduler", "User", "system:kube-scheduler"),
    ("system:kube-controller-manager", "User", "system:kube-controller-manager"),
    // A real cluster asks the node authorizer instead, which also knows whose Pods a node runs.
    ("system:node", "Group", "system:nodes"),
];

/// Makes what is missing; safe to repeat.
pub(crate) async fn prepare(server: &Arc<Server>) -> Result<(), ApiError> {
    let local = Local::new(Arc::clone(server), "kube-apiserver");
    for role in ROLES {
        ensure::<ClusterRole>(&local, role.name, || role_object(role)).await?;
    }
    for binding in BINDINGS {
        ensure::<ClusterRoleBinding>(&local, binding.0, || binding_object(*binding)).await?;
    }
    Ok(())
}

async fn ensure<K: Kind>(local: &Local, name: &str, make: impl FnOnce() -> Value) -> Result<(), ApiError> {
    if local.entry::<K>("", name).is_some() {
        return Ok(());
    }
    let object: K = serde_json::from_value(make()).map_err(ApiError::internal)?;
    local.create(&object).await.map(|_| ())
}

fn role_object(role: &Role) -> Value {
    let aggregate = |to: &str| format!("{GROUP}/aggregate-to-{to}");
    let mut object = json!({
        "metadata": {
            "name": role.name,
            "annotations": {format!("{GROUP}/autoupdate"): "true"},
            "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        },
        "rules": role.lines.iter().map(rule).collect::<Vec<_>>(),
    });
    if let Some(whole) = role.part_of {
        object["metadata"]["labels"][aggregate(whole)] = "true".into();
    }
    if role.collects {
        object["rules"] = ROLES
            .iter()
            .filter(|part| part.part_of == Some(role.name))
            .flat_map(collected_lines)
            .map(|line| rule(&line))
            .collect();
        object["aggregationRule"] =
            json!({"clusterRoleSelectors": [{"matchLabels": {aggregate(role.name): "true"}}]});
    }
    object
}

/// The lines of a role and of the parts it collects.
fn collected_lines(role: &Role) -> Vec<Line> {
    let parts = ROLES.iter().filter(|part| role.collects && part.part_of == Some(role.name));
    role.lines.iter().copied().chain(parts.flat_map(collected_lines)).collect()
}

fn rule(line: &Line) -> Value {
    let (verbs, groups, resources) = *line;
    let words = |text: &'static str| text.split_whitespace().collect::<Vec<_>>();
    if groups == "/" {
        return json!({"verbs": words(verbs), "nonResourceURLs": words(resources)});
    }
    let groups: Vec<&str> =
        groups.split_whitespace().map(|group| if group == "core" { "" } else { group }).collect();
    json!({"verbs": words(verbs), "apiGroups": groups, "resources": words(resources)})
}

fn binding_object((role, kind, name): (&str, &str, &str)) -> Value {
    json!({
        "metadata": {
            "name": role,
            "annotations": {format!("{GROUP}/autoupdate"): "true"},
            "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        },
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": GROUP, "kind": kind, "name": name}],
    })
}
