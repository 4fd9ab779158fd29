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
    vec![
        Route::new(
            Get,
            "/workspaces/{namespace}/{name}/ports",
            "listPorts",
            (Verb::See, one),
            handlers::list,
        )
        .says("Ports that the workspace names or its owner has shared")
        .answers::<Ports>(),
        Route::new(
            Post,
            "/workspaces/{namespace}/{name}/ports/{port}/open",
            "openPort",
            (Verb::Visit, one),
            handlers::open,
        )
        .says("A link for one use that leads a browser to what listens on a port, on an origin of its own")
        .answers::<OpenedPort>(),
        Route::new(
            Put,
            "/workspaces/{namespace}/{name}/ports/{port}/sharing",
            "sharePort",
            (Verb::Change, one),
            handlers::share,
        )
        .says("Say who may see a port; only the owner shares, and who looks after the account takes it back")
        .takes::<NewSharing>()
        .answers::<SharingView>(),
        Route::at_once(
            Get,
            "/workspaces/{namespace}/{name}/forward",
            "forwardPort",
            (Verb::Enter, one),
            forward::open,
        )
        .says("One connection to a port of it, by WebSocket: binary messages are what goes through, both ways")
        .query::<ForwardQuery>(),
        Route::at_once(
            Get,
            "/workspaces/{namespace}/{name}/exec",
            "execInWorkspace",
            (Verb::Enter, one),
            exec::open,
        )
        .says("A command inside it, by WebSocket: the first byte of a message says 0 input, 1 output, 2 errors, 3 end")
        .query::<ExecQuery>(),
    ]
}
