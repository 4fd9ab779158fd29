//! A request for a terminal.

use std::sync::{Arc, OnceLock};

use axum::extract::ws::WebSocketUpgrade;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    message::{PROTOCOL, Size},
    session::Session,
};
use crate::{
    access::Object,
    error::{ApiError, Code},
    route::{Answer, Call},
};

/// The most that a frame or a message of a client may hold.
const LARGEST: usize = 256 * 1024;

/// How large the screen is.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TerminalQuery {
    /// 80 if it is not said.
    columns: Option<u16>,
    /// 24 if it is not said.
    rows: Option<u16>,
}

/// Where a terminal shall be.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) namespace: String,
    pub(crate) pod: String,
    /// The one that the Pod itself prefers, if it is not said.
    pub(crate) container: Option<String>,
    /// What access to it is decided by, now and while it is open.
    pub(crate) object: Object,
    /// What the audit log calls it: kind and name.
    pub(crate) work: (&'static str, String),
}

/// The WebSocket that a request asks for, if it speaks this protocol. No message may be larger.
pub(crate) fn socket(
    call: &Call,
    protocol: &'static str,
    largest: usize,
) -> Result<WebSocketUpgrade, ApiError> {
    let wrong = || ApiError::invalid("upgrade", format!("connect by WebSocket with the protocol {protocol}"));
    let upgrade = call.upgrade().ok_or_else(wrong)?.protocols([protocol]);
    if upgrade.selected_protocol().is_none() {
        return Err(wrong());
    }
    Ok(upgrade.max_message_size(largest).max_frame_size(largest))
}

/// Opens a terminal. Everything that can go wrong after this is told in the terminal, since browsers show nothing of an
/// answer that is no WebSocket.
pub(crate) fn open(call: &Call, place: Place) -> Result<Answer, ApiError> {
    let query: TerminalQuery = call.query()?;
    let size = Size { columns: query.columns.unwrap_or(80), rows: query.rows.unwrap_or(24) };
    let size = size.checked().ok_or_else(|| ApiError::invalid("columns", "no screen is of this size"))?;
    let upgrade = socket(call, PROTOCOL, LARGEST)?;
    let most = call.portal.settings.terminals.most;
    let seat = call.portal.terminals.take(&call.person()?.id, most);
    let seat = seat.ok_or_else(|| {
        ApiError::new(Code::TooMany, format!("you have {most} terminals open already: close one"))
    })?;
    let open = call.portal.metrics.terminal();
    let session = Session { call: Arc::new(call.clone()), place, size, seat, open, ends: OnceLock::new() };
    Ok(Answer::whole(upgrade.on_upgrade(move |socket| session.serve(socket))))
}
