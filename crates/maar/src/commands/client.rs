//! How commands for people reach a cluster.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kube::{
    Client, Config,
    config::{AuthInfo, InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use serde_json::Value;

use super::failure::Failure;

/// Where `maar up` writes its kubeconfig.
const BESIDE: &str = ".maar/kubeconfig";
/// The extension of a cluster in a kubeconfig that says where else Maar answers.
pub(crate) const EXTENSION: &str = "maar.io";
/// What it says there: where the scheduler tells why something waits.
pub(crate) const EXPLAIN_URL: &str = "explainUrl";

/// Which cluster, and where in it.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterArgs {
    /// Kubeconfig of the cluster, which goes before a login; without it the one that maar up wrote here (.maar/kubeconfig), else
    /// the usual ones
    #[arg(long, value_name = "FILE", global = true)]
    kubeconfig: Option<PathBuf>,
    /// Namespace of the cluster, which goes before a login; without it the one of the kubeconfig
    #[arg(long, short, value_name = "NAME", global = true)]
    namespace: Option<String>,
}

/// A client and the namespace to use.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    /// Who the user is, for questions to others than the API server.
    pub(crate) identity: AuthInfo,
    /// Where the scheduler tells why something waits, if the kubeconfig says so.
    pub(crate) explain_url: Option<String>,
}

impl ClusterArgs {
    /// Whether the command line names a cluster or a namespace of it.
    pub(crate) const fn is_named(&self) -> bool {
        self.kubeconfig.is_some() || self.namespace.is_some()
    }

    pub(crate) async fn connect(&self) -> anyhow::Result<Connection> {
        let config = config(self.kubeconfig.as_deref()).await.map_err(or_none)?;
        let namespace = self.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let (identity, explain_url) = (config.auth_info.clone(), explain_url(self.kubeconfig.as_deref()));
        let client = Client::try_from(config).context("preparing to talk to the cluster")?;
        Ok(Connection { client, namespace, identity, explain_url })
    }
}

/// Says how to get a cluster where none is known, instead of what is missing.
fn or_none(error: anyhow::Error) -> anyhow::Error {
    let missing = |cause: &(dyn std::error::Error + 'static)| {
        let read = cause.downcast_ref::<KubeconfigError>();
        matches!(read, Some(KubeconfigError::ReadConfig(error, _)) if error.kind() == std::io::ErrorKind::NotFound)
    };
    let inferred = error.chain().any(<dyn std::error::Error>::is::<InferConfigError>);
    if !inferred || !error.chain().any(missing) {
        return error;
    }
    let why = "nobody is logged in, and no cluster is known here: maar login https://PORTAL, or maar up for a cluster to \
               try, or --kubeconfig FILE";
    Failure::refused(why).into()
}

/// The file that was named, or the one that `maar up` wrote here.
fn chosen(file: Option<&Path>) -> Option<&Path> {
    let beside = Path::new(BESIDE);
    file.or_else(|| beside.exists().then_some(beside))
}

/// Where the scheduler tells why something waits, as the kubeconfig has it.
fn explain_url(file: Option<&Path>) -> Option<String> {
    let read = match chosen(file) {
        Some(file) => Kubeconfig::read_from(file),
        None => Kubeconfig::read(),
    };
    explain_url_in(&read.ok()?)
}

fn explain_url_in(kubeconfig: &Kubeconfig) -> Option<String> {
    let current = kubeconfig.current_context.as_ref()?;
    let context = kubeconfig.contexts.iter().find(|context| context.name == *current)?.context.as_ref()?;
    let cluster = kubeconfig.clusters.iter().find(|cluster| cluster.name == context.cluster)?;
    let extensions = cluster.cluster.as_ref()?.extensions.as_ref()?;
    let own = extensions.iter().find(|extension| extension.name == EXTENSION)?;
    own.extension.get(EXPLAIN_URL).and_then(Value::as_str).map(str::to_owned)
}

/// The settings of a kubeconfig, or of the first that is found.
pub(crate) async fn config(file: Option<&Path>) -> anyhow::Result<Config> {
    let Some(file) = chosen(file) else {
        return Config::infer().await.context("finding a cluster (say which with --kubeconfig)");
    };
    let read =
        Kubeconfig::read_from(file).with_context(|| format!("reading the kubeconfig {}", file.display()))?;
    Ok(Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_cluster_of_the_current_context_says_where_the_scheduler_answers() {
        let cluster = |name: &str, url: &str| {
            json!({"name": name, "cluster": {"server": "https://localhost",
                "extensions": [{"name": "maar.io", "extension": {"explainUrl": url}}]}})
        };
        let context = |name: &str| json!({"name": name, "context": {"cluster": name, "user": "me"}});
        let read = |current: &str| -> Kubeconfig {
            serde_json::from_value(
                json!({"current-context": current, "contexts": [context("a"), context("b")],
                "clusters": [cluster("a", "http://a"), {"name": "b", "cluster": {"server": "https://b"}}]}),
            )
            .unwrap()
        };
        assert_eq!(explain_url_in(&read("a")).as_deref(), Some("http://a"));
        assert_eq!(explain_url_in(&read("b")), None);
    }
}
