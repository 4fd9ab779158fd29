//! Who goes first, and who may go at all.
//!
//! [`Tree`] knows the accounts: what each uses, what is its by right, and which limit refuses a request. [`Order`] keeps
//! the groups that wait, so that the next one is found by walking down the tree instead of sorting them all. Cards are
//! counted in thousandths throughout, so that shared and whole cards add up.

mod entry;
mod lane;
mod limit;
mod order;
mod problem;
mod reservation;
mod share;
mod tree;

pub use entry::{Payer, Seat, SpaceId, UserId};
pub use lane::{Blocked, LaneId, LaneKey, Rank};
pub use limit::{Excess, Limit};
pub use order::Order;
pub use problem::Problem;
pub use reservation::{Opening, Reservation, earliest};
pub use share::Share;
pub use tree::{Standing, Tree};
