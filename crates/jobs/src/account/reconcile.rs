//! Writes the status of accounts, now and then.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::{Api, ResourceExt as _, runtime::watcher::Event};
use maar_api::{names, v1alpha1::Account};
use maar_controller::{
    Categorized as _, Category, Context,
    error::chain,
    watch::{Guarded, Selection, Watch},
};
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use super::{
    claim::{Books, Claim, Claims},
    plan::statuses,
};
use crate::{
    index::{Index, Key},
    metrics::JobsMetrics,
    status,
    views::Views,
};

const MANAGER: &str = "maar-accounts";
/// Pods that Maar places: somebody pays for each.
const OURS: (Option<&str>, &str) = (None, "spec.schedulerName=maar-scheduler");
/// Pods that others place and that say who pays.
const OTHERS: (Option<&str>, &str) = (Some(names::LABEL_ACCOUNT), "spec.schedulerName!=maar-scheduler");
/// So often sums are made though nothing was heard of.
const NOW_AND_THEN: Duration = Duration::from_mins(1);

/// What was seen of Pods, and of who names accounts beside them.
#[derive(Debug, Default)]
struct Seen {
    ours: Claims,
    others: Claims,
    books: Books,
    /// All namespaces are known.
    listed: bool,
}

impl Seen {
    fn is_complete(&self) -> bool {
        self.ours.complete && self.others.complete && self.listed
    }

    /// What all Pods cost, and who pays.
    fn paid(&self) -> impl Iterator<Item = (&str, &Claim)> {
        self.ours.all().chain(self.others.all()).map(|claim| (self.books.payer(claim), claim))
    }
}

/// The accounts that namespaces name, by namespace.
fn accounts_of(namespaces: &[Arc<Namespace>]) -> BTreeMap<String, String> {
    let named = |space: &Arc<Namespace>| {
        Some((space.name_any(), space.annotations().get(names::LABEL_ACCOUNT)?.clone()))
    };
    namespaces.iter().filter_map(named).collect()
}

/// What the writer needs. It is the only one of the accounts' status.
#[derive(Debug, Clone)]
pub(crate) struct Accounts {
    pub(crate) context: Context,
    pub(crate) views: Views,
    pub(crate) metrics: JobsMetrics,
    /// An account is written at most once in this time.
    pub(crate) every: Duration,
}

impl Accounts {
    /// Watches accounts and Pods and writes until it is told to end.
    pub(crate) async fn run(self) -> Result<(), Infallible> {
        self.views.accounts.begin();
        let (claims, changed) = (Mutex::new(Seen::default()), Notify::new());
        let feed_accounts = self.watch::<Account>("accounts", Selection::default()).for_each(|event| {
            self.views.accounts.take(event);
            changed.notify_one();
            std::future::ready(())
        });
        let feed_pods = async {
            if self.views.namespace.is_some() {
                // Who sees one namespace only cannot say what an account holds in all of them.
                return std::future::pending().await;
            }
            tokio::join!(
                self.feed_pods("account pods", OURS, &claims, &changed, |seen| &mut seen.ours),
                self.feed_pods("account pods of others", OTHERS, &claims, &changed, |seen| &mut seen.others),
                self.feed_namespaces(&claims, &changed),
            );
        };
        let write = async {
            tokio::join!(self.views.accounts.ready(), self.views.jobs.ready());
            loop {
                // Jobs may move to another account, which is seen now and then.
                let _ = timeout(NOW_AND_THEN, changed.notified()).await;
                // What comes in the meantime is written with it.
                sleep(self.every).await;
                if claims.lock().is_complete() && !self.write(&claims).await {
                    changed.notify_one();
                }
            }
        };
        tokio::select! {
            biased;
            () = self.context.shutdown.cancelled() => {}
            () = feed_accounts => {}
            () = feed_pods => {}
            () = write => {}
        }
        Ok(())
    }

    async fn feed_pods(
        &self,
        name: &'static str,
        (labels, fields): (Option<&str>, &str),
        seen: &Mutex<Seen>,
        changed: &Notify,
        part: fn(&mut Seen) -> &mut Claims,
    ) {
        let selection = Selection { labels: labels.map(str::to_owned), fields: Some(fields.to_owned()) };
        let pods = self.watch::<Pod>(name, selection).for_each(|event| {
            if part(&mut seen.lock()).take(event) {
                changed.notify_one();
            }
            std::future::ready(())
        });
        pods.await;
    }

    async fn feed_namespaces(&self, seen: &Mutex<Seen>, changed: &Notify) {
        let spaces = Index::<Namespace>::new(names::LABEL_PARENT);
        let feed = self.watch::<Namespace>("account namespaces", Selection::default()).for_each(|event| {
            let listed = matches!(event, Event::InitDone);
            spaces.take(event);
            let mut seen = seen.lock();
            seen.listed |= listed;
            let accounts = accounts_of(&spaces.all());
            if seen.books.namespaces != accounts || listed {
                seen.books.namespaces = accounts;
                changed.notify_one();
            }
            std::future::ready(())
        });
        feed.await;
    }

    fn watch<K>(
        &self,
        name: &'static str,
        selection: Selection,
    ) -> impl futures::Stream<Item = kube::runtime::watcher::Event<Guarded<K>>> + Send + use<K>
    where
        K: kube::Resource<DynamicType = ()>
            + Clone
            + std::fmt::Debug
            + serde::de::DeserializeOwned
            + Send
            + 'static,
    {
        let api: Api<Guarded<K>> = Api::all(self.context.client.clone());
        Watch::new(name, api, selection, self.context.environment.clone()).stream()
    }

    /// Writes what has changed; whether all of it could be written.
    async fn write(&self, seen: &Mutex<Seen>) -> bool {
        let accounts: Vec<Arc<Account>> = self.views.accounts.all();
        let now = self.context.environment.clock.now();
        let jobs = self.views.jobs.all();
        let named = jobs.iter().filter_map(|job| Some((Key::of(&**job), job.spec.account.clone()?)));
        let wanted = {
            let mut seen = seen.lock();
            seen.books.jobs = named.collect();
            statuses(&accounts, seen.paid(), now)
        };
        let api: Api<Account> = Api::all(self.context.client.clone());
        let mut all = true;
        for account in &accounts {
            let Some(status) = wanted.get(&account.name_any()) else { continue };
            if account.status.as_ref() == Some(status) {
                continue;
            }
            match status::write(&api, MANAGER, &**account, status).await {
                Ok(_) => drop(self.metrics.account_writes.inc()),
                Err(error) if error.category() == Category::Missing => {}
                Err(error) => {
                    all = false;
                    tracing::warn!("account {}: {}", account.name_any(), chain(&error));
                }
            }
        }
        all
    }
}
