//! PyTorch, distributed data parallel.
//!
//! Plain: one process per Pod that reads `MASTER_ADDR`, `MASTER_PORT`, `RANK` and `WORLD_SIZE`. By torchrun: it reads
//! the `PET_…` variables as its options; with `launch.elastic` Pods may come and go between two numbers and meet at the
//! first one, which keeps the books (c10d).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::EnvVar;
use maar_api::v1alpha1::{AIJobSpec, Backend, ElasticSpec};

use super::{Kind, Place, find, port, processes, variable};
use crate::name;

pub(crate) struct PyTorch;

/// Ranks are given in this order; other tasks have none.
const ORDER: [&str; 2] = ["master", "worker"];
const PORT: i32 = 23456;

/// Task of rank 0.
fn first(spec: &AIJobSpec) -> &'static str {
    if find(spec, "master").is_some() { "master" } else { "worker" }
}

fn pods(spec: &AIJobSpec) -> i32 {
    ORDER.iter().filter_map(|name| find(spec, name)).map(|task| task.replicas).sum()
}

impl Kind for PyTorch {
    fn single(&self) -> &'static [&'static str] {
        &["master"]
    }

    fn problems(&self, spec: &AIJobSpec) -> Vec<String> {
        let mut problems = Vec::new();
        if pods(spec) == 0 {
            problems.push("tasks: a job of type PyTorch needs master, worker, or both".to_owned());
        }
        if let Some(elastic) = elastic(spec)
            && !(elastic.min_pods..=elastic.max_pods).contains(&pods(spec))
        {
            let ElasticSpec { min_pods, max_pods, .. } = elastic;
            let pods = pods(spec);
            problems.push(format!(
                "launch.elastic: there are {pods} Pods, and minPods and maxPods allow {min_pods} to {max_pods}"
            ));
        }
        problems
    }

    fn deciding<'a>(&self, spec: &'a AIJobSpec) -> Vec<&'a str> {
        find(spec, first(spec)).map(|task| task.name.as_str()).into_iter().collect()
    }

    fn meeting(&self, spec: &AIJobSpec) -> Option<&'static str> {
        elastic(spec).map(|_| first(spec))
    }

    fn is_rigid(&self, spec: &AIJobSpec) -> bool {
        elastic(spec).is_none()
    }

    fn environment(&self, place: &Place<'_>) -> Vec<EnvVar> {
        let spec = place.spec();
        let Some(rank) = place.rank(&ORDER) else { return Vec::new() };
        let rank = if rank == place.index { place.index_text() } else { rank.to_string() };
        let master = name::host(place.job_name(), first(spec), 0);
        let port = port(spec, PORT).to_string();
        let world = pods(spec).to_string();
        let mut all = Vec::new();
        if !is_ranked_by_volcano(spec) {
            all.extend([variable("MASTER_ADDR", &master), variable("MASTER_PORT", &port)]);
        }
        all.extend([
            variable("PET_NPROC_PER_NODE", processes(spec, place.task).to_string()),
            variable("PYTHONUNBUFFERED", "1"),
        ]);
        let meeting = || {
            [
                variable("PET_RDZV_BACKEND", "c10d"),
                variable("PET_RDZV_ENDPOINT", format!("{master}:{port}")),
                variable("PET_RDZV_ID", place.job_name()),
            ]
        };
        if let Some(elastic) = elastic(spec) {
            all.push(variable("PET_NNODES", format!("{}:{}", elastic.min_pods, elastic.max_pods)));
            all.push(variable("PET_MAX_RESTARTS", elastic.max_restarts.to_string()));
            all.extend(meeting());
        } else if is_ranked_by_volcano(spec) {
            // What plain programs read is the plug-in's to say; torchrun can do without ranks.
            all.push(variable("PET_NNODES", &world));
            all.extend(meeting());
        } else {
            all.extend([
                variable("RANK", &rank),
                variable("WORLD_SIZE", &world),
                variable("PET_NNODES", &world),
                variable("PET_NODE_RANK", &rank),
                variable("PET_MASTER_ADDR", &master),
                variable("PET_MASTER_PORT", &port),
            ]);
        }
        all
    }

    fn ports(&self, spec: &AIJobSpec) -> Vec<(&'static str, i32)> {
        vec![("rendezvous", port(spec, PORT))]
    }

    fn volcano_plugins(&self, spec: &AIJobSpec) -> BTreeMap<&'static str, Vec<String>> {
        if !is_ranked_by_volcano(spec) {
            return BTreeMap::new();
        }
        let port = format!("--port={}", port(spec, PORT));
        BTreeMap::from([("pytorch", vec!["--master=master".to_owned(), "--worker=worker".to_owned(), port])])
    }
}

/// Whether Volcano's plug-in has to say the ranks: that of a worker beside a master is its number plus one, and a template
/// for all workers knows no sums. Without a master the plug-in would give rank 0 to nobody.
fn is_ranked_by_volcano(spec: &AIJobSpec) -> bool {
    spec.backend == Backend::Volcano
        && elastic(spec).is_none()
        && ORDER.iter().all(|name| find(spec, name).is_some())
}

fn elastic(spec: &AIJobSpec) -> Option<&ElasticSpec> {
    spec.launch.as_ref()?.elastic.as_ref()
}
