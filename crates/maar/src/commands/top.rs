//! `maar top`: who has what of the cluster.

use anyhow::Context as _;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{Api, ResourceExt as _, api::ListParams};
use maar_api::{Quantity, ResourceList, names, resources};
use maar_jobs::{PodKind, PodKinds};
use serde::Serialize;

use super::{
    account::{self, Usage},
    client::{ClusterArgs, Connection},
    output::{Output, OutputArgs, Table, list, or_dash, show},
};

/// What `maar top` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// What to look at
    #[arg(value_enum, default_value_t)]
    what: What,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum What {
    /// What each node has, and how much of it is taken
    #[default]
    Nodes,
    /// What each account has
    Accounts,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeUse {
    name: String,
    pool: Option<String>,
    status: &'static str,
    allocatable: ResourceList,
    used: ResourceList,
    user_pods: usize,
    system_pods: usize,
    external_pods: usize,
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let connection = arguments.cluster.connect().await?;
    match arguments.what {
        What::Nodes => nodes(&connection, arguments.output.output).await,
        What::Accounts => accounts(&connection, arguments.output.output).await,
    }
}

async fn accounts(connection: &Connection, output: Output) -> anyhow::Result<()> {
    let (accounts, usage): (_, Usage) = account::read(connection).await?;
    show(output, &account::table(&accounts, &usage), &list(&accounts))
}

async fn nodes(connection: &Connection, output: Output) -> anyhow::Result<()> {
    let api: Api<Node> = Api::all(connection.client.clone());
    let nodes = api.list(&ListParams::default()).await.context("listing nodes")?.items;
    let api: Api<Pod> = Api::all(connection.client.clone());
    let params = ListParams::default().fields("spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed");
    let pods = api.list(&params).await.context("listing Pods")?.items;
    let uses = uses(&nodes, &pods, &PodKinds::default());
    show(output, &table(&uses), &list(&uses))
}

fn uses(nodes: &[Node], pods: &[Pod], kinds: &PodKinds) -> Vec<NodeUse> {
    let mut uses: Vec<NodeUse> = nodes.iter().map(empty).collect();
    uses.sort_by(|one, other| one.name.cmp(&other.name));
    for pod in pods {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default();
        let Ok(at) = uses.binary_search_by(|one| one.name.as_str().cmp(node)) else { continue };
        uses[at].used += &account::requests(pod);
        match kinds.of(pod) {
            PodKind::UserJob => uses[at].user_pods += 1,
            PodKind::System => uses[at].system_pods += 1,
            PodKind::External => uses[at].external_pods += 1,
        }
    }
    uses
}

fn empty(node: &Node) -> NodeUse {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let ready = conditions.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True");
    let cordoned = node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true));
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    let allocatable = allocatable
        .into_iter()
        .flatten()
        .filter_map(|(name, amount)| Quantity::parse(&amount.0).ok().map(|amount| (name.clone(), amount)));
    NodeUse {
        name: node.name_any(),
        pool: node.labels().get(names::LABEL_POOL).cloned(),
        status: match (ready, cordoned) {
            (false, _) => "NotReady",
            (true, true) => "Cordoned",
            (true, false) => "Ready",
        },
        allocatable: allocatable.collect(),
        used: ResourceList::new(),
        user_pods: 0,
        system_pods: 0,
        external_pods: 0,
    }
}

fn table(uses: &[NodeUse]) -> Table {
    let part = |one: &NodeUse, resource: &str| {
        format!("{}/{}", one.used.get(resource), one.allocatable.get(resource))
    };
    let rows = uses.iter().map(|one| {
        vec![
            one.name.clone(),
            or_dash(one.pool.as_deref()),
            one.status.to_owned(),
            part(one, resources::CPU),
            format!(
                "{}/{}Gi",
                gibibytes(one.used.get(resources::MEMORY)),
                gibibytes(one.allocatable.get(resources::MEMORY))
            ),
            cards(one),
            (one.user_pods + one.system_pods + one.external_pods).to_string(),
            one.user_pods.to_string(),
            one.system_pods.to_string(),
            one.external_pods.to_string(),
        ]
    });
    let titles =
        vec!["NODE", "POOL", "STATUS", "CPU", "MEMORY", "CARDS", "PODS", "USER-JOB", "SYSTEM", "EXTERNAL"];
    Table { titles, narrow: 7, rows: rows.collect() }
}

/// Nodes give their memory in kibibytes, which people do not read.
fn gibibytes(amount: Quantity) -> String {
    let tenths = i128::from(amount.value()) * 10 / (1 << 30);
    match tenths % 10 {
        0 => (tenths / 10).to_string(),
        tenth => format!("{}.{tenth}", tenths / 10),
    }
}

/// Everything a node has beside processors, memory, disk and places for Pods.
fn cards(one: &NodeUse) -> String {
    let common = [resources::CPU, resources::MEMORY, resources::EPHEMERAL_STORAGE, resources::PODS];
    let special = one.allocatable.iter().filter(|(name, amount)| {
        !common.contains(&name.as_str())
            && !name.starts_with(resources::HUGEPAGES_PREFIX)
            && !amount.is_zero()
    });
    let words: Vec<String> =
        special.map(|(name, amount)| format!("{name} {}/{amount}", one.used.get(name))).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn memory_is_told_in_gibibytes() {
        let told = |text: &str| gibibytes(Quantity::parse(text).unwrap());
        assert_eq!((told("64Gi"), told("24682416Ki"), told("0")), ("64".into(), "23.5".into(), "0".into()));
    }

    #[test]
    fn nodes_and_what_is_taken_of_them() {
        let node: Node = serde_json::from_value(json!({
            "metadata": { "name": "a100-0", "labels": { "maar.io/pool": "a100" } },
            "status": {
                "allocatable": { "cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8", "pods": "110" },
                "conditions": [{ "type": "Ready", "status": "True" }],
            },
        }))
        .unwrap();
        let owner = json!({ "apiVersion": "maar.io/v1alpha1", "kind": "AIJob", "name": "j", "uid": "u", "controller": true });
        let pod: Pod = serde_json::from_value(json!({
            "metadata": { "name": "p", "namespace": "lab", "ownerReferences": [owner] },
            "spec": { "nodeName": "a100-0", "containers": [{ "name": "c", "resources": {
                "requests": { "cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "2" },
                "limits": { "nvidia.com/gpu": "2" } } }] },
        }))
        .unwrap();
        let uses = uses(&[node], &[pod], &PodKinds::default());
        insta::assert_snapshot!(table(&uses).text(true));
    }
}
