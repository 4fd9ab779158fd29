use serde_json::json;

use super::*;

fn job() -> AIJob {
    let template = json!({ "metadata": { "annotations": { DEFAULT_CONTAINER: "train" } }, "spec": { "containers": [
        { "name": "proxy", "image": "i" }, { "name": "train", "image": "i" }] } });
    serde_json::from_value(json!({ "metadata": { "name": "big" }, "spec": { "tasks": [
        { "name": "master", "template": template }, { "name": "worker", "replicas": 2, "template": template }] } }))
    .unwrap()
}

fn pod(task: &str, index: u32, running: &[&str]) -> Candidate {
    let statuses: Vec<_> = running
        .iter()
        .map(|name| {
            json!({ "name": name, "state": { "running": {} }, "ready": true, "restartCount": 0, "image": "i", "imageID": "" })
        })
        .collect();
    let pod: Pod = serde_json::from_value(json!({
        "metadata": { "name": format!("big-{task}-{index}"), "annotations": { DEFAULT_CONTAINER: "train" },
            "labels": { "maar.io/task": task, "maar.io/index": index.to_string() } },
        "spec": { "containers": [{ "name": "proxy" }, { "name": "train" }], "initContainers": [{ "name": "fetch" }] },
        "status": { "phase": "Pending", "containerStatuses": statuses },
    }))
    .unwrap();
    candidate(&pod, false)
}

fn asked(candidates: &[Candidate], arguments: &Arguments) -> Result<Vec<String>, String> {
    let speakers = choose(&job(), candidates, arguments).map_err(|failure| failure.to_string())?;
    Ok(speakers.into_iter().map(|one| format!("{}/{}", one.pod, one.container)).collect())
}

#[test]
fn the_container_that_a_pod_prefers_is_read_unless_another_is_named() {
    let both = ["proxy", "train"];
    let pods = [pod("master", 0, &both), pod("worker", 0, &both), pod("worker", 1, &["proxy"])];
    let said = |text: &str| Some(text.to_owned());
    // The program of the last Pod has not started, though its sidecar has.
    assert_eq!(asked(&pods, &Arguments::default()).unwrap(), ["big-master-0/train", "big-worker-0/train"]);
    let proxies = asked(&pods, &Arguments { container: said("proxy"), ..Arguments::default() });
    assert_eq!(proxies.unwrap().len(), 3);
    let worker = Arguments { task: said("worker"), index: Some(0), ..Arguments::default() };
    assert_eq!(asked(&pods, &worker).unwrap(), ["big-worker-0/train"]);
}

#[test]
fn what_is_wrong_is_named_with_its_flag() {
    let pods = [pod("master", 0, &["train"]), pod("worker", 0, &[])];
    let said = |text: &str| Some(text.to_owned());
    let why = |arguments: Arguments| asked(&pods, &arguments).unwrap_err();
    assert_eq!(
        why(Arguments { task: said("ps"), ..Arguments::default() }),
        "--task: job big has no task ps; it has master, worker"
    );
    assert_eq!(
        why(Arguments { index: Some(2), ..Arguments::default() }),
        "--index: job big has no Pod 2: they are numbered 0 to 1"
    );
    assert_eq!(
        why(Arguments { container: said("nobody"), ..Arguments::default() }),
        "--container: Pods of job big have no container nobody; they have train, proxy, fetch"
    );
    assert_eq!(
        why(Arguments { previous: true, task: said("worker"), ..Arguments::default() }),
        "--previous: no container of job big was started again"
    );
    assert_eq!(
        why(Arguments { task: said("worker"), ..Arguments::default() }),
        "job big has no Pod that has started (1 wait)"
    );
}

#[test]
fn of_a_job_that_has_ended_nothing_waits() {
    let mut job = job();
    job.status = Some(serde_json::from_value(json!({ "phase": "Aborted" })).unwrap());
    let why = choose(&job, &[], &Arguments::default()).unwrap_err().to_string();
    assert_eq!(why, "job big has ended, Aborted, and has no Pods any more");
}

#[test]
fn a_container_has_an_earlier_log_when_it_was_started_again() {
    let status = |state: Value, last: Value, restarts: i32| -> ContainerStatus {
        serde_json::from_value(
            json!({ "name": "a", "state": state, "lastState": last, "restartCount": restarts,
            "ready": false, "image": "i", "imageID": "" }),
        )
        .unwrap()
    };
    let waiting = json!({ "waiting": { "reason": "CrashLoopBackOff" } });
    let ended = json!({ "terminated": { "exitCode": 1 } });
    let crashed = status(waiting.clone(), ended.clone(), 3);
    assert!(has_log(&crashed, true) && has_log(&crashed, false));
    let creating = status(waiting, json!({}), 0);
    assert!(!has_log(&creating, true) && !has_log(&creating, false));
    let done = status(ended, json!({}), 0);
    assert!(!has_log(&done, true) && has_log(&done, false));
}

#[test]
fn a_portal_tells_of_the_same_pods() {
    let shown = json!({ "pods": [
        { "name": "big-worker-1", "task": "worker", "phase": "Running" },
        { "name": "big-master-0", "task": "master", "phase": "Pending" },
        { "name": "big-worker-0", "task": "worker", "phase": "Succeeded" },
    ] });
    let pods = of_portal(&job(), shown["pods"].as_array().unwrap());
    assert_eq!(asked(&pods, &Arguments::default()).unwrap(), ["big-worker-0/train", "big-worker-1/train"]);
    let speaker = Speaker { pod: "big-worker-0".to_owned(), container: "train".to_owned() };
    let arguments = Arguments { since: Some(5), ..Arguments::default() };
    assert_eq!(
        query(&speaker, &arguments),
        "pod=big-worker-0&container=train&follow=false&previous=false&timestamps=false&tail=100000&sinceSeconds=5"
    );
}

#[test]
fn lines_of_several_pods_stay_whole() {
    let mut lines = Lines { prefix: Some("[a] ".to_owned()), ..Lines::default() };
    assert_eq!(lines.take(b"one\ntw"), b"[a] one\n");
    assert_eq!(lines.take(b"o"), b"");
    assert_eq!(lines.take(b"\n\n"), b"[a] two\n[a] \n");
    assert_eq!(lines.take(b"last"), b"");
    assert_eq!(lines.end(), b"[a] last\n");
    assert_eq!(lines.end(), b"");
    let mut alone = Lines::default();
    assert_eq!((alone.take(b"as it \xff is"), alone.end()), (b"as it \xff is".to_vec(), Vec::new()));
}
