//! Who places the Pods.

use std::fmt;
use std::path::Path;
use std::process::Stdio;

use anyhow::Context as _;
use tokio::process::{Child, Command};

use super::stage::Stage;

/// Who places the Pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    /// This program, which decides nothing.
    Raw,
    /// Maar's scheduler.
    Maar,
    /// Maar's scheduler, with Pods that start together.
    MaarGangs,
    /// The one that everybody has.
    KubeScheduler,
}

impl fmt::Display for Contender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Raw => "raw",
            Self::Maar => "maar",
            Self::MaarGangs => "maar, gangs",
            Self::KubeScheduler => "kube-scheduler",
        })
    }
}

impl Contender {
    /// `schedulerName` of its Pods.
    pub(crate) const fn scheduler_name(self) -> &'static str {
        match self {
            Self::Raw => "nobody",
            Self::Maar | Self::MaarGangs => "maar-scheduler",
            Self::KubeScheduler => "default-scheduler",
        }
    }

    /// Starts its process; none for the one that is this program.
    pub(crate) fn start(self, stage: &Stage, maar: &Path) -> anyhow::Result<Option<Process>> {
        let mut command = match self {
            Self::Raw => return Ok(None),
            Self::Maar | Self::MaarGangs => {
                let mut command = Command::new(maar);
                command
                    .args(["scheduler", "--leader-election", "false", "--kubeconfig"])
                    .arg(&stage.kubeconfig);
                for flag in ["--metrics-address", "--health-address", "--explain-address"] {
                    command.args([flag, "127.0.0.1:0"]);
                }
                command
            }
            Self::KubeScheduler => {
                let file = stage.folder.path().join("kube-scheduler.yaml");
                // A rate below zero is no limit.
                let config = format!(
                    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
                     leaderElection: {{leaderElect: false}}\n\
                     clientConnection: {{kubeconfig: \"{}\", qps: -1, burst: -1}}\n",
                    stage.kubeconfig.display()
                );
                std::fs::write(&file, config)?;
                let mut command = Command::new(&stage.kube_scheduler);
                command.arg(format!("--config={}", file.display())).arg("--secure-port=0");
                command
            }
        };
        let log = std::fs::File::create(stage.folder.path().join(format!("{self}.log")))?;
        let child = command
            .stdout(Stdio::from(log.try_clone()?))
            .stderr(Stdio::from(log))
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("starting {self}"))?;
        let pid = child.id().context("a process without a number")?;
        Ok(Some(Process { child, pid }))
    }
}

/// A running contender.
pub(crate) struct Process {
    child: Child,
    pub(crate) pid: u32,
}

impl Process {
    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        let pid = rustix::process::Pid::from_raw(self.pid.cast_signed()).context("process 0")?;
        // One that has ended by itself has shown that in the figures.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        self.child.wait().await?;
        Ok(())
    }
}
