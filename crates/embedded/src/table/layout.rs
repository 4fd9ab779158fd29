//! Which kind has which columns.

use serde_json::{Value, json};

use super::age::Now;
use super::cells::{cluster, event, network, pod, storage, workload};

/// One column of a built-in kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    name: &'static str,
    kind: &'static str,
    format: &'static str,
    description: &'static str,
    /// Whether only wide output shows it.
    wide: bool,
}

impl Column {
    /// The column as clients see it.
    pub(super) fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.kind,
            "format": self.format,
            "description": self.description,
            "priority": i32::from(self.wide),
        })
    }
}

/// The columns of a kind and what fills them.
#[derive(Debug)]
pub(super) struct Layout {
    group: &'static str,
    plural: &'static str,
    pub(super) columns: &'static [Column],
    pub(super) cells: fn(&Value, Now) -> Vec<Value>,
    /// What a whole row says about its object.
    pub(super) condition: fn(&Value) -> Option<Value>,
}

/// The layout of a built-in kind, if it has one of its own.
pub(super) fn find(group: &str, plural: &str) -> Option<&'static Layout> {
    LAYOUTS.iter().find(|layout| layout.group == group && layout.plural == plural)
}

const fn column(name: &'static str, kind: &'static str, description: &'static str) -> Column {
    Column { name, kind, format: "", description, wide: false }
}

const fn text(name: &'static str, description: &'static str) -> Column {
    column(name, "string", description)
}

const fn count(name: &'static str, description: &'static str) -> Column {
    column(name, "integer", description)
}

const fn flag(name: &'static str, description: &'static str) -> Column {
    column(name, "boolean", description)
}

const fn wide(name: &'static str, description: &'static str) -> Column {
    Column { name, kind: "string", format: "", description, wide: true }
}

pub(super) const NAME: Column = Column {
    name: "Name",
    kind: "string",
    format: "name",
    description: "The name, unique within the namespace.",
    wide: false,
};
pub(super) const CREATED_AT: Column = column("Created At", "date", "When the object was created.");
const AGE: Column = text("Age", "How long ago the object was created.");
const CONTAINERS: Column = wide("Containers", "The names of the containers.");
const IMAGES: Column = wide("Images", "The images of the containers.");
const SELECTOR: Column = wide("Selector", "Which Pods belong to it.");
const EVENT_NAME: Column = Column { wide: true, ..NAME };

fn no_condition(_object: &Value) -> Option<Value> {
    None
}

const NONE: Layout =
    Layout { group: "", plural: "", columns: &[], cells: cluster::named, condition: no_condition };

const EVENT: &[Column] = &[
    text("Last Seen", "How long ago it happened last."),
    text("Type", "Whether it is normal or a warning."),
    text("Reason", "Why it happened, in one word."),
    text("Object", "What it is about."),
    wide("Subobject", "Which part of the object it is about."),
    wide("Source", "Who reports it."),
    text("Message", "What happened."),
    wide("First Seen", "How long ago it happened first."),
    wide("Count", "How often it happened."),
    EVENT_NAME,
];

const BINDING: &[Column] = &[
    NAME,
    text("Role", "The role that is given."),
    AGE,
    wide("Users", "The users who have it."),
    wide("Groups", "The groups that have it."),
    wide("ServiceAccounts", "The service accounts that have it."),
];

const WEBHOOKS: &[Column] = &[NAME, count("Webhooks", "How many webhooks are configured."), AGE];

const DESIRED: Column = count("Desired", "How many replicas are wanted.");
const AVAILABLE: Column = count("Available", "How many replicas there are.");
pub(super) const SCALE: &[Column] = &[Column { format: "", ..NAME }, DESIRED, AVAILABLE, AGE];
pub(super) const CUSTOM_SCALE: &[Column] = &[NAME, DESIRED, AVAILABLE, Column { kind: "date", ..AGE }];

#[rustfmt::skip]
static LAYOUTS: &[Layout] = &[
    Layout { plural: "pods", cells: pod::cells, condition: pod::condition, columns: &[
        NAME, text("Ready", "How many containers are ready."), text("Status", "What the Pod is doing."),
        text("Restarts", "How often containers were restarted, and when last."), AGE,
        wide("IP", "The address of the Pod."), wide("Node", "The node it runs on."),
        wide("Nominated Node", "The node on which room is being made for it."),
        wide("Readiness Gates", "How many further conditions of readiness hold."),
    ], ..NONE },
    Layout { plural: "podtemplates", cells: workload::pod_template, columns: &[
        NAME, text("Containers", "The names of the containers."), text("Images", "The images of the containers."),
        text("Pod Labels", "The labels of the Pods."),
    ], ..NONE },
    Layout { group: "apps", plural: "deployments", cells: workload::deployment, columns: &[
        NAME, text("Ready", "How many Pods are ready."), text("Up-to-date", "How many Pods have the latest template."),
        text("Available", "How many Pods are ready for long enough."), AGE, CONTAINERS, IMAGES, SELECTOR,
    ], ..NONE },
    Layout { group: "apps", plural: "replicasets", cells: workload::replica_set, columns: &[
        NAME, count("Desired", "How many Pods are wanted."), count("Current", "How many Pods there are."),
        count("Ready", "How many Pods are ready."), AGE, CONTAINERS, IMAGES, SELECTOR,
    ], ..NONE },
    Layout { group: "apps", plural: "statefulsets", cells: workload::stateful_set, columns: &[
        NAME, text("Ready", "How many Pods are ready."), AGE, CONTAINERS, IMAGES,
    ], ..NONE },
    Layout { group: "apps", plural: "daemonsets", cells: workload::daemon_set, columns: &[
        NAME, count("Desired", "How many nodes should run a Pod."), count("Current", "How many nodes run one."),
        count("Ready", "How many Pods are ready."), count("Up-to-date", "How many Pods have the latest template."),
        count("Available", "How many Pods are ready for long enough."), text("Node Selector", "Which nodes run one."),
        AGE, CONTAINERS, IMAGES, SELECTOR,
    ], ..NONE },
    Layout { group: "apps", plural: "controllerrevisions", cells: workload::controller_revision, columns: &[
        NAME, text("Controller", "Whose revision it is."), text("Revision", "Its number."), AGE,
    ], ..NONE },
    Layout { group: "batch", plural: "jobs", cells: workload::job, columns: &[
        NAME, text("Status", "How the Job is doing."), text("Completions", "How many Pods succeeded."),
        text("Duration", "How long the Job took or has been taking."), AGE, CONTAINERS, IMAGES, SELECTOR,
    ], ..NONE },
    Layout { group: "batch", plural: "cronjobs", cells: workload::cron_job, columns: &[
        NAME, text("Schedule", "When Jobs start."), text("Timezone", "The time zone of the schedule."),
        flag("Suspend", "Whether no more Jobs start."), count("Active", "How many Jobs are running."),
        text("Last Schedule", "How long ago a Job was started."), AGE, CONTAINERS, IMAGES, SELECTOR,
    ], ..NONE },
    Layout { group: "policy", plural: "poddisruptionbudgets", cells: workload::disruption_budget, columns: &[
        NAME, text("Min Available", "How many Pods must stay."), text("Max Unavailable", "How many Pods may be gone."),
        count("Allowed Disruptions", "How many Pods may go now."), AGE,
    ], ..NONE },

    Layout { plural: "nodes", cells: cluster::node, columns: &[
        NAME, text("Status", "Whether the node is ready and takes Pods."), text("Roles", "What the node is for."), AGE,
        text("Version", "The version of its kubelet."), wide("Internal-IP", "Its address within the cluster."),
        wide("External-IP", "Its address outside of the cluster."), wide("OS-Image", "Its operating system."),
        wide("Kernel-Version", "Its kernel."), wide("Container-Runtime", "What runs its containers."),
    ], ..NONE },
    Layout { plural: "namespaces", cells: cluster::namespace, columns: &[
        NAME, text("Status", "Whether the namespace is on its way out."), AGE,
    ], ..NONE },
    Layout { plural: "events", cells: event::cells, columns: EVENT, ..NONE },
    Layout { group: "events.k8s.io", plural: "events", cells: event::cells, columns: EVENT, ..NONE },
    Layout { plural: "configmaps", cells: cluster::config_map, columns: &[
        NAME, text("Data", "How many keys it has."), AGE,
    ], ..NONE },
    Layout { plural: "secrets", cells: cluster::secret, columns: &[
        NAME, text("Type", "What kind of secret it is."), text("Data", "How many keys it has."), AGE,
    ], ..NONE },
    Layout { plural: "serviceaccounts", columns: &[NAME, AGE], ..NONE },
    Layout { plural: "resourcequotas", cells: cluster::resource_quota, columns: &[
        NAME, text("Request", "What is used and may be, apart from limits."), text("Limit", "What limits are used and may be."), AGE,
    ], ..NONE },
    Layout { group: "scheduling.k8s.io", plural: "priorityclasses", cells: cluster::priority_class, columns: &[
        NAME, count("Value", "The priority."), flag("Global-Default", "Whether Pods without a class have it."), AGE,
        text("PreemptionPolicy", "Whether its Pods push others away."),
    ], ..NONE },
    Layout { group: "coordination.k8s.io", plural: "leases", cells: cluster::lease, columns: &[
        NAME, text("Holder", "Who holds it."), AGE,
    ], ..NONE },
    Layout { group: "rbac.authorization.k8s.io", plural: "rolebindings", cells: cluster::binding, columns: BINDING, ..NONE },
    Layout { group: "rbac.authorization.k8s.io", plural: "clusterrolebindings", cells: cluster::binding, columns: BINDING, ..NONE },
    Layout { group: "certificates.k8s.io", plural: "certificatesigningrequests", cells: cluster::signing_request, columns: &[
        NAME, AGE, text("SignerName", "Who is asked to sign."), text("Requestor", "Who asks."),
        text("RequestedDuration", "For how long."), text("Condition", "What became of it."),
    ], ..NONE },
    Layout { group: "admissionregistration.k8s.io", plural: "mutatingwebhookconfigurations", cells: cluster::webhooks, columns: WEBHOOKS, ..NONE },
    Layout { group: "admissionregistration.k8s.io", plural: "validatingwebhookconfigurations", cells: cluster::webhooks, columns: WEBHOOKS, ..NONE },

    Layout { plural: "services", cells: network::service, columns: &[
        NAME, text("Type", "How the Service can be reached."), text("Cluster-IP", "Its address within the cluster."),
        text("External-IP", "Its address outside of the cluster."), text("Port(s)", "Its ports."), AGE, SELECTOR,
    ], ..NONE },
    Layout { plural: "endpoints", cells: network::endpoints, columns: &[
        NAME, text("Endpoints", "The addresses behind the Service."), AGE,
    ], ..NONE },
    Layout { group: "discovery.k8s.io", plural: "endpointslices", cells: network::endpoint_slice, columns: &[
        NAME, text("AddressType", "What kind of addresses it has."), text("Ports", "The ports of the addresses."),
        text("Endpoints", "The addresses behind the Service."), AGE,
    ], ..NONE },
    Layout { group: "networking.k8s.io", plural: "ingresses", cells: network::ingress, columns: &[
        NAME, text("Class", "Who serves it."), text("Hosts", "The hosts it answers for."),
        text("Address", "Where it can be reached."), text("Ports", "On which ports."), AGE,
    ], ..NONE },
    Layout { group: "networking.k8s.io", plural: "ingressclasses", cells: network::ingress_class, columns: &[
        NAME, text("Controller", "Who serves the class."), text("Parameters", "Where its settings are."), AGE,
    ], ..NONE },
    Layout { group: "networking.k8s.io", plural: "networkpolicies", cells: network::network_policy, columns: &[
        NAME, text("Pod-Selector", "Which Pods it applies to."), AGE,
    ], ..NONE },

    Layout { plural: "persistentvolumes", cells: storage::volume, columns: &[
        NAME, text("Capacity", "Its size."), text("Access Modes", "How it may be mounted."),
        text("Reclaim Policy", "What becomes of it after use."), text("Status", "Whether it is in use."),
        text("Claim", "Whose it is."), text("StorageClass", "Its class."),
        text("VolumeAttributesClass", "The class of its attributes."), text("Reason", "Why it is as it is."), AGE,
        wide("VolumeMode", "Whether it has files or blocks."),
    ], ..NONE },
    Layout { plural: "persistentvolumeclaims", cells: storage::claim, columns: &[
        NAME, text("Status", "Whether there is a volume."), text("Volume", "Its volume."), text("Capacity", "The size."),
        text("Access Modes", "How it may be mounted."), text("StorageClass", "Its class."),
        text("VolumeAttributesClass", "The class of its attributes."), AGE,
        wide("VolumeMode", "Whether it has files or blocks."),
    ], ..NONE },
    Layout { group: "storage.k8s.io", plural: "storageclasses", cells: storage::class, columns: &[
        NAME, text("Provisioner", "Who makes the volumes."), text("ReclaimPolicy", "What becomes of them after use."),
        text("VolumeBindingMode", "When they are made."), text("AllowVolumeExpansion", "Whether they may grow."), AGE,
    ], ..NONE },
    Layout { group: "storage.k8s.io", plural: "csinodes", cells: storage::node, columns: &[
        NAME, count("Drivers", "How many drivers the node has."), AGE,
    ], ..NONE },
    Layout { group: "storage.k8s.io", plural: "csidrivers", cells: storage::driver, columns: &[
        NAME, flag("AttachRequired", "Whether volumes must be attached first."),
        flag("PodInfoOnMount", "Whether the driver is told about the Pod."),
        flag("StorageCapacity", "Whether it tells how much room there is."),
        text("TokenRequests", "For whom it wants tokens."), flag("RequiresRepublish", "Whether it publishes again and again."),
        text("Modes", "How long its volumes live."), AGE,
    ], ..NONE },
    Layout { group: "storage.k8s.io", plural: "volumeattachments", cells: storage::attachment, columns: &[
        NAME, Column { format: "name", ..text("Attacher", "Who attaches.") }, text("PV", "The volume."),
        text("Node", "The node."), flag("Attached", "Whether it is done."), AGE,
    ], ..NONE },
];
