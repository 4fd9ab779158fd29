//! Controllers that misbehave.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::PostParams;
use parking_lot::Mutex;
use serde_json::{from_value, json};

use super::*;
use crate::cluster::{Cluster, Config};
use crate::controllers::Controller;
use crate::controllers::base::own_key;

/// Remembers what it looked at, and cannot stand certain names.
#[derive(Default)]
struct Fragile {
    looks: Mutex<Vec<String>>,
}

impl Controller for Fragile {
    fn name(&self) -> &'static str {
        "fragile"
    }

    fn tables(&self) -> Vec<&'static str> {
        vec!["configmaps"]
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        assert_ne!(&*event.entry.meta.name, "unmentionable");
        vec![own_key(table, event)]
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(async {
            self.looks.lock().push(key.name().to_owned());
            assert_ne!(key.name(), "bad");
            Ok(None)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_over_one_object_is_an_error_of_that_object() {
    let cluster = Cluster::start(Config { controllers: false, ..Config::simulated(1) }).await.unwrap();
    let fragile = Arc::new(Fragile::default());
    let stop = CancellationToken::new();
    let controller: BoxController = Arc::clone(&fragile) as BoxController;
    let running = tokio::spawn(run(Arc::clone(cluster.store()), controller, stop.clone()));
    let api: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    for name in ["unmentionable", "bad", "good"] {
        let object = from_value(json!({"metadata": {"name": name}})).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let looks = fragile.looks.lock().clone();
    assert!(looks.contains(&"good".to_owned()), "{looks:?}");
    let tries = looks.iter().filter(|name| *name == "bad").count();
    assert!((5..15).contains(&tries), "tried again with back-off: {tries}");
    stop.cancel();
    running.await.unwrap();
}
