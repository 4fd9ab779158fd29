//! Several events of a watch in one write.
//!
//! A watch over the network pays for each write: a chunk, a TLS record, a system call here and one at the other end. A
//! watch that has been quiet sends at once; one that has just sent looks again after [`PAUSE`], and then sends all that has
//! come meanwhile. Only connections from outside are paced: in the process a write costs nothing, and time may stand still.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use http_body::{Body as HttpBody, Frame};
use tokio::time::{Instant, Sleep, sleep};

/// By how much an event may be late that follows closely upon another.
const PAUSE: Duration = Duration::from_millis(1);

/// Marks an answer whose pieces are worth gathering.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gather;

/// Paces an answer that is marked with [`Gather`]; others stay as they are.
pub(super) fn pace(response: Response) -> Response {
    if response.extensions().get::<Gather>().is_none() {
        return response;
    }
    response.map(|body| Body::new(Paced { body, pause: Box::pin(sleep(Duration::ZERO)) }))
}

/// A body that is asked for its next piece only some time after the last one.
struct Paced {
    body: Body,
    pause: Pin<Box<Sleep>>,
}

impl HttpBody for Paced {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        ready!(self.pause.as_mut().poll(context));
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        self.pause.as_mut().reset(Instant::now() + PAUSE);
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use tokio::sync::mpsc;
    use tokio_stream::StreamExt as _;
    use tokio_stream::wrappers::UnboundedReceiverStream;

    use super::*;

    fn answer(marked: bool) -> (mpsc::UnboundedSender<&'static str>, Body) {
        let (sender, receiver) = mpsc::unbounded_channel::<&str>();
        let pieces = UnboundedReceiverStream::new(receiver).map(Ok::<_, std::convert::Infallible>);
        let mut response = Response::new(Body::from_stream(pieces));
        if marked {
            response.extensions_mut().insert(Gather);
        }
        (sender, pace(response).into_body())
    }

    async fn next(body: &mut Body) -> Bytes {
        body.frame().await.expect("a piece").expect("no failure").into_data().expect("data")
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_piece_goes_at_once_and_the_next_after_a_pause() {
        let (sender, mut body) = answer(true);
        let begin = Instant::now();
        sender.send("a").expect("open");
        assert_eq!(next(&mut body).await, "a");
        assert_eq!(begin.elapsed(), Duration::ZERO);
        sender.send("b").expect("open");
        assert_eq!(next(&mut body).await, "b");
        assert!(begin.elapsed() >= PAUSE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_piece_after_silence_goes_at_once() {
        let (sender, mut body) = answer(true);
        sender.send("a").expect("open");
        assert_eq!(next(&mut body).await, "a");
        tokio::time::advance(PAUSE * 3).await;
        let begin = Instant::now();
        sender.send("b").expect("open");
        assert_eq!(next(&mut body).await, "b");
        assert_eq!(begin.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn other_answers_are_left_alone() {
        let (sender, mut body) = answer(false);
        let begin = Instant::now();
        for piece in ["a", "b"] {
            sender.send(piece).expect("open");
            assert_eq!(next(&mut body).await, piece);
        }
        assert_eq!(begin.elapsed(), Duration::ZERO);
        drop(sender);
        assert!(body.frame().await.is_none());
    }
}
