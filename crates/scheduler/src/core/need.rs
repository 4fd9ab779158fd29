//! What a group needs to start, or to go on growing.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::{
    ledger::{GroupState, Ledger},
    model::{Amounts, Millis, PodId, PodVolumes, ShapeId},
};

/// Pods to be placed together, by shape.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Need {
    /// The hardest to place first.
    pub(crate) parts: Vec<(ShapeId, Vec<PodId>)>,
    /// Some of the gang have places already, but not enough.
    pub(crate) begun: bool,
}

impl Need {
    /// The Pods, in the order in which to place them.
    pub(crate) fn pods(&self) -> impl Iterator<Item = PodId> + '_ {
        self.parts.iter().flat_map(|(_, pods)| pods.iter().copied())
    }

    /// How many.
    pub(crate) fn count(&self) -> usize {
        self.parts.iter().map(|(_, pods)| pods.len()).sum()
    }

    /// What they take together.
    pub(crate) fn amounts(&self, ledger: &Ledger) -> Amounts {
        let mut all = Amounts::default();
        for (_, pods) in &self.parts {
            let Some(state) = pods.first().and_then(|pod| ledger.pod(*pod)) else { continue };
            let each = ledger.demand(&state.pod.shape);
            let count = i64::try_from(pods.len()).unwrap_or(i64::MAX);
            for (resource, amount) in each.iter() {
                all.set(resource, all.get(resource).saturating_add(amount.saturating_mul(count)));
            }
        }
        all
    }
}

/// Why a group is not in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// All its Pods have places, or it has none.
    Nothing,
    /// It waits on purpose.
    Suspended,
    /// The object that says how many start together has not been seen.
    Unknown,
    /// Not enough of its Pods exist and may be placed.
    Pods {
        /// Pods that are there.
        have: u32,
        /// Pods it needs at least.
        need: u32,
        /// The task they lack in, by its number among the minimums; none where it is all Pods together.
        task: Option<usize>,
    },
}

/// What a group needs now.
pub(crate) fn need(ledger: &Ledger, state: &GroupState) -> Result<Need, Wait> {
    if state.pending.is_empty() && state.gated.is_empty() {
        return Err(Wait::Nothing);
    }
    if state.group.unknown {
        return Err(Wait::Unknown);
    }
    if state.group.suspended {
        return Err(Wait::Suspended);
    }
    let there: u32 = state.tasks.values().map(|counts| counts.placed + counts.ended).sum();
    let missing = missing_by_task(state);
    let short = state.group.minimum.saturating_sub(there);
    if short == 0 && missing.values().all(|count| *count == 0) {
        // It has started: the rest may follow one by one.
        let next = state.pending.first().ok_or(Wait::Pods { have: there, need: there + 1, task: None })?;
        let shape = ledger.pod(*next).ok_or(Wait::Nothing)?.shape;
        return Ok(Need { parts: vec![(shape, vec![*next])], begun: false });
    }
    if let Some(lacks) = task_that_lacks(state) {
        return Err(lacks);
    }
    let pending = u32::try_from(state.pending.len()).unwrap_or(u32::MAX);
    let needed = short.max(missing.values().fold(0, |sum, count| sum.saturating_add(*count)));
    let lacks =
        Wait::Pods { have: there.saturating_add(pending), need: there.saturating_add(needed), task: None };
    if pending < needed {
        // Known without looking at each: those of a large gang come one after another.
        return Err(lacks);
    }
    let mut candidates: Vec<PodId> = state.pending.iter().copied().collect();
    if pending > needed {
        // The first of a task is the one that others meet at, so it is not left out.
        let name = |id: &PodId| ledger.pod(*id).map(|state| Arc::clone(&state.pod.name));
        candidates.sort_by_cached_key(|id| name(id).map(|name| (name.len(), name)));
    }
    let pods = pick(ledger, candidates, missing, short).ok_or(lacks)?;
    Ok(Need { parts: by_shape(ledger, &pods), begun: !state.placed.is_empty() })
}

/// The first task of which there are not enough Pods that have places, have ended or may be placed.
fn task_that_lacks(state: &GroupState) -> Option<Wait> {
    state.group.task_minimums.iter().enumerate().find_map(|(number, task)| {
        let counts = state.tasks.get(task.task.as_str()).copied().unwrap_or_default();
        let have = counts.placed + counts.ended + counts.pending;
        let lacks = Wait::Pods { have, need: task.minimum, task: Some(number) };
        (have < task.minimum).then_some(lacks)
    })
}

/// How many Pods each task is short of its minimum.
fn missing_by_task(state: &GroupState) -> BTreeMap<&str, u32> {
    let missing = state.group.task_minimums.iter().map(|task| {
        let counts = state.tasks.get(task.task.as_str()).copied().unwrap_or_default();
        (task.task.as_str(), task.minimum.saturating_sub(counts.placed + counts.ended))
    });
    missing.collect()
}

/// The Pods to start with: what each task must have, then any others up to the minimum of the group.
fn pick(
    ledger: &Ledger,
    candidates: Vec<PodId>,
    mut missing: BTreeMap<&str, u32>,
    short: u32,
) -> Option<Vec<PodId>> {
    let mut chosen = Vec::new();
    let mut others = Vec::new();
    for id in candidates {
        let task: &Arc<str> = &ledger.pod(id)?.pod.task;
        match missing.get_mut(&**task).filter(|count| **count > 0) {
            Some(count) => {
                *count -= 1;
                chosen.push(id);
            }
            None => others.push(id),
        }
    }
    if missing.values().any(|count| *count > 0) {
        return None;
    }
    let more = usize::try_from(short).unwrap_or(usize::MAX).saturating_sub(chosen.len());
    if others.len() < more {
        return None;
    }
    chosen.extend(others.into_iter().take(more));
    Some(chosen)
}

fn by_shape(ledger: &Ledger, pods: &[PodId]) -> Vec<(ShapeId, Vec<PodId>)> {
    let mut parts: BTreeMap<ShapeId, Vec<PodId>> = BTreeMap::new();
    for id in pods {
        if let Some(state) = ledger.pod(*id) {
            parts.entry(state.shape).or_default().push(*id);
        }
    }
    let mut parts: Vec<_> = parts.into_iter().collect();
    parts.sort_by_cached_key(|(shape, pods)| {
        let state = pods.first().and_then(|pod| ledger.pod(*pod));
        let size = state.map(|state| {
            let shape = &state.pod.shape;
            (shape.cards.count(), shape.requests.iter().map(|(_, amount)| amount).max().unwrap_or(0))
        });
        (std::cmp::Reverse(size), *shape)
    });
    parts
}

/// What makes two needs the same question.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ClassKey {
    parts: Vec<(ShapeId, usize)>,
    /// Of those that use some. A limit of volumes, or a claim in use, refuses one and not the other.
    volumes: Vec<Arc<PodVolumes>>,
    max_run: Option<Millis>,
    /// Who has to be over sooner may have room that is not for others.
    deadline: Option<Millis>,
    lent: bool,
    topology_key: Option<String>,
}

/// Numbers for needs, given back when nobody has them any more.
#[derive(Debug, Clone, Default)]
pub(crate) struct Classes {
    numbers: HashMap<ClassKey, (u32, u32)>,
    keys: HashMap<u32, ClassKey>,
    next: u32,
}

impl Classes {
    /// The number of a need; to be given to [`Self::release`] in the end.
    pub(crate) fn hold(&mut self, ledger: &Ledger, state: &GroupState, need: &Need) -> u32 {
        let volumes = need.pods().filter_map(|pod| Some(&ledger.pod(pod)?.pod.volumes));
        let key = ClassKey {
            parts: need.parts.iter().map(|(shape, pods)| (*shape, pods.len())).collect(),
            volumes: volumes.filter(|volumes| !volumes.is_empty()).cloned().collect(),
            max_run: state.group.max_run,
            deadline: state.group.deadline,
            lent: state.group.lent_nodes,
            topology_key: state.group.topology_key.clone(),
        };
        if let Some((number, holders)) = self.numbers.get_mut(&key) {
            *holders += 1;
            return *number;
        }
        self.next += 1;
        self.numbers.insert(key.clone(), (self.next, 1));
        self.keys.insert(self.next, key);
        self.next
    }

    /// One holder less.
    pub(crate) fn release(&mut self, number: u32) {
        let Some(key) = self.keys.get(&number) else { return };
        let Some((_, holders)) = self.numbers.get_mut(key) else { return };
        *holders -= 1;
        if *holders == 0 {
            self.numbers.remove(key);
            self.keys.remove(&number);
        }
    }
}
