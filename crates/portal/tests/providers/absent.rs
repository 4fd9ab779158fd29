//! Saying what could not be tested.

/// Says which test could not be made without `program`.
pub(crate) fn absent(program: &str, test: &str) {
    maar_testkit::absent!(program, test);
}
