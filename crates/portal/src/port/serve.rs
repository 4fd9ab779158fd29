//! Apps beside the portal: by the name of the host on the portal's own listener, or on one of their own.

use std::{io, net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::{ConnectInfo, Request, State},
    middleware::{Next, from_fn_with_state},
    response::Response,
    serve::ListenerExt as _,
};
use maar_gateway::ports::Proxy;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::gate::PortGate;
use crate::{identity::Whence, portal::Portal, role::prompt};

/// The proxy of a portal, if it was told where apps are.
fn proxy(portal: &Arc<Portal>) -> Option<Proxy> {
    let apps = portal.settings.apps.clone()?;
    let home = portal.settings.origins.first().cloned().unwrap_or_default();
    let withheld = portal.settings.providers.headers();
    Some(Proxy::new(Arc::new(PortGate::new(Arc::clone(portal))), apps, home, withheld))
}

/// The routes of the portal, and apps where the host is one of theirs: nothing of the one reaches the other.
pub(crate) fn beside(router: Router, portal: &Arc<Portal>) -> Router {
    match proxy(portal) {
        Some(proxy) => router.layer(from_fn_with_state((proxy, Arc::clone(portal)), choose)),
        None => router,
    }
}

async fn choose(
    State((proxy, portal)): State<(Proxy, Arc<Portal>)>,
    request: Request,
    next: Next,
) -> Response {
    if proxy.is_for_app(&request) { carry(&proxy, &portal, request).await } else { next.run(request).await }
}

async fn carry(proxy: &Proxy, portal: &Portal, request: Request) -> Response {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip());
    let from = Whence::of(peer, request.headers(), &portal.settings.trusted_proxies);
    proxy.serve(request, from.address).await
}

/// Serves apps alone, on a listener of their own.
pub(crate) async fn serve(
    portal: Arc<Portal>,
    listener: Option<TcpListener>,
    stop: CancellationToken,
) -> io::Result<()> {
    let Some(listener) = listener else { return Err(io::Error::other("apps were started twice")) };
    let Some(proxy) = proxy(&portal) else { return Err(io::Error::other("nobody said where apps are")) };
    if stop.run_until_cancelled(portal.live.ready()).await.is_none() {
        return Ok(());
    }
    let router = Router::new().fallback(move |request: Request| {
        let (proxy, portal) = (proxy.clone(), Arc::clone(&portal));
        async move { carry(&proxy, &portal, request).await }
    });
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    // What apps send may never end by itself.
    tokio::select! {
        served = axum::serve(listener.tap_io(prompt), service) => served,
        () = stop.cancelled() => Ok(()),
    }
}
