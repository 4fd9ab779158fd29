//! What `maar portal` and `maar up` are told of the OpenID provider and of kubeconfigs.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use maar_portal::{IssuerSettings, KubeconfigMode, KubeconfigSettings, Settings};

use super::oauth::random;

/// The OpenID provider.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "OpenID provider")]
#[expect(clippy::struct_field_names, reason = "they are the names of flags")]
pub(crate) struct IssuerArgs {
    /// File with a secret of at least 32 random bytes that seals the keys which sign tokens; all portals of one database
    /// share it. Without it: with SQLite one is made beside the database, with PostgreSQL there is no provider
    #[arg(long, value_name = "FILE")]
    oidc_secret_file: Option<PathBuf>,
    /// File in YAML with other clients of the provider than Maar's own
    #[arg(long, value_name = "FILE")]
    oidc_clients: Option<PathBuf>,
    /// RSA key (PEM, PKCS #8) for clients that take no ES256; may be repeated: the first signs, others are still shown
    #[arg(long, value_name = "FILE")]
    oidc_rsa_key: Vec<PathBuf>,
}

impl IssuerArgs {
    /// Settings with what was told, for a portal on these records.
    pub(crate) fn apply(&self, settings: &mut Settings, records: &str) -> anyhow::Result<()> {
        let Some(secret) = self.secret(records)? else {
            anyhow::ensure!(
                self.oidc_clients.is_none() && self.oidc_rsa_key.is_empty(),
                "the OpenID provider needs --oidc-secret-file where the database is PostgreSQL"
            );
            return Ok(());
        };
        let read =
            |path: &Path| fs::read_to_string(path).with_context(|| format!("reading {}", path.display()));
        let keys = self.oidc_rsa_key.iter().map(|path| read(path)).collect::<anyhow::Result<Vec<_>>>()?;
        let mut issuer = IssuerSettings::new(&secret)?.with_rsa(&keys)?;
        if let Some(file) = &self.oidc_clients {
            let folder = file.parent().unwrap_or_else(|| Path::new("."));
            let beside = |path: &Path| fs::read_to_string(folder.join(path));
            issuer = issuer.with_clients(&read(file)?, &beside)?;
        }
        settings.issuer = Some(issuer);
        Ok(())
    }

    fn secret(&self, records: &str) -> anyhow::Result<Option<Vec<u8>>> {
        if let Some(file) = &self.oidc_secret_file {
            let bytes = fs::read(file).with_context(|| format!("reading {}", file.display()))?;
            return Ok(Some(bytes.trim_ascii_end().to_vec()));
        }
        match records.strip_prefix("sqlite:") {
            None => Ok(None),
            Some(":memory:") => Ok(Some(random::<32>()?.to_vec())),
            Some(path) => {
                let path = path.trim_start_matches("//").split('?').next().unwrap_or_default();
                beside(&PathBuf::from(format!("{path}.secret"))).map(Some)
            }
        }
    }
}

/// The secret of a file, which is made where it is missing.
fn beside(path: &Path) -> anyhow::Result<Vec<u8>> {
    let step = || format!("keeping a secret in {}", path.display());
    match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => {
            let secret: [u8; 32] = random()?;
            file.write_all(&secret).and_then(|()| file.sync_all()).with_context(step)?;
            Ok(secret.to_vec())
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let mode = fs::metadata(path).with_context(step)?.permissions().mode();
            if mode & 0o077 != 0 {
                anyhow::bail!("{} is a secret and others may read it: chmod 600", path.display());
            }
            fs::read(path).with_context(step)
        }
        Err(error) => Err(error).with_context(step),
    }
}

/// Kubeconfigs.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Kubeconfigs")]
pub(crate) struct KubeconfigArgs {
    /// Where people reach the API server, such as https://kubernetes.example:6443; without it nobody gets a kubeconfig
    #[arg(long, value_name = "URL")]
    kubernetes_url: Option<String>,
    /// File with the certificates that the API server is known by; without it those of the portal's own kubeconfig
    #[arg(long, value_name = "FILE", requires = "kubernetes_url")]
    kubernetes_ca: Option<PathBuf>,
    /// How kubeconfigs prove who somebody is: certificate, oidc or token; may be repeated, the first is the usual one.
    /// Without it certificate and token
    #[arg(long, value_name = "MODE", requires = "kubernetes_url")]
    kubeconfig_mode: Vec<KubeconfigMode>,
    /// How many hours a kubeconfig works at most
    #[arg(long, value_name = "HOURS", default_value_t = 24, value_parser = clap::value_parser!(i64).range(1..=720))]
    kubeconfig_hours: i64,
}

impl KubeconfigArgs {
    /// Settings with what was told; `own` is how the portal itself reaches the cluster.
    pub(crate) fn apply(&self, settings: &mut Settings, own: &kube::Config) -> anyhow::Result<()> {
        let Some(server) = &self.kubernetes_url else { return Ok(()) };
        let whole = server.strip_prefix("https://").is_some_and(|rest| !rest.is_empty());
        anyhow::ensure!(
            whole,
            "--kubernetes-url {server} is not a URL such as https://kubernetes.example:6443"
        );
        let authority = match &self.kubernetes_ca {
            Some(file) => {
                Some(fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?)
            }
            None => authority(own),
        };
        let mut told = KubeconfigSettings::at(server.trim_end_matches('/'), authority);
        told.longest_hours = self.kubeconfig_hours;
        told.cluster = cluster_name(settings);
        if !self.kubeconfig_mode.is_empty() {
            told.modes.clone_from(&self.kubeconfig_mode);
        }
        anyhow::ensure!(
            settings.issuer.is_some() || !told.modes.contains(&KubeconfigMode::Oidc),
            "--kubeconfig-mode oidc needs the OpenID provider: see --oidc-secret-file"
        );
        settings.kubeconfig = Some(told);
        Ok(())
    }
}

/// What the cluster is called in kubeconfigs: as the portal is, since several may be in one file.
pub(crate) fn cluster_name(settings: &Settings) -> String {
    let origin = settings.origins.first().map(String::as_str).unwrap_or_default();
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    if host.is_empty() { "maar".to_owned() } else { host.to_owned() }
}

/// The certificates by which a client knows its cluster, as PEM.
pub(crate) fn authority(config: &kube::Config) -> Option<String> {
    let certificates = config.root_cert.as_ref()?;
    Some(certificates.iter().map(|der| maar_portal::certificate_pem(der)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_made_once_beside_the_database_and_for_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/records.db", folder.path().display());
        let arguments = IssuerArgs::default();
        let first = arguments.secret(&url).unwrap().unwrap();
        assert_eq!(arguments.secret(&url).unwrap().unwrap(), first);
        let file = folder.path().join("records.db.secret");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(arguments.secret(&url).unwrap_err().to_string().contains("chmod 600"));
        assert_eq!(arguments.secret("postgres://host/db").unwrap(), None);
        assert_ne!(
            arguments.secret("sqlite::memory:").unwrap(),
            arguments.secret("sqlite::memory:").unwrap()
        );
    }

    #[test]
    fn a_provider_without_a_secret_is_refused_where_clients_are_named() {
        let arguments =
            IssuerArgs { oidc_clients: Some(PathBuf::from("clients.yaml")), ..IssuerArgs::default() };
        let mut settings = Settings::at(vec!["https://gpu.example".to_owned()]);
        let error = arguments.apply(&mut settings, "postgres://host/db").unwrap_err().to_string();
        assert!(error.contains("--oidc-secret-file"), "{error}");
        assert_eq!(cluster_name(&settings), "gpu.example");
    }
}
