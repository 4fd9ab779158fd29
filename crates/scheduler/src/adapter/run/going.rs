//! Those who have to go: told, evicted, or spared after all.

use std::time::Duration;

use jiff::SignedDuration;
use maar_api::{names, v1alpha1::reasons};

use super::Scheduler;
use crate::{
    adapter::{
        dispute::{Contender, settle},
        evict::{self, Evict, Evicted, StillNeeded},
    },
    core::Reason,
    metrics::ResultLabel,
    model::{GroupId, Millis, PodId},
};

/// Notices that ended longer ago than this are given anew.
const STALE: SignedDuration = SignedDuration::from_mins(1);
/// Disputes looked at at a time.
const DISPUTES: usize = 8;

impl Scheduler {
    /// Lets a victim know, and then go.
    pub(super) fn evict(&mut self, id: PodId, claimant: GroupId, reason: Reason, grace: Millis) {
        let Some(state) = self.core.ledger().pod(id) else { return self.core.evict_failed(id) };
        let notice = Duration::from_millis(u64::try_from(grace).unwrap_or(0));
        let now = self.context.environment.clock.now();
        let latest = now.checked_add(notice).unwrap_or(now);
        // Anybody can write on a Pod: a notice that ends later than a new one would is none.
        let told = self.world.notice(&state.pod.uid);
        let told = told.filter(|at| *at <= latest && now.duration_since(*at) < STALE);
        let at = told.unwrap_or(latest);
        let evict = Evict {
            id,
            namespace: state.pod.namespace.clone(),
            name: state.pod.name.clone(),
            uid: state.pod.uid.clone(),
            claimant: Some(claimant),
            reason: evict::word(reason),
            at,
            notice: at.duration_since(now).try_into().unwrap_or_default(),
            told: told.is_some(),
            read: [names::LABEL_JOB, names::LABEL_WORKSPACE]
                .iter()
                .any(|made| state.pod.labels.contains_key(*made)),
        };
        self.start_eviction(evict);
    }

    fn start_eviction(&mut self, evict: Evict) {
        if !evict.told {
            self.reporter.stops(&self.core, &self.world, &evict);
        }
        self.asked.insert(evict.id);
        let means = self.means.clone();
        self.evicting.spawn(async move { (evict.id, evict::evict(&means, &evict).await) });
    }

    /// Looks for what others have left behind: notices that nobody stands by any more, and cards held twice.
    pub(super) fn look_after(&mut self) {
        let ledger = self.core.ledger();
        let running = !self.evicting.is_empty();
        let stays = |id: &PodId| ledger.pod(*id).is_some_and(|state| !state.pod.terminating);
        self.asked.retain(|id| running || stays(id));
        if !self.world.is_complete() {
            return;
        }
        self.look_for_disputes();
        // Who is to go is known when a pass had room for all it wanted.
        if !self.more {
            self.spare();
        }
    }

    /// Takes notices back from Pods that nobody wants to go.
    fn spare(&mut self) {
        let now = self.context.environment.clock.now();
        let ledger = self.core.ledger();
        let told: Vec<PodId> = self.world.noticed().filter_map(|uid| ledger.find_pod(uid)).collect();
        for id in told {
            if self.asked.contains(&id) || self.core.is_awaited(id) {
                continue;
            }
            let Some(pod) = self.core.ledger().pod(id).map(|state| &state.pod) else { continue };
            let evict = Evict {
                id,
                namespace: pod.namespace.clone(),
                name: pod.name.clone(),
                uid: pod.uid.clone(),
                claimant: None,
                reason: reasons::CARD_TAKEN,
                at: now,
                notice: Duration::ZERO,
                told: true,
                read: false,
            };
            self.asked.insert(id);
            let means = self.means.clone();
            self.evicting.spawn(async move { (id, evict::withdraw(&means, &evict).await) });
        }
    }

    /// Has it looked at who has to give up a card that several Pods hold.
    fn look_for_disputes(&mut self) {
        for contenders in self.world.disputes(&self.core) {
            if self.settling.len() < DISPUTES && !contenders.iter().any(|one| self.asked.contains(&one.id)) {
                self.settling.spawn(settle(self.context.client.clone(), contenders));
            }
        }
    }

    /// Those who were bound later than the card could bear have to go.
    pub(super) fn settled(&mut self, losers: Vec<Contender>) {
        let now = self.context.environment.clock.now();
        for loser in losers {
            if self.asked.contains(&loser.id) || !self.world.is_disputed(&self.core, loser.id) {
                continue;
            }
            tracing::error!(
                pod.namespace = &*loser.namespace,
                pod.name = &*loser.name,
                "holds a card that another Pod was given before it"
            );
            self.metrics.conflicts.inc();
            let Contender { id, namespace, name, uid, .. } = loser;
            self.start_eviction(Evict {
                id,
                namespace,
                name,
                uid,
                claimant: None,
                reason: reasons::CARD_TAKEN,
                at: now,
                notice: Duration::ZERO,
                told: false,
                read: false,
            });
        }
        self.reporter.tell_of_stops();
    }

    pub(super) fn evicted(&mut self, (pod, evicted): (PodId, Evicted)) {
        self.metrics.evictions.get_or_create(&ResultLabel { result: evicted.word() }).inc();
        if matches!(evicted, Evicted::Refused | Evicted::Withdrawn) {
            self.asked.remove(&pod);
            self.core.evict_failed(pod);
            // The claimant looks for another place. One whose victim goes is bound when that is seen to have gone.
            self.more = true;
        }
    }

    /// Whether a victim still has to go: its claimant waits, and it has not gone by itself.
    pub(super) fn answer(&self, question: StillNeeded) {
        let needed = if question.claimed {
            self.core.is_awaited(question.pod)
        } else {
            self.world.is_disputed(&self.core, question.pod)
        };
        let _ = question.reply.send(needed);
    }
}
