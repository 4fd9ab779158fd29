//! Connections that can be interrupted, for whoever plays a broken network.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::dial::Io;

/// How much is on its way at once.
const CHUNK: usize = 16 << 10;

/// What bytes take from one end to the other.
pub trait Way: Send + Sync {
    /// Waits until bytes may pass; `false` if none ever will.
    fn open(&self) -> impl Future<Output = bool> + Send;

    /// Waits until bytes may not pass any more.
    fn shut(&self) -> impl Future<Output = ()> + Send;
}

/// Carries bytes both ways until both ends are closed, one of them fails or the way is shut for good. While it is shut
/// nothing passes, not even that an end was closed; what was on its way goes on afterwards.
pub async fn carry(way: &impl Way, near: impl Io, far: impl Io) {
    let (near_out, near_in) = tokio::io::split(near);
    let (far_out, far_in) = tokio::io::split(far);
    // Why it ended is for the ends to see.
    let _ = tokio::try_join!(one_way(way, near_out, far_in), one_way(way, far_out, near_in));
}

/// Does one step while the way is open; one that is interrupted begins again, so it must not have done anything by then.
macro_rules! while_open {
    ($way:expr, $step:expr) => {
        loop {
            if !$way.open().await {
                break Err(io::Error::from(io::ErrorKind::ConnectionReset));
            }
            tokio::select! {
                biased;
                () = $way.shut() => {}
                outcome = $step => break outcome,
            }
        }
    };
}

async fn one_way(
    way: &impl Way,
    mut from: impl AsyncRead + Unpin + Send,
    mut to: impl AsyncWrite + Unpin + Send,
) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    while let count @ 1.. = while_open!(way, from.read(&mut buffer))? {
        let mut left = &buffer[..count];
        while !left.is_empty() {
            let count = while_open!(way, to.write(left))?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            left = &left[count..];
        }
    }
    while_open!(way, to.shutdown())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::{io::duplex, sync::watch};

    use super::*;

    struct Switch(watch::Receiver<Option<bool>>);

    impl Way for Switch {
        async fn open(&self) -> bool {
            let wanted =
                self.0.clone().wait_for(|open| *open != Some(false)).await.map(|open| open.is_some());
            wanted.unwrap_or(false)
        }

        async fn shut(&self) {
            let _ = self.0.clone().wait_for(|open| *open != Some(true)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_passes_while_the_way_is_shut_and_everything_afterwards() {
        let (switch, way) = watch::channel(Some(true));
        let ((mut near, inner_near), (inner_far, mut far)) = (duplex(8), duplex(8));
        let carrying = tokio::spawn(async move { carry(&Switch(way), inner_near, inner_far).await });
        let mut word = [0; 3];
        near.write_all(b"one").await.unwrap();
        far.read_exact(&mut word).await.unwrap();
        switch.send_replace(Some(false));
        near.write_all(b"two").await.unwrap();
        far.write_all(b"six").await.unwrap();
        let hour = Duration::from_hours(1);
        assert!(tokio::time::timeout(hour, far.read_exact(&mut word)).await.is_err());
        assert!(tokio::time::timeout(hour, near.read_exact(&mut word)).await.is_err());
        drop(near);
        assert!(tokio::time::timeout(hour, far.read(&mut word)).await.is_err());
        switch.send_replace(Some(true));
        far.read_exact(&mut word).await.unwrap();
        assert_eq!(&word, b"two");
        switch.send_replace(None);
        assert_eq!(far.read(&mut word).await.unwrap(), 0);
        carrying.await.unwrap();
    }
}
