//! The portal: what its handlers share, and what it can be told.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use jiff::SignedDuration;
use kube::Client;
use maar_controller::clock::SharedClock;
use maar_gateway::ports::Apps;
use maar_issuer::Issuer;
use maar_jobs::PodKinds;
use maar_records::{Keep, Records};

use crate::{
    account::Turns,
    answers::Answers,
    cards::{CardSource, Cards, MetricNames},
    cluster::Clients,
    identity::{Entropy, Network, PasswordCost, Passwords, Providers, Rate, Rates},
    issuer::IssuerSettings,
    kubeconfig::KubeconfigSettings,
    live::Live,
    metrics::PortalMetrics,
    namespace::{Namespaces, SpecialLimits, UserLimits},
    node::{CardKinds, Overview},
    profile::Profiles,
    ssh::Ssh,
    terminal::{Seats, TerminalSettings},
};

/// What the portal can be told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where browsers find it, such as `https://gpu.example`; cookies are only sent by https if it is that.
    pub origins: Vec<String>,
    /// The most that one user may have.
    pub limits: UserLimits,
    /// What differs for some users and accounts.
    pub special_limits: SpecialLimits,
    /// How long a session lasts at most.
    pub session_life: SignedDuration,
    /// How long a session lasts that nobody uses.
    pub session_idle: SignedDuration,
    /// How long a workspace can be protected from clean-up, counted from now.
    pub longest_protection: SignedDuration,
    /// How much work a password costs.
    pub password_cost: PasswordCost,
    /// Hide from users who is on a card, unless they may see the work.
    pub hide_names: bool,
    /// Requests per second of one user, on average.
    pub requests_per_second: u32,
    /// How often it is looked whether who has a stream or a terminal open may still have it.
    pub look_again: Duration,
    /// How often the portal looks after what was left behind, and counts what it has.
    pub look_after: Duration,
    /// For how long the records are kept; what is older goes once a day.
    pub keep: Keep,
    /// What some users and accounts may beside the ordinary.
    pub profiles: Profiles,
    /// Images that are recommended, each with what it is called.
    pub images: Vec<(String, String)>,
    /// Terminals.
    pub terminals: TerminalSettings,
    /// Where apps are found; nowhere if it is not said.
    pub apps: Option<Apps>,
    /// Where the use of cards is known from.
    pub cards: CardSource,
    /// What exporters of cards call their metrics.
    pub card_metrics: MetricNames,
    /// Resources that count cards, beside those of makers that are known.
    pub card_resources: Vec<String>,
    /// Between two looks at the cards.
    pub cards_every: Duration,
    /// Which namespaces are the system's, and which are for jobs.
    pub pod_kinds: PodKinds,
    /// Who else says who somebody is.
    pub providers: Providers,
    /// Proxies before the portal that are believed when they say from where they got a request.
    pub trusted_proxies: Vec<Network>,
    /// Everybody may sign in as anybody. Only where nobody else can reach the portal; see [`crate::role()`].
    pub development: bool,
    /// The OpenID provider; none if other tools do not sign in here.
    pub issuer: Option<IssuerSettings>,
    /// Kubeconfigs; none if nobody gets one.
    pub kubeconfig: Option<KubeconfigSettings>,
}

impl Settings {
    /// The usual settings, for a portal at these addresses.
    pub fn at(origins: Vec<String>) -> Self {
        Self {
            origins,
            limits: UserLimits::default(),
            special_limits: SpecialLimits::default(),
            session_life: SignedDuration::from_hours(7 * 24),
            session_idle: SignedDuration::from_hours(24),
            longest_protection: SignedDuration::from_hours(14 * 24),
            password_cost: PasswordCost::default(),
            hide_names: false,
            requests_per_second: 50,
            look_again: Duration::from_secs(15),
            look_after: Duration::from_secs(15),
            keep: Keep::default(),
            profiles: Profiles::default(),
            images: Vec::new(),
            terminals: TerminalSettings::default(),
            apps: None,
            cards: CardSource::default(),
            card_metrics: MetricNames::default(),
            card_resources: Vec::new(),
            cards_every: Duration::from_secs(30),
            pod_kinds: PodKinds::default(),
            providers: Providers::default(),
            trusted_proxies: Vec::new(),
            development: false,
            issuer: None,
            kubeconfig: None,
        }
    }

    /// Whether cookies are only for https.
    pub(crate) fn secure(&self) -> bool {
        self.origins.first().is_some_and(|origin| origin.starts_with("https://"))
    }
}

/// Why the portal cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum PortalError {
    /// The records do not answer.
    #[error("use the records of the portal")]
    Records(#[source] maar_records::Error),
    /// The first administrator cannot be made.
    #[error("make the first administrator: {0}")]
    FirstAdmin(String),
    /// Passwords cannot be worked with.
    #[error("prepare for passwords: {0}")]
    Passwords(String),
    /// SSH cannot be served.
    #[error("prepare for SSH: {0}")]
    Ssh(String),
}

/// What handlers share.
pub struct Portal {
    pub(crate) settings: Settings,
    pub(crate) client: Client,
    /// A client that hands a refusal on instead of trying again.
    pub(crate) once: Client,
    pub(crate) records: Records,
    pub(crate) clock: SharedClock,
    pub(crate) entropy: Entropy,
    pub(crate) live: Live,
    pub(crate) overview: Overview,
    pub(crate) workspace_lists: Answers<u64>,
    pub(crate) job_lists: Answers<u64>,
    pub(crate) cards: Cards,
    pub(crate) metrics: PortalMetrics,
    pub(crate) namespaces: Namespaces,
    /// Held while somebody looks whether there is room for one more workspace.
    pub(crate) rooms: Turns,
    pub(crate) passwords: Passwords,
    pub(crate) rates: Rates,
    pub(crate) terminals: Seats,
    pub(crate) issuer: Option<Issuer>,
    /// Set where SSH is served.
    pub(crate) ssh: OnceLock<Ssh>,
    pub(crate) ssh_seats: Seats,
    pub(crate) forwards: Seats,
}

impl fmt::Debug for Portal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Portal").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Portal {
    /// A portal for the cluster of `clients`; it shows nothing until its role runs.
    pub fn new(
        settings: Settings,
        clients: impl Into<Clients>,
        records: Records,
        clock: SharedClock,
        entropy: Entropy,
    ) -> Result<Arc<Self>, PortalError> {
        let passwords = Passwords::new(settings.password_cost, entropy.clone())
            .map_err(|error| PortalError::Passwords(error.to_string()))?;
        let Clients { client, once } = clients.into();
        let live = Live::default();
        let issuer = crate::issuer::provider(&settings, &records, &live, (&clock, &entropy));
        let each = Duration::from_secs(1) / settings.requests_per_second.max(1);
        Ok(Arc::new(Self {
            namespaces: Namespaces::new(
                client.clone(),
                (settings.limits.clone(), settings.special_limits.clone()),
                settings.profiles.clone(),
            ),
            rates: Rates::new(Rate { burst: settings.requests_per_second.saturating_mul(4), each }),
            rooms: Turns::default(),
            live,
            issuer,
            overview: Overview::new(CardKinds::new(&settings.card_resources)),
            workspace_lists: Answers::default(),
            job_lists: Answers::default(),
            terminals: Seats::default(),
            ssh: OnceLock::new(),
            ssh_seats: Seats::default(),
            forwards: Seats::default(),
            cards: Cards::default(),
            metrics: PortalMetrics::default(),
            settings,
            client,
            once,
            records,
            clock,
            entropy,
            passwords,
        }))
    }

    /// Waits until the role has seen the whole cluster once.
    pub async fn ready(&self) {
        self.live.ready().await;
    }

    pub(crate) fn request_id(&self) -> String {
        let bytes: [u8; 8] = self.entropy.bytes().unwrap_or_default();
        crate::identity::hex(&bytes)
    }
}
