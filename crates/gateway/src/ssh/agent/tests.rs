#[path = "../../../../portal/tests/support/heard.rs"]
mod heard;

use std::{
    net::{IpAddr, SocketAddr},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use axum::{
    Router,
    extract::{
        RawQuery,
        ws::{Message, WebSocket, WebSocketUpgrade},
    },
};
use futures::{FutureExt as _, SinkExt as _, StreamExt as _, future::BoxFuture};
use jiff::Timestamp;
use kube::Client;
use russh::{
    Channel, ChannelMsg, client,
    keys::{PrivateKeyWithHashAlg, PublicKeyOrCertificate},
};
use tokio::{
    net::TcpListener,
    sync::mpsc::{self, UnboundedReceiver, UnboundedSender},
    time::timeout,
};

use self::heard::Heard;
use super::*;
use crate::{
    pod::Place,
    ssh::{
        Authority, Door, Helpers, Knock, Limits, Report, SecretKey, Visit, command,
        frame::{Frame, Frames},
        serve,
    },
};

const PATIENCE: Duration = Duration::from_secs(20);

/// What a container has of it.
#[derive(Clone, Copy, PartialEq)]
enum Helper {
    There,
    /// It says where its socket is when the test says so.
    Slow,
    /// Nor can it be brought.
    Absent,
}

/// A container whose helper says what it is told to, and whose programs run until nobody writes to them any more.
#[derive(Clone)]
struct Container {
    helper: Helper,
    /// What it says.
    frames: Arc<Turn<UnboundedReceiver<Frame>>>,
    /// What it hears, nothing for the end, if it is told: who is only cut off takes nothing away.
    heard: UnboundedSender<Option<Frame>>,
    /// The variables of programs that begin.
    begun: UnboundedSender<Vec<String>>,
    helpers: Arc<AtomicUsize>,
}

fn stdout(bytes: &[u8]) -> Message {
    Message::Binary([&[1], bytes].concat().into())
}

fn status(text: &str) -> Message {
    Message::Binary([&[3], format!(r#"{{"status":"{text}"}}"#).as_bytes()].concat().into())
}

impl Container {
    async fn exec(self, mut socket: WebSocket, words: Vec<String>) {
        let script = words[2].as_str();
        if words.last().is_some_and(|last| last == "agent") && self.helper != Helper::Absent {
            return self.listens(socket).await;
        }
        if !script.contains("command=$1") {
            // Not there, nor can it be brought.
            let _ = socket.send(status("Failure")).await;
            return;
        }
        self.begun.send(words[7..].to_vec()).unwrap();
        socket.send(stdout(b"+pipe:[1] pipe:[2]\n")).await.unwrap();
        while let Some(Ok(message)) = socket.recv().await {
            if matches!(&message, Message::Binary(bytes) if bytes[0] == 255) {
                socket.send(status("Success")).await.unwrap();
            }
        }
    }

    async fn listens(self, socket: WebSocket) {
        let number = self.helpers.fetch_add(1, Ordering::Relaxed) + 1;
        let (mut to, mut from) = socket.split();
        to.send(stdout(&[command::THERE])).await.unwrap();
        if self.helper == Helper::There {
            to.send(stdout(&Frame::Socket(path(number)).bytes())).await.unwrap();
        } else {
            self.begun.send(Vec::new()).unwrap();
        }
        let heard = self.heard.clone();
        let hearing = async move {
            let mut frames = Frames::default();
            while let Some(Ok(Message::Binary(bytes))) = from.next().await {
                if bytes[0] == 255 {
                    let _ = heard.send(None);
                    return;
                }
                frames.add(&bytes[1..]);
                while let Some(frame) = frames.next().unwrap() {
                    heard.send(Some(frame)).unwrap();
                }
            }
        };
        let saying = async {
            while let Some(frame) = self.frames.lock().await.recv().await {
                let _ = to.send(stdout(&frame.bytes())).await;
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = hearing => {}
            () = saying => {}
        }
    }
}

/// The path of the socket of a helper.
fn path(number: usize) -> String {
    format!("/tmp/.maar-agent-{number}/socket")
}

async fn cluster(container: Container) -> Client {
    let exec = move |RawQuery(query): RawQuery, upgrade: WebSocketUpgrade| {
        let (container, query) = (container.clone(), query.unwrap_or_default());
        let words = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "command");
        let words: Vec<String> = words.map(|(_, word)| word.into_owned()).collect();
        async move {
            let upgrade = upgrade.protocols(["v5.channel.k8s.io"]);
            upgrade.on_upgrade(move |socket| container.exec(socket, words))
        }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(axum::serve(listener, Router::new().fallback(exec)).into_future());
    let config = kube::Config::new(format!("http://{address}").parse().unwrap());
    Client::try_from(config).unwrap()
}

/// Lets everybody in to one Pod, with his agent or without.
#[derive(Clone)]
struct Open {
    cluster: Client,
    agent: bool,
    left: UnboundedSender<Report>,
}

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
        let (namespace, pod, client) = ("lab".to_owned(), "desk".to_owned(), self.cluster.clone());
        Ok(Place { client, namespace, pod, container: None, helpers: Helpers::default() })
    }

    fn agent(&self) -> bool {
        self.agent
    }

    fn denied(&self) -> BoxFuture<'static, String> {
        std::future::pending().boxed()
    }

    fn left(&self, report: Report) -> BoxFuture<'static, ()> {
        self.left.send(report).unwrap();
        async {}.boxed()
    }
}

/// A client that answers when the test says so.
struct Slow(UnboundedSender<(Channel<client::Msg>, client::ChannelOpenHandle)>);

impl client::Handler for Slow {
    type Error = russh::Error;

    async fn check_server_key(&mut self, _: &PublicKeyOrCertificate) -> Result<bool, Self::Error> {
        Ok(true)
    }

    async fn server_channel_open_agent_forward(
        &mut self,
        channel: Channel<client::Msg>,
        reply: client::ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), Self::Error> {
        let _ = self.0.send((channel, reply));
        Ok(())
    }
}

/// A client in a gateway, and what happens in the Pod.
struct World {
    guest: client::Handle<Slow>,
    comes: UnboundedReceiver<(Channel<client::Msg>, client::ChannelOpenHandle)>,
    says: UnboundedSender<Frame>,
    heard: UnboundedReceiver<Option<Frame>>,
    begun: UnboundedReceiver<Vec<String>>,
    left: UnboundedReceiver<Report>,
    helpers: Arc<AtomicUsize>,
    _stop: DropGuard,
}

/// The next that comes, in time.
async fn next<T>(what: &str, from: &mut UnboundedReceiver<T>) -> T {
    timeout(PATIENCE, from.recv()).await.unwrap_or_else(|_| panic!("waited in vain for {what}")).unwrap()
}

async fn enters(address: SocketAddr, comes: Slow) -> client::Handle<Slow> {
    let mut guest = client::connect(Arc::default(), address, comes).await.unwrap();
    let own = PrivateKeyWithHashAlg::new(Arc::new(SecretKey::of_seed(&[3; 32]).0), None);
    assert!(guest.authenticate_publickey("desk", own).await.unwrap().success());
    guest
}

impl World {
    async fn new(agent: bool, helper: Helper) -> Self {
        let (says, frames) = mpsc::unbounded_channel();
        let (to_heard, heard) = mpsc::unbounded_channel();
        let (to_begun, begun) = mpsc::unbounded_channel();
        let (to_left, left) = mpsc::unbounded_channel();
        let (to_comes, comes) = mpsc::unbounded_channel();
        let helpers = Arc::new(AtomicUsize::default());
        let container = Container {
            helper,
            frames: Arc::new(Turn::new(frames)),
            heard: to_heard,
            begun: to_begun,
            helpers: Arc::clone(&helpers),
        };
        let door = Open { cluster: cluster(container).await, agent, left: to_left };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let keys = (SecretKey::of_seed(&[1; 32]), Authority::new(SecretKey::of_seed(&[2; 32])));
        tokio::spawn(serve(listener, keys, Limits::default(), Arc::new(door), stop.clone()));
        let guest = enters(address, Slow(to_comes)).await;
        Self { guest, comes, says, heard, begun, left, helpers, _stop: stop.drop_guard() }
    }

    /// A program that runs, its variables, and whether the agent was promised if it was asked for.
    async fn runs(&mut self, asks: bool) -> (Channel<client::Msg>, Vec<String>, bool) {
        let mut channel = self.guest.channel_open_session().await.unwrap();
        let mut promised = false;
        if asks {
            channel.agent_forward(true).await.unwrap();
            promised = matches!(channel.wait().await, Some(ChannelMsg::Success));
        }
        channel.exec(true, "wait").await.unwrap();
        let variables = next("a program", &mut self.begun).await;
        (channel, variables, promised)
    }

    /// The client leaves; what there is to say of it.
    async fn leaves(&mut self) -> Report {
        self.guest.disconnect(russh::Disconnect::ByApplication, "", "en").await.unwrap();
        next("the end", &mut self.left).await
    }

    /// Waits until the helper has heard its end.
    async fn helper_ends(&mut self) {
        while next("the end of the helper", &mut self.heard).await.is_some() {}
    }
}

fn variable(number: usize) -> Vec<String> {
    vec![format!("SSH_AUTH_SOCK={}", path(number))]
}

#[tokio::test]
async fn programs_ask_the_agent_of_the_client_for_as_long_as_a_session_has_it() {
    let mut world = World::new(true, Helper::There).await;
    let (first, variables, promised) = world.runs(true).await;
    assert_eq!((variables, promised), (variable(1), true));

    world.says.send(Frame::Open(1, String::new())).unwrap();
    world.says.send(Frame::Data(1, "who is there".into())).unwrap();
    world.says.send(Frame::End(1)).unwrap();
    let (mut asked, reply) = next("the question", &mut world.comes).await;
    reply.accept().await;
    let said = timeout(PATIENCE, asked.wait()).await.unwrap();
    assert!(matches!(&said, Some(ChannelMsg::Data { data }) if data[..] == *b"who is there"), "{said:?}");
    asked.data(&b"ada"[..]).await.unwrap();
    asked.eof().await.unwrap();
    let mut answer = Vec::new();
    while !answer.contains(&Frame::Close(1)) {
        answer.extend(next("the answer", &mut world.heard).await);
    }
    let granted = Frame::Grant(1, 12);
    answer.retain(|frame| *frame != granted);
    assert_eq!(answer, [Frame::Data(1, "ada".into()), Frame::End(1), Frame::Close(1)]);

    let (second, variables, _) = world.runs(true).await;
    assert_eq!(variables, variable(1), "one for all that ask");
    let (_third, variables, _) = world.runs(false).await;
    assert_eq!(variables, Vec::<String>::new(), "none for who does not ask");
    first.close().await.unwrap();
    let (again, variables, _) = world.runs(true).await;
    assert_eq!(variables, variable(1), "the second still has it");
    again.close().await.unwrap();
    second.close().await.unwrap();
    world.helper_ends().await;

    let (_last, variables, _) = world.runs(true).await;
    assert_eq!(variables, variable(2), "there is none any more, so a new one");
    assert!(world.leaves().await.agent);
    // It goes with the client, too.
    world.helper_ends().await;
}

#[tokio::test]
async fn an_agent_is_forwarded_only_where_that_is_allowed() {
    let mut world = World::new(false, Helper::There).await;
    let (_channel, variables, promised) = world.runs(true).await;
    assert_eq!((variables, promised), (Vec::new(), false));
    assert_eq!(world.helpers.load(Ordering::Relaxed), 0);
    assert!(!world.leaves().await.agent);
}

#[tokio::test]
async fn a_session_begins_without_an_agent_where_no_helper_can_be_brought() {
    // With one listener alone, places in the code that others reach first are not heard.
    let _company = tracing::Dispatch::new(Heard::default());
    let heard = Heard::default();
    let _listening = tracing::subscriber::set_default(heard.clone());
    let mut world = World::new(true, Helper::Absent).await;
    let (_channel, variables, promised) = world.runs(true).await;
    assert_eq!((variables, promised), (Vec::new(), true));
    assert!(!world.leaves().await.agent);
    let log = heard.0.lock().clone();
    assert!(log.contains("an agent cannot be forwarded"), "{log}");
    assert!(log.contains("the helper cannot be brought into the container"), "{log}");
}

/// Whatever runs in the place of the helper cannot have more of the client, or of our memory, than it may.
#[tokio::test]
async fn there_is_a_most_of_connections_to_an_agent() {
    let mut world = World::new(true, Helper::There).await;
    let (_channel, ..) = world.runs(true).await;
    let most = u32::try_from(super::super::remote::MOST).unwrap();
    for number in 1..=most + 1 {
        world.says.send(Frame::Open(number, String::new())).unwrap();
    }
    let refused = next("the refusal", &mut world.heard).await;
    assert_eq!(refused, Some(Frame::Close(most + 1)));
    let (_, reply) = next("a question", &mut world.comes).await;
    reply.reject(russh::ChannelOpenFailure::ConnectFailed).await;
    assert!(matches!(next("its end", &mut world.heard).await, Some(Frame::Close(1..=256))));
}

/// The socket is made while nobody waits for it any more, and goes as others do.
#[tokio::test]
async fn who_leaves_before_his_agent_is_there_leaves_no_socket() {
    let mut world = World::new(true, Helper::Slow).await;
    let channel = world.guest.channel_open_session().await.unwrap();
    channel.agent_forward(true).await.unwrap();
    channel.exec(true, "wait").await.unwrap();
    next("the helper", &mut world.begun).await;
    world.leaves().await;
    world.says.send(Frame::Socket(path(1))).unwrap();
    world.helper_ends().await;
}
