//! The objects that are measured with: a training worker of ordinary size, and nodes for it.

use bytes::Bytes;
use serde_json::{Value, json};

/// A scheduler nobody runs, so that Pods stay where the bench puts them.
const SCHEDULER: &str = "maar-bench";

/// A Pod with one GPU container.
pub(crate) fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {"app": "train", "team": "vision", "maar.io/job": "resnet-50"},
            "annotations": {"sim.maar.io/run-time": "1h"},
        },
        "spec": {
            "schedulerName": SCHEDULER,
            "restartPolicy": "Never",
            // The nodes have no kubelets: nobody is to clear the Pods away when that is noticed.
            "tolerations": [{"operator": "Exists"}],
            "containers": [{
                "name": "worker",
                "image": "registry.example.com/train/worker:1.4.2",
                "command": ["python", "train.py"],
                "args": ["--epochs", "90", "--batch", "256"],
                "env": [{"name": "RANK", "value": "0"}, {"name": "WORLD_SIZE", "value": "64"}],
                "resources": {
                    "requests": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"},
                    "limits": {"nvidia.com/gpu": "1"},
                },
                "ports": [{"containerPort": 29500, "name": "rendezvous"}],
            }],
        },
    })
}

/// A node that is there, so that nobody clears away the Pods bound to it.
pub(crate) fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"maar.io/pool": "bench", "kubernetes.io/hostname": name}},
    })
}

pub(crate) fn binding(pod: &str, node: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    })
}

pub(crate) fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// A document as the body of a request.
pub(crate) fn body(value: &Value) -> Bytes {
    value.to_string().into()
}
