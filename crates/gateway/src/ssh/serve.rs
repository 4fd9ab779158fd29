//! Takes connections, and ends them when they have to.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use russh::{
    Disconnect, MethodKind, MethodSet, SshId,
    server::{Config, run_stream},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    certificate::Authority,
    connection::{Connection, Hall},
    door::{Door, Report},
    key::SecretKey,
};

/// How much there may be, and how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once, also of those who are not known yet.
    pub connections: usize,
    /// How long somebody may take to show who he is.
    pub grace: Duration,
    /// How long a connection lasts on which nothing is carried.
    pub idle: Duration,
    /// How long one lasts at all.
    pub absolute: Duration,
    /// Every refusal takes this long, whatever its reason.
    pub refusal: Duration,
    /// Between two looks whether the client is still there; three without an answer are its end.
    pub keepalive: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 2000,
            grace: Duration::from_mins(1),
            idle: Duration::from_hours(8),
            absolute: Duration::from_hours(7 * 24),
            refusal: Duration::from_millis(400),
            keepalive: Duration::from_secs(30),
        }
    }
}

/// How much a client may send of a channel before it has to wait.
const WINDOW: u32 = 1 << 20;
/// The largest packet; larger ones are not in every client.
const PACKET: u32 = 32 * 1024;
/// How long a client is waited for that is told to leave.
const FAREWELL: Duration = Duration::from_secs(5);

fn config(host: &SecretKey, limits: &Limits) -> Config {
    Config {
        // Neither our version nor that of the library: both only help whoever looks for holes.
        server_id: SshId::Standard("SSH-2.0-Maar".into()),
        methods: MethodSet::from(&[MethodKind::PublicKey][..]),
        auth_rejection_time: limits.refusal,
        auth_rejection_time_initial: Some(Duration::ZERO),
        keys: vec![host.0.clone()],
        window_size: WINDOW,
        maximum_packet_size: PACKET,
        event_buffer_size: 32,
        max_auth_attempts: 12,
        // Ours looks at what is carried, not at keep-alives.
        inactivity_timeout: None,
        keepalive_interval: Some(limits.keepalive),
        keepalive_max: 3,
        nodelay: true,
        ..Config::default()
    }
}

/// Serves until `stop`.
pub async fn serve(
    listener: TcpListener,
    (host, authority): (SecretKey, Authority),
    limits: Limits,
    door: Arc<dyn Door>,
    stop: CancellationToken,
) {
    let config = Arc::new(config(&host, &limits));
    let seats = Arc::new(Semaphore::new(limits.connections));
    let limits = Arc::new(limits);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be taken");
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        // Nobody is told why: whoever fills the place knows.
        let Ok(seat) = Arc::clone(&seats).try_acquire_owned() else { continue };
        let _ = stream.set_nodelay(true);
        let guest = Guest {
            config: Arc::clone(&config),
            door: Arc::clone(&door),
            authority: authority.clone(),
            limits: Arc::clone(&limits),
            stop: stop.clone(),
        };
        tokio::spawn(async move {
            guest.serve(stream, peer).await;
            drop(seat);
        });
    }
}

/// One connection.
struct Guest {
    config: Arc<Config>,
    door: Arc<dyn Door>,
    authority: Authority,
    limits: Arc<Limits>,
    stop: CancellationToken,
}

impl Guest {
    async fn serve(self, stream: TcpStream, peer: SocketAddr) {
        let (hall, begin) = (Arc::new(Hall::new()), Instant::now());
        let connection =
            Connection::new(Arc::clone(&self.door), self.authority.clone(), peer.ip(), Arc::clone(&hall));
        let opened = timeout(self.limits.grace, run_stream(Arc::clone(&self.config), stream, connection));
        let Ok(Ok(mut session)) = opened.await else { return };
        let handle = session.handle();
        let why = tokio::select! {
            ended = &mut session => match ended {
                Ok(()) => "the client has left".to_owned(),
                Err(error) => format!("the connection broke: {error}"),
            },
            why = self.to_leave(&hall, begin) => {
                let _ = handle.disconnect(Disconnect::ByApplication, why.clone(), "en".to_owned()).await;
                let _ = timeout(FAREWELL, &mut session).await;
                why
            }
        };
        hall.stop.cancel();
        if let Some(visit) = hall.visit() {
            let (received, sent, channels) = hall.traffic();
            visit.left(Report { lasted: begin.elapsed(), received, sent, channels, why }).await;
        }
    }

    /// Ends when the client has to leave, with the reason.
    async fn to_leave(&self, hall: &Hall, begin: Instant) -> String {
        let nobody = async {
            if timeout(self.limits.grace, hall.entered()).await.is_err() {
                return "you took too long to show who you are".to_owned();
            }
            match hall.visit() {
                Some(visit) => visit.denied().await,
                None => std::future::pending().await,
            }
        };
        let idle = async {
            loop {
                let end = hall.last_busy() + self.limits.idle;
                if end <= Instant::now() {
                    return format!("nothing has happened for {} minutes", self.limits.idle.as_secs() / 60);
                }
                sleep_until(end).await;
            }
        };
        tokio::select! {
            why = nobody => why,
            why = idle => why,
            () = sleep_until(begin + self.limits.absolute) => "the connection has lasted as long as one may".to_owned(),
            () = self.stop.cancelled() => "the gateway stops".to_owned(),
        }
    }
}
