//! Programs that people use with a browser. The word that lets them in is in the Secret `NAME-access`, never in a
//! log or an annotation.

use k8s_openapi::api::core::v1::{EnvVar, EnvVarSource, SecretKeySelector};
use maar_api::v1alpha1::AIJobSpec;

use super::{Kind, Place, Secrecy, port, words};
use crate::name;

/// The key of the word in the Secret.
pub(crate) const TOKEN: &str = "token";

pub(crate) struct Jupyter;
pub(crate) struct CodeServer;

/// A variable with the word of the Secret.
fn token(variable: &str, secret: String) -> EnvVar {
    let selector = SecretKeySelector { name: secret, key: TOKEN.to_owned(), optional: None };
    let source = EnvVarSource { secret_key_ref: Some(selector), ..EnvVarSource::default() };
    EnvVar { name: variable.to_owned(), value: None, value_from: Some(source) }
}

fn jupyter_command(port: i32) -> Vec<String> {
    let port = format!("--ServerApp.port={port}");
    words(["jupyter", "lab", "--ServerApp.ip=0.0.0.0", &port, "--no-browser"])
}

fn code_server_command(port: i32) -> Vec<String> {
    let address = format!("0.0.0.0:{port}");
    words(["code-server", "--bind-addr", &address, "--auth", "password"])
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
        vec![("http", port(spec, 8888))]
    }

    fn secrecy(&self) -> Secrecy {
        Secrecy::Token
    }

    fn default_command(&self, place: &Place<'_>) -> Option<Vec<String>> {
        Some(jupyter_command(port(place.spec(), 8888)))
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
        vec![("http", port(spec, 8080))]
    }

    fn secrecy(&self) -> Secrecy {
        Secrecy::Token
    }

    fn default_command(&self, place: &Place<'_>) -> Option<Vec<String>> {
        Some(code_server_command(port(place.spec(), 8080)))
    }
}
