//! A client that does not send writes of a process that has stopped leading.

use http::{Method, Request, Response};
use kube::{Client, client::Body};
use tower::{BoxError, service_fn};

use super::{Leadership, NotLeader};

/// The same client, except that anything but reading fails with [`NotLeader`] unless this process leads at the moment
/// of sending, and that no answer is waited for beyond the end of the term: work that hangs on a broken network must
/// not keep the process from standing down.
///
/// This is the check before each write that nobody can forget. It is no replacement for preconditions: see the
/// module's text.
pub fn fenced(client: &Client, leadership: Leadership) -> Client {
    let namespace = client.default_namespace().to_owned();
    let client = client.clone();
    let service = service_fn(move |request: Request<Body>| send(client.clone(), leadership.clone(), request));
    Client::new(service, namespace)
}

async fn send(
    client: Client,
    leadership: Leadership,
    request: Request<Body>,
) -> Result<Response<Body>, BoxError> {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let term = match leadership.guard() {
        Ok(term) => term,
        Err(_) if reads => return Ok(client.send(request).await?),
        Err(not_leader) => return Err(not_leader.into()),
    };
    tokio::select! {
        biased;
        () = term.lost().cancelled() => Err(NotLeader.into()),
        answer = client.send(request) => Ok(answer?),
    }
}
