//! Everything that must be there before a container's process starts.

use std::{
    io,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use k8s_openapi::api::core::v1::{self, Container, PodSpec};
use rustix::process::Signal;

use crate::{
    environment::{self, Facts, Sources, Variables},
    local::{
        erase,
        log::Writer,
        mount::{self, Mount, Ready},
        plan::{self, Problem},
        process::{self, Handed, Invocation},
        runtime::{Inner, log_path},
        sandbox::Layout,
        variables,
        volume::{self, Filling, claim::Places},
    },
    pod::Pod,
};

/// Where a container leaves its last words, unless it says otherwise.
const MESSAGE_PATH: &str = "/dev/termination-log";
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A container that is ready to start.
pub(in crate::local) struct Prepared {
    pub(in crate::local) container: Container,
    /// A script that sets its variables, for what is started in it later.
    pub(in crate::local) variables: PathBuf,
    pub(in crate::local) working_dir: String,
    pub(in crate::local) invocation: Invocation,
    pub(in crate::local) stop_signal: Signal,
    pub(in crate::local) log: Arc<Writer>,
    pub(in crate::local) log_file: PathBuf,
    pub(in crate::local) message_file: PathBuf,
}

/// Reads the Pod, makes its volumes and the container's folders, and works out the command.
pub(in crate::local) async fn prepare(
    inner: &Inner,
    pod: &Pod,
    position: usize,
    run: u32,
) -> Result<Prepared, Problem> {
    let object = fetch(inner, pod).await?;
    let spec = object.spec.clone().unwrap_or_default();
    let name = &pod.template.containers[position].name;
    let container = environment::container(&spec, name)
        .cloned()
        .ok_or_else(|| Problem::create(format!("container {name:?} is no longer in the pod")))?;
    let sources = sources(inner, pod, &object, Some(&container)).await?;
    let facts = facts(inner);
    let volumes = fill(inner, pod, &object, &sources, &facts).await?;
    let folder = inner.folder(&pod.uid);
    let hostname = spec.hostname.clone().unwrap_or_else(|| pod.name.to_string());
    let mut variables = base_variables(inner, &hostname);
    variables.extend(environment::variables(&object, &container, &facts, &sources)?);
    let plan = plan::plan(&spec, &container, &variables)?;
    let mut mounts = mount::mounts(&container, &volumes, &variables)?;
    let place = Place::make(&folder, name, run, &hostname, &hosts(&spec, &hostname, inner.options.address))
        .map_err(|error| Problem::create(error.to_string()))?;
    mount::make_sources(&mounts, &volumes)?;
    mounts.extend(place.mounts(&container));
    let setpriv = inner.sandbox.setpriv.as_deref();
    let other = plan.user != 0 || plan.group != 0 && setpriv.is_some();
    let layout = Layout {
        root: Some(&place.root),
        hostname: &hostname,
        user: plan.user,
        group: plan.group,
        unshare: inner.sandbox.unshare.as_deref().filter(|_| other),
        setpriv,
        working_dir: &plan.working_dir,
        variables: true,
        mounts: &mounts,
        read_only_root: plan.read_only_root,
        terminal: plan.terminal.then_some(&*inner.sandbox.setsid),
        command: &plan.command,
    };
    let (program, arguments) = inner.sandbox.start(&layout);
    let invocation = Invocation {
        program,
        arguments,
        handed: if plan.terminal { Handed::Terminal } else { Handed::Nothing },
        stdin: plan.stdin,
        variables: Some(place.write("arguments", &variables::arguments(&variables))?),
    };
    let log_file = log_path(&folder, name, run);
    let log = Writer::create(log_file.clone(), inner.options.clock.clone())
        .map_err(|error| Problem::create(error.to_string()))?;
    let stop = container.lifecycle.as_ref().and_then(|lifecycle| lifecycle.stop_signal.as_deref());
    Ok(Prepared {
        stop_signal: process::stop_signal(stop),
        container,
        variables: place.write("variables", &variables::script(&variables))?,
        working_dir: plan.working_dir,
        invocation,
        log: Arc::new(log),
        log_file,
        message_file: place.message,
    })
}

/// Brings the Pod's volumes up to date.
pub(in crate::local) async fn refill(inner: &Inner, pod: &Pod) -> Result<(), Problem> {
    let object = fetch(inner, pod).await?;
    let sources = sources(inner, pod, &object, None).await?;
    fill(inner, pod, &object, &sources, &facts(inner)).await.map(drop)
}

fn facts(inner: &Inner) -> Facts {
    let address: IpAddr = inner.options.address;
    let allocatable = crate::local::machine::pool(&inner.options).allocatable;
    Facts { host_ip: address, pod_ip: Some(address), allocatable }
}

async fn sources(
    inner: &Inner,
    pod: &Pod,
    object: &v1::Pod,
    container: Option<&Container>,
) -> Result<Sources, Problem> {
    let referred = volume::references(object);
    Ok(Sources::fetch(&inner.client, &pod.namespace, container.into_iter(), referred).await?)
}

async fn fill(
    inner: &Inner,
    pod: &Pod,
    object: &v1::Pod,
    sources: &Sources,
    facts: &Facts,
) -> Result<Vec<Ready>, Problem> {
    let filling = Filling {
        client: &inner.client,
        pod: object,
        namespace: &pod.namespace,
        facts,
        sources,
        folder: &inner.folder(&pod.uid).join("volumes"),
        places: Places { roots: &inner.options.volume_roots, kept: &inner.kept_volumes() },
        now: inner.options.clock.now(),
    };
    filling.all().await
}

async fn fetch(inner: &Inner, pod: &Pod) -> Result<v1::Pod, Problem> {
    let object = pod.read(&inner.client).await.map_err(|error| Problem::create(error.to_string()))?;
    object.ok_or_else(|| Problem::create(format!("pod {} is gone", pod.key())))
}

fn base_variables(inner: &Inner, hostname: &str) -> Variables {
    let mut variables = vec![
        ("PATH".to_owned(), PATH.to_owned()),
        ("HOSTNAME".to_owned(), hostname.to_owned()),
        ("HOME".to_owned(), "/root".to_owned()),
    ];
    if let Some((host, port)) = &inner.options.api_server {
        let port = port.to_string();
        for (name, value) in [
            ("KUBERNETES_SERVICE_HOST", host),
            ("KUBERNETES_SERVICE_PORT", &port),
            ("KUBERNETES_SERVICE_PORT_HTTPS", &port),
        ] {
            variables.push((name.to_owned(), value.clone()));
        }
    }
    variables
}

/// The names that a Pod knows without asking anybody: this machine's, its own and those that it brings.
fn hosts(spec: &PodSpec, hostname: &str, address: IpAddr) -> String {
    let own = format!("127.0.0.1\tlocalhost\n::1\tlocalhost\n{address}\t{hostname}\n");
    spec.host_aliases.iter().flatten().fold(own, |text, alias| {
        let names = alias.hostnames.as_deref().unwrap_or_default().join("\t");
        format!("{text}{}\t{names}\n", alias.ip)
    })
}

/// The folders and files of one run.
struct Place {
    own: PathBuf,
    root: PathBuf,
    message: PathBuf,
    hosts: PathBuf,
    hostname: PathBuf,
}

impl Place {
    fn make(folder: &Path, container: &str, run: u32, hostname: &str, hosts: &str) -> io::Result<Self> {
        let own = folder.join("containers").join(container);
        // The files of the run before are gone, its log is kept; the log of the run before that is not.
        erase::remove(&own)?;
        let root = own.join("root");
        std::fs::create_dir_all(root.join("root"))?;
        let logs = folder.join("logs").join(container);
        std::fs::create_dir_all(&logs)?;
        if let Some(old) = run.checked_sub(2) {
            for stale in [format!("{old}.log"), format!("{old}.log.old")] {
                let _ = std::fs::remove_file(logs.join(stale));
            }
        }
        let write = |name: &str, text: String| {
            let path = own.join(name);
            std::fs::write(&path, text).map(|()| path)
        };
        Ok(Self {
            root,
            message: write("message", String::new())?,
            hosts: write("hosts", hosts.to_owned())?,
            hostname: write("hostname", format!("{hostname}\n"))?,
            own,
        })
    }

    /// A file beside those that the container sees.
    fn write(&self, name: &str, text: &str) -> Result<PathBuf, Problem> {
        let path = self.own.join(name);
        std::fs::write(&path, text).map_err(|error| Problem::create(error.to_string()))?;
        Ok(path)
    }

    fn mounts(&self, container: &Container) -> [Mount; 3] {
        let message = container.termination_message_path.clone().unwrap_or_else(|| MESSAGE_PATH.into());
        [
            Mount { source: self.hosts.clone(), target: "/etc/hosts".into(), read_only: false },
            Mount { source: self.hostname.clone(), target: "/etc/hostname".into(), read_only: false },
            Mount { source: self.message.clone(), target: message, read_only: false },
        ]
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn aliases_of_a_pod_are_names_of_hosts() {
        let spec = serde_json::json!({ "containers": [], "hostAliases": [
            { "ip": "10.0.0.1", "hostnames": ["a", "b"] }, { "ip": "10.0.0.2", "hostnames": ["c"] },
        ] });
        let text = hosts(&serde_json::from_value(spec).unwrap(), "p", IpAddr::from([127, 0, 0, 1]));
        assert!(text.ends_with("127.0.0.1\tp\n10.0.0.1\ta\tb\n10.0.0.2\tc\n"), "{text}");
    }

    /// Root may write everywhere: only as somebody else this shows anything.
    #[test]
    fn a_folder_that_nobody_may_write_to_does_not_keep_a_container_from_its_next_run() {
        let base = tempfile::tempdir().unwrap();
        let make = |run| Place::make(base.path(), "main", run, "p", "");
        let closed = make(0).unwrap().root.join("cache");
        std::fs::create_dir(&closed).unwrap();
        std::fs::write(closed.join("file"), "x").unwrap();
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o500)).unwrap();
        make(1).unwrap();
        assert!(!closed.exists());
    }
}
