//! What the scheduler gave and took back over a whole run, checked against a ledger that knows only one thing at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use maar_api::{
    Quantity,
    v1alpha1::{AIJob, Account},
};
use maar_embedded::Chances;
use maar_testkit::build::{Build, object};
use maar_testkit::sample::sampled;
use maar_testkit::scenario::{Arena, Context};
use proptest::prelude::*;
use serde_json::json;

use super::gangs::{define, job};
use super::setup::{give_cards, is_bound, lead, number, one_of, run_with, settings};
use super::witness::{Seen, Witness, held};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// A Pod got its place.
    Bind { pod: String, node: String, cards: BTreeMap<u16, u32>, cpu: i64, narrow: bool },
    /// A Pod gave it up.
    Release { pod: String },
}

/// An account that may have little: thousandths of processors, and of cards.
const NARROW: (&str, i64, i64) = ("narrow", 3500, 1500);

/// A ledger for one thing at a time, as one would keep it on paper.
#[derive(Debug)]
struct Paper {
    cards: u16,
    cpu: i64,
    holders: BTreeMap<String, Step>,
    ended: BTreeSet<String>,
}

impl Paper {
    fn new(cards: u16, cpu: i64) -> Self {
        Self { cards, cpu, holders: BTreeMap::new(), ended: BTreeSet::new() }
    }

    /// Enters a step, or says why it cannot have happened.
    fn enter(&mut self, step: Step) -> Result<(), String> {
        let Step::Bind { pod, node, cards, cpu, narrow } = &step else {
            let Step::Release { pod } = step else { return Ok(()) };
            self.ended.insert(pod.clone());
            return self
                .holders
                .remove(&pod)
                .map(drop)
                .ok_or(format!("{pod} gave back what it did not have"));
        };
        if self.ended.contains(pod) || self.holders.contains_key(pod) {
            return Err(format!("{pod} was bound twice"));
        }
        let (mut all_cpu, mut taken) = (*cpu, cards.clone());
        let mut paid = if *narrow { amounts(*cpu, cards) } else { (0, 0) };
        for other in self.holders.values() {
            let Step::Bind { node: there, cards: held, cpu, narrow: too, .. } = other else { continue };
            if *narrow && *too {
                let theirs = amounts(*cpu, held);
                paid = (paid.0 + theirs.0, paid.1 + theirs.1);
            }
            if there == node {
                all_cpu += cpu;
                for (card, milli) in held {
                    *taken.entry(*card).or_default() += milli;
                }
            }
        }
        if all_cpu > self.cpu {
            return Err(format!("{pod} makes {all_cpu} of {} CPU on {node}", self.cpu));
        }
        if let Some((card, milli)) = taken.iter().find(|(card, milli)| **milli > 1000 || **card >= self.cards)
        {
            return Err(format!("{pod} makes {milli} on card {card} of {node}"));
        }
        let (account, most_cpu, most_cards) = NARROW;
        if paid.0 > most_cpu || paid.1 > most_cards {
            return Err(format!("{pod} gives account {account} {paid:?} of {most_cpu} and {most_cards}"));
        }
        self.holders.insert(pod.clone(), step);
        Ok(())
    }
}

/// What counts against an account.
fn amounts(cpu: i64, cards: &BTreeMap<u16, u32>) -> (i64, i64) {
    (cpu, cards.values().copied().map(i64::from).sum())
}

/// The steps in what was seen.
fn steps(history: Vec<Seen>) -> Vec<Step> {
    let mut bound = BTreeSet::new();
    let mut steps = Vec::new();
    for seen in history {
        let pod = seen.pod.uid().unwrap_or_default();
        let ended = seen.has_ended();
        if is_bound(&seen.pod) && !bound.contains(&pod) {
            bound.insert(pod.clone());
            steps.push(bind(&seen.pod, pod.clone()));
        }
        if ended && bound.contains(&pod) && !steps.contains(&Step::Release { pod: pod.clone() }) {
            steps.push(Step::Release { pod });
        }
    }
    steps
}

fn bind(pod: &Pod, uid: String) -> Step {
    let spec = pod.spec.clone().unwrap_or_default();
    let requests = spec.containers.first().and_then(|first| first.resources.clone()?.requests);
    let cpu = requests.and_then(|all| Some(Quantity::parse(&all.get("cpu")?.0).ok()?.millis())).unwrap_or(0);
    let cards = held(pod).into_iter().map(|((_, card), milli)| (card, milli)).collect();
    let narrow = pod.labels().get("maar.io/account").is_some_and(|account| account == NARROW.0);
    Step::Bind { pod: uid, node: spec.node_name.unwrap_or_default(), cards, cpu, narrow }
}

/// A Pod of a random workload.
#[derive(Debug, Clone)]
struct Wish {
    cards: Cards,
    cpu: u32,
    /// Milliseconds until the next one comes.
    pause: u64,
    /// Seconds it runs; for ever if none.
    runs: Option<u64>,
    payer: Payer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Payer {
    Anybody,
    /// The account that may have little.
    Narrow,
    /// Anybody, and it is so many Pods that start together.
    Gang(u8),
}

#[derive(Debug, Clone, Copy)]
enum Cards {
    None,
    Whole(u8),
    Share(u16),
}

fn wish() -> impl Strategy<Value = Wish> {
    let cards = prop_oneof![
        1 => Just(Cards::None),
        2 => (1_u8..3).prop_map(Cards::Whole),
        4 => (100_u16..900).prop_map(Cards::Share),
    ];
    let payer = prop_oneof![
        5 => Just(Payer::Anybody), 3 => Just(Payer::Narrow), 1 => (2_u8..4).prop_map(Payer::Gang),
    ];
    (cards, 100_u32..3000, 0_u64..4000, proptest::option::of(1_u64..60), payer)
        .prop_map(|(cards, cpu, pause, runs, payer)| Wish { cards, cpu, pause, runs, payer })
}

fn pod(arena: &Arena, number: usize, wish: &Wish) -> Build<Pod> {
    let mut pod = one_of(arena, "wish", number).request("cpu", &format!("{}m", wish.cpu));
    if wish.payer == Payer::Narrow {
        pod = pod.set("/metadata/labels/maar.io~1account", NARROW.0);
    }
    pod = match wish.cards {
        Cards::None => pod,
        Cards::Whole(count) => pod.request("nvidia.com/gpu", &count.to_string()),
        Cards::Share(milli) => {
            pod.set("/metadata/annotations/maar.io~1card-share", format!("nvidia.com/gpu={milli}m"))
        }
    };
    match wish.runs {
        Some(seconds) => {
            pod.behave("run-time", &format!("{seconds}s")).pod_set("/spec/restartPolicy", "Never")
        }
        None => pod,
    }
}

/// The Pods of a wish.
async fn come(arena: &Arena, number: usize, wish: &Wish) {
    let Payer::Gang(size) = wish.payer else {
        arena.create(pod(arena, number, wish)).await;
        return;
    };
    let name = format!("gang{number}");
    arena.create(object::<AIJob>(&name, job(size.into(), size.into()))).await;
    for member in 0..usize::from(size) {
        let member = one_of(arena, &name, member).request("cpu", &format!("{}m", wish.cpu));
        let member = member.set("/metadata/labels/maar.io~1job", name.as_str());
        arena.create(member.set("/metadata/labels/maar.io~1task", "worker")).await;
    }
}

/// Gangs of which some Pods have a place and others not.
fn torn(pods: &[Pod]) -> Vec<String> {
    let mut gangs: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for pod in pods {
        let Some(gang) = pod.labels().get("maar.io/job") else { continue };
        let (bound, all) = gangs.entry(gang).or_default();
        *bound += usize::from(is_bound(pod));
        *all += 1;
    }
    let torn = gangs.into_iter().filter(|(_, (bound, all))| *bound > 0 && bound < all);
    torn.map(|(gang, (bound, all))| format!("{gang} has {bound} of {all}")).collect()
}

thread_local! {
    static TORN: std::cell::RefCell<Vec<String>> = const { std::cell::RefCell::new(Vec::new()) };
    static WISHES: std::cell::RefCell<Vec<Wish>> = const { std::cell::RefCell::new(Vec::new()) };
    static STEPS: std::cell::RefCell<Vec<Step>> = const { std::cell::RefCell::new(Vec::new()) };
}

fn live<'a>(context: &'a Context) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'a>> {
    Box::pin(async move {
        let arena = context.arena();
        let faults = arena.embedded().expect("in process").faults();
        give_cards(arena, 2).await;
        define(arena).await;
        let (account, cpu, cards) = NARROW;
        let most = json!({"cpu": format!("{cpu}m"), "nvidia.com/gpu": format!("{cards}m")});
        let account = json!({"metadata": {"name": account}, "spec": {"capability": most}});
        let accounts: kube::Api<Account> = kube::Api::all(arena.client());
        let account = serde_json::from_value(account).expect("an account");
        accounts.create(&kube::api::PostParams::default(), &account).await.expect("an account can be made");
        let witness = Witness::of(arena);
        faults.by_seed(number(), Chances { crash: 0.03, ..Chances::ROUGH });
        let (settings, namespace) = (settings(arena), arena.namespace().to_owned());
        let component = faults.run("scheduler", Duration::from_secs(5), move |client| {
            lead(client, settings.clone(), "process".to_owned(), namespace.clone())
        });
        for (number, wish) in WISHES.take().iter().enumerate() {
            come(arena, number, wish).await;
            tokio::time::sleep(Duration::from_millis(wish.pause)).await;
        }
        tokio::time::sleep(Duration::from_mins(5)).await;
        // A gang that a crash has cut in two is completed in as long as it may stand so.
        faults.calm();
        tokio::time::sleep(Duration::from_mins(5)).await;
        TORN.set(torn(&arena.list::<Pod>("").await));
        component.stop().await;
        STEPS.set(steps(witness.history()));
    })
}

proptest! {
    // A history takes seconds; the next change is tried with others.
    #![proptest_config(ProptestConfig { cases: if sampled() { 2 } else { 8 }, ..ProptestConfig::default() })]

    #[test]
    fn every_history_could_have_been_written_on_paper(
        wishes in proptest::collection::vec(wish(), 5..25),
        seed in 1_u64..1_000_000,
    ) {
        WISHES.set(wishes);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.expect("a runtime").block_on(run_with(seed, "paper", live));
        let steps = STEPS.take();
        prop_assert!(steps.iter().any(|step| matches!(step, Step::Bind { .. })), "nobody was bound");
        prop_assert_eq!(TORN.take(), Vec::<String>::new(), "seed {}", seed);
        let mut paper = Paper::new(2, 8000);
        for step in steps {
            if let Err(why) = paper.enter(step) {
                return Err(TestCaseError::fail(format!("seed {seed}: {why}")));
            }
        }
    }
}

#[test]
fn what_cannot_have_happened_is_found() {
    let bind = |pod: &str, card: u16, milli: u32, cpu: i64| Step::Bind {
        pod: pod.to_owned(),
        node: "n".to_owned(),
        cards: BTreeMap::from([(card, milli)]),
        cpu,
        narrow: pod.starts_with("narrow"),
    };
    let release = |pod: &str| Step::Release { pod: pod.to_owned() };
    let rows: [(&str, Vec<Step>, bool); 9] = [
        ("shares that fit", vec![bind("a", 0, 500, 1), bind("b", 0, 500, 1)], true),
        ("a card after its release", vec![bind("a", 0, 1000, 1), release("a"), bind("b", 0, 1000, 1)], true),
        ("a card before its release", vec![bind("a", 0, 1000, 1), bind("b", 0, 1, 1), release("a")], false),
        ("a Pod bound twice", vec![bind("a", 0, 10, 1), release("a"), bind("a", 0, 10, 1)], false),
        ("more CPU than there is", vec![bind("a", 0, 10, 5000), bind("b", 1, 10, 4000)], false),
        ("a card that is not there", vec![bind("a", 2, 10, 1)], false),
        (
            "an account with all it may have",
            vec![bind("narrow-a", 0, 1000, 1), bind("narrow-b", 1, 500, 1)],
            true,
        ),
        (
            "an account with too many cards",
            vec![bind("narrow-a", 0, 1000, 1), bind("narrow-b", 1, 501, 1)],
            false,
        ),
        (
            "an account with too much CPU",
            vec![bind("narrow-a", 0, 1, 2000), bind("narrow-b", 1, 1, 1501)],
            false,
        ),
    ];
    for (what, steps, want) in rows {
        let mut paper = Paper::new(2, 8000);
        let found = steps.into_iter().try_for_each(|step| paper.enter(step));
        assert_eq!(found.is_ok(), want, "{what}: {found:?}");
    }
}
