//! `maar kubeconfig write`.

use std::{fmt::Write as _, path::PathBuf};

use anyhow::Context as _;
use jiff::Timestamp;
use maar_controller::clock::{Clock as _, SystemClock};
use maar_portal::{CertificateRequest, KubeconfigMode, certificate_name};
use serde_json::{Value, json};

use super::{
    file::{Guard, at_home, make_folder, replace},
    given::{Given, Owner},
    merge::{merge, renamed},
};
use crate::commands::{
    failure::{Failure, is_missing},
    oauth::random,
    output::print,
    remote::{Login, Remote, machine},
    wait::tell,
};

/// What `maar kubeconfig write` can be told.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// How it proves who you are: certificate, oidc or token; without it the first that the portal offers
    #[arg(long)]
    mode: Option<KubeconfigMode>,
    /// How many hours it works; without it 12, or what the portal allows at most. Not for oidc, which asks again when it has to
    #[arg(long)]
    hours: Option<u16>,
    /// What this device is called in the list of kubeconfigs; without it the name of the machine. A device has one: what it was
    /// given here before is revoked
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// File it is put into; without it the first of $KUBECONFIG, else ~/.kube/config. - prints it alone
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    #[arg(long, env = "KUBECONFIG", hide = true, hide_env_values = true)]
    usual: Option<String>,
    /// What cluster, user and context are called in it; without it as the portal has them
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Leave the current context as it is
    #[arg(long)]
    keep_context: bool,
}

impl Arguments {
    fn path(&self) -> anyhow::Result<PathBuf> {
        if let Some(path) = &self.kubeconfig {
            return Ok(path.clone());
        }
        let first = self.usual.iter().flat_map(|list| list.split(':')).find(|path| !path.is_empty());
        first.map_or_else(|| at_home(".kube/config"), |path| Ok(PathBuf::from(path)))
    }

    fn device(&self) -> String {
        self.device.as_deref().map_or_else(machine, |name| name.trim().chars().take(64).collect())
    }
}

pub(super) async fn run(login: &Login, given: &Given, arguments: &Arguments) -> anyhow::Result<()> {
    let remote = &Remote::of(login)?;
    let mode = match arguments.mode {
        Some(mode) => mode,
        None => usual_mode(remote).await?,
    };
    let device = arguments.device.as_ref().map(|_| arguments.device());
    let owner = Owner { address: login.address.clone(), user: login.user.clone(), device };
    let path = arguments.path()?;
    if path.as_os_str() == "-" {
        let fresh = ask(remote, arguments, mode).await?;
        let before = noted(remote, given, &owner, &fresh).await?;
        print(&fresh.text);
        return replaced(remote, given, &before, arguments, &fresh.id).await;
    }
    make_folder(&path)?;
    let guard = Guard::take(&path).with_context(|| format!("changing {}", path.display()))?;
    // Before anything is given out that would then have no place.
    let there = read(&path)?;
    let wrong = |error| Failure::refused(format!("{}: {error}", path.display()));
    merge(there.clone(), &json!({}), false).map_err(wrong)?;
    let fresh = ask(remote, arguments, mode).await?;
    let before = noted(remote, given, &owner, &fresh).await?;
    let mut new: Value =
        serde_saphyr::from_str(&fresh.text).context("understanding the kubeconfig of the portal")?;
    if let Some(name) = &arguments.name {
        new = renamed(new, name);
    }
    let merged = match merge(there, &new, !arguments.keep_context) {
        Ok(merged) => merged,
        Err(error) => {
            // Nobody has it: it need not be worth anything.
            let _ = remote.delete(&format!("/kubeconfigs/{}", fresh.id)).await;
            return Err(wrong(error).into());
        }
    };
    replace(&path, &serde_saphyr::to_string(&merged)?)?;
    drop(guard);
    let context = new["current-context"].as_str().unwrap_or_default();
    print(&format!(
        "The context {context} is in {}, by {}, until {}.\n",
        path.display(),
        mode.as_str(),
        fresh.expires
    ));
    replaced(remote, given, &before, arguments, &fresh.id).await
}

/// Notes what was made; what the device had before. What cannot be noted would never be revoked, and is not kept.
async fn noted(remote: &Remote, given: &Given, owner: &Owner, made: &Made) -> anyhow::Result<Vec<String>> {
    let noted = given.made(owner, &made.id);
    if noted.is_err() {
        let _ = remote.delete(&format!("/kubeconfigs/{}", made.id)).await;
    }
    noted
}

/// Revokes what the device had before: only now, when what it has instead is in its place. Says what else goes by its name.
async fn replaced(
    remote: &Remote,
    given: &Given,
    before: &[String],
    arguments: &Arguments,
    newest: &str,
) -> anyhow::Result<()> {
    let known = remote.list("/me/kubeconfigs").await.context("looking for what this device had before")?;
    let live = live(&known, newest, SystemClock.now());
    for id in before {
        if live.iter().any(|one| one["id"] == id.as_str()) {
            let revoked = remote.delete(&format!("/kubeconfigs/{id}")).await;
            // Somebody may have been quicker.
            revoked.or_else(|error| if is_missing(&error) { Ok(()) } else { Err(error) }).with_context(
                || format!("revoking {id}, which this device had before; the new one is in its place"),
            )?;
            tell(&format!("{id}, which this device had before, is revoked"));
        }
        given.ended(id)?;
    }
    for id in namesakes(&live, &arguments.device(), before) {
        tell(&format!(
            "{id} goes by the same name and was not given to this device: if no other has it, maar kubeconfig revoke {id}"
        ));
    }
    Ok(())
}

/// What works besides the newest, by what the portal lists.
fn live<'a>(known: &'a [Value], newest: &str, now: Timestamp) -> Vec<&'a Value> {
    let over = |one: &Value| {
        one["expires"].as_str().and_then(|end| end.parse::<Timestamp>().ok()).is_some_and(|end| end <= now)
    };
    known.iter().filter(|one| one["id"] != newest && one["revoked"] != true && !over(one)).collect()
}

/// Those that go by the same name, though they are not known to be this device's.
fn namesakes<'a>(live: &[&'a Value], device: &str, before: &[String]) -> Vec<&'a str> {
    let same = live.iter().filter(|one| one["device"] == device).filter_map(|one| one["id"].as_str());
    same.filter(|id| !before.iter().any(|known| known == id)).collect()
}

async fn usual_mode(remote: &Remote) -> anyhow::Result<KubeconfigMode> {
    let offer = remote.get("/kubeconfig").await?;
    let first = offer["modes"][0].as_str();
    let first = first.ok_or_else(|| Failure::refused("this portal gives out no kubeconfigs"))?;
    first.parse().map_err(|error| anyhow::anyhow!("the portal offers what this maar does not know: {error}"))
}

fn read(path: &std::path::Path) -> anyhow::Result<Option<Value>> {
    let step = || format!("reading {}", path.display());
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Ok(text) if text.trim().is_empty() => Ok(None),
        text => serde_saphyr::from_str(&text.with_context(step)?).map(Some).with_context(step),
    }
}

/// A kubeconfig that was just made.
struct Made {
    id: String,
    text: String,
    expires: String,
}

/// A new kubeconfig. A key is made here, and does not leave this machine.
async fn ask(remote: &Remote, arguments: &Arguments, mode: KubeconfigMode) -> anyhow::Result<Made> {
    // What this device had before is known better here than by its name.
    let mut asked = json!({ "mode": mode, "device": arguments.device(), "replace": false });
    if let Some(hours) = arguments.hours {
        asked["hours"] = hours.into();
    }
    let mut own = None;
    if mode == KubeconfigMode::Certificate {
        let me = remote.get("/me").await?;
        let user = me["id"].as_str().context("the portal did not say who you are")?;
        let id = identifier(random()?);
        let new = CertificateRequest::new(&certificate_name(user, &id)).map_err(anyhow::Error::msg)?;
        asked["id"] = id.into();
        asked["csr"] = new.request.clone().into();
        own = Some(new);
    }
    let said = remote.post("/me/kubeconfigs", Some(&asked)).await?;
    let text = said["kubeconfig"].as_str().context("the portal gave no kubeconfig")?;
    let text = match own {
        Some(own) => own.complete(text).map_err(anyhow::Error::msg)?,
        None => text.to_owned(),
    };
    let word = |field: &str| said[field].as_str().unwrap_or("unknown").to_owned();
    Ok(Made { id: word("id"), text, expires: word("expires") })
}

fn identifier(random: [u8; 12]) -> String {
    random.iter().fold("d-".to_owned(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_told_of_others_that_go_by_its_name() {
        let one =
            |id: &str, device: &str, revoked: bool| json!({ "id": id, "device": device, "revoked": revoked });
        let mut over = one("d-4", "laptop", false);
        over["expires"] = json!("2026-01-01T00:00:00Z");
        let known = [
            over,
            one("d-3", "laptop", false),
            one("d-2", "laptop", false),
            one("d-1", "laptop", true),
            one("d-0", "desk", false),
        ];
        let live = live(&known, "d-3", "2026-01-02T00:00:00Z".parse().unwrap());
        assert_eq!(live.len(), 2);
        assert_eq!(namesakes(&live, "laptop", &[]), ["d-2"]);
        assert!(namesakes(&live, "laptop", &["d-2".to_owned()]).is_empty(), "its own");
        assert!(namesakes(&live, "phone", &[]).is_empty());
    }
}
