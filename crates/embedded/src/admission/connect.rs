//! Streams to containers and ports: webhooks hear of them before they open.

use serde_json::{Value, json};

use super::{Action, Attributes};
use crate::request::Query;
use crate::resource::Subresource;
use crate::server::{Call, Server};
use crate::status::ApiError;

impl Server {
    /// Asks the webhooks whether a stream may open.
    pub(crate) async fn admit_stream(&self, call: &Call<'_>, part: Subresource) -> Result<(), ApiError> {
        let attributes = Attributes::of_call(call, part, Action::Connect)?;
        let mut options = options(part, &call.resource.kind, call.query);
        self.admit_part(&attributes, Some(&mut options), None).await?;
        Ok(())
    }
}

/// What the query asks for, as the object that webhooks know it by.
fn options(part: Subresource, kind: &str, query: &Query) -> Value {
    let kind = match part {
        Subresource::Exec => "PodExecOptions",
        Subresource::Attach => "PodAttachOptions",
        Subresource::PortForward => "PodPortForwardOptions",
        _ => &format!("{kind}ProxyOptions"),
    };
    let mut options = json!({"kind": kind, "apiVersion": "v1"});
    for flag in ["stdin", "stdout", "stderr", "tty"] {
        if query.flag(flag) == Some(true) {
            options[flag] = json!(true);
        }
    }
    for text in ["container", "path"] {
        if let Some(text_given) = query.text(text) {
            options[text] = json!(text_given);
        }
    }
    if part == Subresource::Exec {
        options["command"] = json!(query.all("command"));
    }
    let ports: Vec<u16> = query.all("ports").iter().filter_map(|port| port.parse().ok()).collect();
    if !ports.is_empty() {
        options["ports"] = json!(ports);
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_becomes_an_object() {
        let query = Query::parse(Some("command=sh&command=-c&stdin=true&tty=false&container=c"));
        assert_eq!(
            options(Subresource::Exec, "Pod", &query),
            json!({"kind": "PodExecOptions", "apiVersion": "v1", "stdin": true, "container": "c", "command": ["sh", "-c"]})
        );
        let query = Query::parse(Some("ports=80"));
        assert_eq!(
            options(Subresource::PortForward, "Pod", &query),
            json!({"kind": "PodPortForwardOptions", "apiVersion": "v1", "ports": [80]})
        );
    }
}
