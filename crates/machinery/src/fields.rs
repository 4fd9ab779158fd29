//! What a type looks like to a merge, and sets of field paths over values of that type.
//!
//! Start at [`Type`] (a shape built once per kind) and [`Set`] (the paths somebody owns).

#[cfg(test)]
pub(crate) mod sample;
mod shape;

pub use shape::{Field, Key, List, ListKind, Object, PatchStrategy, Type};
