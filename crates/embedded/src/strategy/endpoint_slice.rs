//! EndpointSlices.

use serde_json::Value;

use super::Strategy;
use super::value::{fill, items_mut, make_child};
use crate::world::World;

/// The strategy of EndpointSlices.
#[derive(Debug)]
pub(crate) struct EndpointSlice;

impl Strategy for EndpointSlice {
    fn default(&self, object: &mut Value) {
        let Some(object) = object.as_object_mut() else { return };
        for port in items_mut(object, "ports") {
            fill(port, "name", "");
            fill(port, "protocol", "TCP");
        }
        for endpoint in items_mut(object, "endpoints") {
            make_child(endpoint, "conditions");
        }
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        drop_topology(object);
    }

    fn prepare_update(&self, new: &mut Value, _old: &Value) {
        drop_topology(new);
    }

    fn changes_generation(&self, new: &Value, old: &Value) -> bool {
        ["endpoints", "ports", "addressType"].iter().any(|field| new[field] != old[field])
            || new["metadata"]["labels"] != old["metadata"]["labels"]
    }
}

/// A field of an earlier version that this one shows and does not accept.
fn drop_topology(object: &mut Value) {
    let Some(object) = object.as_object_mut() else { return };
    for endpoint in items_mut(object, "endpoints") {
        endpoint.remove("deprecatedTopology");
    }
}
