//! The role `portal`: watches and the server.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc};

use axum::Router;
use maar_controller::{Context, Role};
use parking_lot::Mutex;
use tokio::net::TcpListener;

use crate::{
    cards::sample,
    live::feed,
    portal::Portal,
    route::{router as guarded, table},
    watchman::watch,
};

/// The routes of the portal.
pub fn router(portal: &Arc<Portal>) -> Router {
    guarded(portal, table())
}

/// The role. It serves on `listener` as soon as it has seen the whole cluster once. Every process of the role serves;
/// none leads.
pub fn role(portal: Arc<Portal>, listener: TcpListener) -> Role {
    let [watched, sampled, kept] = [(); 3].map(|()| Arc::clone(&portal));
    let listener = Arc::new(Mutex::new(Some(listener)));
    Role::new("portal")
        .task("watch", move |context: Context| {
            let live = watched.live.clone();
            async move {
                let following = Box::pin(feed(context.client.clone(), live, context.environment.clone()));
                context.shutdown.run_until_cancelled(following).await;
                Ok::<_, Infallible>(())
            }
        })
        .task("cards", move |context: Context| {
            let portal = Arc::clone(&sampled);
            async move {
                let (shown, told) = ((portal.cards.clone(), portal.live.clone()), &portal.settings);
                let source = (told.cards.clone(), told.card_metrics.clone());
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
    let serving = axum::serve(listener, service).with_graceful_shutdown(stop.clone().cancelled_owned());
    // Streams of changes never end by themselves, and shall not keep the process from ending.
    tokio::select! {
        served = serving => served,
        () = async { stop.cancelled().await; tokio::time::sleep(std::time::Duration::from_secs(2)).await; } => Ok(()),
    }
}
