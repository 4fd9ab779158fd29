//! `maar up` as another process, with a profile that starts Pods quickly.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// Two nodes for everything, with cards, and one that only the case that empties it uses.
const PROFILE: &str = r#"
name: clients
heartbeat: 10s
startDelay: 100ms
pools:
  - name: gpu
    count: 2
    cpu: "64"
    memory: 256Gi
    pods: 500
    cards: { resource: nvidia.com/gpu, count: 8, vendor: nvidia, model: NVIDIA A100, memory: 80Gi, power: { idle: 60, full: 400 } }
  - name: drain
    count: 1
    cpu: "8"
    memory: 16Gi
    pods: 110
    taints: [{ key: for, value: draining, effect: NoSchedule }]
"#;

/// A running cluster.
#[derive(Debug)]
pub(crate) struct Maar {
    process: Child,
    folder: TempDir,
    pub(crate) has_local_node: bool,
}

impl Maar {
    pub(crate) async fn up() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("profile.yaml"), PROFILE).unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_maar"))
            .args(["up", "--port", "0", "--profile", "profile.yaml"])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut said = Vec::new();
        let listening = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                let last = line.starts_with("Ctrl-C");
                said.push(line);
                if last {
                    return;
                }
            }
            panic!("maar ended: {said:#?}");
        };
        tokio::time::timeout(Duration::from_mins(1), listening).await.unwrap();
        // Somebody has to read what else it says.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let has_local_node = said.iter().any(|line| line.contains("runs containers as processes"));
        Self { process, folder, has_local_node }
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join(".maar/kubeconfig")
    }

    /// A new folder that is gone when the cluster is.
    pub(crate) fn make_folder(&self, name: &str) -> PathBuf {
        let folder = self.folder.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Stops the cluster as Ctrl-C does.
    pub(crate) async fn down(mut self) {
        let id = self.process.id().unwrap().to_string();
        assert!(Command::new("kill").arg(&id).status().await.unwrap().success());
        let ended = tokio::time::timeout(Duration::from_mins(1), self.process.wait()).await.unwrap().unwrap();
        assert!(ended.success(), "{ended}");
    }
}
