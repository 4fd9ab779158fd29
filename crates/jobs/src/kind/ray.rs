//! Ray: a head, and workers that join it. The job is over when the head is.

use k8s_openapi::api::core::v1::EnvVar;
use maar_api::v1alpha1::AIJobSpec;

use super::{Kind, Place, find, port, variable, words};
use crate::name;

pub(crate) struct Ray;

const PORT: i32 = 6379;
const DASHBOARD: i32 = 8265;
const CLIENT: i32 = 10001;

impl Kind for Ray {
    fn required(&self) -> &'static [&'static str] {
        &["head"]
    }

    fn single(&self) -> &'static [&'static str] {
        &["head"]
    }

    fn deciding<'a>(&self, spec: &'a AIJobSpec) -> Vec<&'a str> {
        find(spec, "head").map(|task| task.name.as_str()).into_iter().collect()
    }

    fn environment(&self, place: &Place<'_>) -> Vec<EnvVar> {
        let (head, port) = (name::host(place.job_name(), "head", 0), port(place.spec(), PORT));
        vec![
            variable("RAY_ADDRESS", format!("{head}:{port}")),
            variable("RAY_HEAD_HOST", &head),
            variable("RAY_PORT", port.to_string()),
            variable("RAY_DASHBOARD_ADDRESS", format!("http://{head}:{DASHBOARD}")),
        ]
    }

    fn ports(&self, spec: &AIJobSpec) -> Vec<(&'static str, i32)> {
        vec![("gcs", port(spec, PORT)), ("dashboard", DASHBOARD), ("client", CLIENT)]
    }

    fn default_command(&self, place: &Place<'_>) -> Option<Vec<String>> {
        let port = port(place.spec(), PORT);
        if place.task.name == "head" {
            let port = format!("--port={port}");
            return Some(words(["ray", "start", "--head", &port, "--dashboard-host=0.0.0.0", "--block"]));
        }
        let address = format!("--address={}:{port}", name::host(place.job_name(), "head", 0));
        Some(words(["ray", "start", &address, "--block"]))
    }
}
