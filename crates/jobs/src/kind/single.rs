//! Programs that know nothing of each other.

use super::Kind;

pub(crate) struct Single;

impl Kind for Single {}
