//! Endpoints, the older form of EndpointSlices.

use serde_json::Value;

use super::Strategy;
use super::value::{fill_text, items_mut};

/// The strategy of Endpoints.
#[derive(Debug)]
pub(crate) struct Endpoints;

impl Strategy for Endpoints {
    fn default(&self, object: &mut Value) {
        let Some(object) = object.as_object_mut() else { return };
        for subset in items_mut(object, "subsets") {
            for port in items_mut(subset, "ports") {
                fill_text(port, "protocol", "TCP");
            }
        }
    }
}
