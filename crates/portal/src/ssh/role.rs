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
