//! MPI and DeepSpeed: a launcher that reaches the workers by ssh, with the hosts in a file.
//!
//! The key pair is made for the job and is found in `/etc/maar/ssh` of each Pod together with a client configuration;
//! `OMPI_MCA_plm_rsh_args`, `HYDRA_LAUNCHER_EXTRA_ARGS` and `PDSH_SSH_ARGS_APPEND` make the usual launchers use them. Workers run sshd unless they say otherwise.

use std::{collections::BTreeMap, fmt::Write as _};

use k8s_openapi::api::core::v1::EnvVar;
use maar_api::v1alpha1::{AIJob, AIJobSpec};

use super::{Kind, Place, Secrecy, find, port, processes, variable, words};
use crate::name;

pub(crate) struct Mpi;
pub(crate) struct DeepSpeed;

/// Where Pods find the key pair.
pub(crate) const KEYS_AT: &str = "/etc/maar/ssh";
const PORT: i32 = 22;
const MASTER_PORT: i32 = 29500;
/// Hosts as Open MPI and DeepSpeed read them.
const HOST_FILE: &str = "hostfile";
/// Hosts as Hydra reads them, the launcher of MPICH and Intel MPI, which stumbles over `slots`.
const MACHINE_FILE: &str = "machinefile";

/// One line per worker: host, `between`, number of processes.
fn hosts(job: &AIJob, between: &str) -> String {
    let mut lines = String::new();
    if let Some(worker) = find(&job.spec, "worker") {
        let slots = processes(&job.spec, worker);
        for index in 0..worker.replicas {
            // Writing to a String cannot fail.
            let _ = writeln!(lines, "{}{between}{slots}", name::host(name::of(job), "worker", index));
        }
    }
    lines
}

fn ssh_arguments(port: i32) -> String {
    format!(
        "-p {port} -i {KEYS_AT}/id_ed25519 -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
         -o ConnectionAttempts=60"
    )
}

fn sshd(port: i32) -> Vec<String> {
    let port = port.to_string();
    let keys = format!("AuthorizedKeysFile={KEYS_AT}/id_ed25519.pub");
    let host_key = format!("{KEYS_AT}/id_ed25519");
    words(["/usr/sbin/sshd", "-D", "-e", "-p", &port, "-h", &host_key, "-o", &keys, "-o", "StrictModes=no"])
}

fn launcher(spec: &AIJobSpec) -> Vec<&str> {
    find(spec, "launcher").map(|task| task.name.as_str()).into_iter().collect()
}

impl Kind for Mpi {
    fn required(&self) -> &'static [&'static str] {
        &["launcher", "worker"]
    }

    fn single(&self) -> &'static [&'static str] {
        &["launcher"]
    }

    fn deciding<'a>(&self, spec: &'a AIJobSpec) -> Vec<&'a str> {
        launcher(spec)
    }

    fn is_rigid(&self, _spec: &AIJobSpec) -> bool {
        true
    }

    fn environment(&self, place: &Place<'_>) -> Vec<EnvVar> {
        if place.task.name != "launcher" {
            return Vec::new();
        }
        let hosts = format!("{}/{HOST_FILE}", self.files_at());
        let machines = format!("{}/{MACHINE_FILE}", self.files_at());
        let ssh = ssh_arguments(port(place.spec(), PORT));
        vec![
            variable("OMPI_MCA_orte_default_hostfile", &hosts),
            variable("PRTE_MCA_prte_default_hostfile", &hosts),
            variable("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
            variable("OMPI_MCA_plm_rsh_args", &ssh),
            variable("PRTE_MCA_prte_keep_fqdn_hostnames", "true"),
            variable("PRTE_MCA_plm_ssh_args", &ssh),
            variable("HYDRA_HOST_FILE", &machines),
            variable("HYDRA_LAUNCHER_EXTRA_ARGS", &ssh),
            variable("I_MPI_HYDRA_HOST_FILE", &machines),
            variable("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", &ssh),
        ]
    }

    fn ports(&self, spec: &AIJobSpec) -> Vec<(&'static str, i32)> {
        vec![("ssh", port(spec, PORT))]
    }

    fn files(&self, job: &AIJob) -> BTreeMap<String, String> {
        let file = |name: &str, between: &str| (name.to_owned(), hosts(job, between));
        BTreeMap::from([file(HOST_FILE, " slots="), file(MACHINE_FILE, ":")])
    }

    fn files_at(&self) -> &'static str {
        "/etc/mpi"
    }

    fn secrecy(&self) -> Secrecy {
        Secrecy::Keys
    }

    fn default_command(&self, place: &Place<'_>) -> Option<Vec<String>> {
        (place.task.name == "worker").then(|| sshd(port(place.spec(), PORT)))
    }
}

impl Kind for DeepSpeed {
    fn required(&self) -> &'static [&'static str] {
        &["launcher", "worker"]
    }

    fn single(&self) -> &'static [&'static str] {
        &["launcher"]
    }

    fn deciding<'a>(&self, spec: &'a AIJobSpec) -> Vec<&'a str> {
        launcher(spec)
    }

    fn is_rigid(&self, _spec: &AIJobSpec) -> bool {
        true
    }

    fn environment(&self, place: &Place<'_>) -> Vec<EnvVar> {
        let ssh = ssh_arguments(port(place.spec(), PORT));
        vec![
            variable("MASTER_ADDR", name::host(place.job_name(), "worker", 0)),
            variable("MASTER_PORT", MASTER_PORT.to_string()),
            variable("PDSH_RCMD_TYPE", "ssh"),
            variable("PDSH_SSH_ARGS_APPEND", ssh),
        ]
    }

    fn ports(&self, spec: &AIJobSpec) -> Vec<(&'static str, i32)> {
        vec![("ssh", port(spec, PORT)), ("rendezvous", MASTER_PORT)]
    }

    fn files(&self, job: &AIJob) -> BTreeMap<String, String> {
        BTreeMap::from([(HOST_FILE.to_owned(), hosts(job, " slots="))])
    }

    /// Where DeepSpeed looks when it is not told.
    fn files_at(&self) -> &'static str {
        "/job"
    }

    fn secrecy(&self) -> Secrecy {
        Secrecy::Keys
    }

    fn default_command(&self, place: &Place<'_>) -> Option<Vec<String>> {
        (place.task.name == "worker").then(|| sshd(port(place.spec(), PORT)))
    }
}
