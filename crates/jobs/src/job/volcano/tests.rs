use kube::api::DynamicObject;
use maar_api::v1alpha1::{AIJobStatus, JobType, TaskStatus};
use serde_json::{Value, json};

use super::{
    manifest::{manifest, resized, verdict},
    mirror::mirror,
};
use crate::job::fixture::{Build, job, start};

fn left_to_volcano(job_type: JobType) -> Build {
    job(job_type).set("/backend", "Volcano")
}

/// Variables of a container of the task at `at`.
fn variables(made: &Value, at: usize, container: usize) -> Vec<Value> {
    let containers = &made["spec"]["tasks"][at]["template"]["spec"]["containers"];
    containers[container]["env"].as_array().unwrap().clone()
}

fn find<'a>(all: &'a [Value], name: &str) -> Option<&'a Value> {
    all.iter().find(|one| one["name"] == name)
}

/// The action of the task at `at` on an event.
fn on<'a>(made: &'a Value, at: usize, event: &str) -> Option<&'a str> {
    let policies = made["spec"]["tasks"][at]["policies"].as_array()?;
    policies.iter().find(|one| one["event"] == event)?["action"].as_str()
}

fn plugins(made: &Value) -> Vec<&str> {
    made["spec"]["plugins"].as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn a_job_for_volcano() {
    let built =
        left_to_volcano(JobType::PyTorch).task("master", 1).task("worker", 2).set("/account", "vision");
    insta::assert_yaml_snapshot!(manifest(&built.build()));
}

#[test]
fn a_job_of_another_size_has_the_templates_it_had() {
    let sized = |job_type, workers: i32| {
        let built = left_to_volcano(job_type).task("worker", workers);
        let built = if job_type == JobType::Ray { built.task("head", 1) } else { built };
        built.build()
    };
    let template = |made: &Value| made["spec"]["tasks"][0]["template"].clone();
    for job_type in [JobType::Single, JobType::Ray] {
        let first = manifest(&sized(job_type, 2));
        let second = resized(&sized(job_type, 3), &first);
        assert_eq!(second["spec"]["tasks"][0]["replicas"], 3);
        assert_eq!(template(&second), template(&first), "Volcano refuses another one");
        let third = resized(&sized(job_type, 5), &second);
        assert_eq!(template(&third), template(&first));
    }
    // Others cannot do with another number than they were told: Volcano refuses, and the job says so.
    let rigid = manifest(&sized(JobType::PyTorch, 2));
    assert_ne!(template(&resized(&sized(JobType::PyTorch, 3), &rigid)), template(&rigid));
    let mut other = sized(JobType::Single, 2);
    let first = manifest(&other);
    other.spec.tasks[0].template.spec.as_mut().unwrap().containers[0].image = Some("other".to_owned());
    assert_ne!(template(&resized(&other, &first)), template(&first), "what else is asked for is asked for");
}

#[test]
fn cards_that_volcano_places_are_left_to_the_plug_in_on_the_node() {
    let mut built = left_to_volcano(JobType::Single)
        .task("main", 1)
        .set("/tasks/0/cards", json!({ "resource": "nvidia.com/gpu", "count": 2 }));
    let containers = &mut built.0["spec"]["tasks"][0]["template"]["spec"]["containers"];
    containers.as_array_mut().unwrap().push(json!({ "name": "logger", "image": "example.com/logger:1" }));
    let made = manifest(&built.build());
    // Nobody writes the annotation by which Maar shows cards: a variable made of it would be empty, which is no card.
    let main = variables(&made, 0, 0);
    assert_eq!((find(&main, "NVIDIA_VISIBLE_DEVICES"), find(&main, "MAAR_VISIBLE_CARDS")), (None, None));
    assert_eq!(find(&main, "AMD_VISIBLE_DEVICES").unwrap()["value"], "none");
    assert_eq!(find(&variables(&made, 0, 1), "NVIDIA_VISIBLE_DEVICES").unwrap()["value"], "void");
}

#[test]
fn only_a_task_that_decides_alone_ends_the_job_by_a_policy() {
    let completed = |built: Build| {
        let made = manifest(&built.build());
        let tasks = made["spec"]["tasks"].as_array().unwrap().len();
        (0..tasks).map(|at| on(&made, at, "TaskCompleted").map(str::to_owned)).collect::<Vec<_>>()
    };
    let ends = || Some("CompleteJob".to_owned());
    let rows = [
        (left_to_volcano(JobType::Mpi).task("launcher", 1).task("worker", 2), vec![ends(), None]),
        (left_to_volcano(JobType::DeepSpeed).task("launcher", 1).task("worker", 2), vec![ends(), None]),
        (left_to_volcano(JobType::Ray).task("head", 1).task("worker", 2), vec![ends(), None]),
        (left_to_volcano(JobType::PyTorch).task("master", 1).task("worker", 2), vec![ends(), None]),
        (left_to_volcano(JobType::TensorFlow).task("ps", 1).task("worker", 2), vec![None, ends()]),
        (
            left_to_volcano(JobType::TensorFlow).task("ps", 1).task("chief", 1).task("worker", 2),
            vec![None; 3],
        ),
        // Volcano waits for all Pods by itself.
        (left_to_volcano(JobType::Single).task("one", 1).task("two", 1), vec![None; 2]),
        (left_to_volcano(JobType::Single).task("main", 3), vec![None]),
    ];
    for (built, want) in rows {
        let text = built.0["spec"].to_string();
        assert_eq!(completed(built), want, "{text}");
    }
}

fn counted(name: &str, succeeded: i32, failed: i32) -> TaskStatus {
    TaskStatus { name: name.to_owned(), succeeded, failed, ..TaskStatus::default() }
}

#[test]
fn several_tasks_that_decide_have_all_to_end_well() {
    let built = left_to_volcano(JobType::TensorFlow).task("ps", 2).task("chief", 1).task("worker", 3).build();
    let told = |chief: i32, worker: i32, ps: i32| {
        verdict(
            &built.spec,
            &[counted("ps", ps, 0), counted("chief", chief, 0), counted("worker", worker, 0)],
        )
    };
    assert_eq!(told(1, 2, 2), None, "a worker still works");
    assert_eq!(told(0, 3, 0), None, "the chief still works");
    assert_eq!(told(1, 3, 0), Some("CompleteJob"));
    let all = left_to_volcano(JobType::Single).task("one", 1).task("two", 1).build();
    assert_eq!(
        verdict(&all.spec, &[counted("one", 1, 0), counted("two", 1, 0)]),
        None,
        "Volcano sees it itself"
    );
}

#[test]
fn a_task_that_can_spare_pods_fails_when_it_has_lost_more() {
    let built = left_to_volcano(JobType::Single)
        .task("main", 4)
        .set("/tasks/0/min", 3)
        .set("/restartPolicy", "Never")
        .build();
    assert_eq!(on(&manifest(&built), 0, "PodFailed"), None);
    assert_eq!(verdict(&built.spec, &[counted("main", 0, 1)]), None);
    assert_eq!(verdict(&built.spec, &[counted("main", 1, 2)]), Some("TerminateJob"));
}

#[test]
fn volcano_retries_as_often_as_is_asked() {
    // Volcano takes zero for "not said", which is three; and ends the job at the last of so many restarts instead of
    // carrying it out.
    for (retries, failed, want) in [(0, "TerminateJob", 1000), (1, "RestartJob", 2), (2, "RestartJob", 3)] {
        let made =
            manifest(&left_to_volcano(JobType::Single).task("main", 1).set("/retries", retries).build());
        assert_eq!(
            (on(&made, 0, "PodFailed"), made["spec"]["maxRetry"].as_i64()),
            (Some(failed), Some(want))
        );
    }
    let alone =
        left_to_volcano(JobType::Single).task("main", 2).set("/restartPolicy", "Task").set("/retries", 1);
    let made = manifest(&alone.build());
    assert_eq!(
        (on(&made, 0, "PodFailed"), on(&made, 0, "PodEvicted")),
        (Some("RestartTask"), Some("RestartTask"))
    );
}

#[test]
fn the_restart_that_volcano_does_not_carry_out_is_no_retry() {
    let retries = |asked: i32, counted: i32| {
        let job = left_to_volcano(JobType::Single).task("main", 1).set("/retries", asked).build();
        let found: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": { "name": "train" },
            "status": { "retryCount": counted, "state": { "phase": "Failed" } },
        }))
        .unwrap();
        mirror(&job, &AIJobStatus::default(), &found, &[], start()).retries
    };
    assert_eq!([retries(1, 1), retries(1, 2), retries(2, 3), retries(0, 4)], [1, 1, 2, 4]);
}

#[test]
fn what_differs_from_pod_to_pod_is_made_of_its_number() {
    let made = manifest(&left_to_volcano(JobType::PyTorch).task("worker", 3).build());
    let env = variables(&made, 0, 0);
    let path = &find(&env, "MAAR_INDEX").unwrap()["valueFrom"]["fieldRef"]["fieldPath"];
    assert_eq!(path, "metadata.annotations['volcano.sh/task-index']");
    assert_eq!(find(&env, "RANK").unwrap()["value"], "$(MAAR_INDEX)");
    // Kubernetes puts in what comes before.
    let at = |name: &str| env.iter().position(|one| one["name"] == name);
    assert!(at("MAAR_INDEX") < at("RANK"));
    assert_eq!(plugins(&made), ["env", "svc"], "without a master its plug-in gives rank 0 to nobody");
    let made = manifest(&left_to_volcano(JobType::TensorFlow).task("ps", 1).task("worker", 2).build());
    let config = find(&variables(&made, 1, 0), "TF_CONFIG").unwrap()["value"].as_str().unwrap().to_owned();
    let config: Value = serde_json::from_str(&config.replace("$(MAAR_INDEX)", "1")).unwrap();
    assert_eq!(config["task"], json!({ "type": "worker", "index": 1 }));
}

#[test]
fn launchers_find_their_hosts_also_under_volcano() {
    let made = manifest(&left_to_volcano(JobType::DeepSpeed).task("launcher", 1).task("worker", 2).build());
    // Its plug-ins know nothing of DeepSpeed's file, and would bring other keys.
    assert_eq!(plugins(&made), ["env", "svc"]);
    let container = &made["spec"]["tasks"][0]["template"]["spec"]["containers"][0];
    let mounts = container["volumeMounts"].as_array().unwrap();
    let paths: Vec<_> = mounts.iter().map(|one| one["mountPath"].as_str().unwrap()).collect();
    assert_eq!(paths, ["/job", "/etc/maar/ssh"]);
}

#[test]
fn a_job_may_name_a_leaf_of_the_queues_and_give_way() {
    let mut built = left_to_volcano(JobType::Single).task("main", 1).set("/account", "q-a7");
    assert_eq!(manifest(&built.clone().build())["spec"]["queue"], "q-a7");
    built.0["metadata"]["annotations"] = json!({ "scheduling.volcano.sh/queue-name": "q-a7-u12" });
    let made = manifest(&built.set("/serviceLevel", "BestEffort").build());
    assert_eq!(made["spec"]["queue"], "q-a7-u12");
    assert_eq!(made["metadata"]["annotations"]["volcano.sh/preemptable"], "true");
}
