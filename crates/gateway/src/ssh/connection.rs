//! One connection: what a client asks, answered.

use std::{
    collections::{HashMap, hash_map::Entry},
    net::IpAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use russh::{
    Channel, ChannelId, ChannelOpenFailure, Pty,
    keys::{Certificate, HashAlg},
    server::{Auth, ChannelOpenHandle, Handler, Msg, PublicKeyOffer, Session as Server, VerifiedPublicKey},
};
use tokio::{sync::watch, time::Instant};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{
    agent::Agents,
    certificate::{Authority, Rights},
    command,
    door::{Door, Knock, Proof, Report, Visit},
    forward::{self, Forward, Target},
    inlet::{Budget, Inlet},
    key::{good_signature, strong},
    remote::Remote,
    session::{Outlet, Session, Size, Wish},
};
use crate::pod::Place;

/// The most channels of a connection.
const CHANNELS: usize = 64;
/// The most ports that a connection has open in the Pod.
const PORTS: usize = 16;

/// What the parts of a connection share.
pub(super) struct Hall {
    visit: OnceLock<Arc<dyn Visit>>,
    inlets: Mutex<HashMap<ChannelId, Known>>,
    /// What waits in all of them.
    budget: Budget,
    received: AtomicU64,
    sent: AtomicU64,
    channels: AtomicU64,
    /// How the last program ended.
    code: Mutex<Option<i32>>,
    /// The client's agent, as it is seen in the Pod.
    pub(super) agents: Agents,
    /// Whether it was ever seen there.
    agent_seen: AtomicBool,
    /// When something was last carried.
    busy: Mutex<Instant>,
    /// Set when somebody is let in.
    entered: watch::Sender<bool>,
    pub(super) stop: CancellationToken,
    /// Shells, commands, SFTP and what listens in the Pod, until what they left behind is told that the client has left.
    pub(super) sessions: TaskTracker,
}

impl std::fmt::Debug for Hall {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Hall")
    }
}

impl Hall {
    pub(super) fn new() -> Self {
        Self {
            visit: OnceLock::new(),
            inlets: Mutex::default(),
            budget: Budget::default(),
            received: AtomicU64::default(),
            sent: AtomicU64::default(),
            channels: AtomicU64::default(),
            code: Mutex::default(),
            agents: Agents::default(),
            agent_seen: AtomicBool::default(),
            busy: Mutex::new(Instant::now()),
            entered: watch::Sender::new(false),
            stop: CancellationToken::new(),
            sessions: TaskTracker::new(),
        }
    }

    pub(super) fn visit(&self) -> Option<&Arc<dyn Visit>> {
        self.visit.get()
    }

    /// Waits until somebody is let in.
    pub(super) async fn entered(&self) {
        // It is held by whoever waits, so it never closes.
        let _ = self.entered.subscribe().wait_for(|entered| *entered).await;
    }

    pub(super) fn place(&self) -> Result<Place, String> {
        self.visit().ok_or_else(|| "nobody is here".to_owned())?.place()
    }

    pub(super) fn received(&self, count: usize) {
        self.received.fetch_add(count as u64, Ordering::Relaxed);
        *self.busy.lock() = Instant::now();
    }

    pub(super) fn sent(&self, count: usize) {
        self.sent.fetch_add(count as u64, Ordering::Relaxed);
        *self.busy.lock() = Instant::now();
    }

    /// A program has ended.
    pub(super) fn ended(&self, code: Option<i32>) {
        *self.code.lock() = code;
    }

    /// A program has begun that can ask the agent of the client.
    pub(super) fn agent_seen(&self) {
        self.agent_seen.store(true, Ordering::Relaxed);
    }

    /// What there is to say at the end.
    pub(super) fn report(&self, lasted: Duration, why: String) -> Report {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (received, sent, channels) = (read(&self.received), read(&self.sent), read(&self.channels));
        let agent = self.agent_seen.load(Ordering::Relaxed);
        Report { lasted, received, sent, channels, code: *self.code.lock(), agent, why }
    }

    pub(super) fn last_busy(&self) -> Instant {
        *self.busy.lock()
    }

    /// The input of a channel, which is made by whoever asks first: what a client sends may come before its reader.
    pub(super) fn inlet(&self, channel: ChannelId) -> Inlet {
        self.known(channel, true)
    }

    /// The same of a channel that we opened. Its reader may hear before [`Hall::confirmed`] that it is open.
    pub(super) fn opened(&self, channel: ChannelId) -> Inlet {
        self.known(channel, false)
    }

    fn known(&self, channel: ChannelId, confirmed: bool) -> Inlet {
        let new = || Known { inlet: Inlet::of(&self.budget), confirmed, gone: false };
        self.inlets.lock().entry(channel).or_insert_with(new).inlet.clone()
    }

    /// A channel that we opened is open: what the client sends there needs a place before its reader is ready.
    pub(super) fn confirmed(&self, channel: ChannelId) {
        match self.inlets.lock().entry(channel) {
            Entry::Occupied(known) if known.get().gone => drop(known.remove()),
            Entry::Occupied(mut known) => known.get_mut().confirmed = true,
            Entry::Vacant(place) => {
                place.insert(Known { inlet: Inlet::of(&self.budget), confirmed: true, gone: false });
            }
        }
    }

    pub(super) fn forget(&self, channel: ChannelId) {
        let mut inlets = self.inlets.lock();
        let Some(known) = inlets.get_mut(&channel) else { return };
        known.inlet.close();
        if known.confirmed {
            inlets.remove(&channel);
        } else {
            // Whoever forgets is faster than the word that it is open, by which it would be known again for ever.
            known.gone = true;
        }
    }

    /// How many channels are open.
    pub(super) fn open(&self) -> usize {
        self.inlets.lock().len()
    }
}

/// A channel, by where what the client sends waits.
struct Known {
    inlet: Inlet,
    /// Whether the client's word that it is open was heard, or it is the client who opened it.
    confirmed: bool,
    /// Whether it was forgotten before that.
    gone: bool,
}

/// What a session channel was told before it begins.
struct Waiting {
    outlet: Outlet,
    variables: Vec<(String, String)>,
    terminal: Option<(watch::Sender<Size>, watch::Receiver<Size>)>,
    /// Whether the client's agent is to be forwarded.
    agent: bool,
}

/// A session channel.
enum State {
    Waiting(Box<Waiting>),
    Running { sizes: Option<watch::Sender<Size>>, stop: CancellationToken },
    Forward { stop: CancellationToken },
}

/// The answers to one client.
pub(super) struct Connection {
    door: Arc<dyn Door>,
    authority: Authority,
    address: IpAddr,
    hall: Arc<Hall>,
    rights: Rights,
    channels: HashMap<ChannelId, State>,
    ports: HashMap<(String, u32), CancellationToken>,
    /// Ends everything that was begun for the client when he leaves.
    #[expect(dead_code, reason = "held for what dropping it does")]
    guard: DropGuard,
}

impl Connection {
    pub(super) fn new(door: Arc<dyn Door>, authority: Authority, address: IpAddr, hall: Arc<Hall>) -> Self {
        let guard = hall.stop.clone().drop_guard();
        let (channels, ports) = (HashMap::new(), HashMap::new());
        Self { door, authority, address, hall, rights: Rights::ALL, channels, ports, guard }
    }

    async fn knock(&mut self, wanted: &str, proof: Proof, rights: Rights) -> Auth {
        let knock = Knock { wanted: wanted.to_owned(), proof, address: self.address };
        let Some(visit) = self.door.enter(knock).await else { return Auth::reject() };
        if self.hall.visit.set(visit).is_err() {
            return Auth::reject();
        }
        self.rights = rights;
        Auth::Accept
    }

    /// Begins what a session channel is for.
    fn begin(&mut self, id: ChannelId, wish: Wish, server: &mut Server) -> Result<(), russh::Error> {
        let Some(State::Waiting(waiting)) = self.channels.remove(&id) else {
            // It runs already: a channel is for one thing.
            return server.channel_failure(id);
        };
        server.channel_success(id)?;
        let stop = self.hall.stop.child_token();
        let (sender, receiver) = waiting.terminal.unzip();
        let session = Session {
            hall: Arc::clone(&self.hall),
            wish,
            variables: waiting.variables,
            sizes: receiver,
            agent: waiting.agent.then(|| server.handle()),
            inlet: self.hall.inlet(id),
            outlet: waiting.outlet,
            stop: stop.clone(),
            ends: OnceLock::new(),
        };
        self.channels.insert(id, State::Running { sizes: sender, stop });
        self.hall.sessions.spawn(session.serve());
        Ok(())
    }

    fn forward(&mut self, target: Target, channel: Channel<Msg>) {
        let (id, stop) = (channel.id(), self.hall.stop.child_token());
        let (_, outlet) = channel.split();
        self.channels.insert(id, State::Forward { stop: stop.clone() });
        self.hall.channels.fetch_add(1, Ordering::Relaxed);
        let inlet = self.hall.inlet(id);
        tokio::spawn(Forward { hall: Arc::clone(&self.hall), target, inlet, outlet, stop }.serve());
    }

    /// Whether one more channel is too many.
    fn full(&mut self) -> bool {
        let over = |state: &State| match state {
            State::Waiting(_) => false,
            State::Running { stop, .. } | State::Forward { stop } => stop.is_cancelled(),
        };
        self.channels.retain(|_, state| !over(state));
        self.hall.open() >= CHANNELS
    }
}

impl Handler for Connection {
    type Error = russh::Error;

    /// Whoever has a key may show that it is his; whether that is of use is told no earlier, so that nobody learns by
    /// a public key, which is public, whether its owner is known here.
    async fn auth_publickey_offered(
        &mut self,
        user: &str,
        offer: PublicKeyOffer<'_>,
    ) -> Result<Auth, Self::Error> {
        if good_signature(offer.algorithm) && strong(offer.public_key).is_ok() {
            return Ok(Auth::Accept);
        }
        self.door.refused(user, self.address, "the key is of a kind that is not taken");
        Ok(Auth::reject())
    }

    async fn auth_publickey(&mut self, user: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, Self::Error> {
        let fingerprint = key.public_key.fingerprint(HashAlg::Sha256).to_string();
        Ok(self.knock(user, Proof::Key(fingerprint), Rights::ALL).await)
    }

    async fn auth_openssh_certificate(
        &mut self,
        user: &str,
        certificate: &Certificate,
    ) -> Result<Auth, Self::Error> {
        match self.authority.check(certificate, self.door.now()) {
            Ok(named) => {
                let proof = Proof::Certificate { user: named.user, id: named.id };
                Ok(self.knock(user, proof, named.rights).await)
            }
            Err(why) => {
                self.door.refused(user, self.address, &format!("the certificate is not good: {why}"));
                Ok(Auth::reject())
            }
        }
    }

    async fn auth_succeeded(&mut self, _: &mut Server) -> Result<(), Self::Error> {
        self.hall.entered.send_replace(true);
        Ok(())
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Server,
    ) -> Result<(), Self::Error> {
        if self.full() {
            reply.reject(ChannelOpenFailure::ResourceShortage).await;
            return Ok(());
        }
        let id = channel.id();
        let (_, outlet) = channel.split();
        self.hall.inlet(id);
        self.hall.channels.fetch_add(1, Ordering::Relaxed);
        let waiting = Waiting { outlet, variables: Vec::new(), terminal: None, agent: false };
        self.channels.insert(id, State::Waiting(Box::new(waiting)));
        reply.accept().await;
        Ok(())
    }

    async fn channel_open_direct_tcpip(
        &mut self,
        channel: Channel<Msg>,
        host: &str,
        port: u32,
        _: &str,
        _: u32,
        reply: ChannelOpenHandle,
        _: &mut Server,
    ) -> Result<(), Self::Error> {
        let target = forward::port(host, port).filter(|_| self.rights.forwarding);
        match target {
            _ if self.full() => reply.reject(ChannelOpenFailure::ResourceShortage).await,
            None => reply.reject(ChannelOpenFailure::AdministrativelyProhibited).await,
            Some(target) => {
                self.forward(target, channel);
                reply.accept().await;
            }
        }
        Ok(())
    }

    async fn channel_open_direct_streamlocal(
        &mut self,
        channel: Channel<Msg>,
        path: &str,
        reply: ChannelOpenHandle,
        _: &mut Server,
    ) -> Result<(), Self::Error> {
        if self.full() || !self.rights.forwarding || !path.starts_with('/') || path.len() > 108 {
            reply.reject(ChannelOpenFailure::AdministrativelyProhibited).await;
            return Ok(());
        }
        self.forward(Target::Socket(path.to_owned()), channel);
        reply.accept().await;
        Ok(())
    }

    async fn channel_open_confirmation(
        &mut self,
        id: ChannelId,
        _: u32,
        _: u32,
        _: &mut Server,
    ) -> Result<(), Self::Error> {
        self.hall.confirmed(id);
        self.hall.channels.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn adjust_window(&mut self, _: ChannelId, _: u32) -> u32 {
        self.hall.budget.window()
    }

    async fn data(&mut self, id: ChannelId, data: &[u8], server: &mut Server) -> Result<(), Self::Error> {
        let inlet = self.hall.inlets.lock().get(&id).map(|known| known.inlet.clone());
        if let Some(inlet) = inlet
            && inlet.push(data).await.is_err()
        {
            tracing::warn!(peer = %self.address, "a client sends on and on to a program that does not read");
            server.close(id)?;
            self.end(id);
        }
        Ok(())
    }

    async fn channel_eof(&mut self, id: ChannelId, _: &mut Server) -> Result<(), Self::Error> {
        if let Some(known) = self.hall.inlets.lock().get(&id) {
            known.inlet.end();
        }
        Ok(())
    }

    async fn channel_close(&mut self, id: ChannelId, _: &mut Server) -> Result<(), Self::Error> {
        self.end(id);
        Ok(())
    }

    async fn pty_request(
        &mut self,
        id: ChannelId,
        term: &str,
        columns: u32,
        rows: u32,
        _: u32,
        _: u32,
        _: &[(Pty, u32)],
        server: &mut Server,
    ) -> Result<(), Self::Error> {
        match self.channels.get_mut(&id) {
            Some(State::Waiting(waiting)) if self.rights.terminal => {
                if let Some(term) = command::term(term) {
                    waiting.variables.push(("TERM".to_owned(), term.to_owned()));
                }
                waiting.terminal = Some(watch::channel(Size::of(columns, rows)));
                server.channel_success(id)
            }
            _ => server.channel_failure(id),
        }
    }

    async fn window_change_request(
        &mut self,
        id: ChannelId,
        columns: u32,
        rows: u32,
        _: u32,
        _: u32,
        _: &mut Server,
    ) -> Result<(), Self::Error> {
        let sizes = match self.channels.get(&id) {
            Some(State::Waiting(waiting)) => waiting.terminal.as_ref().map(|(sender, _)| sender),
            Some(State::Running { sizes, .. }) => sizes.as_ref(),
            _ => None,
        };
        if let Some(sizes) = sizes {
            sizes.send_replace(Size::of(columns, rows));
        }
        Ok(())
    }

    async fn env_request(
        &mut self,
        id: ChannelId,
        name: &str,
        value: &str,
        server: &mut Server,
    ) -> Result<(), Self::Error> {
        match self.channels.get_mut(&id) {
            Some(State::Waiting(waiting)) if command::may_set(name, value, waiting.variables.len()) => {
                waiting.variables.push((name.to_owned(), value.to_owned()));
                server.channel_success(id)
            }
            _ => server.channel_failure(id),
        }
    }

    async fn shell_request(&mut self, id: ChannelId, server: &mut Server) -> Result<(), Self::Error> {
        self.begin(id, Wish::Shell, server)
    }

    async fn exec_request(
        &mut self,
        id: ChannelId,
        data: &[u8],
        server: &mut Server,
    ) -> Result<(), Self::Error> {
        match std::str::from_utf8(data) {
            Ok(command) => self.begin(id, Wish::Command(command.to_owned()), server),
            // Kubernetes carries commands as text.
            Err(_) => server.channel_failure(id),
        }
    }

    async fn subsystem_request(
        &mut self,
        id: ChannelId,
        name: &str,
        server: &mut Server,
    ) -> Result<(), Self::Error> {
        if name == "sftp" { self.begin(id, Wish::Sftp, server) } else { server.channel_failure(id) }
    }

    /// Whoever is root in the Pod can use the keys of the agent for as long as it is forwarded. Whether it can be is seen
    /// when the session begins, which does not wait for it here: nothing else of the connection goes on meanwhile.
    async fn agent_request(&mut self, id: ChannelId, _: &mut Server) -> Result<bool, Self::Error> {
        let may = self.rights.agent && self.hall.visit().is_some_and(|visit| visit.agent());
        match self.channels.get_mut(&id) {
            Some(State::Waiting(waiting)) if may => {
                waiting.agent = true;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    async fn x11_request(
        &mut self,
        id: ChannelId,
        _: bool,
        _: &str,
        _: &str,
        _: u32,
        server: &mut Server,
    ) -> Result<(), Self::Error> {
        server.channel_failure(id)
    }

    /// The exec of Kubernetes carries no signals. A terminal knows characters for some of them.
    async fn signal(&mut self, id: ChannelId, signal: russh::Sig, _: &mut Server) -> Result<(), Self::Error> {
        let character: &[u8] = match signal {
            russh::Sig::INT => &[3],
            russh::Sig::QUIT => &[28],
            _ => return Ok(()),
        };
        if let Some(State::Running { sizes: Some(_), .. }) = self.channels.get(&id) {
            let _ = self.hall.inlet(id).push(character).await;
        }
        Ok(())
    }

    async fn tcpip_forward(
        &mut self,
        address: &str,
        port: &mut u32,
        server: &mut Server,
    ) -> Result<bool, Self::Error> {
        self.ports.retain(|_, stop| !stop.is_cancelled());
        if !self.rights.forwarding || self.ports.len() >= PORTS {
            return Ok(false);
        }
        let stop = self.hall.stop.child_token();
        let opened =
            Remote::port(Arc::clone(&self.hall), server.handle(), (address, *port), stop.clone()).await;
        match opened {
            Ok(opened) => {
                *port = opened;
                self.ports.insert((address.to_owned(), opened), stop);
                Ok(true)
            }
            Err(why) => {
                tracing::info!(why, "a port cannot be opened in a Pod");
                Ok(false)
            }
        }
    }

    async fn cancel_tcpip_forward(
        &mut self,
        address: &str,
        port: u32,
        _: &mut Server,
    ) -> Result<bool, Self::Error> {
        let stop = self.ports.remove(&(address.to_owned(), port));
        Ok(stop.inspect(CancellationToken::cancel).is_some())
    }
}

impl Connection {
    /// Ends what a channel is for.
    fn end(&mut self, id: ChannelId) {
        if let Some(State::Running { stop, .. } | State::Forward { stop }) = self.channels.remove(&id) {
            stop.cancel();
        }
        self.hall.forget(id);
    }
}
