//! Traces as tables: two files of comma-separated values, as the openb trace has them.
//!
//! Nodes: `sn,cpu_milli,memory_mib,gpu` and optionally `model,pool,rack`. Pods: `name,cpu_milli,memory_mib,num_gpu,
//! gpu_milli` and optionally `gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time,account,user,priority,
//! job`. Times are in seconds. What a cell may hold is said in the error when it does not.

mod reader;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use maar_api::{names, resources};

pub use self::reader::TableError;
use self::reader::{Row, Table};
use super::trace::{Trace, TracePod};
use crate::model::{
    CardKind, CardKindId, CardRequest, CardShare, Millis, Node, Operator, Requirement, ResourceId, Resources,
    ServiceLevel, Shape, Term, WHOLE_CARD,
};

/// Node label with the model of its cards.
pub const LABEL_MODEL: &str = "model";
/// Node label with its rack.
pub const LABEL_RACK: &str = "rack";

const NODE_COLUMNS: Columns =
    Columns { needed: &["sn", "cpu_milli", "memory_mib", "gpu"], optional: &["model", "pool", "rack"] };
const POD_COLUMNS: Columns = Columns {
    needed: &["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"],
    optional: &[
        "gpu_spec",
        "qos",
        "pod_phase",
        "creation_time",
        "deletion_time",
        "scheduled_time",
        "account",
        "user",
        "priority",
        "job",
    ],
};
/// Pods of one node, if the trace does not limit them.
const MANY_PODS: i64 = 1 << 20;
const MIB: i64 = 1 << 20;
const SECOND: Millis = 1000;

/// Columns a table may have.
#[derive(Debug, Clone, Copy)]
struct Columns {
    needed: &'static [&'static str],
    optional: &'static [&'static str],
}

/// A file that has been read: its name, for errors, and its text.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it says.
    pub text: &'a str,
}

/// Reads a trace.
pub fn read(nodes: File<'_>, pods: File<'_>) -> Result<Trace, TableError> {
    let mut resources = Resources::default();
    let card = resources.card(resources::NVIDIA_GPU);
    let kinds = vec![CardKind { resource: card, memory_label: None, sharers: u16::MAX }];
    let mut names = HashSet::new();
    let nodes = Table::parse(nodes, NODE_COLUMNS)?
        .rows()
        .map(|row| {
            let row = row?;
            let node = node(&row, card)?;
            // The second would take the place of the first, and its cards would count twice.
            let new = names.insert(node.name.clone());
            if new { Ok(node) } else { Err(row.refuse("sn", "a name that no line above has".to_owned())) }
        })
        .collect::<Result<_, _>>()?;
    let mut shapes = HashMap::new();
    let table = Table::parse(pods, POD_COLUMNS)?;
    let mut pods = table.rows().map(|row| pod(&row?, &mut shapes)).collect::<Result<Vec<_>, _>>()?;
    pods.sort_by_key(|pod| pod.arrives);
    Ok(Trace { resources, kinds, nodes, pods, ..Trace::default() })
}

fn node(row: &Row<'_>, card: ResourceId) -> Result<Node, TableError> {
    let mut node = Node { name: row.text("sn")?.to_owned(), ..Node::default() };
    node.allocatable.set(ResourceId::CPU, row.number("cpu_milli", 0..=i64::MAX / MIB)?);
    node.allocatable.set(ResourceId::MEMORY, row.number("memory_mib", 0..=i64::MAX / MIB)? * MIB);
    node.allocatable.set(ResourceId::PODS, MANY_PODS);
    node.allocatable.set(card, row.number("gpu", 0..=1024)? * i64::from(WHOLE_CARD));
    for (column, label) in [("model", LABEL_MODEL), ("rack", LABEL_RACK), ("pool", names::LABEL_POOL)] {
        if let Some(value) = row.optional(column) {
            node.labels.insert(label.to_owned(), value.to_owned());
        }
    }
    node.pool = row.optional("pool").map(str::to_owned);
    Ok(node)
}

fn pod(row: &Row<'_>, shapes: &mut HashMap<Shape, Arc<Shape>>) -> Result<TracePod, TableError> {
    let shape = shape(row)?;
    let shape = shapes.entry(shape).or_insert_with_key(|shape| Arc::new(shape.clone()));
    let arrives = row.optional_number("creation_time", 0..=i64::MAX / SECOND)?.unwrap_or(0);
    let starts = row.optional_number("scheduled_time", 0..=i64::MAX / SECOND)?.unwrap_or(arrives);
    let ends = row.optional_number("deletion_time", 0..=i64::MAX / SECOND)?;
    let runs = ends.map(|ends| (ends - starts).max(0) * SECOND);
    let level = match row.optional("qos") {
        Some("BE" | "BestEffort" | "best-effort") => ServiceLevel::BestEffort,
        _ => ServiceLevel::Guaranteed,
    };
    let priority = row.optional_number("priority", i64::from(i32::MIN)..=i64::from(i32::MAX))?.unwrap_or(0);
    let account = row.optional("account").unwrap_or(names::DEFAULT_ACCOUNT);
    Ok(TracePod {
        name: row.text("name")?.into(),
        shape: Arc::clone(shape),
        account: account.into(),
        user: row.optional("user").unwrap_or(account).into(),
        level,
        priority: i32::try_from(priority).unwrap_or(0),
        job: row.optional("job").map(Into::into),
        arrives: arrives * SECOND,
        node: None,
        runs,
        recorded: None,
    })
}

fn shape(row: &Row<'_>) -> Result<Shape, TableError> {
    let mut shape = Shape { namespace: "simulated".to_owned(), ..Shape::default() };
    shape.requests.set(ResourceId::CPU, row.number("cpu_milli", 0..=i64::MAX / MIB)?);
    shape.requests.set(ResourceId::MEMORY, row.number("memory_mib", 0..=i64::MAX / MIB)? * MIB);
    shape.requests.set(ResourceId::PODS, 1);
    let count = row.number("num_gpu", 0..=1024)?;
    let count = u16::try_from(count).unwrap_or(u16::MAX);
    // With several cards each is a whole one; a share is of one card.
    let shares = if count == 1 { 1..=i64::from(WHOLE_CARD) } else { 0..=i64::from(WHOLE_CARD) };
    let milli = u16::try_from(row.number("gpu_milli", shares)?).unwrap_or(WHOLE_CARD);
    let kind = CardKindId(0);
    shape.cards = match (count, milli) {
        (0, _) => CardRequest::None,
        (1, part) if part < WHOLE_CARD => {
            CardRequest::Share { kind, share: CardShare::Milli(part), index: None }
        }
        (_, WHOLE_CARD) => CardRequest::whole(kind, count),
        _ => return Err(row.refuse("gpu_milli", "1000, as more than one card is asked for".to_owned())),
    };
    if let Some(models) = row.optional("gpu_spec").filter(|_| count > 0) {
        let values = models.split('|').filter(|model| !model.is_empty()).map(str::to_owned).collect();
        let one_of = Requirement { key: LABEL_MODEL.to_owned(), operator: Operator::In, values };
        shape.node_terms.push(Term { labels: vec![one_of], names: Vec::new() });
    }
    Ok(shape)
}
