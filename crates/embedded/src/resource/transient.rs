//! Resources that are answered and never stored: bindings and the reviews of who may do what.

/// A question that is posted and answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transient {
    Binding,
    TokenReview,
    SelfSubjectReview,
    SubjectAccessReview,
    SelfSubjectAccessReview,
    LocalSubjectAccessReview,
    SelfSubjectRulesReview,
}

/// The facts about one of them, for routing and discovery.
#[derive(Debug)]
pub(crate) struct TransientFact {
    pub(crate) group: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) namespaced: bool,
    pub(crate) what: Transient,
}

const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";

#[rustfmt::skip]
pub(crate) static TRANSIENTS: &[TransientFact] = &[
    TransientFact { group: "", plural: "bindings", kind: "Binding", namespaced: true, what: Transient::Binding },
    TransientFact { group: AUTHENTICATION, plural: "tokenreviews", kind: "TokenReview", namespaced: false, what: Transient::TokenReview },
    TransientFact { group: AUTHENTICATION, plural: "selfsubjectreviews", kind: "SelfSubjectReview", namespaced: false, what: Transient::SelfSubjectReview },
    TransientFact { group: AUTHORIZATION, plural: "subjectaccessreviews", kind: "SubjectAccessReview", namespaced: false, what: Transient::SubjectAccessReview },
    TransientFact { group: AUTHORIZATION, plural: "selfsubjectaccessreviews", kind: "SelfSubjectAccessReview", namespaced: false, what: Transient::SelfSubjectAccessReview },
    TransientFact { group: AUTHORIZATION, plural: "localsubjectaccessreviews", kind: "LocalSubjectAccessReview", namespaced: true, what: Transient::LocalSubjectAccessReview },
    TransientFact { group: AUTHORIZATION, plural: "selfsubjectrulesreviews", kind: "SelfSubjectRulesReview", namespaced: false, what: Transient::SelfSubjectRulesReview },
];

/// The one a path names; all are served as v1.
pub(crate) fn transient(group: &str, version: &str, plural: &str) -> Option<Transient> {
    TRANSIENTS
        .iter()
        .find(|fact| version == "v1" && fact.group == group && fact.plural == plural)
        .map(|fact| fact.what)
}
