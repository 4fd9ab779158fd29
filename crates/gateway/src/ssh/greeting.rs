//! What a helper that listens says first.

use super::frame::{Frame, Frames};
use crate::pod::{Output, Part, PodError};

/// How much of what a helper complains about is read.
const COMPLAINTS: usize = 4096;
/// The longest path of a Unix socket.
const LONGEST: usize = 107;

/// Where it listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Spot {
    Port(u16),
    /// A Unix socket, by its path.
    Socket(String),
}

impl Spot {
    /// Out of a frame. What runs in the place of the helper may say anything, and a path becomes a variable.
    fn read(frame: Frame) -> Option<Self> {
        match frame {
            Frame::Listening(port) => Some(Self::Port(port)),
            Frame::Socket(path) => {
                let plain = path.starts_with('/') && !path.contains(char::is_control);
                (plain && path.len() <= LONGEST).then_some(Self::Socket(path))
            }
            _ => None,
        }
    }
}

/// Waits until the helper says where it listens; also what it said after that.
pub(super) async fn listening(output: &mut Output) -> Result<Result<(Spot, Frames), String>, PodError> {
    let mut greeting = Greeting::default();
    loop {
        match greeting.take(output.next().await?) {
            Ok(None) => {}
            Ok(Some(spot)) => return Ok(Ok((spot, greeting.frames))),
            Err(why) => return Ok(Err(why)),
        }
    }
}

/// What the helper says first. Whatever runs in its place holds no more of our memory than this. Pure.
#[derive(Debug, Default)]
struct Greeting {
    frames: Frames,
    /// Its complaints, the first of them.
    said: Vec<u8>,
}

impl Greeting {
    /// Where it listens, as soon as it is said.
    fn take(&mut self, part: Part) -> Result<Option<Spot>, String> {
        let nonsense = || "the helper says nonsense".to_owned();
        match part {
            Part::Stderr(bytes) => {
                let room = COMPLAINTS.saturating_sub(self.said.len()).min(bytes.len());
                self.said.extend_from_slice(&bytes[..room]);
                Ok(None)
            }
            Part::Ended(exit) => {
                let said = String::from_utf8_lossy(&self.said).trim().to_owned();
                Err(if said.is_empty() { exit.message } else { said })
            }
            Part::Stdout(bytes) => {
                self.frames.add(&bytes);
                match self.frames.next().map_err(|_| nonsense())? {
                    None => Ok(None),
                    Some(frame) => Spot::read(frame).ok_or_else(nonsense).map(Some),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::pod::Exit;

    fn ended() -> Part {
        Part::Ended(Exit { code: Some(1), message: "it ended".to_owned() })
    }

    #[test]
    fn the_port_is_what_the_helper_says_first() {
        let said =
            [Frame::Listening(4321).bytes(), Frame::Open(1, "127.0.0.1:9".to_owned()).bytes()].concat();
        let mut greeting = Greeting::default();
        assert_eq!(greeting.take(Part::Stdout(Bytes::copy_from_slice(&said[..5]))), Ok(None), "half a frame");
        assert_eq!(
            greeting.take(Part::Stdout(Bytes::copy_from_slice(&said[5..]))),
            Ok(Some(Spot::Port(4321)))
        );
        assert_eq!(
            greeting.frames.next(),
            Ok(Some(Frame::Open(1, "127.0.0.1:9".to_owned()))),
            "kept for later"
        );
        let mut greeting = Greeting::default();
        assert_eq!(greeting.take(ended()), Err("it ended".to_owned()));
        assert_eq!(greeting.take(Part::Stderr("port 80 is in use\n".into())), Ok(None));
        assert_eq!(greeting.take(ended()), Err("port 80 is in use".to_owned()));
    }

    #[test]
    fn a_helper_that_talks_and_talks_fills_no_memory() {
        let mut greeting = Greeting::default();
        for _ in 0..1000 {
            assert_eq!(greeting.take(Part::Stderr(vec![b'x'; 32 * 1024].into())), Ok(None));
        }
        assert_eq!(greeting.said.len(), COMPLAINTS);
        assert_eq!(greeting.take(ended()).unwrap_err().len(), COMPLAINTS);
        for other in [Frame::Data(1, "x".into()), Frame::Open(1, String::new()), Frame::Close(1)] {
            assert!(Greeting::default().take(Part::Stdout(other.bytes())).is_err(), "{other:?}");
        }
        let flood: Vec<u8> = vec![b'y'; 64];
        assert!(Greeting::default().take(Part::Stdout(flood.into())).is_err(), "no frame is as long");
    }

    #[test]
    fn the_path_of_a_socket_is_one() {
        let said = |path: &str| {
            let frame = Frame::Socket(path.to_owned()).bytes();
            Greeting::default().take(Part::Stdout(frame)).ok().flatten()
        };
        assert_eq!(said("/tmp/a b/socket"), Some(Spot::Socket("/tmp/a b/socket".to_owned())));
        let long = format!("/{}", "x".repeat(LONGEST));
        for wrong in ["", "socket", "/tmp/a\nb", "/tmp/\0", &long] {
            assert_eq!(said(wrong), None, "{wrong}");
        }
    }
}
