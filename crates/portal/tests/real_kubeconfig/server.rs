//! A control plane that knows the provider, and a TLS end before it.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use maar_testkit::ports::free_port;

use super::absent::absent;

const PROXY: &str = include_str!("proxy.mjs");

/// The control plane, the TLS end of the provider, and where both are.
pub(crate) struct Server {
    name: String,
    /// Among others tls.crt, by which the TLS end vouches for itself.
    pub(crate) folder: tempfile::TempDir,
    proxy: Child,
    /// What the provider calls itself.
    pub(crate) issuer: String,
    /// Where the TLS end looks for the portal.
    pub(crate) portal: u16,
    admin: PathBuf,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn dev_real(words: &[&str]) -> Option<String> {
    let output = Command::new(root().join("dev/real")).args(words).stderr(Stdio::inherit()).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

/// Whoever runs these tests may say what the control plane is called, to be able to stop it when they cannot any more.
#[expect(clippy::disallowed_methods, reason = "asked for by dev/real-suites")]
fn name() -> String {
    std::env::var("MAAR_REAL_NAME").unwrap_or_else(|_| format!("kubeconfig-{}", std::process::id()))
}

/// A certificate for 127.0.0.1 that vouches for itself, and its key.
fn certificate() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    (made.cert.pem(), made.signing_key.serialize_pem())
}

impl Server {
    pub(crate) fn start() -> Option<Self> {
        if Command::new("node").arg("--version").output().is_err() {
            absent("node");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let (port, portal) = (free_port(), free_port());
        let issuer = format!("https://127.0.0.1:{port}");
        let (certificate, key) = certificate();
        std::fs::write(folder.path().join("tls.crt"), &certificate).unwrap();
        std::fs::write(folder.path().join("tls.key"), key).unwrap();
        std::fs::write(folder.path().join("proxy.mjs"), PROXY).unwrap();
        let proxy = Command::new("node")
            .args(["proxy.mjs", &port.to_string(), &portal.to_string()])
            .current_dir(folder.path())
            .spawn()
            .unwrap();
        let config = folder.path().join("authentication.yaml");
        std::fs::write(&config, authentication(&issuer, &certificate)).unwrap();
        let option = format!("--authentication={}", config.display());
        // Whole before anything is started that does not end by itself.
        let mut server = Self { name: name(), folder, proxy, issuer, portal, admin: PathBuf::new() };
        let Some(admin) = dev_real(&["up", &option, "--name", &server.name]) else {
            panic!("dev/real up failed: its words are above");
        };
        server.admin = PathBuf::from(admin);
        Some(server)
    }

    pub(crate) fn stop(self) {
        drop(self);
    }

    pub(crate) fn admin(&self) -> &Path {
        &self.admin
    }

    /// Where the API server is, and the certificates it is known by.
    pub(crate) fn reached(&self) -> (String, String) {
        use base64::{Engine as _, prelude::BASE64_STANDARD};
        let text = std::fs::read_to_string(&self.admin).unwrap();
        let whole: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        let cluster = &whole["clusters"][0]["cluster"];
        let authority = match cluster["certificate-authority-data"].as_str() {
            Some(data) => BASE64_STANDARD.decode(data).unwrap(),
            None => std::fs::read(cluster["certificate-authority"].as_str().unwrap()).unwrap(),
        };
        (cluster["server"].as_str().unwrap().to_owned(), String::from_utf8(authority).unwrap())
    }

    /// The certificate of the cluster's authority, and its key.
    pub(crate) fn authority(&self) -> (String, String) {
        let read = |name: &str| std::fs::read_to_string(self.admin.with_file_name("pki").join(name)).unwrap();
        (read("ca.crt"), read("ca.key"))
    }

    /// The kubectl that belongs to the API server.
    pub(crate) fn kubectl_path(&self) -> PathBuf {
        let all = dev_real(&["env", "--name", &self.name]).unwrap();
        let kubectl = all.lines().find_map(|line| line.strip_prefix("export MAAR_REAL_KUBECTL=")).unwrap();
        PathBuf::from(kubectl.trim_matches(['\'', '"']))
    }

    fn run(&self, kubeconfig: &Path, words: &[&str]) -> Result<String, String> {
        let output = Command::new(self.kubectl_path())
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(words)
            .output()
            .map_err(|error| error.to_string())?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    /// What kubectl says to a command, with the kubeconfig of this text.
    pub(crate) fn kubectl(&self, kubeconfig: &str, words: &[&str]) -> Result<(), String> {
        let file = self.folder.path().join("kubeconfig");
        std::fs::write(&file, kubeconfig).map_err(|error| error.to_string())?;
        self.run(&file, words).map(drop)
    }

    /// The same as the administrator.
    pub(crate) fn apply(&self, file: &str) {
        let path = root().join(file);
        self.run(&self.admin, &["apply", "-f", path.to_str().unwrap()]).unwrap();
    }

    pub(crate) fn as_admin(&self, words: &[&str]) -> String {
        self.run(&self.admin, words).unwrap()
    }

    fn token_file(&self, token: &str) -> PathBuf {
        let (server, authority) = self.reached();
        std::fs::write(self.folder.path().join("ca.crt"), authority).unwrap();
        let file = self.folder.path().join("by-token");
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: x\n\
             clusters: [{{name: x, cluster: {{server: '{server}', certificate-authority: ca.crt}}}}]\n\
             users: [{{name: x, user: {{token: {token}}}}}]\ncontexts: [{{name: x, context: {{cluster: x, user: x}}}}]\n"
        );
        std::fs::write(&file, text).unwrap();
        file
    }

    /// Whether somebody with a token may list the Pods of a namespace.
    pub(crate) fn with_token(&self, token: &str, namespace: &str) -> Result<(), String> {
        self.run(&self.token_file(token), &["get", "pods", "--namespace", namespace]).map(drop)
    }

    pub(crate) fn whoami(&self, token: &str) -> String {
        self.run(&self.token_file(token), &["auth", "whoami", "-o", "yaml"]).unwrap()
    }

    pub(crate) async fn eventually_believes(&self, token: &str, namespace: &str) {
        for _ in 0..120 {
            if self.with_token(token, namespace).is_ok() {
                return;
            }
            // It tries to read the provider again every ten seconds, and tells nobody.
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        panic!("the API server never believed: {:?}", self.with_token(token, namespace));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.proxy.kill();
        let _ = self.proxy.wait();
        dev_real(&["down", "--name", &self.name]);
    }
}

/// As docs/operations/openid.md has it.
fn authentication(issuer: &str, certificate: &str) -> String {
    let certificate = format!("        {}\n", certificate.trim_end().replace('\n', "\n        "));
    format!(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:\n  - issuer:\n      \
         url: {issuer}\n      audiences: [kubernetes]\n      certificateAuthority: |\n{certificate}    \
         claimMappings:\n      username: {{ claim: sub, prefix: \"maar:\" }}\n      \
         groups: {{ claim: groups, prefix: \"\" }}\n"
    )
}
