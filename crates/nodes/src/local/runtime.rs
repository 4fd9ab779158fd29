//! The local runtime: turns what the state machine wants into processes, and what happens to them into reports.

use std::{
    collections::{HashMap, HashSet},
    fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::Timestamp;
use kube::Client;
use parking_lot::Mutex;
use tokio::sync::{Notify, broadcast, mpsc, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    LocalOptions,
    container::{self, Chunk},
    erase,
    sandbox::Sandbox,
    spawner::Spawner,
};
use crate::{
    lifecycle::{Action, Life, Report, resume::Survival},
    pod::Pod,
    runtime::{Observation, Runtime},
};

/// Output that a slow attached client may lag behind.
const ATTACH_BACKLOG: usize = 256;

/// See the module.
#[derive(Clone)]
pub(super) struct LocalRuntime(pub(super) Arc<Inner>);

type Reports = HashMap<Arc<str>, Vec<(usize, Report)>>;
type Controls = HashMap<(Arc<str>, usize), Arc<Control>>;

/// What the tasks of all containers share.
pub(super) struct Inner {
    /// For as long as the node lives: what is in the folder and unknown to one node is erased by it.
    lock: File,
    pub(super) client: Client,
    pub(super) sandbox: Sandbox,
    pub(super) options: LocalOptions,
    pub(super) spawner: Spawner,
    pub(super) shutdown: CancellationToken,
    tasks: TaskTracker,
    bell: Arc<Notify>,
    /// What containers reported and nobody has looked at yet, by uid of the Pod.
    reports: Mutex<Reports>,
    /// The newest run of each container, by uid of the Pod and position.
    controls: Mutex<Controls>,
}

/// The reins of one run of a container.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) run: u32,
    /// When it must be gone, once somebody asked for it.
    pub(super) stop: watch::Sender<Option<Timestamp>>,
    /// Process number of its sandbox while it runs.
    pub(super) sandbox: watch::Sender<Option<u32>>,
    /// Everything it writes, for attached clients.
    pub(super) output: broadcast::Sender<Chunk>,
    /// Its standard input, if it has one; nothing closes it.
    pub(super) input: Mutex<Option<mpsc::Sender<container::Input>>>,
    /// How to enter it, once it is prepared.
    pub(super) entry: Mutex<Option<Entry>>,
    /// Done with everything.
    pub(super) done: CancellationToken,
}

/// What an exec or attach must know of a run.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// A script that sets its variables.
    pub(super) variables: PathBuf,
    pub(super) working_dir: String,
    /// The input ends with the first client that attached to it.
    pub(super) stdin_once: bool,
}

impl Control {
    fn new(run: u32) -> Self {
        Self {
            run,
            stop: watch::Sender::new(None),
            sandbox: watch::Sender::new(None),
            output: broadcast::Sender::new(ATTACH_BACKLOG),
            input: Mutex::new(None),
            entry: Mutex::new(None),
            done: CancellationToken::new(),
        }
    }

    /// Asks it to be gone by `deadline`; the earliest wish counts.
    pub(super) fn stop_by(&self, deadline: Timestamp) {
        self.stop.send_if_modified(|wish| {
            let earlier = wish.is_none_or(|known| deadline < known);
            if earlier {
                *wish = Some(deadline);
            }
            earlier
        });
    }
}

fn take_lock(state: &Path) -> io::Result<File> {
    let path = state.join("lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(io::Error::other("it is in use by another process")),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

impl LocalRuntime {
    pub(super) fn new(
        client: Client,
        sandbox: Sandbox,
        options: LocalOptions,
        bell: Arc<Notify>,
        shutdown: CancellationToken,
    ) -> io::Result<Self> {
        // Secrets of Pods are in it.
        DirBuilder::new().recursive(true).mode(0o700).create(options.state.join("pods"))?;
        std::fs::set_permissions(&options.state, Permissions::from_mode(0o700))?;
        Ok(Self(Arc::new(Inner {
            lock: take_lock(&options.state)?,
            client,
            sandbox,
            options,
            spawner: Spawner::start()?,
            shutdown,
            tasks: TaskTracker::new(),
            bell,
            reports: Mutex::default(),
            controls: Mutex::default(),
        })))
    }

    /// Waits until every process has ended.
    pub(super) async fn stopped(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
        // The folder is free for the next node, although something may still hold on to this one.
        if let Err(error) = self.0.lock.unlock() {
            tracing::warn!(%error, "the lock of the local node's folder could not be given back");
        }
    }

    /// The reins of the container, if it has been started.
    pub(super) fn control(&self, uid: &str, position: usize) -> Option<Arc<Control>> {
        self.0.controls.lock().get(&(Arc::from(uid), position)).cloned()
    }
}

impl Inner {
    /// Where everything of a Pod is kept.
    pub(super) fn folder(&self, uid: &str) -> PathBuf {
        pod_folder(&self.options.state, uid)
    }

    /// Where volumes are kept that are this node's own.
    pub(super) fn kept_volumes(&self) -> PathBuf {
        self.options.state.join("volumes")
    }

    /// Enters what happened to a container and wakes the kubelet. Of a Pod that was forgotten nobody wants to know.
    pub(super) fn report(&self, uid: &Arc<str>, position: usize, report: Report) {
        let controls = self.controls.lock();
        if !controls.contains_key(&(uid.clone(), position)) {
            return;
        }
        self.reports.lock().entry(uid.clone()).or_default().push((position, report));
        self.bell.notify_one();
    }
}

/// A uid is a name the API server chose, but nothing else may reach the file system.
fn pod_folder(state: &Path, uid: &str) -> PathBuf {
    let safe: String =
        uid.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-').collect();
    state.join("pods").join(safe)
}

/// Where the log of one run of a container is.
pub(super) fn log_path(folder: &Path, container: &str, run: u32) -> PathBuf {
    folder.join("logs").join(container).join(format!("{run}.log"))
}

impl Runtime for LocalRuntime {
    fn scheme(&self) -> &'static str {
        "local"
    }

    fn survival(&self) -> Survival {
        Survival::Dies
    }

    fn observe(&self, pod: &Pod, _: &Life, _: Timestamp) -> Observation {
        let reports = self.0.reports.lock().remove(&pod.uid).unwrap_or_default();
        Observation { reports, wake: None }
    }

    fn perform(&self, pod: &Pod, life: &Life, action: &Action) {
        match action {
            Action::Start { container } => {
                let control = Arc::new(Control::new(life.containers[*container].restarts));
                self.0.controls.lock().insert((pod.uid.clone(), *container), control.clone());
                let run = container::run(self.0.clone(), Arc::new(pod.clone()), *container, control);
                self.0.tasks.spawn(run);
            }
            Action::Stop { container, deadline } => {
                let control = self.0.controls.lock().get(&(pod.uid.clone(), *container)).cloned();
                if let Some(control) = control {
                    control.stop_by(*deadline);
                }
            }
        }
    }

    fn forget(&self, pod: &Pod) {
        let controls: Vec<Arc<Control>> = {
            let mut all = self.0.controls.lock();
            (0..pod.template.containers.len())
                .filter_map(|position| all.remove(&(pod.uid.clone(), position)))
                .collect()
        };
        // After those, without which nothing is reported.
        self.0.reports.lock().remove(&pod.uid);
        let folder = self.0.folder(&pod.uid);
        self.0.tasks.spawn(async move {
            for control in controls {
                control.stop_by(Timestamp::MIN);
                control.done.cancelled().await;
            }
            // A container may have written a great deal; nobody waits for this.
            let _ = tokio::task::spawn_blocking(move || erase::folder(&folder)).await;
        });
    }

    fn listed(&self, is_known: &dyn Fn(&str) -> bool) {
        let folders = std::fs::read_dir(self.0.options.state.join("pods")).into_iter().flatten().flatten();
        let known = self.0.controls.lock().keys().map(|(uid, _)| uid.to_string()).collect::<HashSet<_>>();
        let stale = folders.filter(|folder| {
            let name = folder.file_name().to_string_lossy().into_owned();
            !is_known(&name) && !known.contains(&name)
        });
        // Left over from before a restart; nothing runs in them.
        let stale: Vec<PathBuf> = stale.map(|folder| folder.path()).collect();
        self.0.tasks.spawn_blocking(move || {
            for folder in stale {
                erase::folder(&folder);
            }
        });
    }

    fn poked(&self) -> Vec<Arc<str>> {
        let mut uids: Vec<Arc<str>> = self.0.reports.lock().keys().cloned().collect();
        uids.sort_unstable();
        uids
    }
}

#[cfg(test)]
mod tests;
