//! Pods: from what was seen of one to its place in the ledger.

use std::sync::Arc;

use jiff::Timestamp;
use kube::runtime::watcher::Event;

use super::{GONE, World};
use crate::{
    adapter::{
        bind::{ClaimChoice, Promise},
        feed::Kind,
        translate::{self, Membership, Template, Ties, Unfit, Wanted, cards_taken, membership},
        wire::{self, Lean},
    },
    core::Core,
    ledger::PodState,
    model::{
        Amounts, CardRequest, CardShare, CardsTaken, Pod, PodId, PodPhase, PodVolumes, ResourceId, Shape,
    },
};

/// What is known of a Pod beside the ledger.
#[derive(Debug)]
pub(super) struct Known {
    /// The version last seen; an older view is not news.
    version: u64,
    /// The group it was counted in; none for Pods of other schedulers.
    group: Option<Arc<str>>,
    /// Why it waits, where that is not the scheduler's doing.
    pub(super) problem: Option<Arc<str>>,
    /// It cannot be understood.
    pub(super) refused: bool,
    /// It says itself which cards it has.
    pub(super) given: bool,
    /// Its volume claims, as `namespace/name`.
    pub(super) claims: Vec<Arc<str>>,
    /// A Pod that waits and has volume claims, names a group of a kind that nobody serves, or came before its namespace: to
    /// be looked at again when that changes.
    pub(super) waiting: Option<Box<wire::Pod>>,
    /// A Pod, waiting or placed, that has terms about namespaces by their labels: to be looked at again when these change.
    pub(super) by_namespace: Option<Box<wire::Pod>>,
    /// Namespace and name of a Pod that is not in the ledger.
    name: Option<Box<(String, String)>>,
}

/// A Pod and why it waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) why: Arc<str>,
}

impl World {
    pub(super) fn pod_event(&mut self, core: &mut Core, event: Event<Lean<wire::Pod>>) {
        match event {
            Event::Init => self.lists.begin(Kind::Pods),
            Event::InitApply(pod) => {
                let meta = pod.object.as_ref().map_or_else(|malformed| &malformed.meta, wire::Wire::meta);
                self.lists.saw(Kind::Pods, meta.uid.clone());
                self.pod_or_malformed(core, pod);
            }
            Event::Apply(pod) => self.pod_or_malformed(core, pod),
            Event::Delete(pod) => {
                let meta = pod.object.as_ref().map_or_else(|malformed| &malformed.meta, wire::Wire::meta);
                self.pod_gone(core, &meta.uid);
            }
            Event::InitDone => {
                let seen = self.lists.take(Kind::Pods);
                let gone: Vec<Arc<str>> =
                    self.pods.keys().filter(|uid| !seen.contains(&***uid)).cloned().collect();
                for uid in gone {
                    self.pod_gone(core, &uid);
                }
                self.unknown.remove(&Kind::Pods);
                self.changed = true;
            }
        }
    }

    fn pod_or_malformed(&mut self, core: &mut Core, pod: Lean<wire::Pod>) {
        match pod.object {
            Ok(pod) => self.pod(core, pod),
            // Without its spec nobody knows whose it is, so nobody can be told; the watch has counted and logged it.
            Err(malformed) => tracing::debug!(pod.name = malformed.meta.name, "skipped: {}", malformed.why),
        }
    }

    fn pod(&mut self, core: &mut Core, pod: wire::Pod) {
        let version = pod.metadata.version();
        let uid = match self.pods.get_key_value(pod.metadata.uid.as_str()) {
            Some((_, known)) if version != 0 && version <= known.version => return,
            Some((uid, _)) => Arc::clone(uid),
            None if self.gone.0.contains(pod.metadata.uid.as_str()) => return,
            None => Arc::from(pod.metadata.uid.as_str()),
        };
        self.set_pod(core, uid, pod);
    }

    /// Takes a Pod in, as it was seen and as its volumes and its group are now.
    pub(super) fn set_pod(&mut self, core: &mut Core, uid: Arc<str>, mut pod: wire::Pod) {
        let ours = pod.spec.scheduler_name == self.settings.scheduler_name;
        let waits = pod.spec.node_name.is_empty() && !matches!(&*pod.status.phase, "Succeeded" | "Failed");
        if !ours && waits && pod.status.nominated_node_name.is_empty() {
            // Another scheduler's business until it has a node, or is promised one.
            self.changed |= core.ledger().find_pod(&uid).is_some();
            core.remove_pod(&uid);
            return self.note(uid, Known { version: pod.metadata.version(), ..Known::none() });
        }
        let claims = translate::claim_keys(&pod.metadata, &pod.spec.volumes);
        let claims: Vec<Arc<str>> = claims.iter().map(|claim| self.texts.text(claim)).collect();
        // Watches do not wait for each other: a Pod can be seen before the namespace that says whose it is and what it may use.
        let stranger = !self.recorded && !self.namespaces.contains_key(&pod.metadata.namespace);
        let keep = ours && waits && (stranger || !claims.is_empty() || !self.is_served(&membership(&pod)));
        let waiting = keep.then(|| Box::new(pod.clone()));
        let by_namespace = pod.spec.affinity.selects_namespaces().then(|| Box::new(pod.clone()));
        let wanted = self.wanted(&claims, ours && waits);
        let mut known =
            Known { version: pod.metadata.version(), claims, waiting, by_namespace, ..Known::none() };
        let shape = wanted.and_then(|wanted| {
            known.problem = wanted.waits.as_deref().map(Arc::from);
            if keep && stranger && !self.unknown.contains(&Kind::Namespaces) {
                known.problem = Some("its namespace has not been seen yet".into());
            }
            Ok((self.shape(core, &mut pod, wanted.ties)?, wanted.volumes))
        });
        match shape {
            Ok((shape, volumes)) => self.take_in(core, uid, pod, (shape, volumes), known),
            Err(Unfit(why)) if ours && waits => {
                self.pod_left(core, &uid);
                core.remove_pod(&uid);
                known.problem = Some(why.into());
                known.refused = true;
                known.name = Some(Box::new((pod.metadata.namespace, pod.metadata.name)));
                self.note(uid, known);
            }
            // It runs or will, whatever is wrong with it: its place on the node counts at least.
            Err(_) => self.take_in(core, uid, pod, (Arc::new(least()), PodVolumes::default()), known),
        }
    }

    /// What its claims come to for a Pod. Who does not wait for us only uses what they bring.
    fn wanted(&self, claims: &[Arc<str>], waits: bool) -> Result<Wanted, Unfit> {
        let claims = claims.iter().map(|claim| &**claim);
        if waits {
            return self.volumes.wanted(claims);
        }
        Ok(Wanted { volumes: self.volumes.used(claims), ..Wanted::default() })
    }

    /// The shape of a Pod. Takes out of it what nobody else needs.
    fn shape(&mut self, core: &mut Core, pod: &mut wire::Pod, ties: Ties) -> Result<Arc<Shape>, Unfit> {
        let namespace = self.texts.text(&pod.metadata.namespace);
        let spec = pod.spec.take_template();
        let (labels, annotations) = (&pod.metadata.labels, &pod.metadata.annotations);
        let template = Template::new(namespace, spec, labels, annotations, ties, &self.namespaces);
        self.shapes.get(template, &self.cards, core.resources_mut())
    }

    fn take_in(
        &mut self,
        core: &mut Core,
        uid: Arc<str>,
        pod: wire::Pod,
        (shape, volumes): (Arc<Shape>, PodVolumes),
        mut known: Known,
    ) {
        let ours = pod.spec.scheduler_name == self.settings.scheduler_name;
        let before = self.pods.get(&uid).and_then(|known| known.group.clone());
        let mut group = crate::model::GroupId::NONE;
        if ours {
            let mut membership = membership(&pod);
            if !self.is_served(&membership) {
                membership = Membership::Alone;
            }
            let name = membership.group(&pod.metadata);
            let stays = before.as_deref() == Some(&*name);
            if !stays {
                self.pod_left(core, &uid);
            }
            group = self.join(core, &pod, &membership, !stays);
            known.group = before.filter(|_| stays).or_else(|| Some(self.texts.text(&name)));
        }
        let given = self.given(&pod, &shape);
        known.given = given.is_some();
        let phase = self.phase(core, &uid, &pod, given, known.problem.is_some());
        if ours {
            self.note_notice(&uid, &pod.metadata, &phase);
        }
        let nominated = Some(&pod.status.nominated_node_name).filter(|name| !name.is_empty());
        let nominated = nominated.map(|name| core.node_id(name));
        let task = self.texts.text(translate::task(&pod));
        let meta = pod.metadata;
        let pod = Pod {
            namespace: self.texts.text(&meta.namespace),
            created: meta.created(),
            name: meta.name.into(),
            uid: Arc::clone(&uid),
            labels: self.texts.labels(meta.labels),
            shape,
            volumes: Arc::new(volumes),
            group,
            task,
            priority: pod.spec.priority.unwrap_or(0),
            terminating: meta.deletion_timestamp.is_some(),
            ours,
            phase,
            nominated,
        };
        let seen = core.ledger().find_pod(&uid).and_then(|id| core.ledger().pod(id));
        let news = news(seen, &pod);
        let given = known.given && ours;
        self.note(Arc::clone(&uid), known);
        self.changed |= news == News::Some;
        if news != News::None {
            let id = core.upsert_pod(pod);
            if given {
                self.look_for_dispute(core, id);
            }
        }
        if let Some(id) = core.ledger().find_pod(&uid) {
            core.set_told(id, self.notices.contains_key(&uid));
        }
    }

    /// The cards that a bound Pod says it was given, if they are what it asks for: anybody can write on a Pod.
    fn given(&self, pod: &wire::Pod, shape: &Shape) -> Option<CardsTaken> {
        let text = pod.metadata.annotations.get(maar_api::names::ANNOTATION_CARDS)?;
        let cards = cards_taken(&self.cards, text).filter(|_| !pod.spec.node_name.is_empty())?;
        let asked = &shape.cards;
        let amount = match asked {
            CardRequest::Share { share: CardShare::Memory(_), .. } => true,
            _ => asked.milli(None) == Some(cards.milli),
        };
        let fits = asked.kind() == cards.kind && usize::from(asked.count()) == cards.indices.len() && amount;
        fits.then_some(cards)
    }

    fn phase(
        &self,
        core: &mut Core,
        uid: &str,
        pod: &wire::Pod,
        given: Option<CardsTaken>,
        held: bool,
    ) -> PodPhase {
        match &*pod.status.phase {
            "Succeeded" => return PodPhase::Ended,
            "Failed" => return PodPhase::Failed,
            _ => {}
        }
        if !pod.spec.node_name.is_empty() {
            let node = core.node_id(&pod.spec.node_name);
            let known = core.ledger().find_pod(uid).and_then(|id| core.ledger().pod(id));
            if let Some(state) = known
                && let PodPhase::Placed { node: known, cards, since } = &state.pod.phase
                && *known == node
            {
                // What it was seen with first counts; nobody moves to another card by writing so.
                let settled = !state.assumed && cards.kind.is_some();
                let cards = if settled { cards.clone() } else { given.unwrap_or_default() };
                return PodPhase::Placed { node, cards, since: *since };
            }
            let since =
                pod.status.start_time.map_or_else(|| pod.metadata.created(), Timestamp::as_millisecond);
            return PodPhase::Placed { node, cards: given.unwrap_or_default(), since };
        }
        if held || !pod.spec.scheduling_gates.is_empty() || pod.metadata.deletion_timestamp.is_some() {
            return PodPhase::Gated;
        }
        PodPhase::Pending
    }

    fn note(&mut self, uid: Arc<str>, known: Known) {
        for claim in &known.claims {
            self.by_claim.entry(Arc::clone(claim)).or_default().insert(Arc::clone(&uid));
        }
        if let Some(before) = self.pods.insert(Arc::clone(&uid), known) {
            // The claims of a Pod are for good; only one that is no longer looked at gives them up.
            let still = self.pods.get(&uid).map(|known| known.claims.clone()).unwrap_or_default();
            self.forget_claims(&uid, before.claims.iter().filter(|claim| !still.contains(claim)));
        }
    }

    fn forget_claims<'a>(&mut self, uid: &str, claims: impl Iterator<Item = &'a Arc<str>>) {
        for claim in claims {
            if let Some(users) = self.by_claim.get_mut(claim) {
                users.remove(uid);
                if users.is_empty() {
                    self.by_claim.remove(claim);
                }
            }
        }
    }

    /// Takes a Pod out of the group it was counted in.
    fn pod_left(&mut self, core: &mut Core, uid: &str) {
        let group = self.pods.get_mut(uid).and_then(|known| known.group.take());
        if let Some(group) = group {
            self.leave(core, &group);
        }
    }

    pub(super) fn pod_gone(&mut self, core: &mut Core, uid: &str) {
        core.remove_pod(uid);
        self.pod_left(core, uid);
        self.notices.remove(uid);
        let Some((uid, known)) = self.pods.remove_entry(uid) else { return };
        self.forget_claims(&uid, known.claims.iter());
        let (set, order) = &mut self.gone;
        if set.insert(Arc::clone(&uid)) {
            order.push_back(uid);
        }
        if order.len() > GONE
            && let Some(oldest) = order.pop_front()
        {
            set.remove(&oldest);
        }
        self.changed = true;
    }

    /// Classes have changed, a kind of group is served by now, or a namespace is there: Pods that wait and have to do with
    /// such are looked at again.
    pub(super) fn look_again(&mut self, core: &mut Core) {
        self.look_again_at(core, |known| known.waiting.as_deref());
    }

    /// Labels of namespaces have changed: Pods with terms about such labels are looked at again, also those that run, whose
    /// terms are about others.
    pub(super) fn look_again_by_namespace(&mut self, core: &mut Core) {
        self.look_again_at(core, |known| known.by_namespace.as_deref());
    }

    fn look_again_at(&mut self, core: &mut Core, kept: fn(&Known) -> Option<&wire::Pod>) {
        let kept = self.pods.iter().filter_map(|(uid, known)| Some((Arc::clone(uid), kept(known)?.clone())));
        let mut kept: Vec<(Arc<str>, wire::Pod)> = kept.collect();
        kept.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (uid, pod) in kept {
            self.set_pod(core, uid, pod);
        }
    }

    pub(super) fn set_waiting(&mut self, core: &mut Core, id: PodId, phase: PodPhase, why: Option<String>) {
        let Some(state) = core.ledger().pod(id) else { return };
        let apart = matches!(
            (&state.pod.phase, &phase),
            (PodPhase::Pending, PodPhase::Gated) | (PodPhase::Gated, PodPhase::Pending)
        );
        let Some(known) = self.pods.get_mut(&state.pod.uid).filter(|_| apart) else { return };
        // Only who was set aside here is let go here.
        if phase == PodPhase::Pending && !known.problem.as_deref().is_some_and(|why| why.starts_with(REFUSED))
        {
            return;
        }
        known.problem = why.map(|why| format!("{REFUSED}: {why}").into());
        let pod = Pod { phase, ..state.pod.clone() };
        core.upsert_pod(pod);
    }

    /// Whether a Pod is in the group that people call by this name.
    pub(crate) fn is_member(&self, uid: &str, namespace: &str, name: &str) -> bool {
        let group = self.pods.get(uid).and_then(|known| known.group.as_deref());
        group
            .and_then(|group| group.strip_prefix(namespace)?.strip_prefix('/'))
            .is_some_and(|group| group.split_once(':').map_or(group, |(_, name)| name) == name)
    }

    /// Claims of a Pod that get their volume once its node is known, with the volume where it was made beforehand.
    pub(crate) fn claims_to_choose(&self, core: &Core, id: PodId) -> Vec<ClaimChoice> {
        let Some(uid) = core.ledger().pod(id).map(|state| &state.pod.uid) else { return Vec::new() };
        let Some(pod) = self.pods.get(uid).and_then(|known| known.waiting.as_deref()) else {
            return Vec::new();
        };
        let claims = translate::claim_keys(&pod.metadata, &pod.spec.volumes);
        let wanted = self.volumes.wanted(claims.iter().map(String::as_str));
        let made = wanted.map_or_else(|_| Vec::new(), |wanted| wanted.choose).into_iter();
        let found = core.ledger().volumes_held(id).iter().map(|held| ClaimChoice {
            name: held.claim.name.clone(),
            volume: Some(Promise { volume: held.volume.to_string(), claim_uid: held.claim.uid.clone() }),
        });
        made.map(|name| ClaimChoice { name, volume: None }).chain(found).collect()
    }

    /// Pods that wait for something that the scheduler cannot give, in the order of their names; `refused` ones or others.
    pub(crate) fn waiting(&self, core: &Core, refused: bool) -> Vec<Waiting> {
        let mut all: Vec<Waiting> = self
            .pods
            .iter()
            .filter(|(_, known)| known.refused == refused)
            .filter_map(|(uid, known)| {
                let why = Arc::clone(known.problem.as_ref()?);
                let state = core.ledger().find_pod(uid).and_then(|id| core.ledger().pod(id));
                let placed = state.map(|state| (state.pod.namespace.to_string(), state.pod.name.to_string()));
                let (namespace, name) = known.name.as_deref().cloned().or(placed)?;
                Some(Waiting { namespace, name, uid: uid.to_string(), why })
            })
            .collect();
        all.sort_by(|one, other| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)));
        all
    }
}

/// How much a new view of a Pod says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    /// Nothing that matters here: kubelets report much.
    None,
    /// What was expected: our own bind shows.
    Expected,
    /// Something to think about.
    Some,
}

fn news(known: Option<&PodState>, seen: &Pod) -> News {
    let Some(known) = known else { return News::Some };
    let old = &known.pod;
    let same = old.terminating == seen.terminating
        && old.priority == seen.priority
        && old.group == seen.group
        && old.nominated == seen.nominated
        && Arc::ptr_eq(&old.labels, &seen.labels)
        && old.volumes == seen.volumes
        && (Arc::ptr_eq(&old.shape, &seen.shape) || old.shape == seen.shape);
    if !same {
        return News::Some;
    }
    match (&old.phase, &seen.phase) {
        (PodPhase::Placed { node: one, .. }, PodPhase::Placed { node: other, .. }) if one == other => {
            if known.assumed { News::Expected } else { News::None }
        }
        (one, other) if one == other => News::None,
        _ => News::Some,
    }
}

/// What a held Pod's reason begins with if its bind was refused.
const REFUSED: &str = "its bind was refused";

impl Known {
    fn none() -> Self {
        Self {
            version: 0,
            group: None,
            problem: None,
            refused: false,
            given: false,
            claims: Vec::new(),
            waiting: None,
            by_namespace: None,
            name: None,
        }
    }
}

/// The least a running Pod takes.
fn least() -> Shape {
    let mut requests = Amounts::default();
    requests.set(ResourceId::PODS, 1);
    Shape { requests, ..Shape::default() }
}
