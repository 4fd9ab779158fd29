//! Writes the status of accounts, now and then.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, ResourceExt as _};
use maar_api::{names, v1alpha1::Account};
use maar_controller::{
    Categorized as _, Category, Context,
    error::chain,
    watch::{Guarded, Selection, Watch},
};
use parking_lot::Mutex;
use tokio::{sync::Notify, time::sleep};

use super::{claim::Claims, plan::statuses};
use crate::{metrics::JobsMetrics, status, views::Views};

const MANAGER: &str = "maar-accounts";

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
        let (claims, changed) = (Mutex::new(Claims::default()), Notify::new());
        let feed_accounts = self.watch::<Account>("accounts", None).for_each(|event| {
            self.views.accounts.take(event);
            changed.notify_one();
            std::future::ready(())
        });
        let feed_pods = async {
            if self.views.namespace.is_some() {
                // Who sees one namespace only cannot say what an account holds in all of them.
                return std::future::pending().await;
            }
            let pods = self.watch::<Pod>("account pods", Some(names::LABEL_ACCOUNT)).for_each(|event| {
                if claims.lock().take(event) {
                    changed.notify_one();
                }
                std::future::ready(())
            });
            pods.await;
        };
        let write = async {
            self.views.accounts.ready().await;
            loop {
                changed.notified().await;
                // What comes in the meantime is written with it.
                sleep(self.every).await;
                if claims.lock().complete && !self.write(&claims).await {
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

    fn watch<K>(
        &self,
        name: &'static str,
        label: Option<&str>,
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
        let selection = Selection { labels: label.map(str::to_owned), fields: None };
        Watch::new(name, api, selection, self.context.environment.clone()).stream()
    }

    /// Writes what has changed; whether all of it could be written.
    async fn write(&self, claims: &Mutex<Claims>) -> bool {
        let accounts: Vec<Arc<Account>> = self.views.accounts.all();
        let now = self.context.environment.clock.now();
        let wanted = statuses(&accounts, claims.lock().all(), now);
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
