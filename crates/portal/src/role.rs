//! The role `portal`: watches and the server.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc};

use axum::{Router, serve::ListenerExt as _};
use maar_controller::{Context, Role};
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};

use crate::{
    cards::sample,
    live::feed,
    port,
    portal::Portal,
    route::{router as guarded, table},
    watchman::watch,
};

/// The routes of the portal.
pub fn router(portal: &Arc<Portal>) -> Router {
    port::beside(guarded(portal, table()), portal)
}

/// The role. It serves on `listener` as soon as it has seen the whole cluster once. Every process of the role serves;
/// none leads.
pub fn role(portal: Arc<Portal>, listener: TcpListener) -> Role {
    let [watched, sampled, kept] = [(); 3].map(|()| Arc::clone(&portal));
    let listener = Arc::new(Mutex::new(Some(listener)));
    Role::new("portal")
        .task("watch", move |context: Context| {
            let (live, kinds) = (watched.live.clone(), watched.settings.pod_kinds.clone());
            async move {
                let (client, environment) = (context.client.clone(), context.environment.clone());
                let following = Box::pin(feed(client, live, kinds, environment));
                context.shutdown.run_until_cancelled(following).await;
                Ok::<_, Infallible>(())
            }
        })
        .task("cards", move |context: Context| {
            let portal = Arc::clone(&sampled);
            async move {
                let (shown, told) = ((portal.cards.clone(), portal.live.clone()), &portal.settings);
                let kinds = portal.overview.kinds().clone();
                let source = (told.cards.clone(), told.card_metrics.clone(), kinds);
                let clock = Arc::clone(&portal.clock);
                let watched = (told.cards_every, portal.metrics.clone());
                let sampling = sample(shown, context.client.clone(), clock, source, watched);
                context.shutdown.run_until_cancelled(sampling).await;
                Ok::<_, Infallible>(())
            }
        })
        .task("watchman", move |context: Context| {
            let portal = Arc::clone(&kept);
            async move {
                context.shutdown.run_until_cancelled(watch(portal)).await;
                Ok::<_, Infallible>(())
            }
        })
        .task("serve", move |context: Context| {
            let (portal, listener) = (Arc::clone(&portal), listener.lock().take());
            async move { serve(portal, listener, context).await }
        })
}

/// The role with a listener for apps, where they are found by paths of an origin of their own.
pub fn with_apps(role: Role, portal: Arc<Portal>, listener: TcpListener) -> Role {
    let listener = Arc::new(Mutex::new(Some(listener)));
    role.task("apps", move |context: Context| {
        port::serve(Arc::clone(&portal), listener.lock().take(), context.shutdown)
    })
}

async fn serve(portal: Arc<Portal>, listener: Option<TcpListener>, context: Context) -> io::Result<()> {
    portal.metrics.register(&context.environment.metrics);
    let Some(listener) = listener else { return Err(io::Error::other("the portal was started twice")) };
    if portal.settings.development && !listener.local_addr()?.ip().is_loopback() {
        return Err(io::Error::other("development mode lets everybody in: it needs a loopback address"));
    }
    if context.shutdown.run_until_cancelled(portal.live.ready()).await.is_none() {
        return Ok(());
    }
    let service = router(&portal).into_make_service_with_connect_info::<SocketAddr>();
    let stop = context.shutdown.clone();
    let serving =
        axum::serve(listener.tap_io(prompt), service).with_graceful_shutdown(stop.clone().cancelled_owned());
    // Streams of changes never end by themselves, and shall not keep the process from ending.
    tokio::select! {
        served = serving => served,
        () = async { stop.cancelled().await; tokio::time::sleep(std::time::Duration::from_secs(2)).await; } => Ok(()),
    }
}

/// What apps and terminals send goes out at once: to wait until a packet is full would cost each small message up to the
/// 40 ms in which the other end may confirm the one before.
pub(crate) fn prompt(stream: &mut TcpStream) {
    // Of a connection that is gone already; whoever reads it is told.
    let _ = stream.set_nodelay(true);
}
