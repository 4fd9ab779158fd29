//! Terminal size changes, as the resize channel carries them: JSON objects one after another.

use std::io;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;

/// The most an unfinished size object may take; a real one is some 30 bytes.
const LARGEST_OBJECT: usize = 4096;

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    /// Columns.
    #[serde(rename = "Width", alias = "width")]
    pub width: u16,
    /// Rows.
    #[serde(rename = "Height", alias = "height")]
    pub height: u16,
}

/// The sizes a client reports while a terminal session runs. Only the newest matters, so a slow
/// reader sees the latest size and never holds up the connection.
#[derive(Debug)]
pub struct TerminalSizes {
    latest: watch::Receiver<Option<TerminalSize>>,
}

impl TerminalSizes {
    /// The next size that was not seen yet; `None` once the client can send no more.
    pub async fn next(&mut self) -> Option<TerminalSize> {
        self.latest.changed().await.ok()?;
        *self.latest.borrow_and_update()
    }

    /// Reads sizes from the resize channel in a task of their own.
    pub(crate) fn read_from<R: AsyncRead + Send + Unpin + 'static>(reader: R) -> Self {
        let (sender, latest) = watch::channel(None);
        tokio::spawn(async move {
            if let Err(error) = forward(reader, sender).await {
                tracing::debug!(%error, "the terminal resize channel ended");
            }
        });
        Self { latest }
    }

    /// For sessions without a terminal: never yields a size.
    pub(crate) fn none() -> Self {
        Self { latest: watch::channel(None).1 }
    }
}

async fn forward<R: AsyncRead + Unpin>(
    mut reader: R,
    sizes: watch::Sender<Option<TerminalSize>>,
) -> io::Result<()> {
    let mut pending = Vec::new();
    while reader.read_buf(&mut pending).await? > 0 {
        if let Some(size) = take_sizes(&mut pending)?.pop() {
            // Nobody listening is no reason to stop reading: unread bytes would hold up the connection.
            sizes.send_replace(Some(size));
        }
    }
    Ok(())
}

/// Takes the complete objects off the front of `pending`; an unfinished one stays.
fn take_sizes(pending: &mut Vec<u8>) -> io::Result<Vec<TerminalSize>> {
    let mut objects = serde_json::Deserializer::from_slice(pending).into_iter::<TerminalSize>();
    let mut sizes = Vec::new();
    let mut used = 0;
    while let Some(object) = objects.next() {
        match object {
            Ok(size) => sizes.push(size),
            Err(error) if error.is_eof() => break,
            Err(error) => return Err(error.into()),
        }
        used = objects.byte_offset();
    }
    pending.drain(..used);
    if pending.len() > LARGEST_OBJECT {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a terminal size object has no end"));
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn size(width: u16, height: u16) -> TerminalSize {
        TerminalSize { width, height }
    }

    #[test]
    fn unfinished_objects_wait_for_their_rest() {
        let mut pending = br#"{"Width":80,"Height":24}
{"Width":100,"Hei"#
            .to_vec();
        assert_eq!(take_sizes(&mut pending).unwrap(), [size(80, 24)]);
        pending.extend_from_slice(br#"ght":30}"#);
        assert_eq!(take_sizes(&mut pending).unwrap(), [size(100, 30)]);
        assert!(pending.is_empty());
    }

    #[test]
    fn what_is_no_size_is_an_error() {
        assert!(take_sizes(&mut br#""wide""#.to_vec()).is_err());
        assert!(take_sizes(&mut vec![b' '; LARGEST_OBJECT + 1]).is_err());
    }

    #[tokio::test]
    async fn the_newest_size_wins_and_the_end_is_seen() {
        let text: &[u8] = br#"{"Width":1,"Height":2}{"Width":3,"Height":4}"#;
        let mut sizes = TerminalSizes::read_from(text);
        assert_eq!(sizes.next().await, Some(size(3, 4)));
        assert_eq!(sizes.next().await, None);
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_sizes(
            sent in prop::collection::vec((any::<u16>(), any::<u16>()), 0..6),
            cuts in prop::collection::vec(1usize..20, 1..40),
        ) {
            let sent: Vec<_> = sent.into_iter().map(|(width, height)| size(width, height)).collect();
            let bytes: Vec<u8> = sent.iter().flat_map(|size| serde_json::to_vec(size).unwrap()).collect();
            let (mut rest, mut pending, mut got) = (bytes.as_slice(), Vec::new(), Vec::new());
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break }
                let (head, tail) = rest.split_at((*cut).min(rest.len()));
                pending.extend_from_slice(head);
                got.extend(take_sizes(&mut pending).unwrap());
                rest = tail;
            }
            prop_assert_eq!(got, sent);
        }
    }
}
