//! What a type looks like to a merge, and sets of field paths over values of that type.
//!
//! Start at [`Type`] (a shape built once per kind) and [`Set`] (the paths somebody owns).

mod collect;
mod compare;
mod element;
mod fresh;
mod json;
#[cfg(test)]
pub(crate) mod sample;
mod set;
mod shape;

pub(crate) use collect::element_of;
pub use compare::Comparison;
pub(crate) use compare::map_of;
pub use element::Element;
pub(crate) use fresh::fields_of_new;
pub use json::FieldsError;
pub use set::Set;
pub use shape::{Field, Key, List, ListKind, Object, PatchStrategy, Type};
