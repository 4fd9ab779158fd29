//! From a port in the Pod to the client (`ssh -R`): the helper listens there and carries all connections over one exec.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, atomic::AtomicU64, atomic::Ordering},
};

use bytes::Bytes;
use parking_lot::Mutex;
use russh::server::Handle;
use tokio::sync::{Mutex as Turn, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::{
    connection::Hall,
    frame::{CREDIT, Frame, Frames, PART},
    helper,
    inlet::Inlet,
    session::reason,
};
use crate::pod::{Input, Output, Part, PodError, in_time};

/// A port that is open in the Pod.
pub(super) struct Remote {
    hall: Arc<Hall>,
    handle: Handle,
    /// What the client calls the address; it knows its forwarding by it.
    address: String,
    port: u32,
    input: Turn<Input>,
    lines: Mutex<HashMap<u32, Line>>,
    stop: CancellationToken,
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

/// How much of what a helper complains about is read.
const COMPLAINTS: usize = 4096;

/// Where it listens: always on the loopback address, whatever is asked, as sshd does unless it is told otherwise.
const LOOPBACK: &str = "127.0.0.1";

impl Remote {
    /// Opens a port in the Pod; also which one it is.
    pub(super) async fn open(
        hall: Arc<Hall>,
        handle: Handle,
        (address, port): (&str, u32),
        stop: CancellationToken,
    ) -> Result<u32, String> {
        let wanted = u16::try_from(port).map_err(|_| "this is no port".to_owned())?;
        let place = hall.place()?;
        let begun = helper::begin(&place, &["listen", LOOPBACK, &wanted.to_string()]).await;
        let (input, mut output) = begun.map_err(|error| reason(&error))?;
        // The connection waits for the answer, with all its channels.
        let (opened, frames) = in_time(listening(&mut output)).await.map_err(|error| reason(&error))??;
        let remote = Arc::new(Self {
            hall,
            handle,
            address: address.to_owned(),
            port: u32::from(opened),
            input: Turn::new(input),
            lines: Mutex::default(),
            stop: stop.clone(),
        });
        tokio::spawn(async move {
            let ended = stop.run_until_cancelled(remote.serve(output, frames)).await;
            if let Some(Err(why)) = ended {
                tracing::info!(why, "a port in a Pod is closed");
            }
            // Its end of input ends the helper.
            let _ = remote.input.lock().await.end().await;
            remote.stop.cancel();
        });
        Ok(u32::from(opened))
    }

    async fn serve(self: &Arc<Self>, mut output: Output, mut frames: Frames) -> Result<(), String> {
        loop {
            while let Some(frame) = frames.next().map_err(|_| "the helper says nonsense".to_owned())? {
                self.take(frame)?;
            }
            match output.next().await.map_err(|error| reason(&error))? {
                Part::Stdout(bytes) => frames.add(&bytes),
                Part::Stderr(bytes) => tracing::debug!(said = %String::from_utf8_lossy(&bytes), "the helper"),
                Part::Ended(exit) => return Err(exit.message),
            }
        }
    }

    fn take(self: &Arc<Self>, frame: Frame) -> Result<(), String> {
        match frame {
            Frame::Listening(_) => {}
            Frame::Open(number, from) => self.begin(number, &from),
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
    fn begin(self: &Arc<Self>, number: u32, from: &str) {
        let (from_pod, parts) = mpsc::unbounded_channel();
        let (stop, credit) = (self.stop.child_token(), Arc::new(Semaphore::new(CREDIT)));
        let waiting = Arc::new(AtomicU64::default());
        let line =
            Line { from_pod, waiting: Arc::clone(&waiting), credit: Arc::clone(&credit), stop: stop.clone() };
        self.lines.lock().insert(number, line);
        let peer: Option<SocketAddr> = from.parse().ok();
        let remote = Arc::clone(self);
        tokio::spawn(async move {
            let (host, port) = peer.map_or_else(
                || (LOOPBACK.to_owned(), 0),
                |peer| (peer.ip().to_string(), u32::from(peer.port())),
            );
            let opening =
                remote.handle.channel_open_forwarded_tcpip(remote.address.clone(), remote.port, host, port);
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

/// Waits until the helper says which port it has; also what it said after that.
async fn listening(output: &mut Output) -> Result<Result<(u16, Frames), String>, PodError> {
    let mut greeting = Greeting::default();
    loop {
        match greeting.take(output.next().await?) {
            Ok(None) => {}
            Ok(Some(port)) => return Ok(Ok((port, greeting.frames))),
            Err(why) => return Ok(Err(why)),
        }
    }
}

/// What the helper says first. Whatever runs in its place holds no more of our memory than this. Pure.
#[derive(Debug, Default)]
struct Greeting {
    frames: Frames,
    /// Its complaints, the first of them.
    said: Vec<u8>,
}

impl Greeting {
    /// The port, as soon as it is said.
    fn take(&mut self, part: Part) -> Result<Option<u16>, String> {
        let nonsense = || "the helper says nonsense".to_owned();
        match part {
            Part::Stderr(bytes) => {
                let room = COMPLAINTS.saturating_sub(self.said.len()).min(bytes.len());
                self.said.extend_from_slice(&bytes[..room]);
                Ok(None)
            }
            Part::Ended(exit) => {
                let said = String::from_utf8_lossy(&self.said).trim().to_owned();
                Err(if said.is_empty() { exit.message } else { said })
            }
            Part::Stdout(bytes) => {
                self.frames.add(&bytes);
                match self.frames.next().map_err(|_| nonsense())? {
                    None => Ok(None),
                    Some(Frame::Listening(number)) => Ok(Some(number)),
                    Some(_) => Err(nonsense()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{net::IpAddr, time::Duration};

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
    use tokio::{net::TcpListener, time::timeout};

    use super::*;
    use crate::{
        pod::{Exit, Place},
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

    fn ended() -> Part {
        Part::Ended(Exit { code: Some(1), message: "it ended".to_owned() })
    }

    #[test]
    fn the_port_is_what_the_helper_says_first() {
        let said =
            [Frame::Listening(4321).bytes(), Frame::Open(1, "127.0.0.1:9".to_owned()).bytes()].concat();
        let mut greeting = Greeting::default();
        assert_eq!(greeting.take(Part::Stdout(Bytes::copy_from_slice(&said[..5]))), Ok(None), "half a frame");
        assert_eq!(greeting.take(Part::Stdout(Bytes::copy_from_slice(&said[5..]))), Ok(Some(4321)));
        assert_eq!(
            greeting.frames.next(),
            Ok(Some(Frame::Open(1, "127.0.0.1:9".to_owned()))),
            "kept for later"
        );
        let mut greeting = Greeting::default();
        assert_eq!(greeting.take(ended()), Err("it ended".to_owned()));
        assert_eq!(greeting.take(Part::Stderr("port 80 is in use\n".into())), Ok(None));
        assert_eq!(greeting.take(ended()), Err("port 80 is in use".to_owned()));
    }

    #[test]
    fn a_helper_that_talks_and_talks_fills_no_memory() {
        let mut greeting = Greeting::default();
        for _ in 0..1000 {
            assert_eq!(greeting.take(Part::Stderr(vec![b'x'; 32 * 1024].into())), Ok(None));
        }
        assert_eq!(greeting.said.len(), COMPLAINTS);
        assert_eq!(greeting.take(ended()).unwrap_err().len(), COMPLAINTS);
        for other in [Frame::Data(1, "x".into()), Frame::Open(1, String::new()), Frame::Close(1)] {
            assert!(Greeting::default().take(Part::Stdout(other.bytes())).is_err(), "{other:?}");
        }
        let flood: Vec<u8> = vec![b'y'; 64];
        assert!(Greeting::default().take(Part::Stdout(flood.into())).is_err(), "no frame is as long");
    }
}
