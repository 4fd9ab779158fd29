//! Names that several crates must spell alike.

/// API group of Maar's own kinds.
pub const GROUP: &str = "maar.io";
/// The only version of [`GROUP`] so far.
pub const VERSION: &str = "v1alpha1";
/// `apiVersion` of Maar's own kinds.
pub const API_VERSION: &str = "maar.io/v1alpha1";

/// Label that says who looks after an object.
pub const LABEL_MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Value of [`LABEL_MANAGED_BY`] on objects that Maar creates.
pub const MANAGED_BY: &str = "maar";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_version_is_group_and_version() {
        assert_eq!(API_VERSION, format!("{GROUP}/{VERSION}"));
    }
}
