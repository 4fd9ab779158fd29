//! What could not be tried here, said where it is seen: at once, and by `dev/absent` at the end of `make test`.

/// Says that something is missing, if it is, and what that costs.
pub(crate) fn report(what: &str, cost: Option<String>) {
    if let Some(cost) = cost {
        maar_testkit::absent!(what, &cost);
    }
}
