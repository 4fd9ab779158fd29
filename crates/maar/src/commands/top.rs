//! `maar top`: who has what of the cluster, as its portal tells those who are logged in, or by what stands in it.

use anyhow::Context as _;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{Api, ResourceExt as _, api::ListParams};
use maar_api::{Quantity, ResourceList, names, resources, v1alpha1::Account};
use maar_jobs::{PodKind, PodKinds};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    account::{self, Usage},
    client::{ClusterArgs, Connection},
    namespaces::NamespaceArgs,
    output::{Output, OutputArgs, Table, list, or_dash, show},
    remote::LoginArgs,
    workspace::Source,
};

/// What `maar top` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    login: LoginArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    namespaces: NamespaceArgs,
    /// What to look at
    #[arg(value_enum, default_value_t, help_heading = None::<&'static str>)]
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
    let output = arguments.output.output;
    let source = Source::choose(&arguments.login, &arguments.cluster).await?;
    match (&source, arguments.what) {
        (Source::Portal { remote, .. }, What::Nodes) => {
            let uses: Vec<NodeUse> =
                remote.list("/nodes").await?.iter().map(of_portal).collect::<Result<_, _>>()?;
            show(output, &table(&uses), &list(&uses))
        }
        (Source::Portal { remote, .. }, What::Accounts) => {
            let shown = remote.list("/accounts").await?;
            let accounts: Vec<Account> = shown.iter().map(account_of_portal).collect::<Result<_, _>>()?;
            show(output, &account::table_by_status(&accounts), &list(&accounts))
        }
        (Source::Cluster(connection), What::Nodes) => {
            nodes(connection, output, &arguments.namespaces.kinds()).await
        }
        (Source::Cluster(connection), What::Accounts) => accounts(connection, output).await,
    }
}

async fn accounts(connection: &Connection, output: Output) -> anyhow::Result<()> {
    let (accounts, usage): (_, Usage) = account::read(connection).await?;
    show(output, &account::table(&accounts, &usage), &list(&accounts))
}

async fn nodes(connection: &Connection, output: Output, kinds: &PodKinds) -> anyhow::Result<()> {
    let api: Api<Node> = Api::all(connection.client.clone());
    let nodes = api.list(&ListParams::default()).await.context("listing nodes")?.items;
    let api: Api<Pod> = Api::all(connection.client.clone());
    let params = ListParams::default().fields("spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed");
    let pods = api.list(&params).await.context("listing Pods")?.items;
    let uses = uses(&nodes, &pods, kinds);
    show(output, &table(&uses), &list(&uses))
}

/// A node as a portal shows it, which has its own idea of namespaces.
fn of_portal(view: &Value) -> anyhow::Result<NodeUse> {
    let step = || format!("understanding node {} of the portal", view["name"]);
    let amounts = |field: &str| -> anyhow::Result<ResourceList> {
        serde_json::from_value(view[field].clone()).with_context(step)
    };
    let pods = |kind: PodKind| view["podKinds"][kind.as_str()].as_u64().unwrap_or(0);
    let pods = |kind: PodKind| usize::try_from(pods(kind)).unwrap_or(usize::MAX);
    Ok(NodeUse {
        name: view["name"].as_str().with_context(step)?.to_owned(),
        pool: view["pool"].as_str().map(str::to_owned),
        status: status(view["ready"] == true, view["schedulable"] == false),
        allocatable: amounts("allocatable")?,
        used: amounts("requested")?,
        user_pods: pods(PodKind::UserJob),
        system_pods: pods(PodKind::System),
        external_pods: pods(PodKind::External),
    })
}

/// An account as a portal shows it: how it is set up is for those who look after it.
fn account_of_portal(view: &Value) -> anyhow::Result<Account> {
    const SPEC: [&str; 9] = [
        "displayName",
        "parent",
        "guaranteed",
        "deserved",
        "capability",
        "weight",
        "everyone",
        "members",
        "memberCapability",
    ];
    const STATUS: [&str; 5] = ["used", "borrowed", "pending", "runningPods", "pendingPods"];
    let some = |fields: &[&str]| -> Map<String, Value> {
        let said = fields.iter().filter_map(|field| Some(((*field).to_owned(), view.get(*field)?.clone())));
        said.collect()
    };
    let account = json!({ "apiVersion": names::API_VERSION, "kind": "Account", "metadata": { "name": view["name"] },
        "spec": some(&SPEC), "status": some(&STATUS) });
    serde_json::from_value(account)
        .with_context(|| format!("understanding account {} of the portal", view["name"]))
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
        status: status(ready, cordoned),
        allocatable: allocatable.collect(),
        used: ResourceList::new(),
        user_pods: 0,
        system_pods: 0,
        external_pods: 0,
    }
}

fn status(ready: bool, cordoned: bool) -> &'static str {
    match (ready, cordoned) {
        (false, _) => "NotReady",
        (true, true) => "Cordoned",
        (true, false) => "Ready",
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
    use super::*;

    #[test]
    fn a_node_and_an_account_are_the_same_by_way_of_a_portal() {
        let node = json!({ "name": "a100-0", "ready": true, "schedulable": false, "pool": "a100", "lent": false,
            "allocatable": { "cpu": "64", "nvidia.com/gpu": "8" }, "requested": { "cpu": "8", "nvidia.com/gpu": "2" },
            "pods": 3, "podKinds": { "user-job": 2, "system": 1 }, "cards": [] });
        let one = of_portal(&node).unwrap();
        assert_eq!((one.status, one.user_pods, one.system_pods, one.external_pods), ("Cordoned", 2, 1, 0));
        assert_eq!(cards(&one), "nvidia.com/gpu 2/8");
        assert!(of_portal(&json!({ "ready": true })).is_err());
        let lab = json!({ "name": "lab", "parent": "science", "guaranteed": {}, "deserved": { "nvidia.com/gpu": "8" },
            "capability": {}, "used": { "nvidia.com/gpu": "2" }, "borrowed": {}, "pending": {}, "runningPods": 2,
            "pendingPods": 1 });
        let rows = account::table_by_status(&[account_of_portal(&lab).unwrap()]).rows;
        assert_eq!(rows[0][..5], ["lab", "science", "-", "2", "1"].map(str::to_owned));
    }

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
