//! From a port or a socket in the Pod to the client (`ssh -R`, `ssh -A`): the helper listens there and carries all connections
//! over one exec.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, atomic::AtomicU64, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use parking_lot::Mutex;
use russh::{
    Channel,
    server::{Handle, Msg},
};
use tokio::{
    sync::{Mutex as Turn, OwnedSemaphorePermit, Semaphore, mpsc},
    time::{interval, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    connection::Hall,
    frame::{CREDIT, Frame, Frames, PART},
    greeting::{Spot, listening},
    helper,
    inlet::Inlet,
    session::{PING, reason},
};
use crate::pod::{Input, Output, Part, PodError, in_time};

/// A port or socket that is open in the Pod.
pub(super) struct Remote {
    hall: Arc<Hall>,
    handle: Handle,
    whom: Whom,
    input: Turn<Input>,
    lines: Mutex<HashMap<u32, Line>>,
    /// One for each connection that may still be brought to the client.
    seats: Arc<Semaphore>,
    stop: CancellationToken,
}

/// To whom connections are brought.
enum Whom {
    /// To a port; the client knows its forwarding by what it calls the address.
    Port { address: String, port: u32 },
    /// To the agent of the client.
    Agent,
}

/// One connection to it.
struct Line {
    /// What comes from the Pod, nothing for its end. Bounded by the credit the helper has.
    from_pod: mpsc::UnboundedSender<Option<Bytes>>,
    waiting: Arc<AtomicU64>,
    /// How many bytes may go to the Pod.
    credit: Arc<Semaphore>,
    stop: CancellationToken,
}

/// The most connections at once. The helper has the same bound; whatever runs in its place may have none.
pub(super) const MOST: usize = 256;

/// How long it is waited for a helper that is told to end.
const FAREWELL: Duration = Duration::from_secs(5);

/// Where it listens: always on the loopback address, whatever is asked, as sshd does unless it is told otherwise.
const LOOPBACK: &str = "127.0.0.1";

/// A helper that has said where it listens.
struct Listener {
    input: Input,
    output: Output,
    spot: Spot,
    frames: Frames,
}

impl Listener {
    async fn begin(hall: &Hall, words: &[&str]) -> Result<Self, String> {
        let begun = helper::begin(&hall.place()?, words).await;
        let (input, mut output) = begun.map_err(|error| reason(&error))?;
        let (spot, frames) = in_time(listening(&mut output)).await.map_err(|error| reason(&error))??;
        Ok(Self { input, output, spot, frames })
    }
}

fn nonsense() -> String {
    "the helper says nonsense".to_owned()
}

impl Whom {
    /// Opens a channel to the client for a connection from there.
    async fn open(&self, handle: &Handle, from: &str) -> Result<Channel<Msg>, russh::Error> {
        match self {
            Self::Agent => handle.channel_open_agent().await,
            Self::Port { address, port } => {
                let peer: Option<SocketAddr> = from.parse().ok();
                let (host, from) = peer.map_or_else(
                    || (LOOPBACK.to_owned(), 0),
                    |peer| (peer.ip().to_string(), u32::from(peer.port())),
                );
                handle.channel_open_forwarded_tcpip(address.clone(), *port, host, from).await
            }
        }
    }
}

impl Remote {
    /// Opens a port in the Pod; also which one it is. The connection waits for the answer, with all its channels.
    pub(super) async fn port(
        hall: Arc<Hall>,
        handle: Handle,
        (address, port): (&str, u32),
        stop: CancellationToken,
    ) -> Result<u32, String> {
        let wanted = u16::try_from(port).map_err(|_| "this is no port".to_owned())?;
        let listener = Listener::begin(&hall, &["listen", LOOPBACK, &wanted.to_string()]).await?;
        let Spot::Port(opened) = listener.spot else { return Err(nonsense()) };
        let whom = Whom::Port { address: address.to_owned(), port: u32::from(opened) };
        Self::carry((hall, handle), whom, listener, stop);
        Ok(u32::from(opened))
    }

    /// Makes a socket in the Pod by which programs there ask the agent of the client; also its path.
    pub(super) async fn agent(
        hall: Arc<Hall>,
        handle: Handle,
        stop: CancellationToken,
    ) -> Result<String, String> {
        let listener = Listener::begin(&hall, &["agent"]).await?;
        let Spot::Socket(path) = listener.spot.clone() else { return Err(nonsense()) };
        Self::carry((hall, handle), Whom::Agent, listener, stop);
        Ok(path)
    }

    fn carry((hall, handle): (Arc<Hall>, Handle), whom: Whom, listener: Listener, stop: CancellationToken) {
        let Listener { input, mut output, frames, .. } = listener;
        let (input, lines, seats) = (Turn::new(input), Mutex::default(), Arc::new(Semaphore::new(MOST)));
        let remote = Arc::new(Self { hall, handle, whom, input, lines, seats, stop: stop.clone() });
        // With the sessions: what the helper has made in the Pod is gone only after it was told that this is the end.
        let sessions = remote.hall.sessions.clone();
        sessions.spawn(async move {
            let serving = async {
                tokio::select! {
                    ended = remote.serve(&mut output, frames) => ended,
                    error = remote.ping() => Err(reason(&error)),
                }
            };
            if let Some(Err(why)) = stop.run_until_cancelled(serving).await {
                tracing::info!(why, "a port or socket in a Pod is closed");
            }
            remote.stop.cancel();
            let _ = timeout(FAREWELL, remote.dismiss(&mut output)).await;
        });
    }

    /// Ends the helper by the end of its input, and waits for it: some nodes kill what an exec began as soon as its stream is
    /// gone, and what is killed takes nothing away of what it has made.
    async fn dismiss(&self, output: &mut Output) -> Result<(), PodError> {
        self.input.lock().await.end().await?;
        output.text(0).await.map(drop)
    }

    /// Ends when the Pod cannot be reached any more.
    async fn ping(&self) -> PodError {
        let mut ping = interval(PING);
        ping.reset();
        loop {
            ping.tick().await;
            if let Err(error) = self.input.lock().await.ping().await {
                return error;
            }
        }
    }

    async fn serve(self: &Arc<Self>, output: &mut Output, mut frames: Frames) -> Result<(), String> {
        loop {
            while let Some(frame) = frames.next().map_err(|_| nonsense())? {
                self.take(frame).await?;
            }
            match output.next().await.map_err(|error| reason(&error))? {
                Part::Stdout(bytes) => frames.add(&bytes),
                Part::Stderr(bytes) => tracing::debug!(said = %String::from_utf8_lossy(&bytes), "the helper"),
                Part::Ended(exit) => return Err(exit.message),
            }
        }
    }

    async fn take(self: &Arc<Self>, frame: Frame) -> Result<(), String> {
        match frame {
            Frame::Listening(_) | Frame::Socket(_) => {}
            Frame::Open(number, from) => match Arc::clone(&self.seats).try_acquire_owned() {
                Ok(seat) => self.begin(number, from, seat),
                Err(_) => self.say(&Frame::Close(number)).await.map_err(|error| reason(&error))?,
            },
            Frame::Data(number, bytes) => {
                if let Some(line) = self.lines.lock().get(&number) {
                    let length = bytes.len() as u64;
                    if line.waiting.fetch_add(length, Ordering::Relaxed) + length > CREDIT as u64 {
                        return Err("the helper sends more than it may".to_owned());
                    }
                    let _ = line.from_pod.send(Some(bytes));
                }
            }
            Frame::End(number) => {
                if let Some(line) = self.lines.lock().get(&number) {
                    let _ = line.from_pod.send(None);
                }
            }
            Frame::Close(number) => {
                if let Some(line) = self.lines.lock().remove(&number) {
                    line.stop.cancel();
                }
            }
            Frame::Grant(number, count) => {
                if let Some(line) = self.lines.lock().get(&number) {
                    let room = CREDIT.saturating_sub(line.credit.available_permits());
                    line.credit.add_permits(room.min(count as usize));
                }
            }
        }
        Ok(())
    }

    /// Brings a new connection to the client.
    fn begin(self: &Arc<Self>, number: u32, from: String, seat: OwnedSemaphorePermit) {
        let (from_pod, parts) = mpsc::unbounded_channel();
        let (stop, credit) = (self.stop.child_token(), Arc::new(Semaphore::new(CREDIT)));
        let waiting = Arc::new(AtomicU64::default());
        let line =
            Line { from_pod, waiting: Arc::clone(&waiting), credit: Arc::clone(&credit), stop: stop.clone() };
        self.lines.lock().insert(number, line);
        let remote = Arc::clone(self);
        tokio::spawn(async move {
            let opening = remote.whom.open(&remote.handle, &from);
            // The client answers, however soon the Pod hangs up: whoever does not hear it leaves a channel open for ever,
            // and a refusal that nobody hears ends the connection.
            if let Some(Ok(channel)) = remote.hall.stop.run_until_cancelled(opening).await {
                let (_, outlet) = channel.split();
                let inlet = remote.hall.opened(outlet.id());
                let carrying = async {
                    tokio::join!(
                        remote.out(number, parts, &outlet, &waiting),
                        remote.feed_pod(number, &inlet, &credit)
                    );
                };
                stop.run_until_cancelled(carrying).await;
                inlet.close();
                let _ = outlet.close().await;
                remote.hall.forget(outlet.id());
            }
            remote.lines.lock().remove(&number);
            let _ = remote.say(&Frame::Close(number)).await;
            drop(seat);
        });
    }

    async fn say(&self, frame: &Frame) -> Result<(), PodError> {
        self.input.lock().await.send(&frame.bytes()).await
    }

    async fn out(
        &self,
        number: u32,
        mut parts: mpsc::UnboundedReceiver<Option<Bytes>>,
        outlet: &super::session::Outlet,
        waiting: &AtomicU64,
    ) {
        while let Some(Some(part)) = parts.recv().await {
            let count = part.len();
            self.hall.sent(count);
            if outlet.data_bytes(part).await.is_err() {
                return;
            }
            waiting.fetch_sub(count as u64, Ordering::Relaxed);
            let granted = u32::try_from(count).unwrap_or_default();
            if self.say(&Frame::Grant(number, granted)).await.is_err() {
                return;
            }
        }
        let _ = outlet.eof().await;
    }

    async fn feed_pod(&self, number: u32, inlet: &Inlet, credit: &Semaphore) {
        while let Some(part) = inlet.pull().await {
            self.hall.received(part.len());
            for piece in part.chunks(PART) {
                let many = u32::try_from(piece.len()).unwrap_or_default();
                match credit.acquire_many(many).await {
                    Ok(permits) => permits.forget(),
                    Err(_) => return,
                }
                if self.say(&Frame::Data(number, Bytes::copy_from_slice(piece))).await.is_err() {
                    return;
                }
            }
        }
        let _ = self.say(&Frame::End(number)).await;
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use axum::{
        Router,
        extract::ws::{Message, WebSocket, WebSocketUpgrade},
    };
    use futures::{FutureExt as _, SinkExt as _, StreamExt as _, future::BoxFuture};
    use jiff::Timestamp;
    use kube::Client;
    use russh::{
        Channel, ChannelId, ChannelOpenFailure, client,
        keys::{PrivateKeyWithHashAlg, PublicKeyOrCertificate},
    };
    use tokio::net::TcpListener;

    use super::*;
    use crate::{
        pod::Place,
        ssh::{Authority, Door, Helpers, Knock, Limits, Report, SecretKey, Visit, command, serve},
    };

    const PATIENCE: Duration = Duration::from_secs(20);

    /// A cluster whose helper says what it is told to.
    async fn cluster() -> (Client, mpsc::UnboundedSender<Frame>) {
        let (said, frames) = mpsc::unbounded_channel::<Frame>();
        let frames = Arc::new(Turn::new(frames));
        let exec = move |upgrade: WebSocketUpgrade| {
            let frames = Arc::clone(&frames);
            async move {
                upgrade.protocols(["v5.channel.k8s.io"]).on_upgrade(async move |socket: WebSocket| {
                    let (mut to, mut from) = socket.split();
                    tokio::spawn(async move { while let Some(Ok(_)) = from.next().await {} });
                    let mut frames = frames.lock().await;
                    let there = [1, command::THERE];
                    to.send(Message::Binary(Bytes::copy_from_slice(&there))).await.unwrap();
                    while let Some(frame) = frames.recv().await {
                        let frame = [&[1], &*frame.bytes()].concat();
                        to.send(Message::Binary(frame.into())).await.unwrap();
                    }
                })
            }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(axum::serve(listener, Router::new().fallback(exec)).into_future());
        let config = kube::Config::new(format!("http://{address}").parse().unwrap());
        (Client::try_from(config).unwrap(), said)
    }

    /// Lets everybody in to one Pod.
    #[derive(Clone)]
    struct Open(Client);

    impl Door for Open {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }

        fn enter(&self, _: Knock) -> BoxFuture<'_, Option<Arc<dyn Visit>>> {
            async { Some(Arc::new(self.clone()) as Arc<dyn Visit>) }.boxed()
        }

        fn refused(&self, _: &str, _: IpAddr, _: &str) {}
    }

    impl Visit for Open {
        fn place(&self) -> Result<Place, String> {
            let (namespace, pod) = ("lab".to_owned(), "desk".to_owned());
            Ok(Place { client: self.0.clone(), namespace, pod, container: None, helpers: Helpers::default() })
        }

        fn denied(&self) -> BoxFuture<'static, String> {
            std::future::pending().boxed()
        }

        fn left(&self, _: Report) -> BoxFuture<'static, ()> {
            async {}.boxed()
        }
    }

    /// A client that answers when the test says so.
    struct Slow(mpsc::UnboundedSender<(Channel<client::Msg>, client::ChannelOpenHandle)>);

    impl client::Handler for Slow {
        type Error = russh::Error;

        async fn check_server_key(&mut self, _: &PublicKeyOrCertificate) -> Result<bool, Self::Error> {
            Ok(true)
        }

        async fn server_channel_open_forwarded_tcpip(
            &mut self,
            channel: Channel<client::Msg>,
            _: &str,
            _: u32,
            _: &str,
            _: u32,
            reply: client::ChannelOpenHandle,
            _: &mut client::Session,
        ) -> Result<(), Self::Error> {
            let _ = self.0.send((channel, reply));
            Ok(())
        }
    }

    /// Whoever connects to a port of `ssh -R` and leaves at once, before the client has heard of him, leaves nothing
    /// behind: neither one of the channels that a connection may have nor its end.
    #[tokio::test]
    async fn who_leaves_before_the_client_has_answered_takes_no_place() {
        let (cluster, says) = cluster().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let key = |seed| SecretKey::of_seed(&[seed; 32]);
        let stop = CancellationToken::new();
        let door: Arc<dyn Door> = Arc::new(Open(cluster));
        let keys = (key(1), Authority::new(key(2)));
        tokio::spawn(serve(listener, keys, Limits::default(), door, stop.clone()));
        let (sender, mut comes) = mpsc::unbounded_channel();
        let mut guest = client::connect(Arc::default(), address, Slow(sender)).await.unwrap();
        let own = PrivateKeyWithHashAlg::new(Arc::new(key(3).0), None);
        assert!(guest.authenticate_publickey("desk", own).await.unwrap().success());
        says.send(Frame::Listening(4321)).unwrap();
        guest.tcpip_forward("localhost", 4321).await.unwrap();
        for round in 0..70_u32 {
            let (number, next) = (2 * round, 2 * round + 1);
            let from = || "127.0.0.1:9".to_owned();
            says.send(Frame::Open(number, from())).unwrap();
            says.send(Frame::Close(number)).unwrap();
            // What comes after it is heard after it.
            says.send(Frame::Open(next, from())).unwrap();
            says.send(Frame::Close(next)).unwrap();
            let mut come =
                async || timeout(PATIENCE, comes.recv()).await.expect("the connection lasts").unwrap();
            let ((mut taken, accepts), (_, refuses)) = (come().await, come().await);
            accepts.accept().await;
            let ends = async { while taken.wait().await.is_some() {} };
            timeout(PATIENCE, ends).await.unwrap_or_else(|_| panic!("round {round}: it is not closed"));
            refuses.reject(ChannelOpenFailure::ConnectFailed).await;
        }
        let session = timeout(PATIENCE, guest.channel_open_session()).await.unwrap();
        session.expect("there is room for more");
        stop.cancel();
    }

    /// The word that a channel is open comes to two, who may hear it in any order.
    #[tokio::test]
    async fn a_channel_is_forgotten_whoever_hears_first_that_it_is_open() {
        let id = |number: u32| {
            let mut bytes = &number.to_be_bytes()[..];
            <ChannelId as russh::keys::ssh_encoding::Decode>::decode(&mut bytes).unwrap()
        };
        let hall = Hall::new();
        hall.opened(id(1));
        hall.forget(id(1));
        hall.confirmed(id(1));
        hall.confirmed(id(2));
        hall.opened(id(2));
        hall.forget(id(2));
        assert_eq!(hall.open(), 0);
    }
}
