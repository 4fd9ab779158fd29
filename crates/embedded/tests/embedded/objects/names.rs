//! Names that the server makes.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;

use super::{cluster, status};

/// Both clusters have the same seed and thus make the same names.
#[tokio::test(start_paused = true)]
async fn a_generated_name_that_is_taken_is_generated_anew() {
    let generated: ConfigMap = serde_json::from_value(json!({"metadata": {"generateName": "a-"}})).unwrap();
    let (_first, client) = cluster().await;
    let elsewhere: Api<ConfigMap> = Api::default_namespaced(client);
    let name = elsewhere.create(&PostParams::default(), &generated).await.unwrap().metadata.name.unwrap();
    let (second, client) = cluster().await;
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let taken = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "uid": "someone"}});
    assert!(second.store().fill("configmaps", &taken));
    let made = api.create(&PostParams::default(), &generated).await.unwrap().metadata.name.unwrap();
    assert!(made.starts_with("a-") && made != name, "{made}");
    // Whoever says the name gets that one or none.
    let mut named = generated.clone();
    named.metadata.name = Some(name);
    let refused = api.create(&PostParams::default(), &named).await.unwrap_err();
    assert_eq!(status(refused), (409, "AlreadyExists".into()));
}
