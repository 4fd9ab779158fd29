//! Who has to go so that somebody with a better right can start.
//!
//! Pure arithmetic on a [`Board`]: nodes with what is free on them, and units that may be asked to go. A unit is a Pod,
//! or all the Pods of a gang that would be of no use without one of them. [`choose`] finds the units whose going costs
//! least: fewest cards, then fewest Pods, then those who were told to go before, then the youngest. Whether the claimant can really be placed then is for the
//! caller to try before anybody is asked.
//!
//! For Pods by themselves the choice is exact as far as cards go: per node a knapsack over its few cards gives the cost
//! of taking in one, two, three… Pods of the claimant ([`curve`]), and these costs are added up over nodes by dynamic
//! programming ([`spread`]). Gangs make costs of nodes depend on each other; they are tried at their own part and at
//! their full cost, and given back one by one where it turns out to be possible.

mod board;
mod cover;
mod curve;
mod room;
mod spread;
#[cfg(test)]
mod tests;
mod units;

pub use board::{Board, Cost, Plan, Spot, Unit, Victim, choose};
pub use room::{Claim, Room};
