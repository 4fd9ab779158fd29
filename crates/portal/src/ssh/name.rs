//! What people say where a user name stands: `WORKSPACE`, or `WORKSPACE.NAMESPACE` for that of another. Pure.

/// The longest name of anything in Kubernetes.
const LONGEST: usize = 253;

/// Namespace, if one is said, and workspace. Names of workspaces have no points.
pub(super) fn parse(text: &str) -> Option<(Option<&str>, &str)> {
    let (workspace, namespace) = match text.split_once('.') {
        Some((workspace, namespace)) => (workspace, Some(namespace)),
        None => (text, None),
    };
    let fine = |part: &str| {
        let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !part.is_empty() && part.len() <= LONGEST && part.bytes().all(known)
    };
    (fine(workspace) && namespace.is_none_or(fine)).then_some((namespace, workspace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_named_with_its_namespace_or_without() {
        assert_eq!(parse("desk"), Some((None, "desk")));
        assert_eq!(parse("desk.user-ada-1234"), Some((Some("user-ada-1234"), "desk")));
        for wrong in ["", ".", "desk.", ".ns", "a.b.c", "Desk", "../x", "a/b", "root\n", &"a".repeat(300)] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }
}
