//! The lines of a watch, as they arrive.
//!
//! kube's own stream of events copies every line into a new text and reads its object twice; with thousands of changes a
//! second that was a third of the scheduler's time.

use std::io;

use futures::{
    AsyncBufRead, AsyncBufReadExt as _, Stream, StreamExt as _,
    stream::{BoxStream, unfold},
};
use http::{HeaderValue, header::ACCEPT_ENCODING};
use kube::{
    Api, Error,
    api::{Request, WatchEvent, WatchParams},
    core::Status,
};

use super::{Received, change};

/// Begins to watch.
pub(super) async fn follow<K: Received>(
    api: &Api<K>,
    params: &WatchParams,
    version: &str,
) -> kube::Result<BoxStream<'static, kube::Result<WatchEvent<K>>>> {
    let mut request = Request::new(api.resource_url()).watch(params, version).map_err(Error::BuildRequest)?;
    // Packed watches are made of many pieces, of which kube reads the first alone.
    request.headers_mut().entry(ACCEPT_ENCODING).or_insert(HeaderValue::from_static("identity"));
    let reader = api.clone().into_client().request_stream(request).await?;
    Ok(events(Box::pin(reader)).boxed())
}

fn events<K: Received>(
    reader: impl AsyncBufRead + Unpin + Send + 'static,
) -> impl Stream<Item = kube::Result<WatchEvent<K>>> + Send {
    unfold((reader, Vec::new()), |(mut reader, mut line)| async {
        loop {
            line.clear();
            match reader.read_until(b'\n', &mut line).await {
                Ok(0) => return None,
                Ok(_) if line.trim_ascii().is_empty() => {}
                Ok(_) => match read(&line) {
                    Some(event) => return Some((event, (reader, line))),
                    // The connection was cut in the middle of a line.
                    None => return None,
                },
                Err(error) if is_cut(&error) => return None,
                Err(error) => return Some((Err(Error::ReadEvents(error)), (reader, line))),
            }
        }
    })
}

fn read<K: Received>(line: &[u8]) -> Option<kube::Result<WatchEvent<K>>> {
    match change::read(line) {
        Ok(event) => Some(Ok(event)),
        Err(error) if error.is_eof() => None,
        Err(error) => Some(Err(match serde_json::from_slice::<Status>(line) {
            Ok(status) => Error::Api(status.boxed()),
            Err(_) => Error::SerdeError(error),
        })),
    }
}

/// Whether a connection ended without saying so, as they do after some minutes; the watch goes on with the next.
fn is_cut(error: &io::Error) -> bool {
    let named = |error: &dyn std::error::Error| error.to_string().contains("unexpected EOF during chunk");
    let mut cause = error.get_ref().map(|inner| inner as &dyn std::error::Error);
    let mut found = error.kind() == io::ErrorKind::UnexpectedEof || named(error);
    while let (false, Some(error)) = (found, cause) {
        let eof = error
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::UnexpectedEof);
        found = eof || named(error);
        cause = error.source();
    }
    found
}

#[cfg(test)]
mod tests {
    use futures::io::BufReader;
    use k8s_openapi::api::core::v1::Pod;
    use kube::ResourceExt as _;

    use super::*;
    use crate::watch::Guarded;

    async fn names(text: &'static [u8]) -> Vec<String> {
        // A piece of seven bytes at a time: lines come in parts.
        let events = events::<Guarded<Pod>>(BufReader::with_capacity(7, text));
        let names = events.map(|event| match event {
            Ok(WatchEvent::Added(pod)) => pod.name_any(),
            Ok(_) => "other".to_owned(),
            Err(Error::Api(status)) => format!("{} {}", status.code, status.message),
            Err(error) => error.to_string(),
        });
        names.collect().await
    }

    #[tokio::test]
    async fn lines_are_read_whole_and_a_cut_one_is_the_end() {
        let text = b"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n\n\
            {\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"b\"}}}\n{\"type\":\"ADDED\",\"obj";
        assert_eq!(names(text).await, ["a", "b"]);
    }

    #[tokio::test]
    async fn a_status_instead_of_a_change_is_an_error() {
        let text = b"{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"no more\",\"reason\":\"Gone\",\"code\":410}\n";
        assert_eq!(names(text).await, ["410 no more"]);
    }

    #[test]
    fn a_connection_that_was_cut_is_known_by_its_cause() {
        let cut = io::Error::other(io::Error::new(io::ErrorKind::UnexpectedEof, "gone"));
        assert!(is_cut(&cut));
        assert!(is_cut(&io::Error::other("unexpected EOF during chunk size line")));
        assert!(!is_cut(&io::Error::other("connection refused")));
    }
}
