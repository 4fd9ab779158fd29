//! IngressClasses.

use serde_json::Value;

use super::Strategy;
use super::value::{child, fill, make_root_child};

/// The strategy of IngressClasses.
#[derive(Debug)]
pub(crate) struct IngressClass;

impl Strategy for IngressClass {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = make_root_child(object, "spec")
            && let Some(parameters) = child(spec, "parameters")
        {
            fill(parameters, "scope", "Cluster");
        }
    }
}
