//! `maar forward`: ports of a workspace or a job on this machine, through the portal one is logged in to, or straight to a
//! cluster.
//!
//! Each connection is carried by one of its own, so that a workspace that was away is reached again by the next.

use std::{
    io::Write as _,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use futures::{SinkExt as _, StreamExt as _};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::{Instant, interval_at, sleep, timeout},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Bytes, Message},
};
use tokio_util::sync::CancellationToken;

use super::{
    client::ClusterArgs, failure::Failure, remote::LoginArgs, run::SIGN_OF_LIFE, target::Target,
    workspace::Source,
};

/// How long the other end may be silent after this one has said its last: neither way can pass that on.
const LAST_WORDS: Duration = Duration::from_mins(1);

/// How long the same failure is not told again.
const SAME_AGAIN: Duration = Duration::from_secs(10);

/// What `maar forward` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The workspace; or a job as job/NAME, whose first Pod that runs is meant; or one of its Pods, as job/train/worker-1
    #[arg(value_name = "WORKSPACE|job/NAME[/POD]")]
    target: String,
    /// Ports: 8888, or 9000:8888 to find port 8888 there on 9000 here, or :8888 for any free port here
    #[arg(required = true, value_name = "[LOCAL:]REMOTE")]
    ports: Vec<String>,
    /// Where to listen on this machine; others reach it if it is no loopback address
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,
    #[command(flatten)]
    login: LoginArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// A port here and one of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pair {
    local: u16,
    remote: u16,
}

impl Pair {
    fn parse(text: &str) -> Result<Self, Failure> {
        let wrong = || Failure::usage(format!("{text} is not a port such as 8888, 9000:8888 or :8888"));
        let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(wrong);
        match text.split_once(':') {
            None => port(text).map(|port| Self { local: port, remote: port }),
            Some(("", remote)) => Ok(Self { local: 0, remote: port(remote)? }),
            Some((local, remote)) => Ok(Self { local: port(local)?, remote: port(remote)? }),
        }
    }
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let pairs = arguments.ports.iter().map(|text| Pair::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let target = Target::parse(&arguments.target)?;
    let source = Arc::new(Source::choose(&arguments.login, &arguments.cluster).await?);
    let target = target.known(&source).await?;
    let mut listeners = Vec::new();
    for pair in pairs {
        let address = SocketAddr::new(arguments.address, pair.local);
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("listening on {address} (choose another with LOCAL:{})", pair.remote))?;
        listeners.push((listener, pair.remote));
    }
    let mut tasks = tokio::task::JoinSet::new();
    for (listener, remote) in listeners {
        say(&format!("listening on {} -> {target}:{remote}", listener.local_addr()?));
        let there = There { source: Arc::clone(&source), target: target.clone(), port: remote };
        tasks.spawn(serve(listener, there));
    }
    say("Ctrl-C ends it.");
    tokio::select! {
        stopped = tokio::signal::ctrl_c() => stopped.context("waiting for Ctrl-C"),
        Some(ended) = tasks.join_next() => ended.context("serving a port")?,
    }
}

/// A port of a workspace or of a job.
#[derive(Clone)]
struct There {
    source: Arc<Source>,
    target: Target,
    port: u16,
}

async fn serve(listener: TcpListener, there: There) -> anyhow::Result<()> {
    let place = format!("{}:{}", there.target, there.port);
    let (mut connections, mut complaints) = (tokio::task::JoinSet::new(), Complaints::default());
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (near, _) = accepted.context("taking a connection")?;
                let there = there.clone();
                connections.spawn(async move { there.carry(near).await });
            }
            Some(ended) = connections.join_next() => {
                let told = match ended.context("carrying a connection").flatten() {
                    Ok(()) => complaints.worked(),
                    Err(error) => complaints.failed(&format!("{error:#}"), Instant::now()),
                };
                if let Some(told) = told {
                    say(&format!("{place}: {told}"));
                }
            }
        }
    }
}

/// What is told of connections that fail: each reason when it comes, and the same once more every so often, with how many
/// there were, since a browser tries again and again.
#[derive(Debug, Default)]
struct Complaints {
    last: Option<(String, Instant)>,
    untold: u32,
}

impl Complaints {
    fn failed(&mut self, why: &str, now: Instant) -> Option<String> {
        let same = self.last.as_ref().filter(|(last, _)| last == why);
        if same.is_some_and(|(_, told)| now.duration_since(*told) < SAME_AGAIN) {
            self.untold += 1;
            return None;
        }
        let more = if same.is_some() { self.untold } else { 0 };
        (self.last, self.untold) = (Some((why.to_owned(), now)), 0);
        Some(if more > 0 { format!("{why} ({more} more before)") } else { why.to_owned() })
    }

    fn worked(&mut self) -> Option<String> {
        self.untold = 0;
        self.last.take().map(|_| "answers again".to_owned())
    }
}

impl There {
    async fn carry(&self, near: TcpStream) -> anyhow::Result<()> {
        match &*self.source {
            Source::Portal { remote, .. } => {
                let path = self.target.path(&self.source)?;
                let path = format!("{path}/forward?port={}{}", self.port, self.target.query());
                between(near, remote.socket(&path, "maar.forward.v1").await?).await
            }
            Source::Cluster(connection) => {
                let pods: Api<Pod> = Api::namespaced(connection.client.clone(), &connection.namespace);
                let (pod, _) = self.target.place(connection).await?;
                let forwarding = pods.portforward(&pod, &[self.port]).await;
                let mut forwarder = forwarding.context("reaching the Pod")?;
                let lost = || Failure::failed("the cluster gave no connection");
                let far = forwarder.take_stream(self.port).ok_or_else(lost)?;
                let failure = forwarder.take_error(self.port).ok_or_else(lost)?;
                talk(near, far).await;
                match timeout(Duration::from_millis(500), failure).await {
                    Ok(Some(why)) => Err(Failure::failed(why.trim().to_owned()).into()),
                    _ => Ok(()),
                }
            }
        }
    }
}

/// Carries bytes both ways until the far end has said its last. What breaks in the middle is the business of those who
/// talk. The end of the near one is not passed on: a port-forward that hears of it closes the way back as well, with the answer on it.
async fn talk(near: impl AsyncRead + AsyncWrite, far: impl AsyncRead + AsyncWrite) {
    let (mut reader, mut writer) = tokio::io::split(near);
    let (mut from, mut to) = tokio::io::split(far);
    let said_all = CancellationToken::new();
    let up = async {
        let _ = tokio::io::copy(&mut reader, &mut to).await;
        said_all.cancel();
        std::future::pending::<()>().await;
    };
    let down = async {
        let mut part = vec![0; 64 * 1024];
        loop {
            let read = tokio::select! {
                read = from.read(&mut part) => read,
                () = async { said_all.cancelled().await; sleep(LAST_WORDS).await } => break,
            };
            let Ok(length @ 1..) = read else { break };
            if writer.write_all(&part[..length]).await.is_err() {
                break;
            }
        }
    };
    tokio::select! { () = down => {}, () = up => {} }
}

/// Carries bytes between a connection and a WebSocket until both have said their last.
async fn between<N, S>(near: N, socket: WebSocketStream<S>) -> anyhow::Result<()>
where
    N: AsyncRead + AsyncWrite,
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut reader, mut writer) = tokio::io::split(near);
    let (mut outgoing, mut incoming) = socket.split();
    let said_all = CancellationToken::new();
    let up = async {
        let (mut part, mut more) = (vec![0; 64 * 1024], true);
        let mut signs = interval_at(Instant::now() + SIGN_OF_LIFE, SIGN_OF_LIFE);
        loop {
            let message = tokio::select! {
                read = reader.read(&mut part), if more => {
                    let Ok(length @ 1..) = read else {
                        more = false;
                        said_all.cancel();
                        continue;
                    };
                    Message::binary(part[..length].to_vec())
                }
                _ = signs.tick() => Message::Ping(Bytes::new()),
            };
            if outgoing.send(message).await.is_err() {
                break;
            }
        }
        std::future::pending::<()>().await;
    };
    let down = async {
        let mut came = false;
        loop {
            let message = tokio::select! {
                message = incoming.next() => message,
                // What is on its way to somebody who reads slowly is no silence.
                () = async { said_all.cancelled().await; sleep(LAST_WORDS).await } => break,
            };
            let Some(message) = message else { break };
            match message {
                Ok(Message::Binary(bytes)) => {
                    came = true;
                    if writer.write_all(&bytes).await.is_err() {
                        break;
                    }
                }
                Ok(Message::Close(Some(frame))) if !came => {
                    // A reason that is told before anything came is that nothing answers there.
                    return Err(Failure::failed(frame.reason.to_string()).into());
                }
                Ok(Message::Close(_)) | Err(_) => break,
                Ok(_) => {}
            }
        }
        Ok(())
    };
    tokio::select! {
        ended = down => ended,
        () = up => Ok(()),
    }
}

/// Tells somebody who waits how it goes; a pipe that nobody reads is no reason to stop.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use tokio::io::{DuplexStream, duplex};
    use tokio_tungstenite::tungstenite::protocol::Role;

    use super::*;

    /// A program here, and the portal.
    async fn carried() -> (DuplexStream, WebSocketStream<DuplexStream>) {
        let (program, near) = duplex(64);
        let (socket, portal) = duplex(1024);
        let socket = WebSocketStream::from_raw_socket(socket, Role::Client, None).await;
        tokio::spawn(between(near, socket));
        (program, WebSocketStream::from_raw_socket(portal, Role::Server, None).await)
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_whole_however_long_it_takes() {
        let (program, mut portal) = carried().await;
        let (mut from, mut to) = tokio::io::split(program);
        to.write_all(b"question").await.unwrap();
        to.shutdown().await.unwrap();
        let reading = tokio::spawn(async move {
            let mut all = Vec::new();
            from.read_to_end(&mut all).await.map(|_| all)
        });
        // Half a minute between its parts, after the question has ended.
        for _ in 0..20 {
            portal.send(Message::binary(vec![7; 100])).await.unwrap();
            sleep(Duration::from_secs(30)).await;
        }
        portal.close(None).await.unwrap();
        assert_eq!(reading.await.unwrap().unwrap().len(), 2000);
    }

    #[tokio::test(start_paused = true)]
    async fn silence_after_the_last_word_is_the_end() {
        let (program, mut portal) = carried().await;
        let (mut from, mut to) = tokio::io::split(program);
        to.shutdown().await.unwrap();
        let begin = tokio::time::Instant::now();
        assert_eq!(from.read(&mut [0; 8]).await.unwrap(), 0);
        assert_eq!(begin.elapsed(), LAST_WORDS);
        while let Some(Ok(_)) = portal.next().await {}
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_what_is_asked_does_not_end_the_answer() {
        let ((near, mut client), (far, mut pod)) = (tokio::io::duplex(64), tokio::io::duplex(64));
        let carried = tokio::spawn(talk(near, far));
        client.write_all(b"q").await.unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(pod.read_u8().await.unwrap(), b'q');
        assert!(timeout(LAST_WORDS / 2, pod.read_u8()).await.is_err(), "the Pod is not hung up on");
        pod.write_all(b"a").await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), b'a');
        // Nobody says more.
        let begin = Instant::now();
        carried.await.unwrap();
        assert_eq!(begin.elapsed(), LAST_WORDS);
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_for_long_is_still_there() {
        let (mut program, mut portal) = carried().await;
        portal.send(Message::binary(vec![7; 500])).await.unwrap();
        let begin = tokio::time::Instant::now();
        let mut last = begin;
        while begin.elapsed() < Duration::from_mins(10) {
            assert!(matches!(portal.next().await, Some(Ok(Message::Ping(_)))));
            assert!(last.elapsed() <= SIGN_OF_LIFE);
            last = tokio::time::Instant::now();
        }
        let mut all = vec![0; 500];
        program.read_exact(&mut all).await.unwrap();
    }

    #[test]
    fn failures_are_told_when_they_come_and_not_without_end() {
        let (mut complaints, begin) = (Complaints::default(), Instant::now());
        let at = |seconds| begin + Duration::from_secs(seconds);
        assert_eq!(complaints.worked(), None, "nothing has failed");
        assert_eq!(complaints.failed("refused", at(0)).as_deref(), Some("refused"));
        assert_eq!(complaints.failed("refused", at(1)), None);
        assert_eq!(complaints.failed("refused", at(2)), None);
        assert_eq!(complaints.failed("no Pod", at(3)).as_deref(), Some("no Pod"), "another reason, at once");
        assert_eq!(complaints.failed("no Pod", at(4)), None);
        assert_eq!(complaints.failed("no Pod", at(14)).as_deref(), Some("no Pod (1 more before)"));
        assert_eq!(complaints.worked().as_deref(), Some("answers again"));
        assert_eq!(complaints.worked(), None);
        assert_eq!(complaints.failed("no Pod", at(15)).as_deref(), Some("no Pod"), "it had worked between");
    }

    #[test]
    fn ports_are_read_in_three_ways() {
        let pair = |text| Pair::parse(text).map(|pair| (pair.local, pair.remote)).ok();
        assert_eq!(pair("8888"), Some((8888, 8888)));
        assert_eq!(pair("9000:8888"), Some((9000, 8888)));
        assert_eq!(pair(":8888"), Some((0, 8888)));
        for wrong in ["", ":", "x", "0", "1:", "1:2:3", "65536", "1:0"] {
            assert_eq!(pair(wrong), None, "{wrong}");
        }
    }
}
