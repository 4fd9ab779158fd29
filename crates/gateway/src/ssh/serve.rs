//! Takes connections, and ends them when they have to.

use std::{borrow::Cow, net::SocketAddr, sync::Arc, time::Duration};

use russh::{
    Disconnect, MethodKind, MethodSet, Preferred, SshId, cipher,
    server::{Config, run_stream},
};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt as _, BufReader},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    certificate::Authority,
    connection::{Connection, Hall},
    door::Door,
    inlet::WINDOW,
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

/// The largest packet that is taken, the most that the library does: clients that can fill it have half as many to
/// encrypt. What is sent to them is never larger than they say.
const PACKET: u32 = u16::MAX as u32;
/// How much is read from the network at once: the library asks for the length of every packet alone.
const READ: usize = 64 * 1024;
/// How long a client may take to say its name before we say ours; some wait for it.
const NAME: Duration = Duration::from_millis(500);
/// How that of OpenSSH begins.
const OPENSSH: &[u8] = b"SSH-2.0-OpenSSH_";
/// Clients choose the first that they like, and OpenSSH's likes chacha20-poly1305 best and, before version 10, AES-CTR
/// better than AES-GCM, which is the one for which processors and the library have the most. So it is offered nothing
/// else; every OpenSSH since 2013 has it.
const OF_OPENSSH: &[cipher::Name] = &[cipher::AES_128_GCM, cipher::AES_256_GCM];
/// For others. chacha20-poly1305 is not among them: it is the cipher by which a stranger on the way cuts off the
/// beginning of a connection (CVE-2023-48795) of a client that does not know how to notice.
const OF_OTHERS: &[cipher::Name] = &[
    cipher::AES_128_GCM,
    cipher::AES_256_GCM,
    cipher::AES_256_CTR,
    cipher::AES_192_CTR,
    cipher::AES_128_CTR,
];
/// How long a client is waited for that is told to leave.
const FAREWELL: Duration = Duration::from_secs(5);

fn config(host: &SecretKey, limits: &Limits, ciphers: &'static [cipher::Name]) -> Config {
    Config {
        // Neither our version nor that of the library: both only help whoever looks for holes.
        server_id: SshId::Standard("SSH-2.0-Maar".into()),
        methods: MethodSet::from(&[MethodKind::PublicKey][..]),
        auth_rejection_time: limits.refusal,
        auth_rejection_time_initial: Some(Duration::ZERO),
        keys: vec![host.0.clone()],
        preferred: Preferred { cipher: Cow::Borrowed(ciphers), ..Preferred::DEFAULT },
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

/// Serves until `stop`, and for a moment more, in which everybody is told to leave.
pub async fn serve(
    listener: TcpListener,
    (host, authority): (SecretKey, Authority),
    limits: Limits,
    door: Arc<dyn Door>,
    stop: CancellationToken,
) {
    let [openssh, others] = [OF_OPENSSH, OF_OTHERS].map(|ciphers| Arc::new(config(&host, &limits, ciphers)));
    let seats = Arc::new(Semaphore::new(limits.connections));
    let (limits, guests) = (Arc::new(limits), TaskTracker::new());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
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
            openssh: Arc::clone(&openssh),
            others: Arc::clone(&others),
            door: Arc::clone(&door),
            authority: authority.clone(),
            limits: Arc::clone(&limits),
            stop: stop.clone(),
        };
        guests.spawn(async move {
            guest.serve(stream, peer).await;
            drop(seat);
        });
    }
    // Those who are told to leave, and what is written down of them.
    drop(listener);
    guests.close();
    if timeout(FAREWELL * 2, guests.wait()).await.is_err() {
        tracing::warn!(connections = guests.len(), "connections by SSH did not end in time");
    }
}

/// One connection.
struct Guest {
    openssh: Arc<Config>,
    others: Arc<Config>,
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
        let mut stream = BufReader::with_capacity(READ, stream);
        let opened = timeout(self.limits.grace, async {
            let config = if is_openssh(&mut stream).await { &self.openssh } else { &self.others };
            run_stream(Arc::clone(config), stream, connection).await
        });
        let Some(Ok(Ok(mut session))) = self.stop.run_until_cancelled(opened).await else { return };
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
            visit.left(hall.report(begin.elapsed(), why)).await;
        }
        hall.sessions.close();
        let _ = timeout(FAREWELL, hall.sessions.wait()).await;
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

/// Whether a client says that it is OpenSSH's. What it said is still to be read.
async fn is_openssh(stream: &mut (impl AsyncBufRead + Unpin)) -> bool {
    let said = timeout(NAME, stream.fill_buf()).await;
    matches!(said, Ok(Ok(name)) if name.starts_with(OPENSSH))
}

#[cfg(test)]
mod tests {
    use std::{
        net::IpAddr,
        sync::atomic::{AtomicBool, Ordering},
    };

    use futures::{FutureExt as _, future::BoxFuture};
    use jiff::Timestamp;
    use parking_lot::Mutex;
    use russh::{
        client,
        keys::{PrivateKeyWithHashAlg, PublicKeyOrCertificate},
    };
    use tokio::io::AsyncReadExt as _;

    use super::*;
    use crate::{
        pod::Place,
        ssh::{Knock, Report, Visit},
    };

    /// Lets everybody in, and takes a moment to write down that he has left.
    #[derive(Clone, Default)]
    struct Book(Arc<AtomicBool>, Arc<Mutex<String>>);

    impl Door for Book {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }

        fn enter(&self, _: Knock) -> BoxFuture<'_, Option<Arc<dyn Visit>>> {
            async { Some(Arc::new(self.clone()) as Arc<dyn Visit>) }.boxed()
        }

        fn refused(&self, _: &str, _: IpAddr, _: &str) {}
    }

    impl Visit for Book {
        fn place(&self) -> Result<Place, String> {
            Err("nowhere".to_owned())
        }

        fn denied(&self) -> BoxFuture<'static, String> {
            std::future::pending().boxed()
        }

        fn left(&self, report: Report) -> BoxFuture<'static, ()> {
            let written = Arc::clone(&self.0);
            *self.1.lock() = report.why;
            async move {
                sleep(Duration::from_millis(50)).await;
                written.store(true, Ordering::Relaxed);
            }
            .boxed()
        }
    }

    struct Trusting;

    impl client::Handler for Trusting {
        type Error = russh::Error;

        async fn check_server_key(&mut self, _: &PublicKeyOrCertificate) -> Result<bool, Self::Error> {
            Ok(true)
        }
    }

    #[tokio::test]
    async fn who_is_told_to_leave_is_written_down_before_the_gateway_has_stopped() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop, book) =
            (listener.local_addr().unwrap(), CancellationToken::new(), Book::default());
        let key = |seed| SecretKey::of_seed(&[seed; 32]);
        let keys = (key(1), Authority::new(key(2)));
        let serving = serve(listener, keys, Limits::default(), Arc::new(book.clone()), stop.clone());
        let serving = tokio::spawn(serving);
        let mut guest = client::connect(Arc::default(), address, Trusting).await.unwrap();
        let own = PrivateKeyWithHashAlg::new(Arc::new(key(3).0), None);
        assert!(guest.authenticate_publickey("desk", own).await.unwrap().success());
        let _silent = TcpStream::connect(address).await.unwrap();
        stop.cancel();
        timeout(FAREWELL * 2, serving).await.expect("nobody holds it up").unwrap();
        assert!(book.0.load(Ordering::Relaxed));
    }

    #[tokio::test]
    async fn connections_end_when_nothing_happens_and_when_they_have_lasted_long_enough() {
        let (soon, key) = (Duration::from_millis(100), |seed| SecretKey::of_seed(&[seed; 32]));
        let cases = [
            (Limits { idle: soon, ..Limits::default() }, "nothing has happened"),
            (Limits { absolute: soon, ..Limits::default() }, "as long as one may"),
        ];
        for (limits, why) in cases {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let (address, stop, book) =
                (listener.local_addr().unwrap(), CancellationToken::new(), Book::default());
            let keys = (key(1), Authority::new(key(2)));
            tokio::spawn(serve(listener, keys, limits, Arc::new(book.clone()), stop.clone()));
            let mut guest = client::connect(Arc::default(), address, Trusting).await.unwrap();
            let own = PrivateKeyWithHashAlg::new(Arc::new(key(3).0), None);
            assert!(guest.authenticate_publickey("desk", own).await.unwrap().success());
            let left = async {
                while !book.0.load(Ordering::Relaxed) {
                    sleep(Duration::from_millis(10)).await;
                }
            };
            timeout(Duration::from_secs(20), left).await.expect(why);
            assert!(book.1.lock().contains(why), "{why}: {}", book.1.lock());
            stop.cancel();
        }
    }

    #[tokio::test]
    async fn who_does_not_say_who_he_is_has_to_leave() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let keys = (SecretKey::of_seed(&[1; 32]), Authority::new(SecretKey::of_seed(&[2; 32])));
        let limits = Limits { grace: Duration::from_millis(100), ..Limits::default() };
        tokio::spawn(serve(listener, keys, limits, Arc::new(Book::default()), stop.clone()));
        let mut silent = TcpStream::connect(address).await.unwrap();
        let mut said = Vec::new();
        let _ =
            timeout(Duration::from_secs(20), silent.read_to_end(&mut said)).await.expect("it is hung up on");
        stop.cancel();
    }

    #[tokio::test(start_paused = true)]
    async fn openssh_is_known_by_its_name_and_who_waits_for_ours_is_another() {
        for (said, want) in
            [("SSH-2.0-OpenSSH_9.2\r\n", true), ("SSH-2.0-PuTTY_0.70\r\n", false), ("", false)]
        {
            assert_eq!(is_openssh(&mut said.as_bytes()).await, want, "{said}");
        }
        let (near, _far) = tokio::io::duplex(64);
        assert!(!is_openssh(&mut BufReader::new(near)).await, "silent");
    }
}
