//! Volumes: what they show, where they are, and their end.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Secret};
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use serde_json::{Value, json};

use crate::world::{never, shell, world};

#[tokio::test(flavor = "multi_thread")]
async fn volumes_and_variables_arrive() {
    let Some(world) = world().await else { return };
    let maps = Api::<ConfigMap>::namespaced(world.client.clone(), "default");
    let map = serde_json::from_value(
        json!({ "metadata": { "name": "cm" }, "data": { "key": "value", "x.conf": "a=1\n" } }),
    );
    maps.create(&PostParams::default(), &map.expect("a map")).await.expect("created");
    let secrets = Api::<Secret>::namespaced(world.client.clone(), "default");
    let secret =
        serde_json::from_value(json!({ "metadata": { "name": "s" }, "stringData": { "password": "hush" } }));
    secrets.create(&PostParams::default(), &secret.expect("a secret")).await.expect("created");
    let line = "echo $A $B $C $(cat /config/x.conf) $(cat /secret/password) $(cat /info/labels); echo $NODE; \
                touch /config/y 2>&1; echo data > /scratch/file; cat /again/file";
    let mut container = shell(line);
    container["env"] = json!([
        { "name": "A", "valueFrom": { "configMapKeyRef": { "name": "cm", "key": "key" } } },
        { "name": "B", "valueFrom": { "secretKeyRef": { "name": "s", "key": "password" } } },
        { "name": "C", "value": "<$(A)>" },
        { "name": "NODE", "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } },
    ]);
    container["volumeMounts"] = json!([
        { "name": "config", "mountPath": "/config" }, { "name": "secret", "mountPath": "/secret" },
        { "name": "info", "mountPath": "/info" }, { "name": "scratch", "mountPath": "/scratch", "subPath": "part" },
        { "name": "scratch", "mountPath": "/again", "subPath": "part" },
    ]);
    let mut spec = never(&container);
    spec["volumes"] = json!([
        { "name": "config", "configMap": { "name": "cm" } }, { "name": "secret", "secret": { "secretName": "s" } },
        { "name": "scratch", "emptyDir": {} },
        { "name": "info", "projected": { "sources": [{ "downwardAPI": { "items": [
            { "path": "labels", "fieldRef": { "fieldPath": "metadata.name" } }] } }] } },
    ]);
    world.create("full", spec).await;
    world.phase("full", "Succeeded").await;
    let log = world.logs("full").await;
    assert!(log.starts_with("value hush <value> a=1 hush full\nlocal\n"), "{log}");
    assert!(log.contains("touch: cannot touch '/config/y': Read-only file system"), "{log}");
    assert!(log.ends_with("data\n"), "{log}");
    let mut host = never(&shell("true"));
    host["volumes"] = json!([{ "name": "h", "hostPath": { "path": "/etc" } }]);
    world.create("host", host).await;
    let refused = world
        .until("host", |pod| pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"].is_string())
        .await;
    let waiting = &refused["status"]["containerStatuses"][0]["state"]["waiting"];
    assert!(
        waiting["message"].as_str().expect("text").contains("not offered by the local node"),
        "{waiting}"
    );
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_run_and_claims_are_directories_under_the_allowed_roots() {
    let Some(world) = world().await else { return };
    let volumes = world.folder.path().join("volumes");
    for (name, path) in [("ours", volumes.join("data")), ("theirs", "/etc".into())] {
        let volume = json!({ "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": name }, "spec": {
            "capacity": { "storage": "1Gi" }, "accessModes": ["ReadWriteOnce"], "storageClassName": "",
            "claimRef": { "namespace": "default", "name": name }, "hostPath": { "path": path } } });
        let api = Api::all(world.client.clone());
        let volume: k8s_openapi::api::core::v1::PersistentVolume =
            serde_json::from_value(volume).expect("a volume");
        api.create(&PostParams::default(), &volume).await.expect("created");
        let claim = json!({ "metadata": { "name": name }, "spec": { "volumeName": name, "storageClassName": "",
            "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } });
        let claim: k8s_openapi::api::core::v1::PersistentVolumeClaim =
            serde_json::from_value(claim).expect("a claim");
        let api = Api::namespaced(world.client.clone(), "default");
        api.create(&PostParams::default(), &claim).await.expect("created");
    }
    let mut container = shell("sleep 1000");
    container["volumeMounts"] = json!([{ "name": "data", "mountPath": "/data" }]);
    container["lifecycle"] = json!({
        "postStart": { "exec": { "command": ["sh", "-c", "echo started > /data/log"] } },
        "preStop": { "exec": { "command": ["sh", "-c", "echo stopping >> /data/log"] } },
    });
    let with = |claim: &str| {
        let mut spec = never(&container);
        spec["volumes"] = json!([{ "name": "data", "persistentVolumeClaim": { "claimName": claim } }]);
        spec
    };
    world.create("ours", with("ours")).await;
    world.create("theirs", with("theirs")).await;
    world.until("ours", |pod| pod["status"]["containerStatuses"][0]["ready"] == true).await;
    let log = volumes.join("data/log");
    world.pods().delete("ours", &DeleteParams::default()).await.expect("deletable");
    world.until("ours", Value::is_null).await;
    assert_eq!(std::fs::read_to_string(&log).expect("it outlives the pod"), "started\nstopping\n");
    let refused = world
        .until("theirs", |pod| {
            pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"].is_string()
        })
        .await;
    let message = refused["status"]["containerStatuses"][0]["state"]["waiting"]["message"].clone();
    assert!(message.as_str().expect("text").contains("may use"), "{message}");
    world.end().await;
}

fn mounting(volume: Value, line: &str) -> Value {
    let mut container = shell(line);
    container["volumeMounts"] = json!([{ "name": "v", "mountPath": "/v" }]);
    let mut spec = never(&container);
    let mut volume = volume;
    volume["name"] = json!("v");
    spec["volumes"] = json!([volume]);
    spec
}

#[tokio::test(flavor = "multi_thread")]
async fn a_made_volume_keeps_its_files_until_its_claim_is_deleted() {
    let Some(world) = world().await else { return };
    let claims = Api::<PersistentVolumeClaim>::namespaced(world.client.clone(), "default");
    let claim = json!({ "metadata": { "name": "data" }, "spec": { "accessModes": ["ReadWriteOnce"],
        "resources": { "requests": { "storage": "1Gi" } } } });
    let claim = serde_json::from_value(claim).expect("a claim");
    claims.create(&PostParams::default(), &claim).await.expect("created");
    let volume = json!({ "persistentVolumeClaim": { "claimName": "data" } });
    world.schedule("writes", mounting(volume.clone(), "echo kept > /v/file")).await;
    world.phase("writes", "Succeeded").await;
    world.schedule("reads", mounting(volume, "cat /v/file")).await;
    world.phase("reads", "Succeeded").await;
    assert_eq!(world.logs("reads").await, "kept\n");
    let folder = world.folder.path().join("state/volumes");
    let count = || std::fs::read_dir(&folder).map_or(0, Iterator::count);
    assert_eq!(count(), 1);
    for pod in ["writes", "reads"] {
        world.pods().delete(pod, &DeleteParams::default()).await.expect("deletable");
        world.until(pod, Value::is_null).await;
    }
    claims.delete("data", &DeleteParams::default()).await.expect("deletable");
    let removed = async {
        while count() > 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), removed).await.expect("the files go with the volume");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn host_paths_are_offered_where_somebody_allowed_them() {
    let Some(world) = world().await else { return };
    let allowed = world.folder.path().join("volumes/shared");
    let volume = json!({ "hostPath": { "path": allowed, "type": "DirectoryOrCreate" } });
    world.create("good", mounting(volume, "echo hello > /v/file; pwd")).await;
    world.phase("good", "Succeeded").await;
    assert_eq!(std::fs::read_to_string(allowed.join("file")).expect("written"), "hello\n");
    world.create("bad", mounting(json!({ "hostPath": { "path": "/etc" } }), "true")).await;
    world.event("bad", "FailedMount", "not offered by the local node").await;
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_waits_for_what_its_volumes_show_and_follows_it() {
    let Some(world) = world().await else { return };
    let volume = json!({ "configMap": { "name": "late" } });
    world.create("waits", mounting(volume, "cat /v/key")).await;
    world.event("waits", "FailedMount", "configmap \"late\" not found").await;
    let maps = Api::<ConfigMap>::namespaced(world.client.clone(), "default");
    let map = json!({ "metadata": { "name": "late" }, "data": { "key": "here" } });
    maps.create(&PostParams::default(), &serde_json::from_value(map).expect("a map")).await.expect("created");
    world.phase("waits", "Succeeded").await;
    assert_eq!(world.logs("waits").await, "here");
    world.end().await;
}
