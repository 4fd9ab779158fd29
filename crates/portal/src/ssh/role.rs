//! Keys of ours, and the task that serves.

use std::{convert::Infallible, sync::Arc};

use maar_controller::{Context, Role};
use maar_gateway::ssh::{Authority, SecretKey, serve};
use parking_lot::Mutex;
use tokio::net::TcpListener;

use super::{Ssh, SshDoor, SshKeys, SshSettings};
use crate::portal::{Portal, PortalError};

/// What the records call them.
const HOST: &str = "ssh-host-key";
const AUTHORITY: &str = "ssh-authority";

impl Portal {
    /// Prepares for SSH: the keys that are given, and for others those that the records keep, which are the same for all
    /// portals.
    pub async fn prepare_ssh(&self, settings: SshSettings, keys: SshKeys) -> Result<(), PortalError> {
        let host = match keys.host {
            Some(text) => read(&text)?,
            None => self.kept(HOST).await?,
        };
        let authority = match keys.authority {
            Some(text) => read(&text)?,
            None => self.kept(AUTHORITY).await?,
        };
        let authority = Authority::new(authority);
        // A second time changes nothing.
        let _ = self.ssh.set(Ssh { settings, host, authority });
        Ok(())
    }

    async fn kept(&self, name: &str) -> Result<SecretKey, PortalError> {
        let seed =
            self.entropy.bytes().ok_or_else(|| PortalError::Ssh("the system has no randomness".into()))?;
        let made = SecretKey::of_seed(&seed).text().map_err(|error| PortalError::Ssh(error.to_string()))?;
        let kept = self.records.secret(name, &made, self.clock.now()).await.map_err(PortalError::Records)?;
        read(&kept)
    }
}

fn read(text: &str) -> Result<SecretKey, PortalError> {
    SecretKey::read(text).map_err(|error| PortalError::Ssh(error.to_string()))
}

/// The role of the portal, which also serves SSH on `listener`. [`Portal::prepare_ssh`] comes first.
pub fn with_ssh(role: Role, portal: Arc<Portal>, listener: TcpListener) -> Role {
    let listener = Arc::new(Mutex::new(Some(listener)));
    role.task("ssh", move |context: Context| {
        let (portal, listener) = (Arc::clone(&portal), listener.lock().take());
        async move {
            let (Some(listener), Some(ssh)) = (listener, portal.ssh.get()) else { return Ok(()) };
            if context.shutdown.run_until_cancelled(portal.live.ready()).await.is_none() {
                return Ok(());
            }
            let keys = (ssh.host.clone(), ssh.authority.clone());
            let limits = ssh.settings.limits.clone();
            let door = Arc::new(SshDoor::new(Arc::clone(&portal)));
            serve(listener, keys, limits, door, context.shutdown.clone()).await;
            Ok::<_, Infallible>(())
        }
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use maar_controller::clock::SystemClock;
    use maar_records::Records;

    use super::*;
    use crate::{Entropy, Settings};

    /// Nothing is in this cluster.
    fn nowhere() -> kube::Client {
        let service = tower::service_fn(async |_: http::Request<kube::client::Body>| {
            let answer = http::Response::builder().status(404).body(kube::client::Body::empty());
            Ok::<_, Infallible>(answer.unwrap())
        });
        kube::Client::new(service, "default")
    }

    /// Whose host has another key after every restart teaches his users to overlook it.
    #[tokio::test]
    async fn the_keys_stay_when_the_portal_begins_again_on_the_same_records() {
        let folder = tempfile::tempdir().unwrap();
        let url = |name: &str| format!("sqlite://{}/{name}.db", folder.path().display());
        let begins = async |name: &str, given: SshKeys| {
            let records = Records::open(&url(name)).await.unwrap();
            let settings = Settings::at(vec!["http://portal.test".to_owned()]);
            let clock = Arc::new(SystemClock);
            let portal = Portal::new(settings, nowhere(), records, clock, Entropy::system()).unwrap();
            portal.prepare_ssh(SshSettings::at("gpu.example", 22), given).await.unwrap();
            let ssh = portal.ssh.get().unwrap();
            (ssh.host.public(), ssh.authority.public())
        };
        let first = begins("records", SshKeys::default()).await;
        assert_eq!(begins("records", SshKeys::default()).await, first);
        let others = begins("others", SshKeys::default()).await;
        assert!(others.0 != first.0 && others.1 != first.1, "every installation has its own");
        assert_ne!(first.0, first.1);
        let given = SecretKey::of_seed(&[5; 32]);
        let keys = SshKeys { host: Some(given.text().unwrap()), authority: None };
        assert_eq!(begins("records", keys).await, (given.public(), first.1), "one that is given is taken");
    }
}
