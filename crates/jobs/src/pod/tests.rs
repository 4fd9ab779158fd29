use insta::assert_yaml_snapshot;
use maar_api::v1alpha1::{AIJob, JobType};
use serde_json::{Value, json};

use crate::{
    job::fixture::{Build, job, pod_of},
    key::Entropy,
    object,
};

/// All objects of a job, for people to read.
fn manifest(job: &AIJob) -> Vec<Value> {
    let mut all = vec![json!({ "Service": object::service(job).spec })];
    all.extend(object::files(job).map(|files| json!({ "files": files.data })));
    if let Some(secret) = object::secret(job, &Entropy::counting()) {
        all.push(json!({ "secret": secret.string_data.unwrap().into_keys().collect::<Vec<_>>() }));
    }
    for task in &job.spec.tasks {
        let last = task.replicas - 1;
        all.push(json!({ format!("{}-{last}", task.name): pod_of(job, &task.name, last) }));
    }
    all
}

/// Without commands, so that the defaults show.
fn quiet(mut build: Build) -> AIJob {
    for task in build.0["spec"]["tasks"].as_array_mut().unwrap() {
        task["template"]["spec"]["containers"][0].as_object_mut().unwrap().remove("command");
    }
    build.build()
}

#[test]
fn a_single_job() {
    assert_yaml_snapshot!(manifest(&job(JobType::Single).task("main", 1).build()));
}

#[test]
fn a_jupyter_job() {
    assert_yaml_snapshot!(manifest(&quiet(job(JobType::Jupyter).task("main", 1))));
}

#[test]
fn a_code_server_job() {
    assert_yaml_snapshot!(manifest(&quiet(job(JobType::CodeServer).task("main", 1))));
}

#[test]
fn a_pytorch_job() {
    let built = job(JobType::PyTorch)
        .task("master", 1)
        .task("worker", 3)
        .set("/tasks/1/cards", json!({ "resource": "nvidia.com/gpu", "count": 4 }));
    assert_yaml_snapshot!(manifest(&built.build()));
}

#[test]
fn an_elastic_pytorch_job() {
    let elastic = json!({ "minPods": 2, "maxPods": 8, "maxRestarts": 5 });
    let built = job(JobType::PyTorch)
        .task("worker", 4)
        .set("/launch", json!({ "elastic": elastic, "processesPerPod": 2 }));
    assert_yaml_snapshot!(manifest(&built.build()));
}

#[test]
fn a_tensorflow_job() {
    let built = job(JobType::TensorFlow).task("ps", 1).task("worker", 2).task("evaluator", 1);
    assert_yaml_snapshot!(manifest(&built.build()));
}

#[test]
fn an_mpi_job() {
    let mut built = job(JobType::Mpi).task("launcher", 1).task("worker", 2);
    built.0["spec"]["tasks"][1]["template"]["spec"]["containers"][0]
        .as_object_mut()
        .unwrap()
        .remove("command");
    let built = built.set("/tasks/1/cards", json!({ "resource": "nvidia.com/gpu", "count": 8 }));
    assert_yaml_snapshot!(manifest(&built.build()));
}

#[test]
fn a_deepspeed_job() {
    assert_yaml_snapshot!(manifest(&quiet(job(JobType::DeepSpeed).task("launcher", 1).task("worker", 2))));
}

#[test]
fn a_ray_job() {
    assert_yaml_snapshot!(manifest(&quiet(job(JobType::Ray).task("head", 1).task("worker", 2))));
}

#[test]
fn everything_that_can_be_asked_for() {
    let built = job(JobType::Single)
        .task("main", 1)
        .set("/account", "vision")
        .set("/user", "ada")
        .set("/serviceLevel", "BestEffort")
        .set("/maxRunSeconds", 3600)
        .set("/stop", json!({ "graceSeconds": 120, "noticeSeconds": 60, "signal": "USR1" }))
        .set("/rdma", json!({ "resource": "rdma/hca", "count": 2 }))
        .set(
            "/ports",
            json!([{ "name": "board", "port": 6006 }, { "name": "else", "port": 1, "task": "other" }]),
        )
        .set("/tasks/0/cards", json!({ "resource": "nvidia.com/gpu", "share": "0.5", "index": 3 }))
        .set(
            "/nodes",
            json!({ "include": ["a", "b"], "exclude": ["c"], "pools": ["a100"], "architectures": ["arm64"],
                "lent": true }),
        )
        .set(
            "/mounts",
            json!([
                { "path": "/data", "claim": "data", "subPath": "ada", "readOnly": true },
                { "path": "/more", "claim": "data" },
                { "path": "/dev/shm", "memory": "8Gi" },
            ]),
        )
        .set("/tasks/0/template/metadata", json!({ "labels": { "mine": "yes", "maar.io/job": "forged" } }))
        .set("/tasks/0/template/spec/nodeSelector", json!({ "disk": "ssd" }));
    assert_yaml_snapshot!(manifest(&built.build()));
}

#[test]
fn who_names_nodes_may_name_the_one_that_runs_programs_of_its_machine() {
    let on = |nodes: Value| {
        let job = job(JobType::Jupyter).task("main", 1).set("/nodes", nodes).build();
        let tolerations = pod_of(&job, "main", 0).spec.unwrap().tolerations.unwrap();
        tolerations.iter().filter(|one| one.key.as_deref() == Some("maar.io/local")).count()
    };
    assert_eq!(on(json!({ "include": ["local"] })), 1);
    assert_eq!(on(json!({ "exclude": ["a"] })), 0, "nobody lands there by chance");
}

#[test]
fn whole_cards_are_asked_for_by_number_on_the_pod() {
    let cards = json!({ "count": 2, "indices": [2, 3] });
    let job = job(JobType::Single).task("main", 1).set("/tasks/0/cards", cards).build();
    let pod = pod_of(&job, "main", 0);
    assert_eq!(pod.metadata.annotations.unwrap()[maar_api::names::ANNOTATION_CARD_INDEX], "2,3");
    let limits = pod.spec.unwrap().containers.remove(0).resources.unwrap().limits.unwrap();
    assert_eq!(limits["nvidia.com/gpu"].0, "2");
}

#[test]
fn what_the_template_says_is_kept() {
    let built = job(JobType::PyTorch)
        .task("worker", 1)
        .set("/tasks/0/template/spec/schedulerName", "mine")
        .set("/tasks/0/template/spec/restartPolicy", "OnFailure")
        .set(
            "/tasks/0/template/spec/containers/0/env",
            json!([{ "name": "MASTER_ADDR", "value": "elsewhere" }]),
        )
        .build();
    let spec = pod_of(&built, "worker", 0).spec.unwrap();
    assert_eq!(spec.scheduler_name.as_deref(), Some("mine"));
    assert_eq!(spec.restart_policy.as_deref(), Some("OnFailure"));
    let env = spec.containers[0].env.as_ref().unwrap();
    let masters: Vec<_> = env.iter().filter(|one| one.name == "MASTER_ADDR").collect();
    assert_eq!((masters.len(), masters[0].value.as_deref()), (1, Some("elsewhere")));
}

#[test]
fn each_launcher_of_mpi_finds_hosts_in_its_own_format() {
    let built = job(JobType::Mpi)
        .task("launcher", 1)
        .task("worker", 2)
        .set("/tasks/1/cards", json!({ "resource": "nvidia.com/gpu", "count": 8 }))
        .build();
    let launcher = pod_of(&built, "launcher", 0);
    let env = launcher.spec.unwrap().containers[0].env.clone().unwrap();
    let files = object::files(&built).unwrap().data.unwrap();
    let first = |variable: &str| {
        let path = env.iter().find(|one| one.name == variable).unwrap().value.clone().unwrap();
        let file = path.strip_prefix("/etc/mpi/").unwrap();
        files[file].lines().next().unwrap().to_owned()
    };
    // Open MPI 4 and 5; MPICH and Intel MPI, whose Hydra refuses any word after the host that it does not know.
    assert_eq!(first("OMPI_MCA_orte_default_hostfile"), "train-worker-0.train slots=8");
    assert_eq!(first("PRTE_MCA_prte_default_hostfile"), "train-worker-0.train slots=8");
    assert_eq!(first("HYDRA_HOST_FILE"), "train-worker-0.train:8");
    assert_eq!(first("I_MPI_HYDRA_HOST_FILE"), "train-worker-0.train:8");
}

#[test]
fn a_template_cannot_speak_for_the_scheduler() {
    let said = json!({ "maar.io/stop-reason": "Preempted", "maar.io/stop-at": "2026-01-01T00:00:00Z",
        "maar.io/cards": "nvidia.com/gpu=0", "maar.io/visible-cards": "0", "mine": "stays" });
    let built = job(JobType::Single)
        .task("main", 1)
        .set("/tasks/0/template/metadata", json!({ "annotations": said }));
    let pod = pod_of(&built.build(), "main", 0);
    let names: Vec<String> = pod.metadata.annotations.unwrap().into_keys().collect();
    assert_eq!(names, ["mine"]);
}
