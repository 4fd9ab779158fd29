//! From a kubelet's summary to the objects of `metrics.k8s.io`.

use serde_json::{Value, json};

use super::{GROUP, VERSION};

/// What kubelets measure is of this moment; the API wants a length of time all the same.
const WINDOW: &str = "1s";

/// The metrics of a node.
pub(super) fn of_node(node: &Value, summary: &Value) -> Option<Value> {
    let measured = &summary["node"];
    let mut metrics = of("NodeMetrics", node, measured)?;
    metrics["usage"] = usage(measured)?;
    Some(metrics)
}

/// The metrics of a Pod; none while nothing in it runs.
pub(super) fn of_pod(pod: &Value, summary: &Value) -> Option<Value> {
    let uid = &pod["metadata"]["uid"];
    let measured = summary["pods"].as_array()?.iter().find(|it| it["podRef"]["uid"] == *uid)?;
    let mut metrics = of("PodMetrics", pod, measured)?;
    let container = |it: &Value| Some(json!({"name": it["name"], "usage": usage(it)?}));
    let containers: Vec<Value> = measured["containers"].as_array()?.iter().filter_map(container).collect();
    if containers.is_empty() {
        return None;
    }
    metrics["containers"] = containers.into();
    Some(metrics)
}

fn of(kind: &str, object: &Value, measured: &Value) -> Option<Value> {
    let time = measured["cpu"]["time"].as_str()?;
    let mut metadata = json!({"name": object["metadata"]["name"], "creationTimestamp": time});
    for field in ["namespace", "labels"] {
        if let Some(value) = object["metadata"].get(field) {
            metadata[field] = value.clone();
        }
    }
    Some(json!({
        "kind": kind,
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "metadata": metadata,
        "timestamp": time,
        "window": WINDOW,
    }))
}

fn usage(measured: &Value) -> Option<Value> {
    let cores = measured["cpu"]["usageNanoCores"].as_u64()?;
    let bytes = measured["memory"]["workingSetBytes"].as_u64()?;
    Some(json!({"cpu": format!("{cores}n"), "memory": format!("{}Ki", bytes / 1024)}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_found_in_its_nodes_summary_by_its_uid() {
        let measured = |cores: u64| {
            let time = "2026-01-01T00:00:00Z";
            json!({"time": time, "usageNanoCores": cores})
        };
        let memory = json!({"workingSetBytes": 2048});
        let summary = json!({
            "node": {"cpu": measured(7), "memory": memory},
            "pods": [{
                "podRef": {"uid": "u"}, "cpu": measured(5), "memory": memory,
                "containers": [{"name": "c", "cpu": measured(5), "memory": memory}],
            }],
        });
        let pod = json!({"metadata": {"name": "p", "namespace": "n", "uid": "u", "labels": {"a": "b"}}});
        let metrics = of_pod(&pod, &summary).expect("it is there");
        assert_eq!(metrics["containers"], json!([{"name": "c", "usage": {"cpu": "5n", "memory": "2Ki"}}]));
        assert_eq!(metrics["metadata"]["labels"], json!({"a": "b"}));
        let other = json!({"metadata": {"name": "p", "namespace": "n", "uid": "v"}});
        assert_eq!(of_pod(&other, &summary), None, "a Pod of the same name that came before");
        let node = of_node(&json!({"metadata": {"name": "x"}}), &summary).expect("it is there");
        assert_eq!(node["usage"], json!({"cpu": "7n", "memory": "2Ki"}));
    }
}
