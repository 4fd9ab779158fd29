//! How Pods live: init containers, sidecars, hooks, limits, and what people hear of it.

use std::{path::Path, process::Stdio};

use kube::{
    Api,
    api::{DeleteParams, LogParams},
};
use serde_json::{Value, json};

use crate::{
    absent::absent,
    world::{exec, never, shell, world},
};

fn named(name: &str, line: &str) -> Value {
    let mut container = shell(line);
    container["name"] = json!(name);
    container["volumeMounts"] = json!([{ "name": "shared", "mountPath": "/shared" }]);
    container
}

#[tokio::test(flavor = "multi_thread")]
async fn init_containers_go_first_and_sidecars_serve_to_the_end() {
    let Some(world) = world().await else { return };
    let mut side = named(
        "side",
        "trap 'echo side ends >> /shared/log; exit 0' TERM; echo side >> /shared/log; touch /up; while :; do sleep 0.05; done",
    );
    side["restartPolicy"] = json!("Always");
    side["startupProbe"] = json!({ "exec": { "command": ["test", "-e", "/up"] }, "periodSeconds": 1 });
    let mut main = named("main", "echo main >> log; pwd; cat log");
    main["workingDir"] = json!("/shared");
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [named("first", "echo first >> /shared/log"), side],
        "containers": [main],
        "volumes": [{ "name": "shared", "emptyDir": {} }],
    });
    world.create("stages", spec).await;
    let pod = world.phase("stages", "Succeeded").await;
    assert_eq!(world.logs("stages").await, "/shared\nfirst\nside\nmain\n");
    let inits = &pod["status"]["initContainerStatuses"];
    assert_eq!(inits[0]["state"]["terminated"]["exitCode"], 0, "{inits}");
    assert_eq!(inits[1]["state"]["terminated"]["exitCode"], 0, "the sidecar was asked to end: {inits}");
    let before = |one: &Value, other: &Value| {
        one["state"]["terminated"]["finishedAt"].as_str()
            <= other["state"]["terminated"]["finishedAt"].as_str()
    };
    assert!(before(&pod["status"]["containerStatuses"][0], &inits[1]), "{pod:#}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_uses_too_much_memory_is_killed_for_it() {
    let Some(world) = world().await else { return };
    // The second program cannot get rid of what it holds, because the third does not read.
    let mut container = shell(
        "echo full > /dev/termination-log; head -c 300000000 /dev/zero | tail -c 300000000 | sleep 100",
    );
    container["resources"] = json!({ "limits": { "memory": "100Mi" } });
    world.create("greedy", never(&container)).await;
    let mut modest = shell("sleep 3");
    modest["resources"] = json!({ "limits": { "memory": "100Mi" } });
    world.create("modest", never(&modest)).await;
    let greedy = world.phase("greedy", "Failed").await;
    let exit = &greedy["status"]["containerStatuses"][0]["state"]["terminated"];
    assert_eq!(
        (exit["exitCode"].as_i64(), exit["reason"].as_str()),
        (Some(137), Some("OOMKilled")),
        "{exit}"
    );
    assert_eq!(exit["message"], "full\n");
    world.phase("modest", "Succeeded").await;
    let nodes = Api::<k8s_openapi::api::core::v1::Node>::all(world.client.clone());
    let node = nodes.get("local").await.expect("the node");
    let said = &node.metadata.annotations.expect("annotations")[maar_nodes::LIMITS_ANNOTATION];
    assert!(said.contains("cpu is not limited"), "{said}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn people_hear_of_starts_probes_hooks_and_ends() {
    let Some(world) = world().await else { return };
    let mut container = shell("touch /alive; echo alive; sleep 1000");
    container["livenessProbe"] = json!({ "exec": { "command": ["cat", "/alive"] }, "periodSeconds": 1, "failureThreshold": 1, "initialDelaySeconds": 1 });
    let mut spec = never(&container);
    spec["restartPolicy"] = json!("Always");
    world.create("probed", spec).await;
    world.phase("probed", "Running").await;
    world.hears("probed", "alive").await;
    let pulled = world.event("probed", "Pulled", "programs of this machine").await;
    let source = pulled.source.expect("a source");
    assert_eq!((source.component.as_deref(), source.host.as_deref()), (Some("kubelet"), Some("local")));
    assert_eq!(pulled.involved_object.field_path.as_deref(), Some("spec.containers{main}"));
    world.event("probed", "Created", "Container created").await;
    world.event("probed", "Started", "Container started").await;
    exec(&world, "probed", &["rm", "/alive"]).await;
    world.event("probed", "Unhealthy", "Liveness probe failed: cat: /alive: No such file").await;
    world.event("probed", "Killing", "Container main failed liveness probe, will be restarted").await;
    let mut hooked = shell("sleep 1000");
    hooked["lifecycle"] = json!({ "postStart": { "exec": { "command": ["sh", "-c", "echo no; exit 3"] } } });
    world.create("hooked", never(&hooked)).await;
    world.event("hooked", "FailedPostStartHook", "exit code 3: no").await;
    let failed = world.phase("hooked", "Failed").await;
    assert_eq!(failed["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 137);
    let again = |pod: &Value| {
        let status = &pod["status"]["containerStatuses"][0];
        status["restartCount"] == 1 && status["state"]["running"].is_object()
    };
    world.until("probed", again).await;
    world.pods().delete("probed", &DeleteParams::default()).await.expect("deletable");
    world.event("probed", "Killing", "Stopping container main").await;
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_has_a_moment_to_end_after_a_hook_that_took_all_of_its_grace() {
    let Some(world) = world().await else { return };
    let mut container = shell(
        "trap 'echo asked; sleep 0.5; echo ended; exit 0' TERM; echo ready; while :; do sleep 0.05; done",
    );
    container["lifecycle"] = json!({ "preStop": { "exec": { "command": ["sleep", "100"] } } });
    let mut spec = never(&container);
    spec["terminationGracePeriodSeconds"] = json!(1);
    world.create("hooked", spec).await;
    world.phase("hooked", "Running").await;
    world.hears("hooked", "ready").await;
    let follow = LogParams { follow: true, ..LogParams::default() };
    let mut log = std::pin::pin!(world.pods().log_stream("hooked", &follow).await.expect("a stream"));
    world.pods().delete("hooked", &DeleteParams::default()).await.expect("deletable");
    let mut text = String::new();
    futures::AsyncReadExt::read_to_string(&mut log, &mut text).await.expect("it ends");
    assert_eq!(text, "ready\nasked\nended\n");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_describes_a_crash_loop() {
    let Some(world) = world().await else { return };
    if !Path::new("/usr/bin/kubectl").exists() {
        return absent("kubectl");
    }
    let mut spec = never(&shell("exit 3"));
    spec["restartPolicy"] = json!("Always");
    world.create("loop", spec).await;
    world.event("loop", "BackOff", "Back-off restarting failed container main in pod loop_default").await;
    let file = world.folder.path().join("kubeconfig");
    std::fs::write(&file, world.cluster.kubeconfig(&world.listener).expect("a kubeconfig")).expect("written");
    let described = tokio::process::Command::new("/usr/bin/kubectl")
        .args(["--kubeconfig", &file.to_string_lossy(), "describe", "pod", "loop"])
        .stdin(Stdio::null())
        .output()
        .await
        .expect("kubectl runs");
    let text = String::from_utf8_lossy(&described.stdout);
    for part in ["CrashLoopBackOff", "BackOff", "Pulled", "Created", "Started", "kubelet", "Exit Code:    3"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    world.end().await;
}
