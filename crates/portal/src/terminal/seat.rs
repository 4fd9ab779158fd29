//! How many terminals each user has open.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;

/// Who has how many. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seats(Arc<Mutex<HashMap<String, usize>>>);

/// One of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Seats,
    user: String,
}

impl Seats {
    /// One more for `user`; none if he has `most` already.
    pub(crate) fn take(&self, user: &str, most: usize) -> Option<Seat> {
        let mut all = self.0.lock();
        let taken = all.get(user).copied().unwrap_or_default();
        if taken >= most {
            return None;
        }
        all.insert(user.to_owned(), taken + 1);
        Some(Seat { seats: self.clone(), user: user.to_owned() })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut all = self.seats.0.lock();
        match all.get_mut(&self.user) {
            Some(taken) if *taken > 1 => *taken -= 1,
            _ => drop(all.remove(&self.user)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_free_again_when_its_terminal_is_gone() {
        let seats = Seats::default();
        let first = seats.take("ada", 2).unwrap();
        let second = seats.take("ada", 2).unwrap();
        assert!(seats.take("ada", 2).is_none());
        assert!(seats.take("bob", 2).is_some(), "others have their own");
        drop(first);
        assert!(seats.take("ada", 2).is_some());
        drop(second);
        assert!(seats.0.lock().is_empty(), "nobody is remembered who has none");
    }
}
