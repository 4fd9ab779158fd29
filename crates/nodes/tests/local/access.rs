//! What a Pod may do with the identity that admission gives it, through the TLS listener like any client.

use std::path::Path;

use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::{Api, api::PostParams};
use serde_json::{Value, json};

use crate::{
    absent::absent,
    world::{World, never, shell, world},
};

const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Asks for Pods over HTTPS, with nothing but what the Pod has; prints the code and how many lists came.
fn asking() -> String {
    format!(
        "curl --silent --show-error --output /tmp/answer --write-out '%{{http_code}} ' --cacert {ACCOUNT}/ca.crt \
         --header \"Authorization: Bearer $(cat {ACCOUNT}/token)\" \
         https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT/api/v1/namespaces/$(cat {ACCOUNT}/namespace)/pods; \
         grep -c '\"PodList\"' /tmp/answer"
    )
}

async fn grant(world: &World) {
    let role = json!({ "metadata": { "name": "readers" },
        "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] }] });
    let role: Role = serde_json::from_value(role).expect("a role");
    let binding = json!({ "metadata": { "name": "readers" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "readers" },
        "subjects": [{ "kind": "ServiceAccount", "name": "default", "namespace": "default" }] });
    let binding: RoleBinding = serde_json::from_value(binding).expect("a binding");
    let parameters = PostParams::default();
    let roles = Api::<Role>::namespaced(world.client.clone(), "default");
    roles.create(&parameters, &role).await.expect("created");
    let bindings = Api::<RoleBinding>::namespaced(world.client.clone(), "default");
    bindings.create(&parameters, &binding).await.expect("created");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_reads_its_token_and_may_do_what_its_account_may() {
    let Some(world) = world().await else { return };
    if !Path::new("/usr/bin/curl").exists() {
        return absent("curl");
    }
    world.create("before", never(&shell(&asking()))).await;
    world.phase("before", "Failed").await;
    assert_eq!(world.logs("before").await, "403 0\n");
    grant(&world).await;
    world.create("after", never(&shell(&asking()))).await;
    world.phase("after", "Succeeded").await;
    assert_eq!(world.logs("after").await, "200 1\n");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_in_a_pod_speaks_for_that_pod() {
    let Some(world) = world().await else { return };
    if !Path::new("/usr/bin/kubectl").exists() {
        return absent("kubectl");
    }
    grant(&world).await;
    let line = "kubectl get pods --output name; kubectl auth whoami --output json";
    world.create("inside", never(&shell(line))).await;
    world.phase("inside", "Succeeded").await;
    let log = world.logs("inside").await;
    let (names, review) = log.split_once('{').expect("a review");
    assert_eq!(names, "pod/inside\n");
    let review: Value = serde_json::from_str(&format!("{{{review}")).expect("json");
    let user = &review["status"]["userInfo"];
    assert_eq!(user["username"], "system:serviceaccount:default:default");
    assert_eq!(user["extra"]["authentication.kubernetes.io/pod-name"], json!(["inside"]), "{user}");
    world.end().await;
}
