//! Saying what could not be tested.

/// Says that the test that runs here could not be made without `program`.
pub(crate) fn absent(program: &str) {
    maar_testkit::absent!(program);
}
