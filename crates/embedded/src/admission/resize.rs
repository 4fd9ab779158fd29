//! A claim grows only when it is bound and its class knows how.

use std::sync::Arc;

use maar_quantities::Quantity;
use serde_json::Value;

use crate::store::Entry;

/// Refuses growth that nobody could carry out; `class` finds a storage class.
pub(super) fn check(
    claim: &Value,
    old: Option<&Value>,
    class: impl Fn(&str) -> Option<Arc<Entry>>,
) -> Result<(), &'static str> {
    let Some(old) = old else { return Ok(()) };
    if size(claim) <= size(old) {
        return Ok(());
    }
    if old["status"]["phase"] != "Bound" {
        return Err("Only bound persistent volume claims can be expanded");
    }
    let name = class_name(claim);
    let grows = !name.is_empty()
        && name == class_name(old)
        && class(name).is_some_and(|class| class.value()["allowVolumeExpansion"] == true);
    if grows {
        return Ok(());
    }
    Err(
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
    )
}

fn size(claim: &Value) -> Quantity {
    let asked = claim["spec"]["resources"]["requests"]["storage"].as_str().unwrap_or_default();
    Quantity::parse(asked).unwrap_or(Quantity::ZERO)
}

/// The class of a claim; the annotation is the older way to name it.
fn class_name(claim: &Value) -> &str {
    let annotated = claim["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"].as_str();
    annotated.or(claim["spec"]["storageClassName"].as_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store;

    fn claim(size: &str, phase: &str) -> Value {
        json!({"metadata": {}, "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": size}}},
            "status": {"phase": phase}})
    }

    #[test]
    fn growth_needs_a_bound_claim_and_a_class_that_allows_it() {
        let class = |grows: bool| {
            move |_: &str| {
                Some(Arc::new(store::decode(
                    &json!({"metadata": {"name": "fast"}, "allowVolumeExpansion": grows}),
                    1,
                )))
            }
        };
        let bound = claim("1Gi", "Bound");
        assert!(check(&claim("2Gi", "Bound"), Some(&bound), class(true)).is_ok());
        assert!(check(&claim("2Gi", "Bound"), Some(&bound), class(false)).is_err());
        assert!(check(&claim("2Gi", "Bound"), Some(&bound), |_| None).is_err());
        assert!(check(&claim("1024Mi", "Bound"), Some(&bound), |_| None).is_ok());
        assert!(check(&claim("2Gi", "Pending"), Some(&claim("1Gi", "Pending")), class(true)).is_err());
        assert!(check(&bound, None, |_| None).is_ok());
    }
}
