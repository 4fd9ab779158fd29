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
    /// The same, with a watch of all Pods as JSON beside it: what telling a scheduler costs the server.
    RawTold,
    /// The same as protobuf.
    RawToldBinary,
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
            Self::RawTold => "raw, told",
            Self::RawToldBinary => "raw, told binary",
            Self::Maar => "maar",
            Self::MaarGangs => "maar, gangs",
            Self::KubeScheduler => "kube-scheduler",
        })
    }
}

impl Contender {
    /// In which form this program has itself told of Pods while it binds, besides what all runs are measured by.
    pub(crate) const fn told(self) -> Option<&'static str> {
        match self {
            Self::RawTold => Some("application/json"),
            Self::RawToldBinary => Some("application/vnd.kubernetes.protobuf;stream=watch"),
            _ => None,
        }
    }

    /// `schedulerName` of its Pods.
    pub(crate) const fn scheduler_name(self) -> &'static str {
        match self {
            Self::Raw | Self::RawTold | Self::RawToldBinary => "nobody",
            Self::Maar | Self::MaarGangs => "maar-scheduler",
            Self::KubeScheduler => "default-scheduler",
        }
    }

    /// Starts its process; none for the one that is this program.
    pub(crate) fn start(self, stage: &Stage, maar: &Path) -> anyhow::Result<Option<Process>> {
        let mut command = match self {
            Self::Raw | Self::RawTold | Self::RawToldBinary => return Ok(None),
            Self::Maar | Self::MaarGangs => {
                let mut command = Command::new(maar);
                command
                    .args(["scheduler", "--leader-election", "false", "--kubeconfig"])
                    .arg(&stage.kubeconfig);
                // There are no kubelets to see a notice.
                command.args(["--notice-seconds", "0"]);
                for flag in ["--metrics-address", "--health-address", "--explain-address"] {
                    command.args([flag, "127.0.0.1:0"]);
                }
                command
            }
            Self::KubeScheduler => {
                let file = stage.folder.path().join("kube-scheduler.yaml");
                // As good as no limit: none at all is not allowed.
                let config = format!(
                    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
                     leaderElection: {{leaderElect: false}}\n\
                     clientConnection: {{kubeconfig: \"{}\", qps: 100000, burst: 100000}}\n",
                    stage.kubeconfig.display()
                );
                std::fs::write(&file, config)?;
                let mut command = Command::new(&stage.kube_scheduler);
                command.arg(format!("--config={}", file.display())).arg("--secure-port=0");
                command
            }
        };
        let log = std::fs::File::create(stage.log_file(self))?;
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
    /// Waits until it ends by itself, which it should not.
    pub(crate) async fn ended(&mut self) -> anyhow::Error {
        match self.child.wait().await {
            Ok(status) => anyhow::anyhow!("it ended by itself ({status})"),
            Err(error) => error.into(),
        }
    }

    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        let pid = rustix::process::Pid::from_raw(self.pid.cast_signed()).context("process 0")?;
        // One that has ended by itself has shown that in the figures.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        self.child.wait().await?;
        Ok(())
    }
}
