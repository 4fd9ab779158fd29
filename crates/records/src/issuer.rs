//! What the OpenID provider keeps: keys, requests that wait for their user, grants with their codes and tokens, devices.
//!
//! A grant is what somebody allowed a client once. Every code and token belongs to one and is worth nothing when it is
//! revoked, has ended, or belongs to a user who may not come in any more. What may be used once is marked as used by one
//! statement, so that of two who come at the same time one is second.

mod device;
mod grant;
mod interaction;
mod key;
mod token;

pub use device::{Device, DeviceState, NewDevice};
pub use grant::{Grant, NewGrant};
pub use interaction::Interaction;
pub use key::SigningKey;
pub use token::{Code, NewToken, Spent, TokenKind};
