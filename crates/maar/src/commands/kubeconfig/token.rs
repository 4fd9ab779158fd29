//! `maar kubeconfig token`: what kubectl calls to learn who it is (client.authentication.k8s.io/v1). Tokens last minutes;
//! what gets new ones is kept in a file, and one process at a time uses it, since it is good for one use.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use jiff::Timestamp;
use maar_controller::clock::{Clock as _, SystemClock};
use maar_portal::{DEVICE_PREFIX, KUBERNETES_CLIENT};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::file::{Held, at_home, hold, make_folder, replace};
use crate::commands::{failure::Failure, oauth, output::print, remote::Remote};

/// Seconds before its end in which a token is not used any more: it has to get there.
const MARGIN: i64 = 60;

/// What `maar kubeconfig token` can be told.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The portal, which is the OpenID provider
    #[arg(long, value_name = "URL")]
    issuer: String,
    /// The kubeconfig that the token is for
    #[arg(long, value_name = "ID")]
    id: String,
    /// Sign in with a browser elsewhere: shows an address and a code
    #[arg(long, env = "MAAR_DEVICE_FLOW")]
    device_flow: bool,
    /// Folder in which tokens are kept; without it ~/.config/maar/tokens
    #[arg(long, value_name = "FOLDER", env = "MAAR_TOKENS")]
    tokens: Option<PathBuf>,
}

/// What is kept.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    issuer: String,
    id_token: String,
    expires: Timestamp,
    refresh_token: Option<String>,
}

impl Kept {
    fn of(issuer: &str, said: &Value, now: Timestamp) -> anyhow::Result<Self> {
        let text = |field: &str| said[field].as_str().map(str::to_owned);
        let seconds = said["expires_in"].as_i64().unwrap_or(0);
        Ok(Self {
            issuer: issuer.to_owned(),
            id_token: text("id_token").context("the provider gave no token")?,
            expires: now + jiff::SignedDuration::from_secs(seconds),
            refresh_token: text("refresh_token"),
        })
    }

    fn is_fresh(&self, issuer: &str, now: Timestamp) -> bool {
        self.issuer == issuer && self.expires.duration_since(now).as_secs() > MARGIN
    }

    fn credential(&self) -> Value {
        json!({
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": { "token": self.id_token, "expirationTimestamp": self.expires.to_string() },
        })
    }
}

pub(super) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let right = |one: u8| one.is_ascii_alphanumeric() || one == b'-';
    if arguments.id.is_empty() || !arguments.id.bytes().all(right) {
        return Err(Failure::usage("--id is letters, digits and dashes").into());
    }
    let remote = Remote::at(&arguments.issuer)?;
    let folder = match &arguments.tokens {
        Some(folder) => folder.clone(),
        None => at_home(".config/maar/tokens")?,
    };
    let path = folder.join(format!("{}.json", arguments.id));
    make_folder(&path)?;
    // kubectl runs several of us at once; the others wait here for what the first gets.
    let _held = held(path.clone()).await?;
    let kept = current(&remote, arguments, read(&path)?).await?;
    replace(&path, &serde_json::to_string_pretty(&kept)?)?;
    print(&format!("{}\n", kept.credential()));
    Ok(())
}

/// Waits for all others who hold the same file, however long that is: one of them may wait for a person.
async fn held(path: PathBuf) -> anyhow::Result<Held> {
    tokio::task::spawn_blocking(move || hold(&path)).await?
}

/// What is kept if it still does, else something newer.
async fn current(remote: &Remote, arguments: &Arguments, kept: Option<Kept>) -> anyhow::Result<Kept> {
    let (issuer, now) = (&arguments.issuer, SystemClock.now());
    let kept = kept.filter(|kept| kept.issuer == *issuer);
    if let Some(kept) = kept {
        if kept.is_fresh(issuer, now) {
            return Ok(kept);
        }
        if let Some(token) = &kept.refresh_token
            && let Some(said) = oauth::by_refresh(remote, KUBERNETES_CLIENT, token).await?
        {
            return Kept::of(issuer, &said, now);
        }
    }
    let scope = format!("openid groups offline_access {DEVICE_PREFIX}{}", arguments.id);
    let said = if arguments.device_flow {
        oauth::by_device(remote, KUBERNETES_CLIENT, &scope).await?
    } else {
        oauth::by_browser(remote, KUBERNETES_CLIENT, &scope).await?
    };
    Kept::of(issuer, &said, SystemClock.now())
}

/// What was kept; a file that others may read is not believed, and one that is damaged is none.
fn read(path: &Path) -> anyhow::Result<Option<Kept>> {
    let step = || format!("reading {}", path.display());
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.with_context(step)?,
    };
    if fs::metadata(path).with_context(step)?.permissions().mode() & 0o077 != 0 {
        let why = format!("{} holds tokens and others may read it: chmod 600 or remove it", path.display());
        return Err(Failure::usage(why).into());
    }
    Ok(serde_json::from_str(&text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_used_while_it_lasts_and_only_for_its_provider() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let said = json!({ "id_token": "t", "expires_in": 600, "refresh_token": "r" });
        let kept = Kept::of("https://a", &said, now).unwrap();
        let later = |seconds| now + jiff::SignedDuration::from_secs(seconds);
        assert!(kept.is_fresh("https://a", later(500)) && !kept.is_fresh("https://a", later(540)));
        assert!(!kept.is_fresh("https://b", now));
        insta::assert_snapshot!(kept.credential(), @r#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"expirationTimestamp":"2026-01-01T00:10:00Z","token":"t"}}"#);
        assert!(Kept::of("https://a", &json!({}), now).is_err());
    }

    #[tokio::test]
    async fn one_at_a_time_uses_what_can_be_used_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d-1.json");
        let first = held(path.clone()).await.unwrap();
        let other = fs::OpenOptions::new().append(true).open(folder.path().join("d-1.json.lock")).unwrap();
        assert!(other.try_lock().is_err());
        let next = tokio::spawn(held(path));
        drop(first);
        let next = next.await.unwrap().unwrap();
        assert!(other.try_lock().is_err());
        drop(next);
        assert!(other.try_lock().is_ok());
    }

    #[test]
    fn what_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d-1.json");
        assert!(read(&path).unwrap().is_none());
        fs::write(&path, "damaged").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(read(&path).unwrap().is_none());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("others may read"));
    }
}
