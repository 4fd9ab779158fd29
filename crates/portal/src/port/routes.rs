//! Routes of ports, and of the ways into a workspace that programs use.

use super::{
    exec::{self, ExecQuery},
    forward::{self, ForwardQuery},
    handlers::{self, NewSharing, OpenedPort, Ports, SharingView},
};
use crate::{
    access::Verb,
    route::{
        Method::{Get, Post, Put},
        Route, Target,
    },
};

pub(crate) fn routes() -> Vec<Route> {
    let one = Target::Workspace;
    let of_workspace = pages(
        one,
        [
            ("/workspaces/{namespace}/{name}/ports", "listPorts"),
            ("/workspaces/{namespace}/{name}/ports/{port}/open", "openPort"),
            ("/workspaces/{namespace}/{name}/ports/{port}/sharing", "sharePort"),
        ],
    );
    let of_job = pages(
        Target::Job,
        [
            ("/jobs/{namespace}/{name}/ports", "listJobPorts"),
            ("/jobs/{namespace}/{name}/ports/{port}/open", "openJobPort"),
            ("/jobs/{namespace}/{name}/ports/{port}/sharing", "shareJobPort"),
        ],
    );
    let in_workspace = programs(
        one,
        [
            ("/workspaces/{namespace}/{name}/forward", "forwardPort"),
            ("/workspaces/{namespace}/{name}/exec", "execInWorkspace"),
        ],
    );
    let in_job = programs(
        Target::Job,
        [
            ("/jobs/{namespace}/{name}/forward", "forwardJobPort"),
            ("/jobs/{namespace}/{name}/exec", "execInJob"),
        ],
    );
    of_workspace.into_iter().chain(in_workspace).chain(of_job).chain(in_job).collect()
}

/// Routes for programs: a connection to a port, and a command.
fn programs(one: Target, [forward, exec]: [(&'static str, &'static str); 2]) -> [Route; 2] {
    [
        Route::at_once(Get, forward.0, forward.1, (Verb::Enter, one), forward::open)
            .says("One connection to a port of it, by WebSocket: binary messages are what goes through, both ways")
            .query::<ForwardQuery>(),
        Route::at_once(Get, exec.0, exec.1, (Verb::Enter, one), exec::open)
            .says("A command inside it, by WebSocket: the first byte of a message says 0 input, 1 output, 2 errors, 3 end")
            .query::<ExecQuery>(),
    ]
}

/// Routes about ports as pages, by where they are and what they are called: the list, opening one, sharing one.
fn pages(one: Target, [list, open, share]: [(&'static str, &'static str); 3]) -> [Route; 3] {
    [
        Route::new(Get, list.0, list.1, (Verb::See, one), handlers::list)
            .says("Ports that it names or its owner has shared")
            .answers::<Ports>(),
        Route::new(Post, open.0, open.1, (Verb::Visit, one), handlers::open)
            .says("A link for one use that leads a browser to what listens on a port, on an origin of its own")
            .answers::<OpenedPort>(),
        Route::new(Put, share.0, share.1, (Verb::Change, one), handlers::share)
            .says("Say who may see a port; only the owner shares, and who looks after the account takes it back")
            .takes::<NewSharing>()
            .answers::<SharingView>(),
    ]
}
