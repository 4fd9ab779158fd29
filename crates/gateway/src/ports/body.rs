//! An answer that is carried on for as long as its visitor may see it.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use futures::{FutureExt as _, future::BoxFuture};
use http_body::{Body as HttpBody, Frame, SizeHint};

/// A body that breaks off when `ended` comes. A stream that merely stopped would look whole.
pub(super) struct Until {
    inner: Body,
    ended: BoxFuture<'static, ()>,
}

impl Until {
    pub(super) fn new(inner: Body, ended: BoxFuture<'static, ()>) -> Self {
        Self { inner, ended }
    }
}

impl HttpBody for Until {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.ended.poll_unpin(context).is_ready() {
            let over = io::Error::new(io::ErrorKind::PermissionDenied, "the visit has ended");
            self.ended = futures::future::pending().boxed();
            return Poll::Ready(Some(Err(axum::Error::new(over))));
        }
        Pin::new(&mut self.inner).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn what_is_carried_breaks_off_when_the_visit_ends() {
        let parts = stream::iter([Ok::<_, io::Error>(Bytes::from("a"))]).chain_pending();
        let (end, ended) = futures::channel::oneshot::channel::<()>();
        let mut body = Until::new(Body::from_stream(parts), ended.map(drop).boxed());
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "a");
        end.send(()).unwrap();
        assert!(body.frame().await.unwrap().is_err());
    }

    trait ChainPending: futures::Stream + Sized {
        fn chain_pending(self) -> stream::Chain<Self, stream::Pending<Self::Item>> {
            futures::StreamExt::chain(self, stream::pending())
        }
    }

    impl<S: futures::Stream> ChainPending for S {}
}
