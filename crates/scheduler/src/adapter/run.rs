//! The one task that decides.
//!
//! It owns the core and the world, so there are no locks. It sleeps until something happened, takes in everything that
//! happened, thinks once, and sends what was decided on its way; binds and evictions run beside it and report back
//! here. How many binds may be under way is bounded, and no more is decided than can soon be sent: the longer a
//! decision waits, the older the view it was made on.

mod going;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    convert::Infallible,
    sync::Arc,
    time::Duration,
};

use maar_controller::{Context, backoff::Backoff};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, sleep_until, timeout},
};

use super::{
    bind::{Bind, Binder, Bound},
    dispute::Contender,
    evict::{Evicted, Means, StillNeeded},
    explain::{Ask, Asks, explanation},
    feed::{Change, Feeds},
    report::Reporter,
    settings::Settings,
    translate::as_annotations,
    world::World,
};
use crate::{
    core::{Action, Budget, Core},
    metrics::{ResultLabel, SchedulerMetrics},
    model::{Millis, PodId, PodPhase, Resources},
};

/// Batches of changes on their way; a few thousand Pods.
const CHANGES: usize = 32;
/// Batches taken in before the next pass.
const TAKEN: usize = 16;
/// How often people and scrapers are told how things stand.
const REPORT: Duration = Duration::from_secs(2);
/// However quiet it is, the core's clock is looked at this often.
const LOOK: Duration = Duration::from_secs(1);

/// How long binds may take to end when the term is over.
const END: Duration = Duration::from_secs(2);

/// Runs until the term is over.
pub(crate) async fn run(
    context: Context,
    settings: Settings,
    metrics: SchedulerMetrics,
    asks: Asks,
) -> Result<(), Infallible> {
    let (sender, changes) = mpsc::channel(CHANGES);
    let feeds = Feeds::new(context.client.clone(), context.environment.clone(), sender);
    let mut watching = JoinSet::new();
    for task in feeds.tasks() {
        watching.spawn(task);
    }
    drop(feeds);
    let mut asks = asks.lock_owned().await;
    Box::pin(Scheduler::new(context, settings, metrics).run(changes, &mut asks)).await;
    Ok(())
}

struct Scheduler {
    context: Context,
    settings: Settings,
    metrics: SchedulerMetrics,
    core: Core,
    world: World,
    reporter: Reporter,
    /// Decided and not sent yet.
    waiting: VecDeque<Bind>,
    binding: JoinSet<(Bind, Bound, Instant)>,
    /// Binds that wait for something else than the server: a volume, or certainty about an attempt without an answer.
    /// They keep their places, and nobody waits behind them.
    slow: JoinSet<(Bind, Bound, Instant)>,
    binder: Binder,
    evicting: JoinSet<(PodId, Evicted)>,
    /// Pods that are being told, evicted or spared, and those that are evicted and not seen to go yet.
    asked: BTreeSet<PodId>,
    /// Looks at who has to give up a card that two Pods hold.
    settling: JoinSet<Vec<Contender>>,
    means: Means,
    questions: mpsc::Receiver<StillNeeded>,
    /// Pods set aside, by when they may be tried again, and how often each was.
    aside: BTreeSet<(Instant, PodId)>,
    refusals: BTreeMap<PodId, u32>,
    /// The last pass had no room for all it could have done.
    more: bool,
}

impl Scheduler {
    fn new(context: Context, settings: Settings, metrics: SchedulerMetrics) -> Self {
        let mut resources = Resources::default();
        let (cards, kinds) = settings.kinds(&mut resources);
        let (needed, questions) = mpsc::channel(64);
        let means = Means {
            client: context.client.clone(),
            dice: context.environment.dice.clone(),
            needed,
            seats: Arc::new(Semaphore::new(settings.binds)),
            desks: Arc::new(Semaphore::new(settings.binds.div_ceil(2))),
        };
        let mut core = Core::new(settings.core.clone(), kinds, resources);
        World::default_account(&settings, &mut core);
        Self {
            core,
            world: World::new(settings.clone(), cards),
            reporter: Reporter::new(&context, metrics.clone()),
            waiting: VecDeque::new(),
            binding: JoinSet::new(),
            slow: JoinSet::new(),
            binder: Binder {
                client: context.client.clone(),
                leadership: context.leadership.clone(),
                dice: context.environment.dice.clone(),
            },
            evicting: JoinSet::new(),
            asked: BTreeSet::new(),
            settling: JoinSet::new(),
            means,
            questions,
            aside: BTreeSet::new(),
            refusals: BTreeMap::new(),
            more: false,
            context,
            settings,
            metrics,
        }
    }

    async fn run(mut self, mut changes: mpsc::Receiver<Vec<Change>>, asks: &mut mpsc::Receiver<Ask>) {
        let mut report = interval(REPORT);
        report.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut batches = Vec::new();
        let mut look = Instant::now() + LOOK;
        loop {
            let due = self.aside.first().map_or(look, |(at, _)| *at).min(look);
            tokio::select! {
                biased;
                () = self.context.shutdown.cancelled() => break,
                Some(Ok(ended)) = self.binding.join_next(), if !self.binding.is_empty() => self.bound(ended),
                Some(Ok(ended)) = self.slow.join_next(), if !self.slow.is_empty() => self.bound(ended),
                Some(Ok(ended)) = self.evicting.join_next(), if !self.evicting.is_empty() => self.evicted(ended),
                Some(Ok(losers)) = self.settling.join_next(), if !self.settling.is_empty() => self.settled(losers),
                Some(question) = self.questions.recv() => self.answer(question),
                received = changes.recv_many(&mut batches, TAKEN) => {
                    if received == 0 {
                        break;
                    }
                }
                Some(ask) = asks.recv() => self.explain(ask),
                _ = report.tick() => {
                    let now = self.now();
                    self.reporter.report(&mut self.core, &self.world, now);
                    self.look_after();
                }
                () = sleep_until(due) => {}
            }
            self.catch_up();
            for change in batches.drain(..).flatten() {
                self.world.apply(&mut self.core, change);
            }
            let now = Instant::now();
            self.release(now);
            if now >= look {
                look = now + LOOK;
                self.more |= self.core.next_alarm().is_some_and(|alarm| alarm <= self.now());
            }
            self.think();
            self.send();
        }
        self.end().await;
    }

    /// Takes in all else that has ended and all that is asked: thousands may, and one pass does for all of them.
    fn catch_up(&mut self) {
        while let Some(Ok(ended)) = self.binding.try_join_next() {
            self.bound(ended);
        }
        while let Some(Ok(ended)) = self.evicting.try_join_next() {
            self.evicted(ended);
        }
        while let Ok(question) = self.questions.try_recv() {
            self.answer(question);
        }
    }

    /// Lets binds under way come to their end, for a while. What becomes of the rest is seen by whoever leads next.
    async fn end(mut self) {
        self.reporter.tell_of_all_stops();
        self.evicting.abort_all();
        self.settling.abort_all();
        self.slow.abort_all();
        let ending = async {
            while let Some(ended) = self.binding.join_next().await {
                if let Ok((_, bound, _)) = ended {
                    self.metrics.binds.get_or_create(&ResultLabel { result: bound.word() }).inc();
                }
            }
        };
        let _ = timeout(END, ending).await;
    }

    fn now(&self) -> Millis {
        self.context.environment.clock.now().as_millisecond()
    }

    /// One pass, if there is a reason for one and room for what it decides.
    fn think(&mut self) {
        let room = self.settings.pass.saturating_sub(self.waiting.len() + self.binding.len());
        // A little room is worth no pass: it would only look at the same Pods again.
        if !self.world.is_complete() || room < self.settings.pass.div_ceil(4) {
            return;
        }
        if !(self.world.take_changed() | std::mem::take(&mut self.more)) {
            return;
        }
        let start = Instant::now();
        let actions = self.core.pass(self.now(), Budget { actions: room });
        self.metrics.pass_time.observe(start.elapsed().as_secs_f64());
        self.more = actions.len() >= room;
        for action in actions {
            self.act(&action);
        }
        self.reporter.tell_of_stops();
    }

    fn act(&mut self, action: &Action) {
        match *action {
            Action::Bind { pod, .. } => match self.describe(pod) {
                Some(bind) => self.waiting.push_back(bind),
                None => self.core.bind_failed(pod),
            },
            Action::Evict { pod, claimant, reason, grace } => self.evict(pod, claimant, reason, grace),
            Action::Stalled { group, placed, minimum } => {
                self.reporter.stalled(&self.core, &self.world, group, placed, minimum);
            }
        }
    }

    fn describe(&self, id: PodId) -> Option<Bind> {
        let ledger = self.core.ledger();
        let pod = &ledger.pod(id)?.pod;
        let PodPhase::Placed { node, cards, .. } = &pod.phase else { return None };
        Some(Bind {
            id,
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
            uid: pod.uid.clone(),
            node: ledger.node(*node)?.node.name.clone(),
            cards: as_annotations(self.world.cards(), cards),
            claims: self.world.claims_to_choose(&self.core, id),
            created: pod.created,
        })
    }

    /// Sends as many binds as may be under way.
    fn send(&mut self) {
        while self.binding.len() < self.settings.binds
            && let Some(bind) = self.waiting.pop_front()
        {
            let binder = self.binder.clone();
            let under_way = if bind.claims.is_empty() { &mut self.binding } else { &mut self.slow };
            under_way.spawn(async move {
                let start = Instant::now();
                let bound = binder.bind(&bind).await;
                (bind, bound, start)
            });
        }
        self.metrics.binding.set(i64::try_from(self.binding.len()).unwrap_or(i64::MAX));
    }

    fn bound(&mut self, (bind, bound, start): (Bind, Bound, Instant)) {
        self.metrics.binds.get_or_create(&ResultLabel { result: bound.word() }).inc();
        self.metrics.bind_time.observe(start.elapsed().as_secs_f64());
        match bound {
            Bound::Done => {
                self.refusals.remove(&bind.id);
                let waited = Duration::from_millis(u64::try_from(self.now() - bind.created).unwrap_or(0));
                self.metrics.start_time.observe(waited.as_secs_f64());
            }
            Bound::Stopped => {}
            Bound::Unknown(why, open) => {
                tracing::warn!(
                    pod.namespace = &*bind.namespace,
                    pod.name = &*bind.name,
                    node = bind.node,
                    "bind: it is not known what became of it: {why}"
                );
                let binder = self.binder.clone();
                self.slow.spawn(async move {
                    let bound = binder.find_out(&bind, why, open).await;
                    (bind, bound, start)
                });
            }
            Bound::Refused(why) => self.refused(&bind, why),
        }
    }

    /// Sets a Pod aside whose bind did not happen.
    fn refused(&mut self, bind: &Bind, why: String) {
        tracing::info!(
            pod.namespace = &*bind.namespace,
            pod.name = &*bind.name,
            node = bind.node,
            "bind: {why}"
        );
        self.core.bind_failed(bind.id);
        self.world.hold(&mut self.core, bind.id, why);
        // Its place may do for another.
        self.more = true;
        let refusals = self.refusals.entry(bind.id).or_default();
        *refusals += 1;
        let delay = Backoff::CONNECTION.delay(*refusals, &self.context.environment.dice);
        self.aside.insert((Instant::now() + delay, bind.id));
    }

    fn release(&mut self, now: Instant) {
        while let Some((at, id)) = self.aside.first().copied()
            && at <= now
        {
            self.aside.pop_first();
            if self.core.ledger().pod(id).is_none() {
                self.refusals.remove(&id);
            }
            self.world.release(&mut self.core, id);
        }
    }

    fn explain(&mut self, ask: Ask) {
        let now = self.now();
        let answer = explanation(&mut self.core, &self.world, &ask.subject, now);
        let _ = ask.reply.send(answer);
    }
}
