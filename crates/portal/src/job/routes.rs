//! Routes of jobs.

use super::{
    Why, actions,
    handlers::{self, ContainerQuery, JobList, JobQuery, PodQuery},
    new::NewJob,
    view::{JobDetail, JobPod, JobView},
};
use crate::{
    access::{Kind, Verb},
    node::{Usage, UsageQuery},
    page::{Page, PageQuery},
    pod::{EventView, LogQuery},
    route::{
        Method::{Delete, Get, Post},
        Route, Target,
    },
    template::TemplateKind,
    terminal::TerminalQuery,
};

pub(crate) fn routes() -> Vec<Route> {
    let (list, one) = (Target::Asker(Kind::Job), Target::Job);
    let new = Target::New(Kind::Job, "/spec/account");
    vec![
        Route::at_once(Get, "/jobs", "listJobs", (Verb::See, list), handlers::list)
            .says("Jobs that the asker may see, newest first, and how many are in each phase")
            .query::<JobQuery>()
            .query::<PageQuery>()
            .answers::<JobList>(),
        Route::new(Post, "/jobs", "submitJob", (Verb::Start, new), handlers::submit)
            .says("Submit a manifest of an AIJob, as JSON or YAML, to the own namespace")
            .takes::<NewJob>()
            .begins_from(TemplateKind::Job)
            .answers::<JobView>(),
        Route::at_once(Get, "/jobs/{namespace}/{name}", "getJob", (Verb::See, one), handlers::get)
            .says("One job with its Pods; what is in it only for those who may read it")
            .answers::<JobDetail>(),
        Route::new(Delete, "/jobs/{namespace}/{name}", "deleteJob", (Verb::Delete, one), actions::delete)
            .says("Delete a job with its Pods"),
        Route::new(
            Post,
            "/jobs/{namespace}/{name}/cancel",
            "cancelJob",
            (Verb::Change, one),
            actions::cancel,
        )
        .says("Stop a job for good; the record stays"),
        Route::new(
            Post,
            "/jobs/{namespace}/{name}/suspend",
            "suspendJob",
            (Verb::Change, one),
            actions::suspend,
        )
        .says("Take its Pods away until it is resumed"),
        Route::new(Post, "/jobs/{namespace}/{name}/resume", "resumeJob", (Verb::Start, one), actions::resume)
            .says("Let it go on"),
    ]
    .into_iter()
    .chain(looking(one))
    .collect()
}

/// Routes by which people look into one job.
fn looking(one: Target) -> Vec<Route> {
    vec![
        Route::at_once(Get, "/jobs/{namespace}/{name}/pods", "listJobPods", (Verb::See, one), handlers::pods)
            .says("Its Pods by name, however many it has")
            .query::<PageQuery>()
            .answers::<Page<JobPod>>(),
        Route::at_once(Get, "/jobs/{namespace}/{name}/why", "explainJob", (Verb::See, one), handlers::why)
            .says("Why it waits, and when it may start")
            .answers::<Why>(),
        Route::at_once(
            Get,
            "/jobs/{namespace}/{name}/usage",
            "getJobUsage",
            (Verb::See, one),
            handlers::usage,
        )
        .says("What each of its cards did in the last hour since they are its own, by the minute")
        .query::<UsageQuery>()
        .answers::<Usage>(),
        Route::new(Get, "/jobs/{namespace}/{name}/logs", "getJobLogs", (Verb::Read, one), handlers::logs)
            .says("What a program of it says")
            .query::<PodQuery>()
            .query::<LogQuery>()
            .answers_text("text/plain"),
        Route::at_once(
            Get,
            "/jobs/{namespace}/{name}/terminal",
            "openJobTerminal",
            (Verb::Enter, one),
            handlers::terminal,
        )
        .says("A shell inside a Pod of it, by WebSocket: binary frames are what is typed and shown")
        .query::<PodQuery>()
        .query::<ContainerQuery>()
        .query::<TerminalQuery>(),
        Route::new(
            Get,
            "/jobs/{namespace}/{name}/events",
            "getJobEvents",
            (Verb::Read, one),
            handlers::events,
        )
        .says("What happened to it and its first Pods, newest first")
        .query::<PageQuery>()
        .answers::<Page<EventView>>(),
        Route::new(
            Get,
            "/jobs/{namespace}/{name}/describe",
            "describeJob",
            (Verb::Read, one),
            handlers::description,
        )
        .says("The job, its first Pods and what happened to them, as text")
        .answers_text("text/plain"),
        Route::at_once(
            Get,
            "/jobs/{namespace}/{name}/manifest",
            "cloneJob",
            (Verb::Read, one),
            handlers::manifest,
        )
        .says("What to submit for another job like it")
        .answers::<serde_json::Map<String, serde_json::Value>>(),
        Route::at_once(Get, "/jobs/{namespace}/{name}/yaml", "exportJob", (Verb::Read, one), handlers::yaml)
            .says("The job as a manifest")
            .answers_text("application/yaml"),
    ]
}
