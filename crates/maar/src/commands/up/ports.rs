//! The ports of `maar up`, taken before anything is changed anywhere: a start that fails for want of one leaves no trace.

use std::net::Ipv4Addr;

use anyhow::Context as _;
use tokio::net::TcpListener;

use super::Arguments;

/// All but that of the embedded API, which its server takes.
pub(super) struct Ports {
    pub(super) page: TcpListener,
    pub(super) portal: TcpListener,
    pub(super) ssh: TcpListener,
}

impl Ports {
    pub(super) async fn bind(arguments: &Arguments) -> anyhow::Result<Self> {
        let (page, portal) = (arguments.page_port(), arguments.portal_port());
        Ok(Self {
            page: bind(page).await.with_context(|| {
                format!(
                    "serving the status page on port {page}, the one after --port (choose others with --port)"
                )
            })?,
            portal: bind(portal).await.with_context(|| {
                format!("serving the portal on port {portal}, two after --port (choose others with --port)")
            })?,
            ssh: bind_ssh(arguments.ssh_port, arguments.port == 0).await?,
        })
    }
}

async fn bind(port: u16) -> std::io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await
}

/// The port that is asked for; else the usual one if it is free.
async fn bind_ssh(asked: Option<u16>, any: bool) -> anyhow::Result<TcpListener> {
    let usual = if any { 0 } else { 2222 };
    let port = asked.unwrap_or(usual);
    match bind(port).await {
        Err(_) if asked.is_none() => Ok(bind(0).await?),
        bound => {
            bound.with_context(|| format!("serving SSH on port {port} (choose another with --ssh-port)"))
        }
    }
}
