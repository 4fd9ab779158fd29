//! Routes of workspaces.

use super::{
    actions::{self, Protection},
    handlers::{self, Neighbours, WorkspaceQuery},
    new::NewWorkspace,
    view::{WorkspaceDetail, WorkspaceView},
};
use crate::{
    access::{Kind, Verb},
    job::Why,
    node::{Usage, UsageQuery},
    page::{Page, PageQuery},
    pod::{EventView, LogQuery},
    route::{
        Method::{Delete, Get, Post, Put},
        Route, Target,
    },
    template::TemplateKind,
    terminal::TerminalQuery,
};

pub(crate) fn routes() -> Vec<Route> {
    let (list, one) = (Target::Asker(Kind::Workspace), Target::Workspace);
    let new = Target::New(Kind::Workspace, "/account");
    vec![
        Route::at_once(Get, "/workspaces", "listWorkspaces", (Verb::See, list), handlers::list)
            .says("Workspaces that the asker may see, newest first")
            .query::<WorkspaceQuery>()
            .query::<PageQuery>()
            .answers::<Page<WorkspaceView>>(),
        Route::new(Post, "/workspaces", "createWorkspace", (Verb::Start, new), handlers::create)
            .says("Make a workspace in the own namespace")
            .takes::<NewWorkspace>()
            .begins_from(TemplateKind::Workspace)
            .answers::<WorkspaceView>(),
        Route::at_once(
            Get,
            "/workspaces/{namespace}/{name}",
            "getWorkspace",
            (Verb::See, one),
            handlers::get,
        )
        .says("One workspace; what is in it only for those who may read it")
        .answers::<WorkspaceDetail>(),
        Route::new(
            Delete,
            "/workspaces/{namespace}/{name}",
            "deleteWorkspace",
            (Verb::Delete, one),
            actions::delete,
        )
        .says("Delete a workspace with its volumes"),
        Route::new(
            Post,
            "/workspaces/{namespace}/{name}/suspend",
            "suspendWorkspace",
            (Verb::Change, one),
            actions::suspend,
        )
        .says("Take its Pod away; volumes stay"),
        Route::new(
            Post,
            "/workspaces/{namespace}/{name}/resume",
            "resumeWorkspace",
            (Verb::Start, one),
            actions::resume,
        )
        .says("Let it go on"),
        Route::new(
            Put,
            "/workspaces/{namespace}/{name}/protection",
            "protectWorkspace",
            (Verb::Change, one),
            actions::protect,
        )
        .says("Keep clean-up policies away from it for some hours")
        .takes::<Protection>(),
    ]
    .into_iter()
    .chain(looking(one))
    .collect()
}

/// Routes by which people look into one workspace.
fn looking(one: Target) -> Vec<Route> {
    vec![
        Route::new(
            Get,
            "/workspaces/{namespace}/{name}/logs",
            "getWorkspaceLogs",
            (Verb::Read, one),
            handlers::logs,
        )
        .says("What its program says")
        .query::<LogQuery>()
        .answers_text("text/plain"),
        Route::at_once(
            Get,
            "/workspaces/{namespace}/{name}/terminal",
            "openWorkspaceTerminal",
            (Verb::Enter, one),
            handlers::terminal,
        )
        .says("A shell inside it, by WebSocket: binary frames are what is typed and shown")
        .query::<TerminalQuery>(),
        Route::new(
            Get,
            "/workspaces/{namespace}/{name}/events",
            "getWorkspaceEvents",
            (Verb::Read, one),
            handlers::events,
        )
        .says("What happened to it and its Pod, newest first")
        .query::<PageQuery>()
        .answers::<Page<EventView>>(),
        Route::new(
            Get,
            "/workspaces/{namespace}/{name}/describe",
            "describeWorkspace",
            (Verb::Read, one),
            handlers::description,
        )
        .says("The workspace, its Pod and what happened to them, as text")
        .answers_text("text/plain"),
        Route::at_once(
            Get,
            "/workspaces/{namespace}/{name}/neighbours",
            "listNeighbours",
            (Verb::See, one),
            handlers::neighbours,
        )
        .says("Who else is on its cards, as far as the asker may know")
        .answers::<Neighbours>(),
        Route::at_once(
            Get,
            "/workspaces/{namespace}/{name}/why",
            "explainWorkspace",
            (Verb::See, one),
            handlers::why,
        )
        .says("Why it waits")
        .answers::<Why>(),
        Route::at_once(
            Get,
            "/workspaces/{namespace}/{name}/usage",
            "getWorkspaceUsage",
            (Verb::See, one),
            handlers::usage,
        )
        .says("What each of its cards did in the last hour since they are its own, by the minute")
        .query::<UsageQuery>()
        .answers::<Usage>(),
        Route::at_once(
            Get,
            "/workspaces/{namespace}/{name}/yaml",
            "exportWorkspace",
            (Verb::Read, one),
            handlers::yaml,
        )
        .says("The workspace as a manifest")
        .answers_text("application/yaml"),
    ]
}
