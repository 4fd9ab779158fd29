//! Programs that people use with a browser: as a job, and in a workspace of the same type.
//!
//! They listen on the loopback of the Pod, where the portal reaches them by a port-forward and decides who may, and need
//! no word of their own. For those whose command is another, which may listen to everybody, a word is in the Secret
//! `NAME-access` of the job, never in a log or an annotation.

use k8s_openapi::api::core::v1::{EnvVar, EnvVarSource, SecretKeySelector};
use maar_api::v1alpha1::AIJobSpec;

use super::{Kind, Place, Secrecy, port, words};
use crate::name;

/// The key of the word in the Secret.
pub(crate) const TOKEN: &str = "token";

/// The port of Jupyter, if no other is said.
pub(crate) const JUPYTER: i32 = 8888;
/// The port of code-server.
pub(crate) const CODE_SERVER: i32 = 8080;

/// Lets Jupyter answer below the path that the portal says.
const JUPYTER_SETTINGS: &str = include_str!("jupyter_server_config.py");
/// Puts the settings where Jupyter looks beside the places that the image or its user has. Where nothing can be written
/// Jupyter begins without them.
const BEGIN_JUPYTER: &str = r#"at=`mktemp -d` && printf %s "$1" >"$at/jupyter_server_config.py" &&
  export JUPYTER_CONFIG_PATH="$at${JUPYTER_CONFIG_PATH:+:$JUPYTER_CONFIG_PATH}"
shift
exec jupyter lab "$@""#;

/// Jupyter that people reach through the portal alone: on the loopback of the Pod, where nobody else is, without a word
/// of its own, and with whatever host the portal gives it. It is told all it needs, and fetches nothing.
pub(crate) fn jupyter(port: i32) -> Vec<String> {
    let port = format!("--ServerApp.port={port}");
    let options = [
        "--ServerApp.ip=127.0.0.1",
        &port,
        "--ServerApp.port_retries=0",
        "--IdentityProvider.token=",
        "--ServerApp.allow_remote_access=True",
        "--ServerApp.allow_root=True",
        // It would ask the internet whether there is news, and whether it is old.
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--no-browser",
    ];
    let shell = ["/bin/sh", "-c", BEGIN_JUPYTER, "sh", JUPYTER_SETTINGS];
    shell.into_iter().chain(options).map(str::to_owned).collect()
}

/// The same of code-server, whose links are relative. Variables that images set (`CODE_SERVER_HOST`, `PORT`) go before
/// `--bind-addr`, and would open it to the network of the cluster; before these options they do not go. Neither is it told
/// anything by a file of the image or of its user, which could have it listen elsewhere, or speak TLS.
pub(crate) fn code_server(port: i32) -> Vec<String> {
    let port = port.to_string();
    words([
        "code-server",
        "--config",
        "/dev/null",
        "--host",
        "127.0.0.1",
        "--port",
        &port,
        "--auth",
        "none",
        "--disable-telemetry",
        "--disable-update-check",
    ])
}

pub(crate) struct Jupyter;
pub(crate) struct CodeServer;

/// A variable with the word of the Secret.
fn token(variable: &str, secret: String) -> EnvVar {
    let selector = SecretKeySelector { name: secret, key: TOKEN.to_owned(), optional: None };
    let source = EnvVarSource { secret_key_ref: Some(selector), ..EnvVarSource::default() };
    EnvVar { name: variable.to_owned(), value: None, value_from: Some(source) }
}

fn one_pod(spec: &AIJobSpec) -> Vec<String> {
    if spec.replicas() == 1 { Vec::new() } else { vec!["an interactive job has one Pod".to_owned()] }
}

impl Kind for Jupyter {
    fn problems(&self, spec: &AIJobSpec) -> Vec<String> {
        one_pod(spec)
    }

    fn environment(&self, place: &Place<'_>) -> Vec<EnvVar> {
        vec![token("JUPYTER_TOKEN", name::secret(place.job_name()))]
    }

    fn ports(&self, spec: &AIJobSpec) -> Vec<(&'static str, i32)> {
        vec![("http", port(spec, JUPYTER))]
    }

    fn secrecy(&self) -> Secrecy {
        Secrecy::Token
    }

    fn default_command(&self, place: &Place<'_>) -> Option<Vec<String>> {
        Some(jupyter(port(place.spec(), JUPYTER)))
    }
}

impl Kind for CodeServer {
    fn problems(&self, spec: &AIJobSpec) -> Vec<String> {
        one_pod(spec)
    }

    fn environment(&self, place: &Place<'_>) -> Vec<EnvVar> {
        vec![token("PASSWORD", name::secret(place.job_name()))]
    }

    fn ports(&self, spec: &AIJobSpec) -> Vec<(&'static str, i32)> {
        vec![("http", port(spec, CODE_SERVER))]
    }

    fn secrecy(&self) -> Secrecy {
        Secrecy::Token
    }

    fn default_command(&self, place: &Place<'_>) -> Option<Vec<String>> {
        Some(code_server(port(place.spec(), CODE_SERVER)))
    }
}
