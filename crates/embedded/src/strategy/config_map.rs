//! ConfigMaps.

use serde_json::Value;

use super::Strategy;

/// The strategy of ConfigMaps.
#[derive(Debug)]
pub(crate) struct ConfigMap;

impl Strategy for ConfigMap {}
