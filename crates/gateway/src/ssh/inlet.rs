//! What a client has sent and the Pod has not read yet.
//!
//! russh opens the window of a channel again as soon as something has come, not when it was read, and handles one thing
//! at a time: to wait here is to answer nothing else, also nothing that has to go out. So a channel that is full is
//! waited for a moment only, and after each vain wait for twice as long. A program that writes while it reads goes on,
//! since what it writes gets out in between; one that does not read at all is sent next to nothing. All channels of a
//! connection share one budget: many that are half full are as much as one that is.
//!
//! What lets a program's output go on, the client's word that it has read, stands in line behind all that the client has
//! sent before it, and each part of that may be waited for. So where much waits, windows are opened for little only
//! ([`Budget::window`]), long before anything is waited for.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::{sync::Notify, time::timeout};

/// How much a client may send of a channel before it has to wait; as in OpenSSH.
pub(super) const WINDOW: u32 = 2 << 20;
/// And where much waits already: of what russh takes for one packet, one.
const NARROW: u32 = 64 << 10;
/// From here on much waits.
const MUCH: usize = 256 << 10;
/// From here on a channel is full: by now its window is narrow, however wide it was when the first began to wait.
const FULL: usize = MUCH + 2 * (WINDOW as usize);
/// From here on all channels of a connection are.
const ALL_FULL: usize = 8 << 20;
/// More than this is never held, of a connection with all its channels: the channel ends that brings it.
const MOST: usize = 64 << 20;
/// How long a full channel is waited for at first.
const PATIENCE: Duration = Duration::from_millis(2);
/// And at most.
const LONGEST: Duration = Duration::from_secs(2);

/// What waits in all channels of a connection. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Budget(Arc<AtomicUsize>);

impl Budget {
    /// How far a window is to be opened when it is the next time.
    pub(super) fn window(&self) -> u32 {
        if self.0.load(Ordering::Relaxed) > MUCH { NARROW } else { WINDOW }
    }
}

/// A channel's input. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Inlet(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    budget: Budget,
    state: Mutex<State>,
    filled: Notify,
    drained: Notify,
}

#[derive(Debug, Default)]
struct State {
    parts: VecDeque<Bytes>,
    bytes: usize,
    /// The client has no more.
    ended: bool,
    /// Nobody reads any more.
    closed: bool,
    /// How often in a row waiting was in vain.
    vain: u32,
}

/// More was sent than is ever held.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Overflow;

impl Drop for Shared {
    fn drop(&mut self) {
        self.budget.0.fetch_sub(self.state.get_mut().bytes, Ordering::Relaxed);
    }
}

impl Inlet {
    pub(super) fn of(budget: &Budget) -> Self {
        let (state, filled, drained) = Default::default();
        Self(Arc::new(Shared { budget: budget.clone(), state, filled, drained }))
    }

    /// Adds what has come, and waits a moment if there is much already.
    pub(super) async fn push(&self, bytes: &[u8]) -> Result<(), Overflow> {
        let wait = {
            let mut state = self.0.state.lock();
            if state.closed || state.ended {
                return Ok(());
            }
            let all = self.0.budget.0.fetch_add(bytes.len(), Ordering::Relaxed) + bytes.len();
            state.bytes += bytes.len();
            state.parts.push_back(Bytes::copy_from_slice(bytes));
            if all > MOST {
                return Err(Overflow);
            }
            (state.bytes > FULL || all > ALL_FULL)
                .then(|| PATIENCE.saturating_mul(1 << state.vain.min(10)).min(LONGEST))
        };
        self.0.filled.notify_one();
        let Some(wait) = wait else { return Ok(()) };
        let before = self.0.state.lock().bytes;
        // Whoever reads says so; that he did not is all that matters.
        let _ = timeout(wait, self.0.drained.notified()).await;
        let mut state = self.0.state.lock();
        state.vain = if state.bytes < before { 0 } else { state.vain + 1 };
        Ok(())
    }

    /// There is no more.
    pub(super) fn end(&self) {
        self.0.state.lock().ended = true;
        self.0.filled.notify_one();
    }

    /// Nobody reads any more.
    pub(super) fn close(&self) {
        let mut state = self.0.state.lock();
        state.closed = true;
        state.parts.clear();
        self.0.budget.0.fetch_sub(std::mem::take(&mut state.bytes), Ordering::Relaxed);
        drop(state);
        self.0.drained.notify_one();
    }

    /// The next part; nothing when there is no more. For one reader.
    pub(super) async fn pull(&self) -> Option<Bytes> {
        self.gather(0).await.pop()
    }

    /// The next part, and of those that are there already as many as are no longer than `most` with it; nothing when
    /// there is no more. For one reader.
    pub(super) async fn gather(&self, most: usize) -> Vec<Bytes> {
        loop {
            {
                let mut state = self.0.state.lock();
                let parts = state.take(most);
                if !parts.is_empty() {
                    let length = parts.iter().map(Bytes::len).sum();
                    self.0.budget.0.fetch_sub(length, Ordering::Relaxed);
                    drop(state);
                    self.0.drained.notify_one();
                    return parts;
                }
                if state.ended || state.closed {
                    return parts;
                }
            }
            self.0.filled.notified().await;
        }
    }
}

impl State {
    fn take(&mut self, most: usize) -> Vec<Bytes> {
        let (mut taken, mut length) = (Vec::new(), 0);
        while let Some(part) = self.parts.front()
            && (taken.is_empty() || length + part.len() <= most)
        {
            length += part.len();
            taken.extend(self.parts.pop_front());
        }
        if !taken.is_empty() {
            self.bytes -= length;
            self.vain = 0;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_comes_is_read_in_order_and_ends() {
        let inlet = Inlet::default();
        inlet.push(b"one").await.unwrap();
        inlet.push(b"two").await.unwrap();
        inlet.end();
        assert_eq!(inlet.pull().await.unwrap(), "one");
        assert_eq!(inlet.pull().await.unwrap(), "two");
        assert_eq!(inlet.pull().await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_is_read_together_up_to_a_length() {
        let budget = Budget::default();
        let inlet = Inlet::of(&budget);
        for part in [&b"longer than all"[..], b"one", b"two", b"three"] {
            inlet.push(part).await.unwrap();
        }
        assert_eq!(inlet.gather(6).await, ["longer than all"], "never nothing");
        assert_eq!(inlet.gather(6).await, ["one", "two"]);
        assert_eq!(budget.0.load(Ordering::Relaxed), 5);
        inlet.end();
        assert_eq!(inlet.gather(6).await, ["three"]);
        assert!(inlet.gather(6).await.is_empty(), "the end");
        assert_eq!(budget.0.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_that_does_not_read_is_sent_next_to_nothing() {
        let (inlet, begin) = (Inlet::default(), Instant::now());
        let part = vec![0; 32 * 1024];
        let mut sent = 0;
        while begin.elapsed() < Duration::from_hours(1) {
            assert_eq!(inlet.push(&part).await, Ok(()), "an hour is held");
            sent += part.len();
        }
        assert!(sent < MOST, "{sent} bytes in an hour");
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_channel_holds_up_others_only_for_a_moment() {
        let inlet = Inlet::default();
        let part = vec![0; FULL + 1];
        let begin = Instant::now();
        inlet.push(&part).await.unwrap();
        assert_eq!(begin.elapsed(), PATIENCE);
        let reader = inlet.clone();
        let reading = tokio::spawn(async move { reader.pull().await });
        let begin = Instant::now();
        inlet.push(b"more").await.unwrap();
        assert!(begin.elapsed() <= PATIENCE * 2);
        reading.await.unwrap();
    }

    /// A client that sends as much as it may, and russh, which opens windows as soon as something has come.
    struct Client {
        window: u32,
        target: u32,
        /// What it has sent and nobody has looked at.
        line: VecDeque<Vec<u8>>,
    }

    impl Client {
        fn send(&mut self) {
            while self.window >= 32 * 1024 {
                self.window -= 32 * 1024;
                self.line.push_back(vec![0; 32 * 1024]);
            }
        }

        async fn comes(&mut self, inlet: &Inlet, budget: &Budget) {
            let part = self.line.pop_front().unwrap();
            let unread: usize = self.line.iter().map(Vec::len).sum();
            let left = self.window + u32::try_from(unread).unwrap();
            if left < self.target / 2 {
                self.window += self.target - left;
                self.target = budget.window();
            }
            inlet.push(&part).await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn word_that_the_client_has_read_soon_comes_past_what_it_sent_before() {
        let budget = Budget::default();
        let inlet = Inlet::of(&budget);
        let mut client = Client { window: WINDOW, target: WINDOW, line: VecDeque::new() };
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_mins(1) {
            client.send();
            client.comes(&inlet, &budget).await;
        }
        client.send();
        let begin = Instant::now();
        for _ in 0..client.line.len() {
            client.comes(&inlet, &budget).await;
        }
        assert!(begin.elapsed() <= LONGEST * 3, "it came after {:?}", begin.elapsed());
        while !inlet.gather(MUCH).await.is_empty() && budget.0.load(Ordering::Relaxed) > 0 {}
        assert_eq!(budget.window(), WINDOW, "who reads again is sent much again");
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_kept_for_a_program_that_has_ended() {
        let inlet = Inlet::default();
        inlet.push(&vec![0; FULL]).await.unwrap();
        inlet.close();
        inlet.push(b"late").await.unwrap();
        assert_eq!(inlet.pull().await, None);
        assert_eq!(inlet.0.state.lock().bytes, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn many_channels_hold_no_more_than_one() {
        let budget = Budget::default();
        let inlets: Vec<Inlet> = (0..64).map(|_| Inlet::of(&budget)).collect();
        let (part, begin) = (vec![0; 32 * 1024], Instant::now());
        let mut sent = 0;
        while begin.elapsed() < Duration::from_mins(10) {
            for inlet in &inlets {
                assert_eq!(inlet.push(&part).await, Ok(()), "ten minutes are held");
                sent += part.len();
            }
        }
        assert!(sent < MOST, "{sent} bytes in ten minutes");
        assert_eq!(budget.0.load(Ordering::Relaxed), sent);
        let one = vec![0; MOST];
        assert_eq!(inlets[0].push(&one).await, Err(Overflow));
        // What is read, closed or forgotten waits no more.
        inlets[0].close();
        inlets[1].pull().await.unwrap();
        assert!(budget.0.load(Ordering::Relaxed) < sent);
        drop(inlets);
        assert_eq!(budget.0.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn there_is_a_most() {
        let inlet = Inlet::default();
        assert_eq!(inlet.push(&vec![0; MOST + 1]).await, Err(Overflow));
    }
}
