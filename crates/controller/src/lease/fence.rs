//! A client that does not send writes of a process that has stopped leading.

use http::{Method, Request};
use kube::{Client, client::Body};
use tower::{BoxError, service_fn};

use super::Leadership;

/// The same client, except that anything but reading fails with [`super::NotLeader`] unless this process leads at the
/// moment of sending.
///
/// This is the check before each write that nobody can forget. It is no replacement for preconditions: see the
/// module's text.
pub fn fenced(client: &Client, leadership: Leadership) -> Client {
    let namespace = client.default_namespace().to_owned();
    let client = client.clone();
    let service = service_fn(move |request: Request<Body>| {
        let (client, leadership) = (client.clone(), leadership.clone());
        async move {
            if !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) {
                leadership.guard()?;
            }
            client.send(request).await.map_err(BoxError::from)
        }
    });
    Client::new(service, namespace)
}
