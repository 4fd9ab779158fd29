//! Scenarios on a whole cluster with paused time. A stand-in for kubelets starts, ends and removes Pods.

mod batch;
mod cleanup;
mod harness;
mod nodes;
mod services;
mod silence;
mod workloads;
