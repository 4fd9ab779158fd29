//! Who pays for a Pod: one answer for the scheduler, which charges, and for everybody who tells what was charged.

/// Who has said which account pays. What is empty was not said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Payers<'a> {
    /// The object that the Pod's group is defined by: the AIJob, or a PodGroup.
    pub group: Option<&'a str>,
    /// The Pod, by its label [`LABEL_ACCOUNT`](crate::names::LABEL_ACCOUNT).
    pub pod: Option<&'a str>,
    /// Its namespace, by an annotation of the same name.
    pub namespace: Option<&'a str>,
}

impl<'a> Payers<'a> {
    /// The account that pays; `default` if nobody has said.
    pub fn account(self, default: &'a str) -> &'a str {
        let said = [self.group, self.pod, self.namespace].into_iter().flatten();
        said.into_iter().find(|name| !name.is_empty()).unwrap_or(default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_counts_and_nothing_is_no_word() {
        let said = |group, pod, namespace| Payers { group, pod, namespace }.account("all");
        assert_eq!(said(Some("job"), Some("pod"), Some("space")), "job");
        assert_eq!(said(None, Some("pod"), Some("space")), "pod");
        assert_eq!(said(Some(""), Some(""), Some("space")), "space");
        assert_eq!(said(None, None, None), "all");
    }
}
